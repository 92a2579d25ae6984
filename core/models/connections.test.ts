// Tests of calls of a connection that no route shows: servers that do not stream, answers without bounds, and what a call counts for.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import Joi from 'joi';
import { textOf } from '../../test/helpers/egress.ts';
import { modelsAt, PROVIDER_ID } from '../../test/helpers/model-connections.ts';
import { COARSE, modelServer } from '../../test/helpers/models.ts';
import { httpUpstream } from '../../test/helpers/upstream.ts';
import { asGatewayError, PluginFault } from '../contract/errors.ts';
import type { ChatChunk, LlmProvider, ModelPrices, Usage } from '../contract/providers.ts';
import type { ModelUse } from '../contract/results.ts';
import { UsageMeter } from './spending.ts';

const CONFIG = Joi.object({ baseUrl: Joi.string().description('Its address.'), apiKey: Joi.string().description('Its key.') });

/** A provider whose answer is these chunks, whatever the contract says of them. */
const answering = (...chunks: unknown[]): LlmProvider => ({
	...{ kind: 'provider', api: 1, name: 'odd', summary: 'Answers what a test gives it.', config: CONFIG },
	async *chat() {
		yield* chunks as ChatChunk[];
	},
});

const ASKED = { providerId: PROVIDER_ID, messages: [{ role: 'user' as const, content: 'x' }] };
const PRICES = { 'small-2026': { input: 2e6, output: 10e6, cached: 1e6 }, small: { input: 2e6, output: 10e6 } };

/** A server that answers every request with one JSON text, whatever it was asked for. */
async function wholeServer(t: TestContext, message: object, write?: (response: ServerResponse) => void) {
	let count = 0;
	const answer = {
		...{ id: 'c', object: 'chat.completion', created: 1, model: 'small-2026' },
		choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'tool_calls' in message ? 'tool_calls' : 'stop' }],
		usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
	};
	const upstream = await httpUpstream(t, (_request, response) => {
		count += 1;
		response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
		if (write) write(response);
		else response.end(JSON.stringify(answer));
	});
	return { ...upstream, requests: () => count };
}

const codeOf = async (work: Promise<unknown>): Promise<string | undefined> =>
	asGatewayError(
		await work.then(
			() => assert.fail('it answered'),
			(error: unknown) => error,
		),
	)?.code;

test('a server that does not stream is read as a whole answer, after one request', async (t) => {
	const server = await wholeServer(t, { content: 'grüße' });
	const chunks = [];
	for await (const chunk of modelsAt(t, server.origin).models.chat(ASKED)) chunks.push(chunk);
	assert.deepEqual(chunks, [
		{ type: 'text', text: 'grüße' },
		{
			...{ type: 'end', reason: 'stop', model: 'small-2026' },
			usage: { inputTokens: 12, outputTokens: 3, cachedTokens: 0, costMicroUsd: null },
		},
	]);
	assert.equal(server.requests(), 1);
});

test('its tool calls are whole, too', async (t) => {
	const calls = ['a', 'b'].map((name) => ({ id: `call-${name}`, type: 'function', function: { name, arguments: '{"x":1}' } }));
	const server = await wholeServer(t, { content: null, tool_calls: calls });
	const { toolCalls, reason } = await modelsAt(t, server.origin).models.ask(ASKED);
	assert.deepEqual([reason, toolCalls], ['tool_calls', ['a', 'b'].map((name) => ({ id: `call-${name}`, name, arguments: '{"x":1}' }))]);
});

test('a whole answer that is no answer, or too large, is the provider’s failure', async (t) => {
	const none = await wholeServer(t, {}, (response) => response.end('{"ok":true}'));
	assert.equal(await codeOf(modelsAt(t, none.origin).models.ask(ASKED)), 'upstream_failed');
	const large = await wholeServer(t, {}, (response) => response.end(JSON.stringify({ x: 'x'.repeat(3 * 1024 * 1024) })));
	assert.equal(await codeOf(modelsAt(t, large.origin).models.ask(ASKED)), 'upstream_failed');
});

test('an answer without end is ended, and its connection closed', async (t) => {
	const server = await modelServer(t, 'flood', COARSE);
	await assert.rejects(modelsAt(t, server.origin).models.ask(ASKED), /too large/);
});

