// Tests how upstreams affect callers, over the public interfaces: every failure of one is a failed run of its own tool, in time, and
// affects no other; and a caller who leaves ends the request to the upstream (catalog row 98).

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isBeforeTimer } from '../helpers/clock.ts';
import { connectApi, get } from '../helpers/connected.ts';
import { textOf } from '../helpers/egress.ts';
import { json } from '../helpers/grants.ts';
import { modernRequest } from '../helpers/mcp.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';
import { httpUpstream, tcpUpstream } from '../helpers/upstream.ts';

const MCP = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };

let service: SharedService;
let account: Account;

before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

const toolsOf = ({ organization }: Account): string => `/organizations/${organization.id}/tools`;

async function httpTool(url: string, more: object = {}, owner = account): Promise<string> {
	const name = `t_${randomBytes(4).toString('hex')}`;
	const executionConfig = { method: 'GET', url, timeoutMs: 20_000, ...more };
	return must(await owner.post(toolsOf(owner), { name, type: 'http', executionConfig }), 201).body.data.id;
}

async function graphqlTool(endpoint: string, query: string): Promise<string> {
	const name = `t_${randomBytes(4).toString('hex')}`;
	return must(await account.post(toolsOf(account), { name, type: 'graphql', executionConfig: { endpoint, query } }), 201).body.data.id;
}

const run = async (tool: string, owner = account) => must(await owner.post(`${toolsOf(owner)}/${tool}/execute`, {}), 200).body.data;

const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

