// Tools that ask the user of their client, over two replicas: each question is asked by one of them and answered at the other.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Client as DualClient, StreamableHTTPClientTransport as DualTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createFixtureTools } from '../conformance/tools.ts';
import { until } from '../helpers/clock.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { must, publishGateway, registerAccount, startTestService, type TestService } from '../helpers/service.ts';

const INFO = { name: 'gatehouse-test', version: '1.0.0' };
const FORMS = { capabilities: { elicitation: {} } };
const SURE = { action: 'accept', content: { sure: true, amount: 3 } } as const;
const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

let packages: InstalledPackages;
let service: TestService;
let replica: TestService;
let upstream: Server;
let gateway: { url: string; elsewhere: string; key: string; otherKey: string };
/** The bodies that reached the upstream: the effects of the tools. */
let effects: string[];

before(async () => {
	upstream = createServer(async (request, response) => {
		effects.push(Buffer.concat(await request.toArray()).toString());
		response.end('ok');
	});
	upstream.listen(0, '127.0.0.1');
	await once(upstream, 'listening');
	packages = installPackages('conformance-plugin');
	const env = { GATEWAY_PLUGINS: packages.names.join(',') };
	service = await startTestService({ env });
	replica = await startTestService({ env, replicaOf: service });
	const account = await registerAccount(service.url);
	const integers = { timeoutMs: { type: 'integer' }, times: { type: 'integer' } };
	const parameters = { type: 'object', properties: { url: { type: 'string' }, ...integers } };
	const tools = [
		{ name: 'pay', behaviour: 'asking', parameters },
		{ name: 'two', behaviour: 'two_questions' },
		{ name: 'poll', behaviour: 'polling', parameters },
	];
	const { id, url, key } = await publishGateway(account, { toolIds: await createFixtureTools(account, tools) });
	const otherKey = must(await account.post(`/gateways/${id}/auth/api-keys`, { name: 'other' }), 201).body.data.key;
	gateway = { url, elsewhere: replica.url + new URL(url).pathname, key, otherKey };
});

after(async () => {
	await replica?.stop();
	await service?.stop();
	packages?.[Symbol.dispose]();
	upstream?.closeAllConnections();
	upstream?.close();
});

beforeEach(() => {
	effects = [];
});

// The server listens on TCP, so the address is not a pipe's name.
const upstreamUrl = (): string => `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/pay`;
const authorized = () => ({ headers: { authorization: `Bearer ${gateway.key}` } });

/** Sends what carries an answer to the other replica. */
async function across(url: string | URL, init: RequestInit = {}): Promise<Response> {
	const sent = typeof init.body === 'string' ? JSON.parse(init.body) : {};
	const isAnswer = sent.method === undefined && 'result' in sent;
	return fetch(isAnswer || sent.params?.requestState ? gateway.elsewhere : url, init);
}

type User = (request: { params: { message: string } }) => Promise<{ action: string; content?: object }>;

interface Connected {
	call(name: string, args?: object): Promise<{ content: unknown; isError?: boolean }>;
	close(): Promise<void>;
}

async function connectSdk(user: User | null): Promise<Connected> {
	const client = new Client(INFO, user ? FORMS : {});
	// The SDK checks what the user's part returns.
	if (user) client.setRequestHandler(ElicitRequestSchema, user as never);
	const transport = new StreamableHTTPClientTransport(new URL(gateway.url), { requestInit: authorized(), fetch: across });
	await client.connect(transport as Transport);
	return { call: (name, args = {}) => client.callTool({ name, arguments: { ...args } }) as never, close: () => client.close() };
}

async function connectDual(mode: 'legacy' | 'auto', user: User | null): Promise<Connected> {
	const client = new DualClient(INFO, { versionNegotiation: { mode }, ...(user ? FORMS : {}) });
	if (user) client.setRequestHandler('elicitation/create', user as never);
	await client.connect(new DualTransport(new URL(gateway.url), { requestInit: authorized(), fetch: across }));
	return { call: (name, args = {}) => client.callTool({ name, arguments: { ...args } }) as never, close: () => client.close() };
}

