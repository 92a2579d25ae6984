// The A2A SDK's clients of 1.0 (both bindings) and 0.3, over two replicas that take turns.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, describe, type TestContext, test } from 'node:test';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { alternating, type Driver, legacyDriver, modernClient, modernDriver, type SeenEvent } from '../helpers/a2a.ts';
import { until } from '../helpers/clock.ts';
import { administer } from '../helpers/postgres.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { httpUpstream, type Upstream } from '../helpers/upstream.ts';

const PET = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
const TOKEN = 'canary-of-a-push-token';
/** The client of 0.3 has sentences of its own, and expects events also of a refused stream. */
const ENDED = /has ended|not supported|cannot be canceled|Content-Type/;
const NO_TASK = /no task|Task not found|Content-Type/;

let replicas: [TestService, TestService];
let owner: Account;
let gateway: { id: string; url: string; key: string };
/** Requests to the upstream that are held, by their path. */
const held = new Map<string, ServerResponse>();
const seen: string[] = [];
let upstream: Upstream;

before(async () => {
	const first = await startTestService();
	replicas = [first, await startTestService({ replicaOf: first })];
	owner = await registerAccount(first.url);
});
after(async () => {
	await replicas[1].stop();
	await replicas[0].stop();
});

async function agent(t: TestContext): Promise<void> {
	upstream = await httpUpstream(t, (request, response) => {
		const { url = '' } = request;
		seen.push(url);
		if (url.startsWith('/slow')) return void held.set(url, response);
		response.setHeader('content-type', 'application/json');
		if (url.startsWith('/fail')) response.writeHead(500);
		response.end(JSON.stringify({ path: url }));
	});
	const tools = [
		await createHttpTool(owner, { name: 'get_pet', url: `${upstream.origin}/pets/{id}`, parameters: PET }),
		await createHttpTool(owner, { name: 'slow', url: `${upstream.origin}/slow/{id}`, parameters: PET }),
		await createHttpTool(owner, { name: 'fail', url: `${upstream.origin}/fail` }),
	];
	gateway = await publishGateway(owner, { type: 'a2a', toolIds: tools });
}

const keyed = (key = gateway.key): typeof fetch =>
	alternating(
		replicas.map(({ url }) => url),
		{ 'x-api-key': key },
	);
const call = (skill: string, args: object = {}) => ({ data: { skill, arguments: { ...args } } });

async function letGo(path: string): Promise<void> {
	await until(() => held.has(path), `the upstream is asked for ${path}`);
	held.get(path)?.setHeader('content-type', 'application/json').end(JSON.stringify({ path }));
	held.delete(path);
}

async function collect(events: AsyncGenerator<SeenEvent>, onTask?: (id: string) => void): Promise<SeenEvent[]> {
	const all: SeenEvent[] = [];
	for await (const event of events) {
		all.push(event);
		if ('task' in event) onTask?.(event.task.id);
	}
	return all;
}

const CLIENTS: Record<string, (key?: string) => Promise<Driver>> = {
	'1.0 over JSON-RPC': (key) => modernDriver(gateway.url, keyed(key), 'JSONRPC'),
	'1.0 over HTTP+JSON': (key) => modernDriver(gateway.url, keyed(key), 'HTTP+JSON'),
	'0.3 over JSON-RPC': (key) => legacyDriver(gateway.url, keyed(key)),
};

