// Tests what the providers send, and what they make of errors within an answer, over the wires of OpenAI, Anthropic and their likes.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { asGatewayError, type ChatMessage, type ChatRequest, type ProviderContext } from '../../core/index.ts';
import anthropic from '../../plugins/providers/anthropic/index.ts';
import custom from '../../plugins/providers/custom/index.ts';
import openai from '../../plugins/providers/openai/index.ts';
import { loopbackCall } from '../../testing/fake-call.ts';
import { fold } from '../../testing/provider-answers.ts';
import { textOf } from '../helpers/egress.ts';
import { httpUpstream } from '../helpers/upstream.ts';

const PROVIDERS = [anthropic, openai, custom];
type Provider = (typeof PROVIDERS)[number];

/** A server that answers every request with one text. */
async function answering(t: TestContext, text: string, type = 'text/event-stream') {
	const sent: Record<string, unknown>[] = [];
	const { origin } = await httpUpstream(t, async (request, response) => {
		sent.push(JSON.parse(await textOf(request)) as Record<string, unknown>);
		response.writeHead(200, { 'content-type': type }).end(text);
	});
	const ask = (plugin: Provider, more: Partial<ChatRequest> = {}) => {
		const request = { model: 'small', messages: [{ role: 'user' as const, content: 'x' }], ...more };
		const config = { apiKey: 'key', baseUrl: origin };
		// A call has all that a provider is lent, and more.
		return fold(plugin.chat(request, config, loopbackCall(t) as unknown as ProviderContext)).catch(asGatewayError);
	};
	return { sent, ask };
}

const events = (...parts: object[]): string => parts.map((part) => `data: ${JSON.stringify(part)}\n\n`).join('');
const piece = { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] };
const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded, sk-secret' } };
const start = {
	type: 'message_start',
	message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage: { input_tokens: 1, output_tokens: 1 } },
};
const failure = { error: { message: 'No, sk-secret', type: 'server_error', code: 503 } };

const ERRORS: [what: string, plugins: Provider[], text: string, name: string, type?: string][] = [
	['at the beginning of a stream', [anthropic], events(overloaded), ' (overloaded_error)'],
	['within a stream', [anthropic], events(start, overloaded), ' (overloaded_error)'],
	['at the beginning of a stream', [openai, custom], events(failure), ' (server_error)'],
	['within a stream', [openai, custom], events(piece, failure), ' (server_error)'],
	['that is a text', [custom], events({ error: 'No, sk-secret' }), ''],
	['in place of a stream', [openai, custom], JSON.stringify(failure), ' (server_error)', 'application/json'],
];
for (const [what, plugins, text, name, type] of ERRORS)
	for (const plugin of plugins)
		test(`an error ${what} of ${plugin.name} is told by its name alone`, async (t) => {
			const { ask } = await answering(t, text, type);
			const { code, message } = (await ask(plugin)) as { code?: string; message?: string };
			assert.deepEqual([code, message], ['upstream_failed', `The model provider sent an error in its answer${name}.`]);
		});

test('a provider that asks to wait within its answer is heard', async (t) => {
	const anthropics = await answering(t, events({ type: 'error', error: { type: 'rate_limit_error', message: 'no' } }));
	const others = await answering(t, events({ error: { message: 'no', code: 429 } }));
	const answers = [await anthropics.ask(anthropic), await others.ask(openai), await others.ask(custom)];
	assert.deepEqual(
		answers.map((answer) => (answer as { code?: string }).code),
		['rate_limited', 'rate_limited', 'rate_limited'],
	);
});

const partly = (type: 'image' | 'file', mimeType: string): ChatMessage[] => [
	{
		role: 'user',
		content: [
			{ type: 'text', text: '' },
			{ type, mimeType, data: 'AAAA' },
		],
	},
];

test('a file of a type for which a wire has no place is refused by its type, and nothing is sent', async (t) => {
	const { ask, sent } = await answering(t, '');
	for (const plugin of PROVIDERS) {
		const { code, message = '' } = (await ask(plugin, { messages: partly('file', 'application/x-own') })) as {
			code?: string;
			message?: string;
		};
		assert.equal(code, 'validation_failed', plugin.name);
		assert.match(message, /cannot be sent this: .*application\/x-own\.$/);
	}
	assert.deepEqual(sent, []);
});

test('an image without words goes without an empty text, which Anthropic refuses, and no texts to stop at are none', async (t) => {
	const { ask, sent } = await answering(t, '');
	for (const plugin of PROVIDERS) await ask(plugin, { messages: partly('image', 'image/png'), stop: [] });
	assert.equal(sent.length, PROVIDERS.length);
	for (const { messages, ...others } of sent) {
		const [{ content }] = messages as [{ content: { type: string }[] }];
		assert.deepEqual([content.length, content[0]?.type !== 'text'], [1, true]);
		assert.deepEqual([others['stop'], others['stop_sequences']], [undefined, undefined]);
	}
});

test('a chunk that tells what was used and has no choices ends no answer', async (t) => {
	const ended = (finish_reason: string) => ({ ...piece, choices: [{ index: 0, delta: {}, finish_reason }] });
	const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7, prompt_tokens_details: { cached_tokens: 3 } };
	for (const plugin of [openai, custom])
		for (const none of [{}, { choices: null }])
			for (const [given, reason] of [
				['stop', 'stop'],
				['length', 'length'],
				['eos', 'stop'],
			] as const) {
				const { ask } = await answering(t, events(piece, ended(given), { id: 'c', model: 'm', usage, ...none }));
				const { text, end } = (await ask(plugin)) as Awaited<ReturnType<typeof fold>>;
				const expected = { inputTokens: 5, outputTokens: 2, cachedTokens: 3, costMicroUsd: null };
				assert.deepEqual([text, end.reason, end.usage], ['a', reason, expected], `${plugin.name}, ${given}`);
			}
	// An answer that has not ended does not end with it.
	const { ask } = await answering(t, events(piece, { id: 'c', model: 'm', usage }));
	for (const plugin of [openai, custom]) assert.equal(((await ask(plugin)) as { code?: string }).code, 'upstream_failed', plugin.name);
});

test('events that Anthropic has added since are passed over, and those of known types that cannot be read are not', async (t) => {
	const block = [
		{ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
		{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
		{ type: 'content_block_stop', index: 0 },
	];
	const end = [{ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }, { type: 'message_stop' }];
	const added = await answering(t, events(start, { type: 'message_note', note: 1 }, ...block, { type: 'message_note' }, ...end));
	const { text, end: told } = (await added.ask(anthropic)) as Awaited<ReturnType<typeof fold>>;
	assert.deepEqual([text, told.reason, told.usage?.outputTokens], ['a', 'stop', 2]);
	const broken = await answering(t, events(start, { ...block[1], delta: 1 }, ...block, ...end));
	assert.equal(((await broken.ask(anthropic)) as { code?: string }).code, 'upstream_failed');
});
