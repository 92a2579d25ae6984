// Tests the verbs of the contract in the hands of a protocol's author: a transport like A2A of somebody else, on two replicas whose clients
// alternate between them.

import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, describe, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { until } from '../helpers/clock.ts';
import { type EventClient, openEvents } from '../helpers/event-client.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { administer } from '../helpers/postgres.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

const TOKEN = 'canary-of-a-push-token';

let packages: InstalledPackages;
let env: Record<string, string>;
let replicas: [TestService, TestService];
let owner: Account;
let agent: Agent;
const logs: string[] = [];

interface Agent {
	id: string;
	path: string;
	key: string;
}

before(async () => {
	packages = installPackages('agent-plugin');
	env = { GATEWAY_PLUGINS: packages.names.join(',') };
	// Routes count in the windows that they declare.
	const wide = { max: 1_000_000, seconds: 60 };
	const limits = { global: wide, categories: {}, invoke: wide, gateways: wide };
	const first = await startTestService({ env, limits, onLog: (line) => void logs.push(line) });
	replicas = [first, await startTestService({ env, limits, replicaOf: first, onLog: (line) => void logs.push(line) })];
	owner = await registerAccount(first.url);
	agent = await agentOf(owner);
});
after(async () => {
	await replicas[1].stop();
	await replicas[0].stop();
	packages[Symbol.dispose]();
});

async function createSteps(account: Account, name: string, executionConfig: object): Promise<string> {
	const properties = { job: { type: 'string' }, count: { type: 'integer', minimum: 1, maximum: 50 } };
	const body = { name, type: 'steps', description: `Does ${name}`, parameters: { type: 'object', properties }, executionConfig };
	return must(await account.post(`/organizations/${account.organization.id}/tools`, body), 201).body.data.id;
}

async function agentOf(account: Account, toolIds: string[] = [], auth = 'api_key'): Promise<Agent> {
	const { id, url, key } = await publishGateway(account, { type: 'agent', toolIds, auth, configuration: { title: 'Builder' } });
	return { id, path: new URL(url).pathname, key };
}

let turn = 0;
/** The replicas take turns. */
const next = (): string => (replicas[turn++ % 2] ?? assert.fail()).url;

const envelope = (method: string, params: object) => ({ jsonrpc: '2.0', id: randomUUID(), method, params });
const rpc = (method: string, params: object, { at = agent, url = next() } = {}): Promise<Answer> =>
	send(url + at.path, 'POST', { body: envelope(method, params), headers: { 'x-api-key': at.key } });
async function result(method: string, params: object, options: { at?: Agent; url?: string } = {}) {
	let body: Answer['body'];
	// A busy database is told as such, with the request to try again.
	await until(
		async () => {
			({ body } = must(await rpc(method, params, options), 200));
			return body.error?.data?.[0]?.reason !== 'UNAVAILABLE';
		},
		`the database is no longer too busy for ${method}`,
		250,
	);
	assert.equal(body.error, undefined, JSON.stringify(body.error));
	return body.result;
}
const message = (data: object, more: object = {}) => ({
	message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'data', data }], ...more },
});
/** Opens a stream, again where a busy database is told instead. */
async function open(method: string, params: object, { at = agent, url = next(), after = '' } = {}): Promise<EventClient> {
	const headers = { 'x-api-key': at.key, ...(after && { 'last-event-id': after }) };
	const streams: EventClient[] = [];
	const tryOnce = async (): Promise<boolean> => {
		const opened = await openEvents(url + at.path, envelope(method, params), headers).catch((thrown: Error) => {
			if (!thrown.message.includes('"UNAVAILABLE"')) throw thrown;
			return null;
		});
		if (opened) streams.push(opened);
		return opened !== null;
	};
	await until(tryOnce, `the database is no longer too busy for ${method}`, 250);
	return streams[0] ?? assert.fail();
}
// biome-ignore lint/suspicious/noExplicitAny: tasks are what is looked into
const stateOf = ({ result: told }: any): string | undefined => told.status?.state;
/** An upstream whose steps are held until the test lets them go. */
async function workshop(t: TestContext) {
	const held = new Map<string, ServerResponse>();
	const seen: string[] = [];
	let isOpen = false;
	const { origin } = await httpUpstream(t, (request, response) => {
		const { url = '' } = request;
		seen.push(url);
		if (isOpen) response.end('{}');
		else held.set(url, response);
	});
	return {
		origin,
		seen,
		letGo: async (url: string) => {
			await until(() => held.has(url), `the step ${url} begins`);
			held.get(url)?.end('{}');
			held.delete(url);
		},
		/** Whether the caller of a step has left. */
		isLeft: (url: string) => held.get(url)?.closed === true,
		openAll() {
			isOpen = true;
			for (const response of held.values()) response.end('{}');
		},
	};
}