test('a call tells what it used to the work that it belongs to, with its cost', async (t) => {
	const server = await modelServer(t, 'echo');
	const meter = new UsageMeter();
	const { models } = modelsAt(t, server.origin, { prices: PRICES }, meter);
	await models.ask(ASKED);
	await models.ask(ASKED);
	const cost = 2 * (200 * 2 + 1000 * 1 + 34 * 10);
	const expected: ModelUse = { calls: 2, inputTokens: 2400, outputTokens: 68, cachedTokens: 2000, costMicroUsd: cost };
	assert.deepEqual(meter.use, expected);
	meter.spent({ inputTokens: 1, outputTokens: 1, cachedTokens: 0, costMicroUsd: null });
	assert.deepEqual(meter.use, { ...expected, calls: 3, inputTokens: 2401, outputTokens: 69, costMicroUsd: null });
});

test('budgets of a run need a known price, are asked for the estimate, and cap the answer', async (t) => {
	let sent: Record<string, unknown> = {};
	const server = await httpUpstream(t, (request, response) => {
		const parts: Buffer[] = [];
		request.on('data', (part: Buffer) => parts.push(part));
		request.on('end', () => {
			sent = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>;
			response.writeHead(500).end();
		});
	});
	const budgets = [{ name: 'perRun', of: 'the run', holder: 'run:1', period: 'all' as const, limit: 1 }];
	const unpriced = modelsAt(t, server.origin, {}, { budgets });
	await assert.rejects(unpriced.models.ask(ASKED), (error) => {
		assert.deepEqual([asGatewayError(error)?.code, asGatewayError(error)?.details[0]?.path], ['conflict', '/budget/perRun']);
		return true;
	});
	const priced = modelsAt(t, server.origin, { prices: PRICES }, { budgets });
	assert.equal(await codeOf(priced.models.ask(ASKED)), 'upstream_failed');
	assert.equal(sent['max_tokens'], 8192);
	assert.ok((priced.reserved[0] ?? 0) >= 8192 * 10);
	assert.deepEqual(priced.settled, [null], 'a refused call costs nothing');
});

test('a call that broke off after its answer began counts as the most that it may have cost', async (t) => {
	const server = await modelServer(t, 'break');
	const meter = new UsageMeter();
	const { models, settled, reserved } = modelsAt(t, server.origin, { prices: PRICES, budget: { perMonth: 100 } }, meter);
	assert.equal(await codeOf(models.ask(ASKED)), 'upstream_failed');
	assert.equal((settled[0] as { costMicroUsd: number }).costMicroUsd, reserved[0]);
	assert.equal(meter.use?.costMicroUsd, reserved[0]);
});

test('an attempt that broke off before its first piece is repeated, but not where a budget has room reserved for one', async (t) => {
	let count = 0;
	const server = await httpUpstream(t, (_request, response) => {
		count += 1;
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		response.write(': begun\n\n', () => response.destroy());
	});
	assert.equal(await codeOf(modelsAt(t, server.origin, { prices: PRICES }).models.ask(ASKED)), 'upstream_failed');
	assert.equal(count, 3);
	const { models, settled, reserved } = modelsAt(t, server.origin, { prices: PRICES, budget: { perMonth: 100 } });
	assert.equal(await codeOf(models.ask(ASKED)), 'upstream_failed');
	assert.equal(count, 4);
	assert.equal((settled[0] as { costMicroUsd: number }).costMicroUsd, reserved[0]);
});