const CLIENTS: { name: string; connect: (user: User | null) => Promise<Connected>; refusal: RegExp }[] = [
	{ name: '@modelcontextprotocol/sdk 1.32', connect: connectSdk, refusal: /cannot ask its user/ },
	{ name: '@modelcontextprotocol/client 2.4, legacy', connect: (user) => connectDual('legacy', user), refusal: /cannot ask its user/ },
	{
		name: '@modelcontextprotocol/client 2.4, auto',
		connect: (user) => connectDual('auto', user),
		refusal: /cannot ask its user|capabilit/i,
	},
];

for (const { name, connect, refusal } of CLIENTS) {
	describe(name, () => {
		test('asks its user, whose answer reaches the tool by way of the other replica', async () => {
			const asked: string[] = [];
			const client = await connect(async ({ params }) => {
				asked.push(params.message);
				return SURE;
			});
			const { content } = await client.call('pay', { url: upstreamUrl() });
			assert.deepEqual([asked, content], [['Really pay?'], [{ type: 'text', text: JSON.stringify(SURE) }]]);
			assert.deepEqual(effects, [JSON.stringify(SURE.content)]);
			await client.close();
		});

		test('asks twice in one call', async () => {
			const client = await connect(async ({ params }) => ({
				action: 'accept',
				content: params.message.startsWith('Step 1') ? { name: 'Ada' } : { color: 'red' },
			}));
			assert.deepEqual((await client.call('two')).content, [{ type: 'text', text: 'Ada likes red' }]);
			await client.close();
		});

		for (const action of ['decline', 'cancel']) {
			test(`tells the tool that the user chose to ${action}`, async () => {
				const client = await connect(async () => ({ action }));
				const { content } = await client.call('pay', { url: upstreamUrl() });
				assert.deepEqual([content, effects], [[{ type: 'text', text: JSON.stringify({ action }) }], []]);
				await client.close();
			});
		}

		test('is told which field does not fit, and the tool does nothing', async () => {
			const client = await connect(async () => ({ action: 'accept', content: { sure: true, amount: 0 } }));
			const { content, isError } = await client.call('pay', { url: upstreamUrl() });
			assert.deepEqual([isError, effects], [true, []]);
			assert.match(JSON.stringify(content), /\/amount must be at least 1/);
			await client.close();
		});

		test('that cannot ask gets an error, and the tool does nothing', async () => {
			const client = await connect(null);
			await assert.rejects(client.call('pay', { url: upstreamUrl() }), refusal);
			assert.deepEqual(effects, []);
			await client.close();
		});
	});
}

// biome-ignore lint/suspicious/noExplicitAny: tests read into messages whose shape is what they test
type Read = any;

interface Posted {
	headers?: Record<string, string>;
	key?: string;
	at?: string;
	signal?: AbortSignal;
}

const post = (body: object, { headers = {}, key = gateway.key, at = gateway.url, signal }: Posted = {}): Promise<Response> =>
	fetch(at, {
		method: 'POST',
		headers: {
			...{ authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
			...headers,
		},
		body: JSON.stringify({ jsonrpc: '2.0', ...body }),
		...(signal && { signal }),
	});

/** Yields the messages of an event stream. */
async function* eventsOf(response: Response): AsyncGenerator<Read> {
	let text = '';
	for await (const chunk of response.body ?? []) {
		text += Buffer.from(chunk).toString();
		for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
			const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
			text = text.slice(end + 2);
			if (data !== undefined) yield JSON.parse(data);
		}
	}
}

