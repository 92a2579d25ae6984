// Answers that have to be JSON of a schema: one that does not fit is sent back to the model once, with its faults.

import { type Call, type JsonSchema, type ModelRequest, readStructured, repairing, type ToolResult } from '../../../core/index.ts';

export async function askForJson(request: ModelRequest, schema: JsonSchema, call: Call, signal: AbortSignal): Promise<ToolResult> {
	const first = await call.models.ask(request, signal);
	const read = await readAnswer(first.text, schema, call);
	if (!('faults' in read)) return read;
	const messages: ModelRequest['messages'] = [
		...request.messages,
		{ role: 'assistant', content: first.text, ...(first.kept && { kept: first.kept }) },
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
	const read = await readStructured(text, schema, call);
	return 'faults' in read ? read : { content: [{ type: 'text', text: read.json }], structured: read.value };
}