test('input that is written to a cache costs what writing costs, and counts once', async (t) => {
	const counts = { input_tokens: 10, cache_read_input_tokens: 2000, cache_creation_input_tokens: 1000, output_tokens: 100 };
	const usage = { ...counts, cache_creation: { ephemeral_5m_input_tokens: 600, ephemeral_1h_input_tokens: 400 } };
	const content = [{ type: 'text', text: 'x' }];
	const answer = { id: 'm', type: 'message', role: 'assistant', model: 'claude-haiku-4-5', content, stop_reason: 'end_turn', usage };
	const server = await httpUpstream(t, (_request, response) => {
		response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
	});
	const used = async (more: object) => (await modelsAt(t, server.origin, { provider: 'anthropic', ...more }).models.ask(ASKED)).usage;
	const listed = 10 * 1 + 600 * 1.25 + 400 * 2 + 2000 * 0.1 + 100 * 5;
	const tokens = { inputTokens: 3010, outputTokens: 100, cachedTokens: 2000, writtenTokens: 1000, hourTokens: 400 };
	assert.deepEqual(await used({}), { ...tokens, costMicroUsd: listed });
	const prices = { input: 1e6, output: 5e6, cached: 1e5, written: 3e6 };
	assert.equal((await used({ prices: { 'claude-haiku-4-5': prices } }))?.costMicroUsd, 10 + 1000 * 3 + 2000 * 0.1 + 500);
	assert.equal(
		(await used({ prices: { 'claude-haiku-4-5': { ...prices, hour: 4e6 } } }))?.costMicroUsd,
		10 + 600 * 3 + 400 * 4 + 200 + 500,
	);
});

