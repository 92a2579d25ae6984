// An answer of a model, put together from its pieces, each of which is checked.

import assert from 'node:assert/strict';
import type { ChatChunk, ChatEnd, ChatToolCall } from '../core/index.ts';

/** An answer as a caller that wants it whole gets it. */
export interface Folded {
	text: string;
	calls: ChatToolCall[];
	end: ChatEnd;
}

/** Puts an answer together, and checks each of its pieces. */
export async function fold(chunks: AsyncIterable<ChatChunk>): Promise<Folded> {
	let text = '';
	const calls: ChatToolCall[] = [];
	let end: ChatEnd | null = null;
	for await (const chunk of chunks) {
		assert.equal(end, null, 'nothing follows the end');
		if (chunk.type === 'end') end = chunk;
		else if (chunk.type === 'text') text += chunk.text;
		else if (chunk.type === 'tool_call') addPiece(calls, chunk);
		else assert.equal(chunk.type, 'reasoning');
	}
	assert.ok(end, 'there is an end');
	assert.ok(typeof end.model === 'string' && end.model !== '');
	for (const count of end.usage ? [end.usage.inputTokens, end.usage.outputTokens, end.usage.cachedTokens] : [])
		assert.ok(Number.isSafeInteger(count) && count >= 0);
	return { text, calls, end };
}

function addPiece(calls: ChatToolCall[], { index, id, name, text }: ChatChunk & { type: 'tool_call' }): void {
	const call = calls[index];
	if (call) {
		call.arguments += text;
		return;
	}
	assert.equal(index, calls.length, 'calls are counted from 0');
	assert.ok(id && name, 'the first piece of a call has its id and its name');
	calls.push({ id, name, arguments: text });
}