/** Faults that occur on every connection once a request has arrived. */
const FAULTS: [id: string, fault: (socket: Socket) => void, message: RegExp, isTimed?: boolean][] = [
	['hangs', () => undefined, /did not answer completely within 400 ms/, true],
	['sends a byte a second', (socket) => void trickle(socket), /did not answer completely within 400 ms/, true],
	[
		'resets in the middle of the body',
		(socket) => void socket.write(`${head}content-length: 50\r\n\r\n{"a"`, () => setTimeout(() => socket.resetAndDestroy(), 20)),
		/closed the connection/,
	],
	['closes before a byte', (socket) => void socket.end(), /closed the connection/],
	[
		'breaks off between two chunks',
		(socket) => void socket.end(`${head}transfer-encoding: chunked\r\n\r\n4\r\n{"a"\r\n`),
		/closed the connection|did not answer in valid HTTP/,
	],
	[
		'sends less than it announced',
		(socket) => void socket.end(`${head}content-length: 50\r\n\r\n{}`),
		/closed the connection|length differs/,
	],
	['does not speak HTTP', (socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'), /did not answer in valid HTTP/],
	[
		'sends headers without an end',
		(socket) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(70_000)}`),
		/headers that are too large/,
	],
];

async function trickle(socket: Socket): Promise<void> {
	socket.write(`${head}content-length: 50\r\n\r\n`);
	for (let n = 0; n < 5 && !socket.destroyed; n++) {
		socket.write(' ');
		await sleep(1000);
	}
}

for (const [id, fault, message, isTimed] of FAULTS)
	test(`an upstream that ${id} fails the run in time, with a sentence`, async (t) => {
		const upstream = await tcpUpstream(t, (socket) => socket.once('data', () => fault(socket)));
		// A busy machine may need longer than 400 ms for a fault that is not a silence.
		const tool = await httpTool(upstream.origin, isTimed ? { timeoutMs: 400 } : {});
		const { status, error } = await run(tool);
		assert.deepEqual([status, error.code], ['failed', isTimed ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_FAILED']);
		assert.match(error.message, message);
	});

test('a query of GraphQL is sent again after a 503, a mutation is not; a GET of a tool is, a POST is not', async (t) => {
	let requests = 0;
	const upstream = await httpUpstream(t, async (request, response) => {
		await textOf(request);
		requests += 1;
		if (requests === 1) return response.writeHead(503).end();
		json(response, 200, { data: { a: 1 } });
	});
	const cases: [string, number, string][] = [
		[await graphqlTool(upstream.origin, 'query { a }'), 2, 'success'],
		[await graphqlTool(upstream.origin, 'mutation { a }'), 1, 'failed'],
		[await httpTool(upstream.origin), 2, 'success'],
		[await httpTool(upstream.origin, { method: 'POST' }), 1, 'failed'],
	];
	for (const [tool, expected, status] of cases) {
		requests = 0;
		assert.equal((await run(tool)).status, status);
		assert.equal(requests, expected);
	}
});

test('an upstream that keeps failing is left alone, for the organization that it failed and no other', async (t) => {
	let isBack = false;
	const upstream = await httpUpstream(t, (_request, response) => response.writeHead(isBack ? 200 : 503).end());
	const healthy = await httpUpstream(t, (_request, response) => response.writeHead(204).end());
	const tool = await httpTool(`${upstream.origin}/a`, { method: 'POST' });
	const sibling = await httpTool(`${upstream.origin}/b`);
	for (let n = 0; n < 10; n++) assert.match((await run(tool)).error.message, /HTTP 503/);
	const before = upstream.connections();
	for (const id of [tool, sibling]) {
		const { status, error } = await run(id);
		assert.deepEqual([status, error.code], ['failed', 'UPSTREAM_FAILED']);
		assert.match(error.message, /^127\.0\.0\.1:\d+ has failed 10 times in a row: it is tried again in [1-5] s\.$/);
	}
	assert.equal(upstream.connections(), before);
	assert.equal((await run(await httpTool(healthy.origin))).status, 'success');
	const stranger = await registerAccount(service.url);
	assert.match((await run(await httpTool(upstream.origin, { method: 'POST' }, stranger), stranger)).error.message, /HTTP 503/);
	isBack = true;
	await sleep(5100);
	assert.equal((await run(tool)).status, 'success');
	assert.equal((await run(sibling)).status, 'success');
});

/** Starts an upstream that never answers, and reports when its connections open and close. */
async function hanging(t: TestContext) {
	const came = Promise.withResolvers<void>();
	const closed = Promise.withResolvers<void>();
	const upstream = await tcpUpstream(t, (socket) => {
		socket.once('data', () => came.resolve());
		socket.once('close', () => closed.resolve());
	});
	return { ...upstream, came: came.promise, closed: closed.promise };
}

describe('a caller who leaves takes the request to the upstream along', () => {
	const executors: [string, (origin: string) => Promise<string>][] = [
		['http', (origin) => httpTool(origin, { timeoutMs: 60_000 })],
		['graphql', (origin) => graphqlTool(origin, 'query { a }')],
	];
	for (const [executor, make] of executors) {
		test(`${executor}, run by hand`, async (t) => {
			const upstream = await hanging(t);
			const tool = await make(upstream.origin);
			const headers = { authorization: `Bearer ${account.token}`, 'content-type': 'application/json' };
			await leave(upstream, `${service.url}${toolsOf(account)}/${tool}/execute`, { headers, body: '{}' });
		});

		test(`${executor}, called at a gateway over MCP`, async (t) => {
			const upstream = await hanging(t);
			const tool = await make(upstream.origin);
			const gateway = await publishGateway(account, { toolIds: [tool] });
			const [{ name }] = must(await account.get(`/gateways/${gateway.id}/tools`), 200).body.data.tools;
			// The message is of the era in which disconnecting cancels; in the one before it must not.
			const [message, versions] = modernRequest('tools/call', { name, arguments: {} });
			const headers = { ...MCP, ...versions, 'x-api-key': gateway.key };
			await leave(upstream, gateway.url, { headers, body: JSON.stringify(message) });
		});
	}
});

async function leave(
	upstream: Awaited<ReturnType<typeof hanging>>,
	url: string,
	init: { headers: Record<string, string>; body: string },
): Promise<void> {
	const leaving = new AbortController();
	const call = fetch(url, { method: 'POST', ...init, signal: leaving.signal });
	call.catch(() => undefined);
	await upstream.came;
	leaving.abort();
	// The call would otherwise go on for a minute.
	assert.ok(await isBeforeTimer(30_000, upstream.closed), 'the upstream is still asked');
}

test('a caller who leaves while a request waits for its retry ends the retries', async (t) => {
	let requests = 0;
	const upstream = await httpUpstream(t, (_request, response) => {
		requests += 1;
		response.writeHead(503, { 'retry-after': '1' }).end();
	});
	const api = await connectApi(account, upstream.origin, { paths: { '/a': get('a') } });
	const headers = { authorization: `Bearer ${account.token}`, 'content-type': 'application/json' };
	const url = `${service.url}${toolsOf(account)}/${api.toolIds['a']}/execute`;
	await assert.rejects(fetch(url, { method: 'POST', headers, body: '{}', signal: AbortSignal.timeout(400) }));
	await sleep(1500);
	assert.equal(requests, 1);
});