async function builder(t: TestContext, options: { asks?: boolean; account?: Account } = {}) {
	const { asks = false, account = owner } = options;
	const shop = await workshop(t);
	const at = await agentOf(account, [await createSteps(account, 'build', { url: shop.origin, asks })]);
	return { ...shop, at };
}

test('a public card: the skills by published(), the schemes by admission(), in a window of its own, for pages too', async (t) => {
	const { at } = await builder(t);
	const origin = 'https://page.example';
	const get = (path: string) => send(next() + at.path + path, 'GET', { headers: { origin } });
	const { body, headers } = must(await get('/.well-known/agent-card.json'), 200);
	assert.deepEqual([body.name, new URL(body.url).pathname], ['Builder', at.path]);
	assert.deepEqual(
		body.skills.map((one: { id: string }) => one.id),
		['build'],
	);
	assert.deepEqual(body.securitySchemes, { api_key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } } });
	assert.deepEqual(body.securityRequirements, [{ schemes: { api_key: { list: [] } } }]);
	assert.match(headers.get('access-control-expose-headers') ?? '', /a2a-version/i);
	const preflight = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'a2a-version' };
	const allowed = await send(next() + at.path, 'OPTIONS', { headers: preflight });
	assert.match(allowed.headers.get('access-control-allow-headers') ?? '', /a2a-version/i);
	let last = headers;
	while (last.get('x-ratelimit-remaining') !== '0') last = must(await get('/.well-known/agent-card.json'), 200).headers;
	assert.equal(last.get('x-ratelimit-limit'), '30');
	const refused = await get('/.well-known/agent-card.json');
	assert.deepEqual([refused.status, refused.body.error], [429, 'RATE_LIMITED'], 'in core’s own form');
});

describe('refusals speak the protocol, but for a 429', () => {
	test('core’s and the plugin’s, with the id of the request', async () => {
		const refused = await send(next() + agent.path, 'POST', { body: envelope('tasks/get', {}) });
		assert.deepEqual([refused.status, refused.body.error.code, refused.body.jsonrpc], [401, -32600, '2.0']);
		assert.ok(refused.headers.get('www-authenticate'));
		const unknown = await rpc('tasks/get', { id: randomUUID() });
		assert.deepEqual([unknown.status, unknown.body.error.code, typeof unknown.body.id], [200, -32001, 'string']);
		assert.equal((await rpc('tasks/none', {})).body.error.code, -32601);
		assert.equal((await rpc('message/send', { message: {} })).body.error.code, -32602);
		const broken = await send(next() + agent.path, 'POST', { body: '{{', headers: { 'x-api-key': agent.key } });
		assert.deepEqual([broken.status, broken.body.error.code, broken.body.id], [400, -32600, null]);
	});
});

test('a task runs as a job, and a message that is sent again, compressed and elsewhere, begins nothing', async (t) => {
	const { at, seen, openAll } = await builder(t);
	openAll();
	const params = message({ skill: 'build', arguments: { job: 'a', count: 2 } });
	const task = await result('message/send', params, { at });
	assert.deepEqual([task.status.state, task.artifacts[0].parts], ['completed', [{ kind: 'data', data: { job: 'a', steps: 2 } }]]);
	const body = gzipSync(JSON.stringify(envelope('message/send', params)));
	const headers = { 'x-api-key': at.key, 'content-encoding': 'gzip' };
	const again = must(await send(next() + at.path, 'POST', { body, headers: { 'content-type': 'application/json', ...headers } }), 200);
	assert.equal(again.body.result.id, task.id);
	assert.deepEqual(seen, ['/a/1', '/a/2']);
	const rejected = await result('message/send', message({ skill: 'none' }), { at });
	assert.equal(rejected.status.state, 'rejected');
});

