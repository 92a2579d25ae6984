// Open streams and running calls over two replicas, with Redis and after it is gone: changed lists, cancellation, the end of a caller's rights.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { META } from '../helpers/mcp.ts';
import { methodsOf, type NotificationStream, openGet as openGetAt, openListen as openListenAt } from '../helpers/mcp-streams.ts';
import { type OwnRedis, startRedis } from '../helpers/redis.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	startTestService,
	type TestService,
} from '../helpers/service.ts';

const INFO = { name: 'gatehouse-test', version: '1.0.0' };
const LEGACY = { 'mcp-protocol-version': '2025-11-25' };
const LISTEN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };

let redis: OwnRedis;
let service: TestService;
let replica: TestService;
let account: Account;
let upstream: Server;
let hangId: string;
let gateway: { id: string; url: string; elsewhere: string; key: string };
/** The paths of calls that the upstream holds. */
const held = new Set<string>();

before(async () => {
	upstream = createServer((request, response) => {
		const path = request.url ?? '';
		held.add(path);
		response.on('close', () => held.delete(path));
	});
	upstream.listen(0, '127.0.0.1');
	await once(upstream, 'listening');
	redis = await startRedis();
	service = await startTestService({ redis });
	replica = await startTestService({ redis, replicaOf: service });
	account = await registerAccount(service.url);
	const { port } = upstream.address() as AddressInfo;
	const parameters = { type: 'object', properties: { at: { type: 'string' } } };
	hangId = await createHttpTool(account, { name: 'hang', url: `http://127.0.0.1:${port}/{at}`, parameters });
	const { id, url, key } = await publishGateway(account, { toolIds: [hangId] });
	gateway = { id, url, elsewhere: replica.url + new URL(url).pathname, key };
});

after(async () => {
	await replica?.stop();
	await service?.stop();
	await redis?.stop();
	upstream?.closeAllConnections();
	upstream?.close();
});

interface Sent {
	at?: string;
	key?: string;
	headers?: Record<string, string>;
	signal?: AbortSignal;
}

const headersOf = ({ key = gateway.key, headers = {} }: Sent) => ({
	...{ authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
	...{ 'accept-encoding': 'gzip', ...headers },
});

const post = (body: object, sent: Sent = {}): Promise<Response> =>
	fetch(sent.at ?? gateway.url, {
		method: 'POST',
		headers: headersOf(sent),
		body: JSON.stringify({ jsonrpc: '2.0', ...body }),
		...(sent.signal && { signal: sent.signal }),
	});

const openGet = ({ at = gateway.url, key = gateway.key, headers = {} }: Sent = {}): Promise<NotificationStream> =>
	openGetAt(at, { authorization: `Bearer ${key}`, ...headers });

const openListen = (notifications: unknown, { at = gateway.url, key = gateway.key }: Sent = {}): Promise<NotificationStream> =>
	openListenAt(at, notifications, { authorization: `Bearer ${key}` });

let made = 0;
async function assignTool(): Promise<void> {
	made += 1;
	const toolId = await createHttpTool(account, { name: `more${made}`, url: 'http://127.0.0.1:8099/x' });
	must(await account.post(`/gateways/${gateway.id}/tools`, { toolId }), 201);
}

async function session(at?: string, key?: string): Promise<Record<string, string>> {
	const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO };
	const answer = await post({ id: 0, method: 'initialize', params }, { ...(at && { at }), ...(key && { key }) });
	return { ...LEGACY, 'mcp-session-id': answer.headers.get('mcp-session-id') ?? '' };
}

/** Calls the tool that never ends, and waits until the upstream has it. */
async function hang(path: string, { meta = {}, ...sent }: Sent & { meta?: object } = {}): Promise<{ answer: Promise<Response> }> {
	const params = { name: 'hang', arguments: { at: path }, _meta: meta };
	const answer = post({ id: 7, method: 'tools/call', params }, sent);
	answer.catch(() => undefined);
	await until(() => held.has(`/${path}`), 'the upstream has the call');
	return { answer };
}

/** Sends a legacy request. @returns its result, or its error */
async function asked(method: string, params: object, sent: Sent): Promise<unknown> {
	const { result, error } = (await (await post({ id: 3, method, params }, sent)).json()) as { result?: unknown; error?: unknown };
	return result ?? error;
}

async function assignSkill(name: string): Promise<{ id: string; url: string }> {
	const { id } = must(await account.post('/skills', { name, description: 'Changes.', body: 'Words.' }), 201).body.data;
	must(await account.post(`/gateways/${gateway.id}/skills`, { skillId: id }), 201);
	return { id, url: `skill://${name}/SKILL.md` };
}

const updatedIn = ({ seen }: NotificationStream): string[] =>
	seen.flatMap(({ message }) => (message?.method === 'notifications/resources/updated' ? [message.params.uri] : []));

const cancel = (headers: Record<string, string>, sent: Sent = {}): Promise<Response> =>
	post({ method: 'notifications/cancelled', params: { requestId: 7, reason: 'enough' } }, { ...sent, headers });