/** A server that streams these deltas, and then an ending. @returns the bodies that it was asked with */
async function deltaServer(t: TestContext, deltas: readonly object[], ending: string) {
	const asked: { messages: Record<string, unknown>[] }[] = [];
	const server = await httpUpstream(t, async (request, response) => {
		asked.push(JSON.parse(await textOf(request)));
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		const chunk = (delta: object, finish_reason: string | null) =>
			`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
		response.end(`${deltas.map((delta) => chunk(delta, null)).join('')}${chunk({}, ending)}data: [DONE]\n\n`);
	});
	return { ...server, asked };
}

test('an ending that is a failure is none of the model’s, whatever text came before', async (t) => {
	for (const ending of ['error', 'abort', 'insufficient_system_resource']) {
		const server = await deltaServer(t, [{ content: 'Hal' }], ending);
		assert.equal(await codeOf(modelsAt(t, server.origin).models.ask(ASKED)), 'upstream_failed', ending);
	}
	const odd = await deltaServer(t, [{ content: 'Hello' }], 'eos');
	assert.equal((await modelsAt(t, odd.origin).models.ask(ASKED)).reason, 'stop');
});

test('a call without arguments has an empty object, also when it goes back to the model', async (t) => {
	const call = { index: 0, id: 'call-1', type: 'function', function: { name: 'now', arguments: '' } };
	const server = await deltaServer(t, [{ tool_calls: [call] }], 'tool_calls');
	const { models } = modelsAt(t, server.origin);
	const { toolCalls } = await models.ask(ASKED);
	assert.deepEqual(toolCalls, [{ id: 'call-1', name: 'now', arguments: '{}' }]);
	const before = { role: 'assistant' as const, content: '', toolCalls: [{ id: 'call-1', name: 'now', arguments: '' }] };
	await models.ask({ ...ASKED, messages: [...ASKED.messages, before, { role: 'tool', toolCallId: 'call-1', content: '12:00' }] });
	const sent = server.asked.at(-1)?.messages.find(({ role }) => role === 'assistant') as { tool_calls: { function: object }[] };
	assert.deepEqual(sent.tool_calls[0]?.function, { name: 'now', arguments: '{}' });
});

test('an event without an end is refused, and what ends often is read on', async (t) => {
	const endless = await httpUpstream(t, (_request, response) => {
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		response.end(`data: ${'x'.repeat(3 * 1024 * 1024)}`);
	});
	await assert.rejects(
		modelsAt(t, endless.origin, { budget: { perMonth: 100 }, prices: PRICES }).models.ask(ASKED),
		/An event of the model provider is too large/,
	);
	const many = await deltaServer(
		t,
		Array.from({ length: 20_000 }, () => ({ content: 'a' })),
		'stop',
	);
	assert.equal((await modelsAt(t, many.origin).models.ask(ASKED)).text.length, 20_000);
});

const BUDGETED = { provider: 'odd', prices: PRICES, budget: { perMonth: 100 } };
const USAGE = { inputTokens: 100, outputTokens: 10, cachedTokens: 0, costMicroUsd: null };
const END = { type: 'end', reason: 'stop', model: 'small-2026', usage: USAGE };

const ODD: [chunk: unknown, said: RegExp][] = [
	[null, /must be an object of type text, reasoning, tool_call, end/],
	['text', /must be an object of type/],
	[{ type: 'constructor', text: 'x' }, /must be an object of type/],
	[{ type: 'text' }, /must have a string as text/],
	[{ type: 'tool_call', index: 0.5, text: '' }, /must have an integer of 0 or more as index/],
	[{ type: 'tool_call', index: 0, text: '{}', name: 7 }, /must have strings as text, id and name/],
	[{ ...END, reason: 'eos' }, /must have one of stop, length, tool_calls, content_filter as reason/],
	[{ ...END, model: 7 }, /must have a string as model/],
	[{ ...END, model: {} }, /must have a string as model/],
	[{ ...END, usage: 'many' }, /must have an object or null as usage/],
	[{ ...END, usage: { ...USAGE, inputTokens: 1.5 } }, /must have an integer of 0 or more as usage.inputTokens/],
	[{ ...END, usage: { ...USAGE, outputTokens: Number.NaN } }, /as usage.outputTokens/],
	[{ ...END, usage: { ...USAGE, cachedTokens: undefined } }, /as usage.cachedTokens/],
	[{ ...END, usage: { ...USAGE, writtenTokens: 'many' } }, /as usage.writtenTokens/],
	[{ ...END, usage: { ...USAGE, hourTokens: -1 } }, /as usage.hourTokens/],
	[{ ...END, usage: { ...USAGE, costMicroUsd: Number.POSITIVE_INFINITY } }, /as usage.costMicroUsd/],
	[{ ...END, kept: 'signature' }, /must have a JSON object as kept/],
	[{ ...END, kept: { a: 1n } }, /must have a JSON object as kept: it \/a is a bigint/],
];

test('a chunk that breaks the contract is a fault of the plugin, and the call is counted', async (t) => {
	for (const [chunk, said] of ODD)
		for (const before of [[], [{ type: 'text', text: 'x' }]]) {
			const plugin = answering(...before, chunk);
			const { models, settled, reserved } = modelsAt(t, 'https://models.example.com', { ...BUDGETED, plugin });
			await assert.rejects(models.ask(ASKED), (fault) => {
				assert.ok(fault instanceof PluginFault);
				assert.match(fault.message, /^provider:odd: a chunk of chat /);
				assert.match(fault.message, said);
				return true;
			});
			assert.deepEqual(
				settled.map((usage) => (usage as Usage).costMicroUsd),
				reserved,
				String(said),
			);
		}
});

test('a usage without a cost is priced, and one that is missing is unknown', async (t) => {
	const { costMicroUsd: _none, ...tokens } = USAGE;
	const usageOf = async (usage: unknown) =>
		(await modelsAt(t, 'https://models.example.com', { ...BUDGETED, plugin: answering({ ...END, usage }) }).models.ask(ASKED)).usage;
	assert.deepEqual(await usageOf(tokens), { ...USAGE, costMicroUsd: 100 * 2 + 10 * 10 });
	assert.deepEqual(await usageOf({ ...USAGE, costMicroUsd: 7 }), { ...USAGE, costMicroUsd: 7 });
	for (const none of [null, undefined]) assert.equal(await usageOf(none), null);
});

test('prices that are none are a fault of the plugin before anything is sent, and no model inherits one', async (t) => {
	let sent = 0;
	const priced = (prices: unknown): LlmProvider => ({
		...answering(),
		// biome-ignore lint/correctness/useYield: it ends before its first chunk
		async *chat() {
			sent += 1;
		},
		prices: () => prices as ModelPrices,
	});
	for (const [prices, name] of [
		[7, 'input'],
		[{ input: 1 }, 'output'],
		[{ input: 1, output: Number.NaN }, 'output'],
		[{ input: 1, output: 1, cached: '1' }, 'cached'],
	] as const) {
		const { models } = modelsAt(t, 'https://models.example.com', { ...BUDGETED, prices: null, plugin: priced(prices) });
		await assert.rejects(models.ask(ASKED), new RegExp(`^PluginFault: provider:odd: the prices of a model .* as ${name}\\.$`));
	}
	const { models } = modelsAt(t, 'https://models.example.com', { ...BUDGETED, plugin: priced(null) });
	assert.equal(await codeOf(models.ask({ ...ASKED, model: 'constructor' })), 'conflict');
	assert.equal(sent, 0);
});