test('a client leaves its stream, and another replica goes on after the last event', async (t) => {
	const { at, seen, letGo, openAll } = await builder(t);
	const url = replicas[0].url;
	const stream = await open('message/stream', message({ skill: 'build', arguments: { job: 'b', count: 3 } }), { at, url });
	await letGo('/b/1');
	const events = await stream.until(({ result: { status } }) => /1 of 3/.test(status?.message));
	const last = events.at(-1) ?? assert.fail();
	stream.leave();
	const id = last.data.result.taskId;
	const resumed = await open('tasks/resubscribe', { id }, { at, url: replicas[1].url, after: last.id ?? '' });
	openAll();
	const rest = await resumed.rest();
	assert.deepEqual(
		rest.map((event) => Number(event.id)),
		rest.map((_, index) => Number(last.id) + 1 + index),
		'none twice, none missing',
	);
	const artifact = rest.at(-2)?.data.result ?? assert.fail();
	assert.deepEqual([stateOf(rest.at(-1)?.data), artifact.kind], ['completed', 'artifact-update']);
	assert.deepEqual(seen, ['/b/1', '/b/2', '/b/3'], 'the task was not begun again');
});

test('the user is asked by a task that waits, and answers on the other replica', async (t) => {
	const { at, openAll, seen } = await builder(t, { asks: true });
	openAll();
	const asked = await result('message/send', message({ skill: 'build', arguments: { job: 'c', count: 1 } }), { at });
	assert.deepEqual([asked.status.state, asked.status.question.key], ['input-required', 'sure']);
	assert.equal(asked.status.question.schema.properties.sure.type, 'boolean');
	assert.equal(seen.length, 0);
	const done = await result('message/send', message({ content: { sure: true } }, { taskId: asked.id }), { at });
	assert.deepEqual([done.id, done.status.state, done.history.length], [asked.id, 'completed', 2]);
	const late = await rpc('message/send', message({ content: { sure: true } }, { taskId: asked.id }), { at });
	assert.equal(late.body.error.code, -32002);
	const no = await result('message/send', message({ skill: 'build', arguments: {} }), { at });
	const declined = await result('message/send', message({ action: 'decline' }, { taskId: no.id }), { at });
	assert.deepEqual(declined.artifacts[0].parts, [{ kind: 'text', text: 'Not done.' }]);
});

test('a task is cancelled from the other replica, and a watching client hears it', async (t) => {
	const { at, seen, isLeft, openAll } = await builder(t);
	const stream = await open('message/stream', message({ skill: 'build', arguments: { job: 'd', count: 9 } }), { at, url: replicas[0].url });
	const [first] = await stream.until(({ result: { status } }) => status.state === 'working');
	await until(() => seen.includes('/d/1'), 'the first step begins');
	const id = first?.data.result.taskId;
	assert.equal((await result('tasks/cancel', { id }, { at, url: replicas[1].url })).status.state, 'canceled');
	assert.equal(stateOf((await stream.rest()).at(-1)?.data), 'canceled');
	// The stream and the run hear of it each by itself.
	await until(() => isLeft('/d/1'), 'the run leaves its step');
	openAll();
	assert.equal((await rpc('tasks/cancel', { id }, { at })).body.error.code, -32002);
	assert.deepEqual(await result('tasks/delete', { id }, { at }), { removed: true, dropped: 1 });
	assert.equal((await rpc('tasks/get', { id }, { at })).body.error.code, -32001);
	assert.deepEqual(seen, ['/d/1']);
});

test('tasks are listed by several tags, the last changed first, with sealed page tokens', async (t) => {
	const { at, openAll } = await builder(t, { asks: true });
	openAll();
	const contextId = randomUUID();
	const ids: string[] = [];
	for (const job of ['x', 'y', 'z'])
		ids.push((await result('message/send', message({ skill: 'build', arguments: { job } }, { contextId }), { at })).id);
	await result('message/send', message({ content: { sure: true } }, { taskId: ids[0] }), { at });
	const [x, y, z] = ids;
	const page = await result('tasks/list', { contextId, pageSize: 2 }, { at });
	assert.deepEqual([page.tasks.map((one: { id: string }) => one.id), page.totalSize], [[x, z], 3]);
	const more = await result('tasks/list', { contextId, pageSize: 2, pageToken: page.nextPageToken }, { at });
	assert.deepEqual([more.tasks.map((one: { id: string }) => one.id), more.nextPageToken], [[y], '']);
	const waiting = await result('tasks/list', { contextId, state: 'input-required' }, { at });
	assert.deepEqual([waiting.tasks.map((one: { id: string }) => one.id), waiting.totalSize], [[z, y], 2]);
	const other = await agentOf(owner);
	const foreign = await rpc('tasks/list', { pageToken: page.nextPageToken }, { at: other });
	assert.equal(foreign.body.error.code, -32602, 'a token of another gateway opens nothing');
});

