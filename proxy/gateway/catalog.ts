// The names of its tools and skills, read at the start and again after they changed.

import { isObject, type Json, type JsonObject, type ResponseMessage } from '../wire/messages.ts';
import type { GatewayClient } from './client.ts';
import { otherType } from './kind.ts';
import { Refusal, sentence } from './refusals.ts';

export interface CatalogEntry {
	name: string;
	about: string;
}

/** The names of the gateway's own tools that find and run others. */
export interface OwnTools {
	search: string;
	execute: string;
}

export interface Catalog {
	tools: CatalogEntry[];
	skills: CatalogEntry[];
	own: OwnTools;
}

export const USUAL_OWN: OwnTools = { search: 'search_tools', execute: 'execute_tool' };

/** The gateway speaks another protocol: there is nothing to wait for. */
export class WrongType extends Error {}

const EXPOSURE = 'gatehouse/exposure';
const ROLE = 'gatehouse/role';
const METHOD_NOT_FOUND = -32601;
const MAX_ABOUT_CHARS = 120;
/** More pages would not be read in the time of discovery. */
const MAX_PAGES = 200;

/** Asks for the full list of tools, whatever the gateway shows by default. */
export const fullList = (params: JsonObject): JsonObject => ({
	...params,
	_meta: { ...(isObject(params['_meta']) && params['_meta']), [EXPOSURE]: 'full' },
});

/** @throws WrongType, Refusal */
export async function readCatalog(client: GatewayClient, signal: AbortSignal): Promise<Catalog> {
	try {
		const [own, tools, skills] = await Promise.all([
			readOwn(client, signal),
			readAll(client, 'tools', signal),
			readAll(client, 'prompts', signal),
		]);
		return { tools, skills, own };
	} catch (error) {
		if (!(error instanceof Refusal) || !['other', 'missing'].includes(error.kind)) throw error;
		const other = await otherType(client.target.url, signal);
		throw other === null ? error : new WrongType(other);
	}
}

async function readOwn(client: GatewayClient, signal: AbortSignal): Promise<OwnTools> {
	const { tools } = resultOf(await client.request('tools/list', { _meta: { [EXPOSURE]: 'search' } }, signal));
	const named = (role: string): string | undefined =>
		itemsOf(tools).find(({ _meta: meta }) => isObject(meta) && meta[ROLE] === role)?.['name'] as string | undefined;
	return { search: named('search') ?? USUAL_OWN.search, execute: named('execute') ?? USUAL_OWN.execute };
}

async function readAll(client: GatewayClient, kind: 'tools' | 'prompts', signal: AbortSignal): Promise<CatalogEntry[]> {
	const entries: CatalogEntry[] = [];
	let cursor: Json | undefined;
	for (let page = 0; page < MAX_PAGES; page += 1) {
		const params = cursor === undefined ? {} : { cursor };
		const result = resultOf(await client.request(`${kind}/list`, kind === 'tools' ? fullList(params) : params, signal));
		for (const { name, description, title } of itemsOf(result[kind]))
			if (typeof name === 'string') entries.push({ name, about: brief(description ?? title) });
		cursor = result['nextCursor'];
		if (typeof cursor !== 'string') return entries;
	}
	return entries;
}

/** @throws Refusal */
function resultOf({ result, error }: ResponseMessage): JsonObject {
	if (isObject(result)) return result;
	if (error?.code === METHOD_NOT_FOUND) throw new Refusal('other', `It does not speak MCP: ${sentence(error.message)}`);
	throw new Refusal('other', error ? sentence(error.message) : 'The gateway answered a list with no object.');
}

const itemsOf = (list: Json | undefined): JsonObject[] => (Array.isArray(list) ? list.filter(isObject) : []);

/** The first sentence of a description, on one line. */
function brief(text: Json | undefined): string {
	if (typeof text !== 'string') return '';
	const [first = ''] = text.trim().split(/(?<=[.!?])\s|\n/);
	const line = first.replace(/\s+/g, ' ');
	return line.length <= MAX_ABOUT_CHARS ? line : `${line.slice(0, MAX_ABOUT_CHARS - 1)}…`;
}
