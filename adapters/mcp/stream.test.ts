// Tests of progress over an event stream.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../core/index.ts';
import { mcpEndpoint, modernRequest, type RunTool, readEvents, request } from '../../test/helpers/mcp.ts';

const reporting =
	(...reports: number[]): RunTool =>
	async (_name, _args, { listener }) => {
		for (const done of reports) listener?.(done, 100, `at ${done}`);
		await sleep(5);
		listener?.(Number.MAX_SAFE_INTEGER);
		return { content: [{ type: 'text', text: 'done' }] };
	};

const call = (progressToken?: unknown) => request('tools/call', { name: 'greet', _meta: { progressToken } });

test('progress is reported under the client’s token, then the answer, then nothing (utilities, “Progress”)', async () => {
	const { status, body } = await mcpEndpoint({ run: reporting(0, 50) })(call('token-1'));
	assert.equal(status, 200);
	const [first, second, , answer, ...rest] = await readEvents(body);
	assert.deepEqual(first, {
		jsonrpc: '2.0',
		method: 'notifications/progress',
		params: { progressToken: 'token-1', progress: 0, total: 100, message: 'at 0' },
	});
	assert.equal(second.params.progress, 50);
	assert.deepEqual(answer, { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'done' }] } });
	assert.deepEqual(rest, []);
});

test('progress that does not increase is not reported (utilities, “Progress”)', async () => {
	const { body } = await mcpEndpoint({ run: reporting(1, 1, 0, Number.NaN, 2) })(call(7));
	const events = await readEvents(body);
	assert.deepEqual(
		events.flatMap(({ params }) => (params ? [params.progress] : [])),
		[1, 2, Number.MAX_SAFE_INTEGER],
	);
	assert.equal(events[0].params.progressToken, 7);
});

test('a tool whose caller may have no more streams is answered with JSON, and was not run twice', async () => {
	let runs = 0;
	const run: RunTool = async (name, args, parts) => {
		runs++;
		return reporting(1, 2)(name, args, parts);
	};
	const { stream } = await mcpEndpoint({ run })(call('t'));
	assert.equal(stream?.finite, true, 'a running tool is a call in flight when the service stops');
	const answer = (await stream?.whenFull?.(new GatewayError('rate_limited', 'No more streams.'))) ?? assert.fail('it has no other answer');
	assert.equal(answer.status, 200);
	assert.deepEqual(answer.body, { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'done' }] } });
	assert.equal(runs, 1);
});

test('a tool that fails when its caller may have no more streams is answered as any other', async () => {
	const whenFull = async (code: 'not_implemented' | 'unavailable') => {
		const run: RunTool = async (name, args, parts) => {
			await reporting(1)(name, args, parts);
			throw new GatewayError(code, 'It cannot.');
		};
		const { stream } = await mcpEndpoint({ run })(call('t'));
		return stream?.whenFull?.(new GatewayError('rate_limited', 'No more streams.'));
	};
	assert.deepEqual(await whenFull('not_implemented'), {
		status: 200,
		body: { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'It cannot.' } },
	});
	await assert.rejects(whenFull('unavailable'), { code: 'unavailable' });
});

test('without a token, or with a client that takes no events, the answer is JSON', async () => {
	const post = mcpEndpoint({ run: reporting(1, 2) });
	assert.equal((await post(call())).message.result.content[0].text, 'done');
	assert.equal((await post(call({ not: 'a token' }))).message.result.content[0].text, 'done');
	assert.equal((await post(call('t'), { accept: 'application/json' })).message.result.content[0].text, 'done');
});

test('a tool that reports nothing and is done at once is answered with JSON', async () => {
	const { message, stream } = await mcpEndpoint()(call('t'));
	assert.equal(message.result.content[0].text, 'ran greet');
	assert.equal(stream, undefined);
});

test('a tool that stays silent gets its stream after a second, so that the connection lives', async () => {
	const run: RunTool = async () => {
		await sleep(1200);
		return { content: [{ type: 'text', text: 'late' }] };
	};
	const { stream, body } = await mcpEndpoint({ run })(call('t'));
	assert.ok(stream);
	assert.equal((await readEvents(body)).at(-1).result.content[0].text, 'late');
});

test('an error before the stream is HTTP’s, an error inside it a JSON-RPC error', async () => {
	const failing =
		(report: boolean): RunTool =>
		async (_name, _args, { listener }) => {
			if (report) listener?.(1);
			await sleep(5);
			throw new GatewayError('rate_limited', 'Slow down.');
		};
	await assert.rejects(mcpEndpoint({ run: failing(false) })(call('t')), { code: 'rate_limited' });
	const { body } = await mcpEndpoint({ run: failing(true) })(call('t'));
	assert.deepEqual((await readEvents(body)).at(-1), { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'Slow down.' } });
});

test('the modern era streams the same, with its complete result (2026-07-28, “Progress”)', async () => {
	const [body, headers] = modernRequest('tools/call', {
		name: 'greet',
		_meta: {
			progressToken: 't',
			'io.modelcontextprotocol/protocolVersion': '2026-07-28',
			'io.modelcontextprotocol/clientCapabilities': {},
		},
	});
	const events = await readEvents((await mcpEndpoint({ run: reporting(1) })(body, headers)).body);
	assert.equal(events[0].method, 'notifications/progress');
	assert.equal(events.at(-1).result.resultType, 'complete');
});

test('what a client does not read is not kept without bound', async () => {
	const run: RunTool = async (_name, _args, { listener }) => {
		for (let done = 0; done < 10_000; done += 1) listener?.(done, undefined, 'x'.repeat(100));
		await sleep(5);
		return { content: [{ type: 'text', text: 'done' }] };
	};
	const { body } = await mcpEndpoint({ run })(call('t'));
	const events = await readEvents(body);
	assert.ok(events.length > 10 && events.length < 1000, `${events.length} events were kept`);
	assert.equal(events.at(-1).result.content[0].text, 'done', 'the answer is never dropped');
});