describe('a question on the stream of a call', () => {
	async function open(capabilities: object = { elicitation: {} }, protocolVersion = '2025-11-25'): Promise<Record<string, string>> {
		const answer = await post({ id: 0, method: 'initialize', params: { protocolVersion, capabilities, clientInfo: INFO } });
		return { 'mcp-session-id': answer.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': protocolVersion };
	}

	const call = (headers: Record<string, string>, args: object = {}, by: Posted = {}): Promise<Response> => {
		const params = { name: 'pay', arguments: { url: upstreamUrl(), ...args } };
		return post({ id: 1, method: 'tools/call', params }, { headers, ...by });
	};

	test('takes no answer of another caller, of another session, or after the first', async () => {
		const headers = await open();
		const events = eventsOf(await call(headers));
		const { id, method, params } = (await events.next()).value;
		assert.deepEqual([method, params.message, params.requestedSchema.required], ['elicitation/create', 'Really pay?', ['sure']]);
		const wrong = { id, result: { action: 'accept', content: { sure: true, amount: 666 } } };
		const others: Posted[] = [{ headers, key: gateway.otherKey }, { headers: await open() }, {}];
		for (const by of others) assert.deepEqual((await post(wrong, { ...by, at: gateway.elsewhere })).status, 202);
		for (const result of [SURE, wrong.result]) await post({ id, result }, { headers, at: gateway.elsewhere });
		const { result } = (await events.next()).value;
		assert.deepEqual([result.content[0].text, effects], [JSON.stringify(SURE), [JSON.stringify(SURE.content)]]);
	});

	test('ends when the user is late, and the client is told to show it no more', async () => {
		const events = eventsOf(await call(await open(), { timeoutMs: 200 }));
		const { id } = (await events.next()).value;
		const cancelled = (await events.next()).value;
		assert.deepEqual([cancelled.method, cancelled.params.requestId], ['notifications/cancelled', id]);
		const { result } = (await events.next()).value;
		assert.deepEqual([result.isError, result.content[0].text], [true, 'The user gave no answer within 1 s.']);
	});

	test('ends when the client leaves: an answer after that has no effect', async () => {
		const headers = await open();
		const client = new AbortController();
		const events = eventsOf(await call(headers, {}, { signal: client.signal }));
		const { id } = (await events.next()).value;
		client.abort();
		await assert.rejects(events.next());
		await post({ id, result: { action: 'accept', content: { sure: true, amount: 666 } } }, { headers });
		// Each of these answers is heard after the one before it.
		for (let round = 0; round < 3; round += 1) {
			const next = eventsOf(await call(headers));
			await post({ id: (await next.next()).value.id, result: SURE }, { headers });
			await next.next();
		}
		assert.deepEqual(effects, Array(3).fill(JSON.stringify(SURE.content)));
	});

	test('ends when the service stops, before other calls do, and the client is told why', async () => {
		const stopping = await startTestService({ env: { GATEWAY_PLUGINS: packages.names.join(',') }, replicaOf: service });
		const at = stopping.url + new URL(gateway.url).pathname;
		const events = eventsOf(await call(await open(), {}, { at }));
		const { id } = (await events.next()).value;
		const ended: string[] = [];
		const params = { name: 'poll', arguments: { url: upstreamUrl(), times: 60 } };
		const polling = post({ id: 2, method: 'tools/call', params }, { at }).then(async (answer) => {
			await answer.text();
			ended.push('polling');
		});
		await until(async () => effects.length > 0, 'the other call runs');
		const stopped = stopping.stop();
		const cancelled = (await events.next()).value;
		assert.deepEqual([cancelled.method, cancelled.params.requestId], ['notifications/cancelled', id]);
		assert.equal((await events.next()).value.error.message, 'The service is stopping.');
		assert.equal((await events.next()).done, true);
		ended.push('question');
		await Promise.all([polling, stopped]);
		assert.deepEqual(ended, ['question', 'polling']);
	});

	test('that the client answers with an error, or with too much, is not the answer of a user', async () => {
		const answers = [
			{ error: { code: -32_602, message: 'no forms' } },
			{ result: { action: 'accept', content: { sure: 'x'.repeat(70_000) } } },
		];
		for (const answer of answers) {
			const headers = await open();
			const events = eventsOf(await call(headers));
			const { id } = (await events.next()).value;
			await post({ id, ...answer }, { headers, at: gateway.elsewhere });
			for await (const { method, error } of events) if (method === undefined) assert.match(error.message, /could not ask its user/);
		}
		assert.deepEqual(effects, []);
	});

	test('needs a session of a client that takes forms, and a client that takes event streams', async () => {
		const sessions = [
			await open({}),
			await open({ elicitation: { url: {} } }),
			await open({ elicitation: {} }, '2025-03-26'),
			{ ...(await open()), accept: 'application/json' },
			{},
		];
		for (const headers of sessions) {
			const answer = (await (await call(headers)).json()) as Read;
			assert.match(answer.error.message, /cannot ask its user/);
		}
	});
});

describe('a question between two calls', () => {
	const meta = { [VERSION]: '2026-07-28', [CAPABILITIES]: { elicitation: {} } };
	const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'pay' };

	async function call(params: object = {}, by: Posted = {}): Promise<Read> {
		const whole = { name: 'pay', arguments: { url: upstreamUrl() }, _meta: meta, ...params };
		return (await post({ id: 1, method: 'tools/call', params: whole }, { headers, ...by })).json();
	}

	const answered = { inputResponses: { 'question-1': SURE } };

	test('is a result, and its state is good once, for this caller and this very call', async () => {
		const { result } = await call();
		assert.equal(result.resultType, 'input_required');
		assert.deepEqual(Object.keys(result.inputRequests), ['question-1']);
		assert.equal(result.inputRequests['question-1'].params.message, 'Really pay?');
		const { requestState } = result;
		const changed = `${requestState.slice(0, -5)}${requestState.endsWith('AAAAA') ? 'BBBBB' : 'AAAAA'}`;
		const bad: [params: object, by?: Posted][] = [
			[{ requestState: changed }],
			[{ requestState: `${requestState}x` }],
			[{ requestState: 5 }],
			[{ requestState: '' }],
			[{ requestState }, { key: gateway.otherKey }],
			[{ requestState, arguments: { url: upstreamUrl(), timeoutMs: 5 } }],
		];
		for (const [params, by] of bad) {
			const { error } = await call({ ...answered, ...params }, by);
			assert.equal(error?.code, -32_602, JSON.stringify(params).slice(0, 100));
		}
		assert.deepEqual(effects, []);
		const good = { ...answered, requestState };
		const twice = await Promise.all([call(good, { at: gateway.elsewhere }), call(good)]);
		assert.deepEqual(twice.map(({ error }) => error?.code).sort(), [-32_602, undefined]);
		assert.deepEqual(effects, [JSON.stringify(SURE.content)]);
	});

	test('is asked again without an answer to it, and whatever else is answered is ignored', async () => {
		const responses = [
			null,
			{},
			{ other: SURE },
			{ 'question-1': 5 },
			{ 'question-1': { action: 'maybe' } },
			{ 'question-1': { method: 'x', result: SURE } },
		];
		for (const inputResponses of responses) {
			const { requestState } = (await call()).result;
			const { result } = await call({ inputResponses, requestState });
			assert.equal(result.resultType, 'input_required', JSON.stringify(inputResponses));
			assert.notEqual(result.requestState, requestState);
		}
		// Answers without a state are nobody's.
		assert.equal((await call(answered)).result.resultType, 'input_required');
		assert.deepEqual(effects, []);
	});

	test('expires', async () => {
		const params = { arguments: { url: upstreamUrl(), timeoutMs: 1 } };
		const { requestState } = (await call(params)).result;
		const { error } = await call({ ...params, ...answered, requestState });
		assert.match(error.message, /has expired/);
	});

	test('is given up after too many rounds', async () => {
		let { result } = await call();
		for (let round = 0; round < 20 && result.resultType === 'input_required'; round += 1)
			({ result } = await call({ inputResponses: {}, requestState: result.requestState }));
		assert.deepEqual([result.isError, effects], [true, []]);
	});

	test('is -32021 for a client that has not declared that it takes forms', async () => {
		const { error } = await call({ _meta: { ...meta, [CAPABILITIES]: {} } });
		assert.deepEqual([error.code, error.data], [-32_021, { requiredCapabilities: { elicitation: {} } }]);
		const forUrls = await call({ _meta: { ...meta, [CAPABILITIES]: { elicitation: { url: {} } } } });
		assert.match(forUrls.error.message, /cannot ask its user/);
	});
});
