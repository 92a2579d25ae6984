import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChatChunk, ProviderContext } from 'gatehouse';
import plugin from '../src/index.ts';

async function* partsOf(text: string): AsyncGenerator<Uint8Array> {
	yield Buffer.from(text);
}

/** Chats with a provider that gives one answer. */
async function chat(status: number, answer: string): Promise<ChatChunk[]> {
	const context = { stream: async () => ({ status, headers: {}, body: partsOf(answer) }) } as unknown as ProviderContext;
	const chunks: ChatChunk[] = [];
	const request = { model: 'small', messages: [{ role: 'user', content: 'Hi' }] } as const;
	for await (const chunk of plugin.chat(request, { url: 'https://models.example/chat' }, context)) chunks.push(chunk);
	return chunks;
}

test('lines become pieces of text and one end with its usage', async () => {
	const usage = { inputTokens: 3, outputTokens: 2, cachedTokens: 0, costMicroUsd: null };
	assert.deepEqual(await chat(200, '{"text":"He"}\n{"text":"llo"}\n{"done":true,"inputTokens":3,"outputTokens":2}\n'), [
		{ type: 'text', text: 'He' },
		{ type: 'text', text: 'llo' },
		{ type: 'end', reason: 'stop', model: 'small', usage },
	]);
});

test('an answer that breaks off is an error, and so is one that is no JSON', async () => {
	await assert.rejects(chat(200, '{"text":"He"}\n'), { code: 'upstream_failed', message: 'The answer of the model breaks off.' });
	await assert.rejects(chat(200, 'He\n'), { code: 'upstream_failed' });
});

test('refusals say what the caller can do', async () => {
	for (const [status, code] of [
		[429, 'rate_limited'],
		[400, 'validation_failed'],
		[401, 'upstream_failed'],
	] as const)
		await assert.rejects(chat(status, ''), { code });
});