describe('the SDK’s clients', async () => {
	let id = 100;
	for (const [name, connect] of Object.entries(CLIENTS)) {
		const slow = (): { path: string; part: ReturnType<typeof call> } => {
			id++;
			return { path: `/slow/${id}`, part: call('slow', { id }) };
		};

		test(`${name}: a message is a task that ends: completed, failed, rejected`, async (t) => {
			await agent(t);
			const client = await connect();
			assert.deepEqual((await client.skills()).sort(), ['fail', 'get_pet', 'slow']);
			const task = await client.send(call('get_pet', { id: 3 }));
			assert.deepEqual([task.state, task.artifacts, task.history], ['completed', [{ path: '/pets/3' }], 1]);
			assert.deepEqual(await client.get(task.id), task);
			assert.equal((await client.get(task.id, 0)).history, 0);
			const text = await client.send({ text: 'get_pet {"id": 4}' }, { historyLength: 0 });
			assert.deepEqual([text.artifacts, text.history], [[{ path: '/pets/4' }], 0]);
			const failed = await client.send(call('fail'));
			assert.deepEqual([failed.state, /500/.test(String(failed.said))], ['failed', true]);
			assert.equal((await client.send(call('no_such_skill'))).state, 'rejected');
		});

		test(`${name}: what is missing is asked for, and a follow-up goes on with the same task`, async (t) => {
			await agent(t);
			const client = await connect();
			const asked = await client.send(call('get_pet', { id: 'three' }));
			assert.equal(asked.state, 'input_required');
			assert.match(JSON.stringify(asked.said), /\/id.*integer/);
			const done = await client.send({ data: { id: 3 } }, { taskId: asked.id, contextId: asked.contextId });
			assert.deepEqual([done.id, done.state, done.artifacts], [asked.id, 'completed', [{ path: '/pets/3' }]]);
			assert.equal(done.history, 3, 'two messages of the client, and one of the agent');
			const unclear = await client.send({ text: 'Hello' });
			assert.equal(unclear.state, 'input_required');
			assert.match(JSON.stringify(unclear.said), /inputSchema/);
			const named = await client.send(call('get_pet', { id: 5 }), { taskId: unclear.id });
			assert.deepEqual(named.artifacts, [{ path: '/pets/5' }]);
			await assert.rejects(client.send({ data: { id: 3 } }, { taskId: done.id }), ENDED);
			await assert.rejects(client.send({ data: { id: 3 } }, { taskId: randomUUID() }), NO_TASK);
		});

		test(`${name}: a stream tells how a task goes, and another replica tells the rest`, async (t) => {
			await agent(t);
			const client = await connect();
			const { path, part } = slow();
			const begun = Promise.withResolvers<string>();
			const streaming = collect(client.stream(part), begun.resolve);
			const taskId = await begun.promise;
			const joined = Promise.withResolvers<string>();
			const subscribed = collect(client.subscribe(taskId), joined.resolve);
			await joined.promise;
			await letGo(path);
			for (const events of await Promise.all([streaming, subscribed])) {
				assert.deepEqual(events.slice(-2), [{ artifact: [{ path }] }, { state: 'completed' }]);
				assert.ok(events[0] && 'task' in events[0] && events[0].task.id === taskId);
			}
			await assert.rejects(collect(client.subscribe(taskId)), ENDED);
		});

		test(`${name}: a task that is not waited for is seen, and cancelled, elsewhere`, async (t) => {
			await agent(t);
			const client = await connect();
			const { path, part } = slow();
			const task = await client.send(part, { returnImmediately: true });
			assert.ok(['submitted', 'working'].includes(task.state));
			await until(() => held.has(path), 'the tool is at work');
			assert.equal((await client.get(task.id)).state, 'working');
			assert.equal((await client.cancel(task.id)).state, 'canceled');
			assert.equal((await client.get(task.id)).state, 'canceled');
			await assert.rejects(client.cancel(task.id), ENDED);
			held.get(path)?.end();
			held.delete(path);
		});

		test(`${name}: who waits for a task gets its end, also when somebody else cancels it`, async (t) => {
			await agent(t);
			const [client, lister] = [await connect(), await modernClient(gateway.url, keyed(), 'JSONRPC')];
			for (const end of ['completed', 'canceled'] as const) {
				const [{ path, part }, contextId] = [slow(), randomUUID()];
				const waiting = client.send(part, { contextId });
				const query = { tenant: '', contextId, status: 2, pageToken: '', statusTimestampAfter: undefined };
				await until(async () => (await lister.listTasks(query)).tasks.length === 1, 'the task is there after a second');
				const [{ id: taskId } = assert.fail()] = (await lister.listTasks(query)).tasks;
				if (end === 'completed') await letGo(path);
				else await client.cancel(taskId);
				const { id: same, state, artifacts } = await waiting;
				assert.deepEqual([same, state, artifacts], [taskId, end, end === 'completed' ? [{ path }] : []]);
				held.get(path)?.end();
			}
		});

		test(`${name}: a push notification comes again while its receiver fails, and its secrets are told to nobody else`, async (t) => {
			await agent(t);
			const got: { headers: IncomingMessage['headers']; body: string }[] = [];
			const receiver = await httpUpstream(t, async (request, response) => {
				got.push({ headers: request.headers, body: Buffer.concat(await request.toArray()).toString() });
				response.writeHead(got.length === 1 ? 503 : 204).end();
			});
			const client = await connect();
			const { path, part } = slow();
			const push = { url: `${receiver.origin}/hook`, token: TOKEN, authentication: { scheme: 'Bearer', credentials: TOKEN } };
			const task = await client.send(part, { returnImmediately: true, push });
			const database = replicas[0].config.database ?? assert.fail();
			const set = await client.setPush(task.id, { ...push, id: 'second', url: `${receiver.origin}/second` });
			assert.ok(!JSON.stringify([set, await client.getPush(task.id, 'second'), await client.listPushes(task.id)]).includes(TOKEN));
			assert.equal((await client.listPushes(task.id)).length, 2);
			await client.deletePush(task.id, 'second');
			const [stored] = await administer(database, `SELECT json_agg(r)::text AS text FROM records r WHERE key LIKE 'push:${task.id}%'`);
			assert.ok(String(stored?.['text']).includes('/hook') && !String(stored?.['text']).includes(TOKEN));
			await letGo(path);
			await until(() => got.length === 1, 'it is sent');
			await administer(
				database,
				`UPDATE run_steps SET until = now() WHERE until IS NOT NULL AND run_id IN (SELECT id FROM runs WHERE kind = 'delivery')`,
				`UPDATE runs SET due_at = now() WHERE kind = 'delivery' AND finished_at IS NULL`,
				`UPDATE engine.job_common SET start_after = now() WHERE data ->> 'runId' IN (SELECT id::text FROM runs WHERE kind = 'delivery')`,
			);
			await until(() => got.length === 2, 'it is sent again');
			for (const { headers, body } of got) {
				assert.deepEqual([headers.authorization, headers['x-a2a-notification-token']], [`Bearer ${TOKEN}`, TOKEN]);
				assert.match(body, name.startsWith('1.0') ? /^\{"task":.*TASK_STATE_COMPLETED/ : /^\{"kind":"task".*"completed"/);
			}
			assert.equal(new Set(got.map(({ headers }) => headers['webhook-id'])).size, 1);
			await assert.rejects(client.setPush(task.id, { id: 'bad', url: 'http://169.254.169.254/latest' }), /169\.254|refused|address/i);
		});

		test(`${name}: tasks are those of their caller: to all others they do not exist`, async (t) => {
			await agent(t);
			const { id: taskId } = await (await connect()).send(call('get_pet', { id: 1 }));
			const key = must(await owner.post(`/gateways/${gateway.id}/auth/api-keys`, { name: 'second' }), 201).body.data.key;
			const other = await connect(key);
			const refused = [
				() => other.get(taskId),
				() => other.cancel(taskId),
				() => collect(other.subscribe(taskId)),
				() => other.send({ data: {} }, { taskId }),
				() => other.listPushes(taskId),
			];
			for (const ask of refused) await assert.rejects(ask, NO_TASK);
			const stranger = await connect('svc_gw_nonsense');
			await assert.rejects(stranger.get(taskId), /401|Unauthorized|key/i);
			const scope = must(await owner.post(`/gateways/${gateway.id}/auth/api-keys`, { name: 'reader', scopes: ['tools:read'] }), 201);
			await assert.rejects((await connect(scope.body.data.key)).send(call('get_pet', { id: 1 })), /403|Forbidden|scope/i);
		});
	}
});

test('tasks are listed by context and state, the last changed first, on all replicas', async (t) => {
	await agent(t);
	for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
		const driver = await modernDriver(gateway.url, keyed(), binding);
		const client = await modernClient(gateway.url, keyed(), binding);
		const contextId = randomUUID();
		const ids: string[] = [];
		for (let id = 1; id <= 3; id++) ids.push((await driver.send(call('get_pet', { id }), { contextId })).id);
		ids.push((await driver.send(call('get_pet'), { contextId })).id);
		const usual = { tenant: '', contextId, status: 0, pageToken: '', statusTimestampAfter: undefined };
		const page = await client.listTasks({ ...usual, pageSize: 3 });
		assert.deepEqual([page.tasks.map(({ id }) => id), page.totalSize, page.pageSize], [ids.slice(1).reverse(), 4, 3]);
		assert.deepEqual(
			page.tasks.flatMap(({ artifacts }) => artifacts),
			[],
		);
		const rest = await client.listTasks({ ...usual, pageSize: 3, pageToken: page.nextPageToken });
		assert.deepEqual([rest.tasks.map(({ id }) => id), rest.nextPageToken], [ids.slice(0, 1), '']);
		const waiting = await client.listTasks({ ...usual, status: 6, includeArtifacts: true });
		assert.deepEqual([waiting.tasks.map(({ id }) => id), waiting.totalSize], [ids.slice(3), 1]);
	}
});

test('a request without a credential is a 401 with its challenge, in both bindings', async (t) => {
	await agent(t);
	for (const [path, method] of [
		['', 'POST'],
		['/message:send', 'POST'],
		['/tasks', 'GET'],
	] as const) {
		const { status, headers } = await send(gateway.url + path, method, method === 'POST' ? { body: {} } : {});
		assert.deepEqual([status, headers.has('www-authenticate')], [401, true], path);
	}
});

test('a card is public, at each of its addresses, for pages too', async (t) => {
	await agent(t);
	const { origin, pathname } = new URL(gateway.url);
	const name = '/.well-known/agent-card.json';
	const addresses = [
		pathname + name,
		`${pathname}${name}/`,
		`${pathname}/.well-known/agent.json`,
		name + pathname,
		`/@${pathname.slice(1)}${name}`,
	];
	const texts = new Set<string>();
	for (const address of addresses) {
		const { status, body, headers } = await send(origin + address, 'GET', { headers: { origin: 'https://page.example' } });
		assert.deepEqual([status, headers.has('access-control-allow-origin')], [200, true], address);
		assert.match(headers.get('vary') ?? '', /A2A-Version/i);
		assert.match(headers.get('cache-control') ?? '', /max-age=60/);
		texts.add(JSON.stringify(body));
	}
	assert.equal(texts.size, 1);
});

test('a card is found without the trailing slash, too, while the organization has one such gateway', async () => {
	const own = await registerAccount(replicas[0].url);
	const { url } = await publishGateway(own, { type: 'a2a' });
	const fetchImpl = alternating(
		replicas.map((replica) => replica.url),
		{},
	);
	// Each replica has an address of its own.
	const agentAt = async (address: string) => {
		const { supportedInterfaces } = await new DefaultAgentCardResolver({ fetchImpl }).resolve(address);
		return new URL(supportedInterfaces[0]?.url ?? '').pathname;
	};
	const { pathname } = new URL(url);
	for (const address of [url, url, `${url}/`]) assert.equal(await agentAt(address), pathname);
	await publishGateway(own, { type: 'mcp' });
	assert.equal(await agentAt(url), pathname);
	await publishGateway(own, { type: 'a2a' });
	await until(
		() =>
			agentAt(url).then(
				() => false,
				() => true,
			),
		'with two, the client is refused',
	);
});

test('a tool whose limit is reached is not run: HTTP says so, and there is no task', async (t) => {
	await agent(t);
	const { body } = must(await owner.get(`/gateways/${gateway.id}/tools`), 200);
	const { gatewayToolId } = body.data.tools.find((one: { name: string }) => one.name === 'get_pet');
	must(await owner.patch(`/gateways/${gateway.id}/tools/${gatewayToolId}`, { rateLimit: 1 }), 200);
	const headers = { 'x-api-key': gateway.key };
	const ask = () => {
		const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [call('get_pet', { id: 1 })], contextId: 'limited' };
		return send(`${gateway.url}/message:send`, 'POST', { body: { message }, headers });
	};
	assert.equal(must(await ask(), 200).body.task.status.state, 'TASK_STATE_COMPLETED');
	const refused = await ask();
	assert.deepEqual([refused.status, refused.body.error, refused.headers.has('retry-after')], [429, 'RATE_LIMITED', true]);
	const { body: listed } = must(await send(`${gateway.url}/tasks?contextId=limited`, 'GET', { headers }), 200);
	assert.equal(listed.totalSize, 1);
});