describe('push notifications', () => {
	interface Got {
		headers: IncomingMessage['headers'];
		body: string;
	}
	async function receiver(t: TestContext, ...statuses: number[]) {
		const got: Got[] = [];
		const { origin } = await httpUpstream(t, async (request, response) => {
			const chunks: Buffer[] = [];
			for await (const chunk of request) chunks.push(chunk as Buffer);
			got.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
			// Without the header the first pause may be as short as one for which no run leaves its process.
			response.writeHead(statuses[got.length - 1] ?? 204, { 'retry-after': '60' }).end();
		});
		return { url: `${origin}/hook`, got };
	}

	test('come again under one id while the receiver fails, signed by a token that is sealed', async (t) => {
		const { at, letGo } = await builder(t);
		const { url, got } = await receiver(t, 503);
		const push = { id: 'mine', url, token: TOKEN };
		const started = { configuration: { blocking: false, pushNotificationConfig: push } };
		const task = await result('message/send', { ...message({ skill: 'build', arguments: { job: 'e', count: 1 } }), ...started }, { at });
		const database = replicas[0].config.database ?? assert.fail();
		const [{ text } = { text: '' }] = await administer(database, `SELECT json_agg(r)::text AS text FROM records r`);
		assert.ok(String(text).includes('push:') && !String(text).includes(TOKEN));
		await letGo('/e/1');
		const config = () => result('tasks/pushNotificationConfig/get', { id: task.id, pushNotificationConfigId: 'mine' }, { at });
		await until(async () => (await config()).delivery?.status === 'waiting', 'it waits for its second attempt');
		const { delivery } = await config();
		await administer(
			database,
			`UPDATE run_steps SET until = now() WHERE run_id = '${delivery.id}' AND until IS NOT NULL`,
			`UPDATE runs SET due_at = now() WHERE id = '${delivery.id}'`,
			`UPDATE engine.job_common SET start_after = now() WHERE data ->> 'runId' = '${delivery.id}'`,
		);
		await until(async () => (await config()).delivery.status === 'succeeded', 'it is taken');
		const { delivery: taken, ...rest } = await config();
		assert.deepEqual([taken.attempts, taken.lastStatus, rest], [2, 204, { id: 'mine', url }]);
		assert.equal(new Set(got.map(({ headers }) => headers['webhook-id'])).size, 1);
		for (const { headers, body } of got) {
			assert.equal(JSON.parse(body).status.state, 'completed');
			assert.equal(headers['x-hub-signature-256'], `sha256=${createHmac('sha256', TOKEN).update(body).digest('hex')}`);
			assert.deepEqual([headers['x-a2a-notification-token'], headers['webhook-event']], [TOKEN, 'task']);
		}
		assert.equal(got.length, 2);
		const gone = { id: task.id, pushNotificationConfigId: 'mine' };
		assert.deepEqual(await result('tasks/pushNotificationConfig/delete', gone, { at }), { removed: true });
		assert.equal((await rpc('tasks/pushNotificationConfig/get', gone, { at })).body.error.code, -32001);
		assert.ok(!logs.some((line) => line.includes(TOKEN)));
	});

	test('go nowhere that the guard refuses, which names the field', async (t) => {
		const { at } = await builder(t);
		const task = await result(
			'message/send',
			{ ...message({ skill: 'build', arguments: {} }), configuration: { blocking: false } },
			{ at },
		);
		const push = { url: 'http://169.254.169.254/latest', token: TOKEN };
		const refused = await rpc('tasks/pushNotificationConfig/set', { taskId: task.id, pushNotificationConfig: push }, { at });
		assert.deepEqual([refused.body.error.code, refused.body.error.data[1].path], [-32602, '/params/pushNotificationConfig/url']);
		await result('tasks/cancel', { id: task.id }, { at });
	});
});

test('a replica stops in the middle of a task, and the other one finishes it', async (t) => {
	const { at, openAll, seen } = await builder(t);
	const third = await startTestService({ env, replicaOf: replicas[0], onLog: (line) => void logs.push(line) });
	let isStopped = false;
	t.after(() => isStopped || third.stop());
	const begun: string[] = [];
	// The tasks are more than one replica has places for, so each runs some of them.
	for (const job of ['f', 'g', 'h']) {
		const params = { ...message({ skill: 'build', arguments: { job, count: 1 } }), configuration: { blocking: false } };
		begun.push((await result('message/send', params, { at, url: third.url })).id);
	}
	await until(() => seen.length === 3, 'all of them are at work');
	const watching = await Promise.all(begun.map((id) => open('tasks/resubscribe', { id }, { at })));
	isStopped = true;
	await third.stop();
	openAll();
	for (const stream of watching)
		assert.equal(
			stateOf((await stream.rest()).at(-1)?.data),
			'completed',
			JSON.stringify(await result('tasks/get', { id: begun[0] }, { at })),
		);
	for (const id of begun) assert.equal((await result('tasks/get', { id }, { at })).status.state, 'completed');
});

