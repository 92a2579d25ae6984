// MCP at a fixed address over two replicas: tools ask the client's user, report progress, and run in jobs; refusals speak JSON-RPC.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { Client as DualClient, StreamableHTTPClientTransport as DualTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createFixtureTools } from '../conformance/tools.ts';
import { until } from '../helpers/clock.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { type Account, must, publishGateway, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';

const INFO = { name: 'gatehouse-test', version: '1.0.0' };
const FORMS = { capabilities: { elicitation: {} } };
const SURE = { action: 'accept', content: { sure: true, amount: 3 } };

let packages: InstalledPackages;
let service: TestService;
let replica: TestService;
let upstream: Server;
let account: Account;
let key: { id: string; key: string };
/** The bodies that reached the upstream: the effects of the tools. */
let effects: string[];

before(async () => {
	upstream = createServer(async (request, response) => {
		effects.push(Buffer.concat(await request.toArray()).toString());
		response.end('ok');
	});
	upstream.listen(0, '127.0.0.1');
	await once(upstream, 'listening');
	packages = installPackages('conformance-plugin', 'jobs-plugin', 'universal-plugin');
	const env = { GATEWAY_PLUGINS: packages.names.join(',') };
	service = await startTestService({ env });
	replica = await startTestService({ env, replicaOf: service });
	account = await registerAccount(service.url);
	const parameters = { type: 'object', properties: { url: { type: 'string' }, times: { type: 'integer' } } };
	for (const [name, behaviour] of [
		['pay', 'asking'],
		['poll', 'polling'],
	] as const)
		await publishGateway(account, { toolIds: await createFixtureTools(account, [{ name, behaviour, parameters }]) });
	key = must(await account.post('/access-keys', { name: 'all' }), 201).body.data;
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
const upstreamUrl = (): string => `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;
const authorized = (secret = key.key) => ({ authorization: `Bearer ${secret}` });

/** Sends what carries an answer to the other replica. */
async function across(url: string | URL, init: RequestInit = {}): Promise<Response> {
	const sent = typeof init.body === 'string' ? JSON.parse(init.body) : {};
	const isAnswer = (sent.method === undefined && 'result' in sent) || sent.params?.requestState !== undefined;
	return fetch(isAnswer ? `${replica.url}/a2a/all` : url, init);
}

const transportParts = () => [new URL(`${service.url}/a2a/all`), { requestInit: { headers: authorized() }, fetch: across }] as const;

test('a client of the SDK is asked, and its answer reaches the tool by way of the other replica', async (t) => {
	const client = new Client(INFO, FORMS);
	client.setRequestHandler(ElicitRequestSchema, async () => SURE as never);
	// The SDK's own transport does not match its interface under exactOptionalPropertyTypes.
	await client.connect(new StreamableHTTPClientTransport(...transportParts()) as never);
	t.after(() => client.close());
	const { content } = await client.callTool({ name: 'pay', arguments: { url: upstreamUrl() } });
	assert.deepEqual([content, effects], [[{ type: 'text', text: JSON.stringify(SURE) }], [JSON.stringify(SURE.content)]]);
});

for (const mode of ['legacy', 'auto'] as const)
	test(`a client of both eras (${mode}) is asked, and its answer reaches the tool by way of the other replica`, async (t) => {
		const client = new DualClient(INFO, { versionNegotiation: { mode }, ...FORMS });
		client.setRequestHandler('elicitation/create', async () => SURE as never);
		await client.connect(new DualTransport(...transportParts()));
		t.after(() => client.close());
		assert.equal(client.getNegotiatedProtocolVersion(), mode === 'auto' ? '2026-07-28' : '2025-11-25');
		const { content } = await client.callTool({ name: 'pay', arguments: { url: upstreamUrl() } });
		assert.deepEqual([content, effects], [[{ type: 'text', text: JSON.stringify(SURE) }], [JSON.stringify(SURE.content)]]);
	});

test('progress is an event stream, whose events come while the tool runs', async () => {
	const params = { name: 'poll', arguments: { url: upstreamUrl(), times: 40 }, _meta: { progressToken: 'token' } };
	const response = await fetch(`${service.url}/a2a/all`, {
		method: 'POST',
		headers: {
			...authorized(),
			...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'accept-encoding': 'gzip' },
		},
		body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
	});
	assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
	let text = '';
	for await (const chunk of response.body ?? []) {
		if (text === '') assert.ok(effects.length < 40, 'the tool was still running');
		text += Buffer.from(chunk).toString();
	}
	const messages = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data));
	assert.deepEqual(
		messages.flatMap((message) => message.params?.progress ?? []),
		Array.from({ length: 40 }, (_, at) => at + 1),
	);
	assert.deepEqual(messages.at(-1).result.content, [{ type: 'text', text: 'Done.' }]);
});

const post = (body: unknown, headers: Record<string, string>) => send(`${service.url}/a2a/all`, 'POST', { body, headers });

test('refusals of messages are JSON-RPC errors with their status', async () => {
	const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
	const json = { ...authorized(), 'content-type': 'application/json' };
	const refused: [status: number, code: number, answer: ReturnType<typeof post>][] = [
		[415, -32_600, post(ping, { ...authorized(), 'content-type': 'text/plain' })],
		[413, -32_600, post('x'.repeat(6 * 1024 * 1024), json)],
		[403, -32_600, post(ping, { ...json, origin: 'https://evil.example' })],
		[400, -32_600, send(`${service.url}/a2a/all?a=%zz`, 'POST', { body: ping, headers: json })],
	];
	for (const [status, code, answer] of refused) {
		const { status: given, body } = await answer;
		assert.deepEqual([given, body.jsonrpc, body.id, body.error?.code], [status, '2.0', null, code], JSON.stringify(body));
	}
});

test('refusals of credentials are HTTP’s, with their challenge', async () => {
	const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
	for (const headers of [{}, authorized('ak_live_none')]) {
		const { status, headers: sent, body } = await post(ping, headers);
		assert.deepEqual([status, sent.get('www-authenticate'), body.error], [401, 'Bearer', 'UNAUTHORIZED']);
	}
	const other = await send(`${service.url}/a2a/all/nothing`, 'POST', { body: ping, headers: authorized() });
	assert.deepEqual([other.status, other.body.error], [404, 'NOT_FOUND'], 'a path that is not the protocol’s');
});

test('a job runs on whichever replica with the tools of all gateways, its transport’s config and its caller’s rights', async () => {
	const desk = (at: TestService, path: string, headers = authorized()) => send(`${at.url}/a2a/desk${path}`, 'GET', { headers });
	const add = async (data: object, headers = authorized(), options = {}): Promise<string> =>
		must(await send(`${service.url}/a2a/desk/jobs/echo`, 'POST', { body: { data, options }, headers }), 202).body.id;
	const ended = async (id: string, headers = authorized()) => {
		const read = async () => must(await desk(replica, `/jobs/${id}`, headers), 200).body;
		await until(async () => ['failed', 'succeeded'].includes((await read()).status), 'the job ends');
		return read();
	};
	const { output } = await ended(await add({ tools: true, tool: 'poll', args: { url: upstreamUrl(), times: 2 } }));
	assert.deepEqual([output.tools, output.config, output.subject !== null], [['pay', 'poll'], { label: 'everywhere' }, true]);
	assert.deepEqual([output.called.content, effects.length], [[{ type: 'text', text: 'Done.' }], 2]);
	const stranger = await registerAccount(service.url);
	const id = await add({ tools: true }, authorized(), { runAt: new Date(Date.now() + 3_000).toISOString() });
	assert.equal((await desk(service, `/jobs/${id}`, authorized(stranger.token))).status, 404);
	const short = must(await account.post('/access-keys', { name: randomUUID() }), 201).body.data;
	const late = await add({ tools: true }, authorized(short.key), { runAt: new Date(Date.now() + 3_000).toISOString() });
	must(await account.del(`/access-keys/${short.id}`), 200);
	assert.deepEqual((await ended(late)).error.code, 'forbidden');
	assert.equal((await ended(id)).status, 'succeeded');
});
