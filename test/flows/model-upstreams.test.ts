// Tests providers against a server that others wrote, over the wires of OpenAI and Anthropic: tokens, tools, structured output, and all
// the ways in which an answer can go wrong.

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { type Fixture, LLMock } from '@copilotkit/aimock';
import type { ChatChunk, ChatRequest, ProviderContext } from '../../core/index.ts';
import anthropic from '../../plugins/providers/anthropic/index.ts';
import custom from '../../plugins/providers/custom/index.ts';
import openai from '../../plugins/providers/openai/index.ts';
import { loopbackCall } from '../../testing/fake-call.ts';
import { fold } from '../../testing/provider-answers.ts';
import { lentBy } from '../../testing/waiting.ts';
import { turns } from '../helpers/clock.ts';
import { type Account, must, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';
import { tcpUpstream } from '../helpers/upstream.ts';

const mock = new LLMock({ port: 0, chunkSize: 4 });
let service: SharedService;
let account: Account;

const USAGE = { prompt_tokens: 20, completion_tokens: 7, input_tokens: 20, output_tokens: 7 };
const TEXT = 'The answer is forty-two, as ever: grüße.';
const CALLS = [
	{ id: 'call_1', name: 'weather', arguments: '{"city":"Zürich"}' },
	{ id: 'call_2', name: 'time', arguments: '{}' },
];
const on = (userMessage: string, response: Fixture['response'], more: Partial<Fixture> = {}): void =>
	void mock.addFixture({ match: { userMessage }, response, ...more });

before(async () => {
	on('tools', { toolCalls: CALLS, usage: USAGE });
	on('json', { content: '{"days":3}', usage: USAGE });
	on('busy', { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 3600 });
	on('used up', { error: { message: 'You exceeded your current quota.', type: 'insufficient_quota' }, status: 429 });
	on('unpaid', { error: { message: 'Insufficient Balance', type: 'unknown_error' }, status: 402 });
	on('malformed', { content: TEXT }, { chaos: { malformedRate: 1 } });
	on('dropped', { content: TEXT }, { chaos: { dropRate: 1 } });
	on('disconnect', { content: TEXT }, { truncateAfterChunks: 3 });
	on('drip', { content: TEXT, usage: USAGE }, { chunkSize: 1, streamingProfile: { ttft: 5, tps: 2000 } });
	on('text', { content: TEXT, usage: USAGE });
	await mock.start();
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(async () => {
	await service.stop();
	await mock.stop();
});

const WIRES = [
	{ plugin: openai, path: '/v1', model: 'gpt-5-mini' },
	{ plugin: anthropic, path: '/v1', model: 'claude-sonnet-4-5' },
	{ plugin: custom, path: '/v1', model: 'small' },
];

const asking = (model: string, content: string, more: Partial<ChatRequest> = {}): ChatRequest => ({
	model,
	messages: [{ role: 'user', content }],
	...more,
});

for (const { plugin, path, model } of WIRES)
	describe(`over the wire of ${plugin.name}`, () => {
		const ask = (t: TestContext, content: string, more: Partial<ChatRequest> = {}): AsyncIterable<ChatChunk> => {
			const { request, stream, fetch, connect, memo, operator, signal, log } = lentBy(loopbackCall(t), {});
			const context: ProviderContext = { request, stream, fetch, connect, memo, operator, signal, log };
			const config = plugin.config.validate({ apiKey: 'k', baseUrl: `${mock.url}${path}` }).value as never;
			return plugin.chat(asking(model, content, more), config, context);
		};

		test('an answer has its text, its reason and its tokens, also one that drips', async (t) => {
			for (const content of ['text', 'drip']) {
				const { text, end } = await fold(ask(t, content));
				const { inputTokens, outputTokens } = end.usage ?? assert.fail('no usage');
				assert.deepEqual([text, end.reason, inputTokens, outputTokens], [TEXT, 'stop', 20, 7], content);
			}
		});

		test('tools are asked for', async (t) => {
			const tools = CALLS.map(({ name }) => ({ name, description: name, parameters: { type: 'object', properties: {} } }));
			const { calls, end } = await fold(ask(t, 'tools', { tools }));
			assert.deepEqual(
				[calls.map(({ name, arguments: given }) => [name, given]), end.reason],
				[CALLS.map(({ name, arguments: given }) => [name, given]), 'tool_calls'],
			);
		});

		test('structured output is asked for and comes as text', async (t) => {
			const schema = { type: 'object', properties: { days: { type: 'integer' } }, required: ['days'], additionalProperties: false };
			const { text } = await fold(ask(t, 'json', { output: { name: 'answer', schema } }));
			assert.deepEqual(JSON.parse(text), { days: 3 });
			// The mock keeps requests of Anthropic's wire without it.
			if (plugin !== anthropic) assert.match(JSON.stringify(mock.getLastRequest()?.body), /"days"/);
		});

		for (const [content, code] of [
			['busy', 'rate_limited'],
			['malformed', 'upstream_failed'],
			['dropped', 'upstream_failed'],
			['disconnect', 'upstream_failed'],
		] as const)
			test(`“${content}” is ${code}`, async (t) => {
				await assert.rejects(fold(ask(t, content)), (error: { code?: string }) => {
					assert.equal(error.code, code, String(error));
					return true;
				});
			});
	});

test('a key without credit is asked once, since waiting does not help', async () => {
	const provider = { name: 'm', provider: 'custom', apiKey: 'k', baseUrl: `${mock.url}/v1`, model: 'small' };
	const { id } = must(await account.post('/llm-providers', provider), 201).body.data;
	for (const message of ['used up', 'unpaid']) {
		const before = mock.getRequests().length;
		const { status, body } = await account.post(`/llm-providers/${id}/chat`, { message });
		assert.deepEqual([status, mock.getRequests().length - before], [502, 1], body.message);
		assert.match(body.message, /has no credit left at the model provider \((429|402)\)/);
	}
});

test('a chat over the service tells tokens and the price of the public list', async () => {
	for (const { plugin, path, model } of WIRES.slice(0, 2)) {
		const body = { name: 'm', provider: plugin.name, apiKey: 'k', baseUrl: `${mock.url}${path}`, model };
		const { id } = must(await account.post('/llm-providers', body), 201).body.data;
		const { message, cost, usage } = must(await account.post(`/llm-providers/${id}/chat`, { message: 'text' }), 200).body.data;
		assert.deepEqual([message, usage], [TEXT, { inputTokens: 20, outputTokens: 7, cachedTokens: 0 }]);
		assert.ok(cost > 0 && cost < 0.01, `${plugin.name}: ${cost}`);
		const busy = await account.post(`/llm-providers/${id}/chat`, { message: 'busy' });
		assert.deepEqual([busy.status, busy.headers.get('retry-after')], [429, '3600'], plugin.name);
	}
});

test('an answer whose length is a lie fails, and one that is too long is cut at its length', async (t) => {
	const event = 'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n';
	for (const length of [event.length * 10, 10]) {
		const { origin } = await tcpUpstream(t, (socket) => {
			socket.once('data', async () => {
				socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${length}\r\n\r\n${event}`);
				await turns(2);
				socket.end();
			});
		});
		const body = { name: 'm', provider: 'custom', apiKey: 'k', baseUrl: origin, model: 'm' };
		const { id } = must(await account.post('/llm-providers', body), 201).body.data;
		const answer = await account.post(`/llm-providers/${id}/chat`, { message: 'x' });
		assert.deepEqual([answer.status, answer.body.error], [502, 'UPSTREAM_FAILED'], String(length));
	}
});
