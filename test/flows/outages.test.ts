// Tests the whole service when a dependency fails (rows 95 and 96). The store without its database is tested in db/outages.test.ts, limits
// without Redis in limit-outages.test.ts.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { OUTAGES, type Outage } from '../catalog/concurrency.ts';
import { elapsing, until } from '../helpers/clock.ts';
import { startRedis, type TestRedis } from '../helpers/redis.ts';
import {
	type Account,
	type Answer,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { startTcpProxy, type TcpProxy } from '../helpers/tcp-proxy.ts';

/** The longest time for which cached data may be used without the database. */
const STALE_MS = 1_000;

let redis: TestRedis;
/** A service whose dependencies stay available. */
let whole: TestService;
/** A replica of it that reaches both dependencies through proxies. */
let far: TestService;
let cables: { postgres: TcpProxy; redis: TcpProxy };
let account: Account;
let gateway: { id: string; url: string; key: string };
let toolId: string;

before(async () => {
	redis = await startRedis();
	whole = await startTestService({ redis, databaseWaits: {} });
	const { database } = whole.config;
	assert.ok(database);
	cables = { postgres: await startTcpProxy(database), redis: await startTcpProxy(redis) };
	const { port } = cables.redis;
	far = await startTestService({
		replicaOf: whole,
		databaseWaits: { ordinaryMs: 600 },
		env: { DATABASE_HOST: '127.0.0.1', DATABASE_PORT: String(cables.postgres.port) },
		redis: { host: '127.0.0.1', port, stop: () => Promise.resolve() },
	});
	account = await registerAccount(whole.url);
	toolId = await createHttpTool(account, { name: 'probe', url: 'https://example.com/' });
	gateway = await publishGateway(account, { toolIds: [toolId] });
});
after(async () => {
	await far.stop();
	await cables.postgres.cut();
	await cables.redis.cut();
	await whole.stop();
});

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const bearer = (): Record<string, string> => ({ authorization: `Bearer ${account.token}` });
const list = (key: string, service = far): Promise<Answer> =>
	send(service.url + new URL(gateway.url).pathname, 'POST', {
		body: LIST,
		headers: { 'x-api-key': key, accept: 'application/json, text/event-stream' },
	});
const mint = async (): Promise<{ id: string; key: string }> =>
	must(await account.post(`/gateways/${gateway.id}/auth/api-keys`, { name: 'k' }), 201).body.data;

/** Requests that read, change, run or log in; at the management API, at gateways, and at public routes. */
function attempts(endpoint: string): Record<string, () => Promise<Answer>> {
	const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = bearer()) =>
		send(far.url + path, method, { body, headers });
	const made = { name: 'lost', type: 'mcp', endpoint };
	const { email, password, organization } = account;
	return {
		'a list': () => call('GET', '/gateways'),
		'the profile': () => call('GET', '/auth/profile'),
		'a creation': () => call('POST', '/gateways', made),
		'a creation under a key': () => call('POST', '/gateways', made, { ...bearer(), 'idempotency-key': endpoint }),
		'a change': () => call('PATCH', `/gateways/${gateway.id}`, { name: 'lost' }),
		'a removal': () => call('DELETE', `/gateways/${gateway.id}`),
		'a run': () => call('POST', `/organizations/${organization.id}/tools/${toolId}/execute`, { parameters: {} }),
		'a registration': () =>
			call('POST', '/auth/register', { email: 'new@example.com', password, firstName: 'A', lastName: 'B', organizationName: 'C' }, {}),
		'a login': () => call('POST', '/auth/login', { email, password }, {}),
		'a name that may be free': () => call('GET', '/auth/check-organization-name?name=x', undefined, {}),
		'a good key at a gateway': () => list(gateway.key),
		'an unknown key at a gateway': () => list('svc_gw_unknown'),
		'a token at a gateway': () => call('POST', new URL(gateway.url).pathname, LIST),
		'an unknown gateway': () => call('POST', '/nobody/nothing', LIST),
	};
}

function assertUnavailable({ status, body, headers }: Answer, what: string): void {
	assert.deepEqual([status, body.error, body.statusCode, body.success], [503, 'UNAVAILABLE', 503, false], what);
	assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/, what);
	assert.doesNotMatch(body.message, /ECONN|sequelize|select|timeout|redis/i, what);
}

async function recovered(): Promise<void> {
	const isBack = async (): Promise<boolean> => {
		const answers = await Promise.all([
			send(`${far.url}/gateways`, 'GET', { headers: bearer() }),
			list(gateway.key),
			send(`${far.url}/health/ready`, 'GET'),
		]);
		return answers.every(({ status }) => status === 200);
	};
	await until(isBack, 'it is back', 50);
}