test('a legacy client that asks for no event stream, and one of 2026-07-28, is told that there is none by 405', async () => {
	for (const headers of [{ accept: 'text/html,*/*;q=0.8' }, { 'mcp-protocol-version': '2026-07-28' }]) {
		const { status, headers: sent } = await fetch(gateway.url, { headers: headersOf({ headers }) });
		assert.deepEqual([status, sent.get('allow')], [405, 'GET, POST']);
	}
	assert.equal((await fetch(gateway.url, { method: 'DELETE', headers: headersOf({}) })).status, 405);
	assert.equal((await fetch(gateway.url, { headers: { accept: 'text/event-stream' } })).status, 401);
});

for (const away of [false, true]) {
	describe(away ? 'without Redis' : 'with Redis', () => {
		if (away)
			before(async () => {
				await redis.stop();
			});

		test('assigning a tool reaches the open streams of both eras, on both replicas', async () => {
			const wanted = { toolsListChanged: true };
			const streams = [
				await openGet(),
				await openGet({ at: gateway.elsewhere }),
				await openListen(wanted),
				await openListen(wanted, { at: gateway.elsewhere }),
			];
			for (const stream of streams) await until(() => stream.seen.length > 0, 'it begins');
			await assignTool();
			for (const stream of streams)
				await until(() => methodsOf(stream).includes('notifications/tools/list_changed'), 'it hears of the change');
			assert.deepEqual(methodsOf(streams[3] ?? assert.fail()), [
				'notifications/subscriptions/acknowledged',
				'notifications/tools/list_changed',
			]);
			for (const { leave } of streams) leave();
		});

		test('a changed resource is told to the sessions and subscriptions that follow it, on both replicas, and to no other', async () => {
			const name = away ? 'away' : 'near';
			const { id, url } = await assignSkill(name);
			const [mine, other, left] = [await session(), await session(), await session()];
			for (const headers of [mine, left])
				assert.deepEqual(await asked('resources/subscribe', { uri: url }, { headers, at: gateway.elsewhere }), {});
			const followed = { resourceSubscriptions: [url, 'gatehouse://tools/hang', 'gatehouse://results/x/1'] };
			const [here, there, unfollowed, quit, listening] = [
				await openGet({ headers: mine }),
				await openGet({ headers: mine, at: gateway.elsewhere }),
				await openGet({ headers: other }),
				await openGet({ headers: left }),
				await openListen(followed, { at: gateway.elsewhere }),
			];
			for (const stream of [here, there, unfollowed, quit, listening]) await until(() => stream.seen.length > 0, 'it begins');
			assert.deepEqual(listening.seen[0]?.message.params.notifications, {
				resourceSubscriptions: followed.resourceSubscriptions.slice(0, 2),
			});
			assert.deepEqual(await asked('resources/unsubscribe', { uri: url }, { headers: left, at: gateway.elsewhere }), {});
			// A stream that is open hears of what its session begins to follow.
			assert.deepEqual(await asked('resources/subscribe', { uri: 'gatehouse://tools/hang' }, { headers: other }), {});
			must(await account.patch(`/skills/${id}`, { body: 'Other words.' }), 200);
			for (const stream of [here, there, listening]) await until(() => updatedIn(stream).length > 0, 'it hears of the change');
			must(await account.patch(`/tools/${hangId}`, { description: `It hangs, ${name}.` }), 200);
			for (const stream of [unfollowed, listening])
				await until(() => updatedIn(stream).includes('gatehouse://tools/hang'), 'it hears of the tool');
			assert.deepEqual([here, there, unfollowed, quit].map(updatedIn), [[url], [url], ['gatehouse://tools/hang'], []]);
			assert.deepEqual(updatedIn(listening), [url, 'gatehouse://tools/hang']);
			for (const stream of [here, there, unfollowed, quit, listening]) stream.leave();
		});

		test('a cancelled call ends at the upstream, wherever the notification arrives, and has no response', async () => {
			for (const at of [gateway.url, gateway.elsewhere])
				for (const meta of [{}, { progressToken: 1 }]) {
					const headers = await session();
					const { answer } = await hang(`c${away}${at === gateway.url}${Object.keys(meta)}`, { headers, meta });
					assert.equal((await cancel(headers, { at })).status, 202);
					const response = await answer;
					assert.deepEqual([response.status, (await response.text()).replaceAll(/^:.*\n\n/gm, '')], [200, '']);
					await until(() => held.size === 0, 'the upstream call has ended');
				}
		});
	});
}

test('cancelling code on another replica ends it, and the calls of upstreams that it has begun', async () => {
	const headers = await session();
	const code = 'await Promise.all([tools.hang({ at: "first" }), tools.hang({ at: "second" })]);';
	const answer = post({ id: 7, method: 'tools/call', params: { name: 'run_code', arguments: { code } } }, { headers });
	await until(() => held.has('/first') && held.has('/second'), 'the upstream has both calls');
	assert.equal((await cancel(headers, { at: gateway.elsewhere })).status, 202);
	assert.equal((await (await answer).text()).replaceAll(/^:.*\n\n/gm, ''), '');
	await until(() => held.size === 0, 'both calls have ended');
});

