// Tests of a session with a gateway that is slow, asks, or tells more than it should; time is short here, and judged by order.

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { until } from '../../testing/waiting.ts';
import { isObject, type JsonObject } from '../wire/messages.ts';
import { LIMITS, type Limits } from './context.ts';
import { nextPause } from './listening.ts';
import { Session } from './session.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read into messages whose shape is what they test
type Read = any;
type Answering = (message: Read, response: ServerResponse, request: IncomingMessage) => void;

const QUICK: Limits = { ...LIMITS, discoveryMs: 60, executionMs: 60, handshakeMs: 60, retryMs: { first: 20, longest: 50 } };

const rpc = (response: ServerResponse, id: unknown, result: object): void =>
	void response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result }));

/** Connects a session to a server; what `answering` leaves unanswered stays so. */
async function connect(
	t: TestContext,
	answering: Answering,
	limits: Limits = LIMITS,
	listening = (response: ServerResponse): void => void response.writeHead(405).end(),
) {
	const asked: Read[] = [];
	const server = createServer(async (request, response) => {
		const text = Buffer.concat(await request.toArray()).toString();
		const message = text === '' ? { method: 'GET' } : JSON.parse(text);
		asked.push(message);
		if (message.method === 'GET') return listening(response);
		if (message.id === undefined || message.method === undefined) return response.writeHead(202).end();
		return answering(message, response, request);
	}).listen(0, '127.0.0.1');
	await until(() => server.address() !== null, 'it listens');
	const sent: Read[] = [];
	const [told, texts]: [string[], string[]] = [[], []];
	const login = { token: 'old', stored: 'old' };
	const session = new Session({
		settings: {
			serviceUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
			...{ gateway: { organization: 'a', gateway: 'b' }, mode: 'full', organization: null },
			...{ token: () => login.token, loginOrganization: () => null },
			reload: () => {
				const isNew = login.token !== login.stored;
				login.token = login.stored;
				return isNew;
			},
		},
		send: async (message) => {
			texts.push(typeof message === 'string' ? message : JSON.stringify(message));
			sent.push(JSON.parse(texts.at(-1) ?? ''));
		},
		tell: (sentence) => void told.push(sentence),
		limits,
	});
	t.after(async () => {
		await session.stop();
		server.closeAllConnections();
		server.close();
	});
	const send = (message: object): void => session.receive(JSON.stringify({ jsonrpc: '2.0', ...message }));
	const answer = async (id: string | number): Promise<Read> => {
		const found = (): JsonObject | undefined => sent.find((message) => isObject(message) && message['id'] === id && !message['method']);
		await until(found, `an answer to ${id}`);
		return found();
	};
	return { asked, sent, texts, told, send, answer, login };
}

const initialize = {
	id: 0,
	method: 'initialize',
	params: { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: {} },
};
const call = (id: string | number, name: string) => ({ id, method: 'tools/call', params: { name, arguments: {} } });

test('a call without an answer in time is a tool error, and is cancelled at the gateway', async (t) => {
	const { send, answer, asked } = await connect(
		t,
		({ id, method }, response) => {
			if (method !== 'tools/call') rpc(response, id, {});
		},
		QUICK,
	);
	send(call(1, 'slow'));
	const { result } = await answer(1);
	assert.equal(result.isError, true);
	assert.match(result.content[0].text, /did not answer within 0 s\. The call is not repeated/);
	await until(() => asked.some(({ method, params }) => method === 'notifications/cancelled' && params.requestId === 1), 'it is cancelled');
	assert.equal(asked.filter(({ method }) => method === 'tools/call').length, 1);
});

test('the time in which the user is asked does not count, and the answer goes back', async (t) => {
	const pending = new Map<string, ServerResponse>();
	// The question must come within the time of a call, on a busy machine too.
	const limits = { ...QUICK, executionMs: 1_500 };
	const answering: Answering = ({ id, method }, response) => {
		if (method !== 'tools/call') return rpc(response, id, { protocolVersion: '2025-11-25' });
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		response.write('data: {"jsonrpc":"2.0","id":"ask-1","method":"elicitation/create","params":{"message":"Sure?"}}\n\n');
		pending.set('call', response);
	};
	const { send, answer, sent, asked } = await connect(t, answering, limits);
	send(initialize);
	await answer(0);
	send(call(1, 'pay'));
	await until(() => sent.some(({ method }) => method === 'elicitation/create'), 'the question');
	// More than the time of a call passes here.
	await new Promise((resolve) => setTimeout(resolve, 1.2 * limits.executionMs));
	assert.ok(!sent.some(({ id, method }) => id === 1 && !method));
	send({ id: 'ask-none', result: {} });
	send({ id: 'ask-1', result: { action: 'accept' } });
	await until(() => asked.some(({ id, result }) => id === 'ask-1' && result), 'the answer');
	pending.get('call')?.end('data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n\n');
	assert.deepEqual((await answer(1)).result, { content: [] });
	assert.ok(!asked.some(({ id }) => id === 'ask-none'), 'an answer to no question is dropped');
});