/** Fails when a request that is sent after the cache has expired is accepted, however long its answer takes. */
async function assertForgotten({ id, key }: { id: string; key: string }): Promise<void> {
	const isOver = elapsing(STALE_MS + 500);
	const revocation = account.del(`/gateways/${gateway.id}/auth/api-keys/${id}`);
	for (let late = 0; late < 4; ) {
		if (isOver()) late++;
		const { status } = await list(key);
		assert.ok(status === 401 || status === 503 || (status === 200 && late === 0), `${status}, ${late}`);
		await sleep(20);
	}
	must(await revocation, 200);
}

async function assertHealthTells(redisIs: 'ok' | 'unreachable'): Promise<void> {
	const answers = await Promise.all(['ready', '', 'live'].map((path) => send(`${far.url}/health/${path}`, 'GET')));
	assert.deepEqual(
		answers.map(({ status }) => status),
		[503, 503, 200],
	);
	const { checks } = answers[0]?.body.data ?? {};
	assert.deepEqual([checks.database.status, checks.redis.status], ['unreachable', redisIs]);
}

async function assertRefused(endpoint: string): Promise<void> {
	const asked = Object.entries(attempts(endpoint)).map(async ([what, ask]) => assertUnavailable(await ask(), what));
	await Promise.all(asked);
}

async function lose({ postgres, redis: itsRedis }: Outage): Promise<void> {
	for (const cable of itsRedis === 'gone' ? [cables.postgres, cables.redis] : [cables.postgres]) {
		if (postgres === 'cut') await cable.cut();
		else cable.stall();
	}
}

for (const outage of OUTAGES) {
	test(`${outage.row}: with ${outage.id}, all is 503 and nobody is let in by memory; it is back by itself`, async () => {
		await recovered();
		const before = must(await account.get('/gateways'), 200).body.data;
		const key = await mint();
		// The replica learns of the key within this time, and then has all of it in memory.
		await sleep(STALE_MS);
		assert.equal((await list(key.key)).status, 200);
		// The requests open connections that the outage can break.
		await Promise.all(Array.from({ length: 20 }, () => send(`${far.url}/gateways`, 'GET', { headers: bearer() })));
		await lose(outage);
		try {
			await assertForgotten(key);
			await assertHealthTells(outage.redis === 'gone' ? 'unreachable' : 'ok');
			await assertRefused(`/lost-${outage.row}-${outage.postgres}`);
		} finally {
			await cables.postgres.mend();
			await cables.redis.mend();
		}
		await recovered();
		assert.equal((await list(key.key)).status, 401);
		assert.deepEqual(must(await account.get('/gateways'), 200).body.data, before, 'what was refused was not done');
	});
}

for (const tables of ['sessions, gateways', 'gateways'])
	test(`95: with every connection waiting for a lock of ${tables}, what cannot be done is a 503, and all is well when the lock is gone`, async () => {
		const { database } = whole.config;
		assert.ok(database);
		const { host, port, username: user, password, name } = database;
		const locking = new pg.Client({ host, port, user, password, database: name });
		await locking.connect();
		try {
			await locking.query('BEGIN');
			await locking.query(`LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`);
			const ask = () => send(`${far.url}/gateways`, 'GET', { headers: bearer() });
			// The requests are answered while the lock is held.
			for (const answer of await Promise.all(Array.from({ length: 100 }, ask))) assertUnavailable(answer, 'a list');
			assert.equal((await send(`${far.url}/health/live`, 'GET')).status, 200);
		} finally {
			await locking.end();
		}
		await recovered();
	});

test('without Redis gateways and the management API go on; readiness and health say what is missing', async () => {
	assert.equal((await send(`${whole.url}/health/ready`, 'GET')).status, 200);
	await redis.stop();
	const ready = await send(`${whole.url}/health/ready`, 'GET');
	assert.equal(ready.status, 503);
	assert.deepEqual([ready.body.data.checks.redis.status, ready.body.data.checks.database.status], ['unreachable', 'ok']);
	assert.equal((await send(`${whole.url}/health`, 'GET')).status, 503);
	assert.equal((await send(`${whole.url}/health/live`, 'GET')).status, 200);
	assert.equal((await list(gateway.key, whole)).status, 200);
	must(await account.get('/gateways'), 200);
	must(await account.post('/gateways', { name: 'made meanwhile', type: 'mcp', endpoint: '/meanwhile' }), 201);
});
