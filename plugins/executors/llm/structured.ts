// Answers that have to be JSON of a schema: one that does not fit is sent back to the model once, with its faults.

import {
	type Call,
	hasInfinity,
	hasManyNames,
	type Json,
	type JsonSchema,
	MANY_NAMES,
	type ModelRequest,
	type ToolResult,
} from '../../../core/index.ts';

const MAX_NAMED = 10;
/** A longer text would be parsed for too long. */
const MAX_JSON = 1_000_000;
/** JSON in a block of Markdown, which models write around it. */
const FENCED = /^```(?:json)?[ \t]*\n([\s\S]*?)\n?```$/;

export async function askForJson(request: ModelRequest, schema: JsonSchema, call: Call, signal: AbortSignal): Promise<ToolResult> {
	const first = await call.models.ask(request, signal);
	const read = await readAnswer(first.text, schema, call);
	if (!('faults' in read)) return read;
	const messages: ModelRequest['messages'] = [
		...request.messages,
		{ role: 'assistant', content: first.text },
		{ role: 'user', content: repairing(read.faults, schema) },
	];
	const second = await call.models.ask({ ...request, messages }, signal);
	const repaired = await readAnswer(second.text, schema, call);
	if (!('faults' in repaired)) return repaired;
	const why = second.reason === 'length' ? ' It reached the limit of its tokens (parameters.maxTokens).' : '';
	const text = `The model was asked twice, and its answer does not fit the output schema:\n${repaired.faults}${why}`;
	return { content: [{ type: 'text', text }], isError: true };
}

async function readAnswer(text: string, schema: JsonSchema, call: Call): Promise<ToolResult | { faults: string }> {
	const trimmed = text.trim();
	const json = FENCED.exec(trimmed)?.[1] ?? trimmed;
	if (json.length > MAX_JSON) return { faults: `It has more than ${MAX_JSON} characters.` };
	if (hasManyNames(json)) return { faults: `It has ${MANY_NAMES}.` };
	const structured = parse(json);
	if (structured === undefined) return { faults: 'It is not JSON.' };
	if (hasInfinity(structured)) return { faults: 'It has a number beyond 1.8e308, which no double holds.' };
	const faults = await call.faults(schema, structured);
	if (faults.length === 0) return { content: [{ type: 'text', text: json }], structured };
	const lines = faults.slice(0, MAX_NAMED).map(({ path, message }) => `${path || '/'} ${message}`);
	return { faults: [...lines, ...(faults.length > MAX_NAMED ? [`… and ${faults.length - MAX_NAMED} more.`] : [])].join('\n') };
}

function parse(text: string): Json | undefined {
	try {
		return JSON.parse(text) as Json;
	} catch {
		return undefined;
	}
}

const repairing = (faults: string, schema: JsonSchema): string =>
	`That answer does not fit:\n${faults}\n\nAnswer again with nothing but JSON of this JSON Schema:\n${JSON.stringify(schema)}`;