test('nobody ends the call of another session, of another caller, or without a session', async () => {
	const otherKey = must(await account.post(`/gateways/${gateway.id}/auth/api-keys`, { name: 'other' }), 201).body.data.key;
	const headers = await session();
	const { answer } = await hang('mine', { headers });
	const strangers: [Record<string, string>, Sent][] = [
		[await session(), {}],
		[headers, { key: otherKey }],
		[LEGACY, {}],
		[{ ...LEGACY, 'mcp-session-id': 'made-up' }, {}],
	];
	for (const [theirs, by] of strangers)
		for (const at of [gateway.url, gateway.elsewhere]) assert.equal((await cancel(theirs, { ...by, at })).status, 202);
	// A call of one of them that is ended after these notifications shows that they were heard.
	const own = await session();
	await hang('own', { headers: own });
	await cancel(own, { at: gateway.elsewhere });
	await until(() => !held.has('/own'), 'the other call has ended');
	assert.ok(held.has('/mine'));
	await cancel(headers);
	await answer;
});

test('a client that comes back is told of what it missed, and of nothing else', async () => {
	const first = await openGet();
	await until(() => first.seen.length > 0, 'it begins');
	const id = first.seen[0]?.id ?? '';
	assert.deepEqual(first.seen, [{ id, message: null }]);
	first.leave();
	const same = await openGet({ at: gateway.elsewhere, headers: { 'last-event-id': id } });
	await until(() => same.seen.length > 0, 'it begins');
	assert.deepEqual(same.seen, [{ id, message: null }]);
	same.leave();
	await assignTool();
	const again = await openGet({ at: gateway.elsewhere, headers: { 'last-event-id': id } });
	await until(() => again.seen.length > 0, 'it hears of the change');
	// Each tool is a resource, too: its documentation.
	assert.deepEqual(methodsOf(again), ['notifications/tools/list_changed', 'notifications/resources/list_changed']);
	again.leave();
});

test('a revoked key ends its own streams on both replicas, in order', async () => {
	const { id, key } = must(await account.post(`/gateways/${gateway.id}/auth/api-keys`, { name: 'leaving' }), 201).body.data;
	const leaving = [
		await openGet({ key }),
		await openGet({ key, at: gateway.elsewhere }),
		await openListen({}, { key, at: gateway.elsewhere }),
	];
	const staying = await openGet();
	must(await account.del(`/gateways/${gateway.id}/auth/api-keys/${id}`), 200);
	await Promise.all(leaving.map(({ ended }) => ended));
	const result = leaving[2]?.seen.at(-1)?.message;
	assert.deepEqual([result?.method], ['notifications/subscriptions/acknowledged']);
	await assignTool();
	await until(() => methodsOf(staying).length > 0, 'the stream of the other key is open');
	staying.leave();
});

test('a filter that is none is refused, and only what is served is acknowledged', async () => {
	for (const notifications of [null, 'all', { toolsListChanged: 'yes' }]) {
		const refused = await post({ id: 1, method: 'subscriptions/listen', params: { notifications, _meta: META } }, { headers: LISTEN });
		assert.deepEqual([refused.status, ((await refused.json()) as { error: { code: number } }).error.code], [400, -32_602]);
	}
	const stream = await openListen({ toolsListChanged: true, promptsListChanged: false, somethingElse: true });
	await until(() => stream.seen.length > 0, 'it is acknowledged');
	assert.deepEqual(stream.seen[0]?.message.params, {
		notifications: { toolsListChanged: true },
		_meta: { 'io.modelcontextprotocol/subscriptionId': 'l1' },
	});
	stream.leave();
	for (const resourceSubscriptions of ['x', [5], Array.from({ length: 101 }, (_, at) => `skill://s/${at}`)]) {
		const params = { notifications: { resourceSubscriptions }, _meta: META };
		assert.equal((await post({ id: 1, method: 'subscriptions/listen', params }, { headers: LISTEN })).status, 400);
	}
});

test('a subscription needs a session, a resource that can change, and a caller who may read tools', async () => {
	const uri = 'gatehouse://tools/hang';
	const codeOf = async (params: object, headers: Record<string, string>) =>
		((await asked('resources/subscribe', params, { headers })) as { code: number }).code;
	const headers = await session();
	assert.equal(await codeOf({ uri }, LEGACY), -32_600);
	assert.equal(await codeOf({ uri: 'gatehouse://tools/none' }, headers), -32_002);
	assert.equal(await codeOf({ uri: 5 }, headers), -32_602);
	const scopes = ['tools:execute'];
	const { key } = must(await account.post(`/gateways/${gateway.id}/auth/api-keys`, { name: 'narrow', scopes }), 201).body.data;
	assert.equal((await post({ id: 1, method: 'resources/subscribe', params: { uri } }, { headers, key })).status, 403);
});

test('closing the stream of 2026-07-28 ends the call at the upstream', async () => {
	const leaving = new AbortController();
	const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'hang' };
	await hang('modern', { headers, meta: { ...META, progressToken: 1 }, signal: leaving.signal });
	leaving.abort();
	await until(() => held.size === 0, 'the upstream call has ended');
});
