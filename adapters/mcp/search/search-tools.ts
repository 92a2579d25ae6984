// `search_tools`: finds tools by words, and shows the best with their schemas.

import { type Call, invalid, type JsonObject, type Tool } from '../../../core/index.ts';
import { documentOutput } from '../listing.ts';
import { indexOf } from './indexes.ts';
import { MAX_QUERY_CHARS, rank } from './rank.ts';
import { halvesOf } from './tool-text.ts';

export const MOST_HITS = 25;
const USUAL_HITS = 10;
/** The tools that are shown with schemas, as long as these take no more characters together than that; the first is in any case. */
const WITH_SCHEMAS = 5;
const MAX_SCHEMA_CHARS = 24_000;
const MAX_DESCRIPTION_CHARS = { whole: 1500, brief: 200 };
const NEAREST = 3;
const MORE = 'Tools without inputSchema were found, too: search for the exact name of one to see it.';

/** @throws validation_failed; insufficient_scope for a caller who may not list tools */
export async function searchTools(args: JsonObject, call: Call): Promise<JsonObject> {
	const { query, limit, withOutput } = readSearch(args);
	const tools = await call.tools();
	const hits = await find(query, tools, { call, limit });
	let chars = 0;
	const shown = hits.map((tool, at) => {
		chars += at < WITH_SCHEMAS ? JSON.stringify(tool.parameters).length : 0;
		return at === 0 || (at < WITH_SCHEMAS && chars <= MAX_SCHEMA_CHARS) ? describeWhole(tool, withOutput) : describeBriefly(tool);
	});
	const isComplete = shown.every((one) => one['inputSchema'] !== undefined);
	return { tools: shown, searched: tools.length, ...(!isComplete && { note: MORE }) };
}

/** Names of the tools that somebody may mean who asks for one that is not there. */
export async function nearestNames(name: string, call: Call): Promise<string[]> {
	if (!call.caller?.scopes.includes('tools:read')) return [];
	const hits = await find(name.slice(0, MAX_QUERY_CHARS), await call.tools(), { call, limit: NEAREST });
	return hits.map((tool) => tool.name);
}

async function find(query: string, tools: readonly Tool[], { call, limit }: { call: Call; limit: number }): Promise<Tool[]> {
	const index = await indexOf(tools, () => call.account());
	const exact = tools.find(({ name }) => name.toLowerCase() === query.trim().toLowerCase());
	const ranked = rank(index, query, limit).flatMap((place) => tools[place] ?? []);
	return (exact ? [exact, ...ranked.filter((tool) => tool !== exact)] : ranked).slice(0, limit);
}

function readSearch({ query, limit, withOutput }: JsonObject): { query: string; limit: number; withOutput: boolean } {
	if (typeof query !== 'string' || query.trim() === '')
		throw invalid('/query', '"query" is required: a text of a few words, or a tool’s name.');
	if (query.length > MAX_QUERY_CHARS) throw invalid('/query', `"query" may have ${MAX_QUERY_CHARS} characters.`);
	const most = limit ?? USUAL_HITS;
	if (typeof most !== 'number' || !Number.isInteger(most) || most < 1 || most > MOST_HITS)
		throw invalid('/limit', `"limit" must be an integer from 1 to ${MOST_HITS}.`);
	if (typeof (withOutput ?? false) !== 'boolean') throw invalid('/withOutput', '"withOutput" must be true or false.');
	return { query, limit: most, withOutput: withOutput === true };
}

const describeWhole = ({ name, description, parameters, outputSchema, annotations }: Tool, withOutput: boolean): JsonObject => ({
	name,
	...(annotations.title !== undefined && { title: annotations.title }),
	description: cut(description, MAX_DESCRIPTION_CHARS.whole),
	inputSchema: parameters,
	...(withOutput && outputSchema && { outputSchema: documentOutput(outputSchema) }),
});

const describeBriefly = ({ name, description }: Tool): JsonObject => ({
	name,
	description: cut(halvesOf(description)[0], MAX_DESCRIPTION_CHARS.brief),
});

const cut = (text: string, maxChars: number): string => (text.length <= maxChars ? text : `${text.slice(0, maxChars - 1).toWellFormed()}…`);