test('tasks are those of their caller and gateway: to all others they do not exist', async (t) => {
	const { at, openAll } = await builder(t);
	openAll();
	const { id } = await result('message/send', message({ skill: 'build', arguments: { job: 'i' } }), { at });
	const second = must(await owner.post(`/gateways/${at.id}/auth/api-keys`, { name: 'second' }), 201).body.data.key;
	const stranger = await agentOf(await registerAccount(next()));
	for (const other of [{ ...at, key: second }, agent, stranger])
		for (const [method, params] of [
			['tasks/get', { id }],
			['tasks/cancel', { id }],
			['tasks/resubscribe', { id }],
			['tasks/delete', { id }],
			['message/send', message({ content: {} }, { taskId: id })],
			['tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig: {} }],
		] as const)
			assert.equal((await rpc(method, params, { at: other })).body.error.code, -32001, method);
	assert.equal((await result('tasks/list', {}, { at: { ...at, key: second } })).totalSize, 0);
});

test('a key is revoked: the task that it began does not begin, and fails, and the stream of who watches it ends', async (t) => {
	const { at, openAll, seen } = await builder(t);
	const made = must(await owner.post(`/gateways/${at.id}/auth/api-keys`, { name: 'brief' }), 201).body.data;
	const begin = (key: string, job: string) => {
		const params = { ...message({ skill: 'build', arguments: { job, count: 1 } }), configuration: { blocking: false } };
		return result('message/send', params, { at: { ...at, key } });
	};
	// An account runs three jobs of a kind at a time.
	for (const job of ['j', 'k', 'l']) await begin(at.key, job);
	await until(() => seen.length === 3, 'three are at work');
	const { id } = await begin(made.key, 'm');
	const stream = await open('tasks/resubscribe', { id }, { at: { ...at, key: made.key } });
	await stream.until(() => true);
	must(await owner.del(`/gateways/${at.id}/auth/api-keys/${made.id}`), 200);
	openAll();
	// The stream ends with the rights of its key, which may be before the task fails.
	for (const { data } of await stream.rest()) assert.equal(stateOf(data), 'failed');
	const database = replicas[0].config.database ?? assert.fail();
	const failed = `SELECT id FROM runs WHERE input ->> 'gatewayId' = '${at.id}' AND error ->> 'code' = 'forbidden'`;
	await until(async () => (await administer(database, failed)).length === 1, 'its job has failed');
	assert.equal(seen.length, 3);
});

test('a peer signs target and body, by a secret that a member wrote down and may replace', async (t) => {
	const { origin, openAll } = await workshop(t);
	openAll();
	const at = await agentOf(owner, [await createSteps(owner, 'build', { url: origin })], 'peer');
	const secret = 'a secret of more than sixteen';
	must(await owner.post(`/gateways/${at.id}/peers`, { name: 'bob', secret }), 201);
	const ask = (body: string, by: string, signed = body) => {
		const signature = createHmac('sha256', by).update(`POST ${at.path}\n${signed}`).digest('hex');
		return send(next() + at.path, 'POST', { body, headers: { 'x-peer': 'bob', 'x-peer-signature': signature } });
	};
	const body = JSON.stringify(envelope('message/send', message({ skill: 'build', arguments: { job: 'k', count: 1 } })));
	assert.equal(must(await ask(body, secret), 200).body.result.status.state, 'completed', 'recheck knows the peer');
	assert.equal((await ask(`${body} `, secret, body)).status, 401);
	const changed = await send(`${next()}/gateways/${at.id}/peers/bob`, 'PUT', {
		body: { secret: 'another of more than sixteen' },
		headers: { authorization: `Bearer ${owner.token}` },
	});
	assert.deepEqual([changed.status, JSON.stringify(changed.body).includes('another')], [200, false]);
	assert.equal((await ask(body, secret)).status, 401);
	assert.equal((await ask(body, 'another of more than sixteen')).status, 200);
});