test('a question of a call that breaks is withdrawn, and one that was answered is not', async (t) => {
	let broken: ServerResponse | undefined;
	const { sent, send, answer } = await connect(t, (message, response) => {
		if (message.method === 'initialize') return rpc(response, message.id, { protocolVersion: '2025-11-25' });
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		for (const id of ['first', 'second'])
			response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, method: 'elicitation/create', params: {} })}\n\n`);
		broken = response;
	});
	send(initialize);
	await answer(0);
	send(call(1, 'asks'));
	await until(() => sent.filter(({ method }) => method === 'elicitation/create').length === 2, 'both questions');
	send({ id: 'first', result: { action: 'decline' } });
	broken?.destroy();
	assert.equal((await answer(1)).result.isError, true);
	const withdrawn = () => sent.filter(({ method }) => method === 'notifications/cancelled').map(({ params }) => params.requestId);
	await until(() => withdrawn().length > 0, 'the question is withdrawn');
	assert.deepEqual(withdrawn(), ['second']);
});

test('a client that writes null for what it leaves out lists, calls and hears of changes', async (t) => {
	const results: Read = { initialize: { protocolVersion: '2025-11-25' }, 'tools/call': { content: [] }, 'prompts/list': { prompts: [] } };
	const { send, answer, asked, sent } = await connect(t, ({ id, method }, response) => rpc(response, id, results[method] ?? { tools: [] }));
	send(initialize);
	await answer(0);
	send({ method: 'notifications/initialized', params: null });
	await until(() => asked.some(({ method }) => method === 'GET'), 'it listens');
	send({ id: 1, method: 'tools/list', params: null });
	assert.deepEqual((await answer(1)).result, { tools: [] });
	send({ id: 2, method: 'prompts/list', params: { cursor: null } });
	assert.equal((await answer(2)).result.prompts[0].name, 'svc-overview');
	send({ id: 3, method: 'tools/call', params: { name: 'any', arguments: null } });
	assert.deepEqual((await answer(3)).result, { content: [] });
	assert.ok(!sent.some(({ error }) => error));
});

test('a credential that is refused is read again, and each request is sent with the newer one', async (t) => {
	const refused: ServerResponse[] = [];
	const { send, answer, asked, told, login } = await connect(t, ({ id }, response, { headers }) => {
		if (headers.authorization === 'Bearer new') return rpc(response, id, { content: [] });
		refused.push(response);
		if (refused.length < 2) return;
		login.stored = 'new';
		for (const one of refused) one.writeHead(401, { 'content-type': 'application/json' }).end('{"message":"Revoked."}');
	});
	for (const id of [1, 2]) send(call(id, 'x'));
	for (const id of [1, 2]) assert.deepEqual((await answer(id)).result, { content: [] });
	assert.deepEqual([asked.length, told], [4, []]);
});

test('numbers of any size pass, and what has more lines is sent on one', async (t) => {
	const big = '12345678901234567890';
	const { send, answer, texts } = await connect(t, ({ id, method }, response) => {
		if (method !== 'tools/call') return rpc(response, id, {});
		const text = `{\n"jsonrpc":"2.0",\r\n"id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":{"n":${big}}}\n}`;
		return void response.setHeader('content-type', 'application/json').end(text);
	});
	send(call('one', 'x'));
	await answer('one');
	const text = texts.find((one) => one.includes('"one"'));
	assert.match(text ?? '', new RegExp(`"n":${big}[^\\n]*$`));
});

test('two requests with one id at a time are refused; `1` and `"1"` are two ids', async (t) => {
	const waiting: (() => void)[] = [];
	const { send, sent } = await connect(t, ({ id }, response) => void waiting.push(() => rpc(response, id, { content: [] })));
	for (const id of [1, '1', 1]) send(call(id, 'x'));
	await until(() => sent.length === 1, 'the refusal');
	assert.match(sent[0].error.message, /id is under way/);
	await until(() => waiting.length === 2, 'both are under way');
	for (const go of waiting) go();
	await until(() => sent.length === 3, 'both answers');
});

test('a cancelled request gets no answer', async (t) => {
	const waiting: ServerResponse[] = [];
	const { send, sent, asked } = await connect(t, (_message, response) => void waiting.push(response));
	send(call(1, 'x'));
	await until(() => waiting.length === 1, 'it is under way');
	send({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'Enough.' } });
	await until(() => asked.some(({ method, params }) => method === 'notifications/cancelled' && params.reason === 'Enough.'), 'it is told');
	rpc(waiting[0] ?? assert.fail(), 1, { content: [] });
	send({ id: 2, method: 'ping' });
	await until(() => sent.length > 0, 'the next answer');
	assert.deepEqual(
		sent.map(({ id }) => id),
		[2],
	);
});

test('streams that end as soon as they open are opened anew after longer and longer pauses', async (t) => {
	const { send, answer, asked } = await connect(
		t,
		({ id }, response) => rpc(response, id, { protocolVersion: '2025-11-25' }),
		{ ...LIMITS, retryMs: { first: 4, longest: 60_000 } },
		(response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': hello\n\n'),
	);
	send(initialize);
	await answer(0);
	send({ method: 'notifications/initialized' });
	// Eleven pauses take 4 s at least, and pauses of 4 ms are more than a hundred in this time.
	await new Promise((resolve) => setTimeout(resolve, 1000));
	const opened = asked.filter(({ method }) => method === 'GET').length;
	assert.ok(opened > 1 && opened <= 12, `${opened} streams`);
});

test('pauses between streams grow to the longest, and begin anew after a stream that lasted', () => {
	const limits = { first: 10, longest: 50 };
	const pauses = [0];
	for (const lasted of [0, 0, 0, 0, 49, 50, 0]) pauses.push(nextPause(pauses.at(-1) ?? 0, lasted, limits));
	assert.deepEqual(pauses, [0, 10, 20, 40, 50, 50, 10, 20]);
});

const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
const listening = (notifications: object) => ({ id: 'L', method: 'subscriptions/listen', params: { _meta: META, notifications } });

test('a subscription outlives the streams of the gateway, and what may have changed meanwhile is told', async (t) => {
	const streams: ServerResponse[] = [];
	const notice = (method: string, params: object = {}): string =>
		`data: ${JSON.stringify({ jsonrpc: '2.0', method, params: { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': 'L' } } })}\n\n`;
	const honoured = { toolsListChanged: true, resourceSubscriptions: ['skill://a/SKILL.md'] };
	const answering: Answering = ({ method }, response) => {
		if (method !== 'subscriptions/listen') return;
		streams.push(response);
		if (streams.length === 2) return void response.writeHead(503, { 'content-type': 'application/json' }).end('{"message":"Away."}');
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		response.write(notice('notifications/subscriptions/acknowledged', { notifications: honoured }));
	};
	const { send, sent, asked } = await connect(t, answering, { ...LIMITS, retryMs: { first: 4, longest: 50 } });
	send(listening(honoured));
	await until(() => sent.length === 1, 'the acknowledgement');
	streams[0]?.end();
	await until(() => sent.length === 3, 'what may have changed');
	streams[2]?.write(notice('notifications/tools/list_changed'));
	await until(() => sent.length === 4, 'a change');
	assert.deepEqual(
		sent.map(({ id, method, params }) => [id, method, params.uri, params._meta['io.modelcontextprotocol/subscriptionId']]),
		[
			[undefined, 'notifications/subscriptions/acknowledged', undefined, 'L'],
			[undefined, 'notifications/tools/list_changed', undefined, 'L'],
			[undefined, 'notifications/resources/updated', 'skill://a/SKILL.md', 'L'],
			[undefined, 'notifications/tools/list_changed', undefined, 'L'],
		],
	);
	send({ method: 'notifications/cancelled', params: { requestId: 'L' } });
	await until(() => streams[2]?.closed === true, 'the stream is closed');
	send({ id: 2, method: 'ping' });
	await until(() => sent.length === 5, 'the next answer');
	assert.deepEqual([sent[4].id, asked.filter(({ method }) => method === 'subscriptions/listen').length], [2, 3]);
});

test('a subscription that the gateway refuses is refused', async (t) => {
	const answering: Answering = ({ id, method }, response) => {
		if (method !== 'subscriptions/listen') return;
		const error = { code: -32602, message: 'params.notifications has toolsListChanged, which must be a boolean.' };
		response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error }));
	};
	const { send, answer } = await connect(t, answering);
	send(listening({ toolsListChanged: 1 }));
	assert.equal((await answer('L')).error.code, -32602);
});

test('the overview of a client that need not listen is of now', async (t) => {
	let count = 0;
	const { send, answer } = await connect(t, ({ id, method, params }, response) => {
		if (method === 'prompts/list') return rpc(response, id, { prompts: [] });
		const isFull = params._meta['gatehouse/exposure'] === 'full';
		rpc(response, id, { tools: isFull ? Array.from({ length: ++count }, (_, at) => ({ name: `tool-${at}` })) : [] });
	});
	for (const id of [1, 2]) {
		send({ id, method: 'prompts/get', params: { _meta: META, name: 'svc-overview' } });
		assert.match((await answer(id)).result.messages[0].content.text, new RegExp(`^# Tools \\(${count}\\)`));
	}
	assert.equal(count, 2);
});
