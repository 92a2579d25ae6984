// Whole answers put together from their pieces, and the most that an answer may have.

import { GatewayError } from '../contract/errors.ts';
import type { ModelAnswer } from '../contract/models.ts';
import type { ChatChunk } from '../contract/providers.ts';

/** Characters of an answer, with its reasoning and the arguments of its tool calls: more than any model writes. */
export const MAX_CHARS = 4 * 1024 * 1024;
/** Pieces of an answer, each of which costs CPU, however small. */
const MAX_CHUNKS = 250_000;
/** Tool calls of one answer. */
const MAX_CALLS = 1000;

/** Yields the chunks of an answer while they are not too many. @throws upstream_failed */
export async function* bounded(chunks: AsyncIterable<ChatChunk>): AsyncGenerator<ChatChunk> {
	let [chars, count] = [0, 0];
	for await (const chunk of chunks) {
		count += 1;
		chars += chunk.type === 'end' ? JSON.stringify(chunk.kept ?? '').length : chunk.text.length;
		if (chars > MAX_CHARS || count > MAX_CHUNKS || (chunk.type === 'tool_call' && chunk.index >= MAX_CALLS))
			throw new GatewayError('upstream_failed', 'The answer of the model provider is too large.');
		yield chunk;
	}
}

/** Puts an answer together. */
export async function whole(chunks: AsyncIterable<ChatChunk>): Promise<ModelAnswer> {
	const answer: ModelAnswer = { text: '', toolCalls: [], reason: 'stop', model: '', usage: null };
	for await (const chunk of chunks) {
		if (chunk.type === 'text') answer.text += chunk.text;
		else if (chunk.type === 'end') {
			const { type: _type, ...end } = chunk;
			Object.assign(answer, end);
		} else if (chunk.type === 'tool_call') {
			const call = answer.toolCalls[chunk.index];
			if (call) call.arguments += chunk.text;
			else answer.toolCalls[chunk.index] = { id: chunk.id ?? '', name: chunk.name ?? '', arguments: chunk.text };
		}
	}
	return answer;
}
