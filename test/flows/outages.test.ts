// A dependency that dies under the whole service (rows 95 and 96). What the store does without its database is in
// db/outages.test.ts, what limits do without Redis in limit-outages.test.ts.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { OUTAGES, type Outage } from '../catalog/concurrency.ts';
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

/** What a busy machine may add to what is promised. */
const SLACK_MS = 500;
const REFUSED_WITHIN_MS = 2_500 + SLACK_MS;
const RECOVERED_WITHIN_MS = 5_000 + SLACK_MS;
/** The longest that what is remembered may be used without a look at the database. */
const STALE_MS = 1_000;

let redis: TestRedis;
/** Has its dependencies all along. */
let whole: TestService;
/** A replica of it, at the far end of two cables. */
let far: TestService;
let cables: { postgres: TcpProxy; redis: TcpProxy };
let account: Account;
let gateway: { id: string; url: string; key: string };
let toolId: string;

before(async () => {
	redis = await startRedis();
	whole = await startTestService({ redis });
	const { database } = whole.config;
	assert.ok(database);
	cables = { postgres: await startTcpProxy(database), redis: await startTcpProxy(redis) };
	const { port } = cables.redis;
	far = await startTestService({
		replicaOf: whole,
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

async function timed(work: () => Promise<Answer>): Promise<Answer & { startedMs: number; tookMs: number }> {
	const startedMs = performance.now();
	const answer = await work();
	return { ...answer, startedMs, tookMs: performance.now() - startedMs };
}

/** Reading, changing, running, entering; of the management API, of gateways, of what is public. */
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
	const startedMs = performance.now();
	const isBack = async (): Promise<boolean> => {
		const answers = await Promise.all([
			send(`${far.url}/gateways`, 'GET', { headers: bearer() }),
			list(gateway.key),
			send(`${far.url}/health/ready`, 'GET'),
		]);
		return answers.every(({ status }) => status === 200);
	};
	while (!(await isBack())) await sleep(50);
	const tookMs = Math.round(performance.now() - startedMs);
	assert.ok(tookMs < RECOVERED_WITHIN_MS, `back after ${tookMs} ms`);
}

/** Asks without a pause until `untilMs`. @returns when the requests began that were let in */
async function admissions(key: string, untilMs: number): Promise<number[]> {
	const begun: number[] = [];
	while (performance.now() < untilMs) {
		const { status, startedMs } = await timed(() => list(key));
		assert.ok([200, 401, 503].includes(status), String(status));
		if (status === 200) begun.push(startedMs);
		await sleep(20);
	}
	return begun;
}

/** What is remembered of a key serves for a second after the database was lost, whatever becomes of the key meanwhile. */
async function assertForgotten({ id, key }: { id: string; key: string }, lostMs: number): Promise<void> {
	const [begun, revocation] = await Promise.all([
		admissions(key, lostMs + 2 * STALE_MS),
		account.del(`/gateways/${gateway.id}/auth/api-keys/${id}`),
	]);
	must(revocation, 200);
	assert.ok(begun.length > 0, 'it was remembered when the database was lost');
	const longestMs = Math.round(Math.max(...begun.map((startedMs) => startedMs - lostMs)));
	assert.ok(longestMs <= STALE_MS + 500, `let in ${longestMs} ms after the database was lost`);
}

async function assertHealthTells(redisIs: 'ok' | 'unreachable'): Promise<void> {
	const answers = await Promise.all(['ready', '', 'live'].map((path) => timed(() => send(`${far.url}/health/${path}`, 'GET'))));
	assert.deepEqual(
		answers.map(({ status }) => status),
		[503, 503, 200],
	);
	for (const { tookMs } of answers) assert.ok(tookMs < 2_000 + SLACK_MS, `health took ${Math.round(tookMs)} ms`);
	const { checks } = answers[0]?.body.data ?? {};
	assert.deepEqual([checks.database.status, checks.redis.status], ['unreachable', redisIs]);
}

async function assertRefused(endpoint: string): Promise<void> {
	const asked = Object.entries(attempts(endpoint)).map(async ([what, ask]) => ({ what, answer: await timed(ask) }));
	for (const { what, answer } of await Promise.all(asked)) {
		assertUnavailable(answer, what);
		assert.ok(answer.tookMs < REFUSED_WITHIN_MS, `${what} took ${Math.round(answer.tookMs)} ms`);
	}
}

async function lose({ postgres, redis: itsRedis }: Outage): Promise<void> {
	for (const cable of itsRedis === 'gone' ? [cables.postgres, cables.redis] : [cables.postgres]) {
		if (postgres === 'cut') await cable.cut();
		else cable.stall();
	}
}

for (const outage of OUTAGES) {
	test(`${outage.row}: with ${outage.id}, all is 503 within 2.5 s and nobody is let in by memory; it is back within 5 s`, async () => {
		await recovered();
		const before = must(await account.get('/gateways'), 200).body.data;
		const key = await mint();
		// Until the news of the key has come, after which all of it is remembered.
		await sleep(STALE_MS);
		assert.equal((await list(key.key)).status, 200);
		// So that there are connections to be lost.
		await Promise.all(Array.from({ length: 20 }, () => send(`${far.url}/gateways`, 'GET', { headers: bearer() })));
		await lose(outage);
		const lostMs = performance.now();
		try {
			await assertForgotten(key, lostMs);
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
			for (const answer of await Promise.all(Array.from({ length: 100 }, () => timed(ask)))) {
				assertUnavailable(answer, 'a list');
				assert.ok(answer.tookMs < REFUSED_WITHIN_MS, `a list took ${Math.round(answer.tookMs)} ms`);
			}
			assert.equal((await send(`${far.url}/health/live`, 'GET')).status, 200);
		} finally {
			await locking.end();
		}
		await recovered();
	});

test('without Redis gateways and the management API go on; readiness and health say what is missing within 2 s', async () => {
	assert.equal((await send(`${whole.url}/health/ready`, 'GET')).status, 200);
	await redis.stop();
	const ready = await timed(() => send(`${whole.url}/health/ready`, 'GET'));
	assert.ok(ready.tookMs < 2000 + SLACK_MS);
	assert.equal(ready.status, 503);
	assert.deepEqual([ready.body.data.checks.redis.status, ready.body.data.checks.database.status], ['unreachable', 'ok']);
	assert.equal((await send(`${whole.url}/health`, 'GET')).status, 503);
	assert.equal((await send(`${whole.url}/health/live`, 'GET')).status, 200);
	assert.equal((await list(gateway.key, whole)).status, 200);
	must(await account.get('/gateways'), 200);
	must(await account.post('/gateways', { name: 'made meanwhile', type: 'mcp', endpoint: '/meanwhile' }), 201);
});
