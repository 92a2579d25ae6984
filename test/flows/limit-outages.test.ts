// Tests rate limits while Redis is stopped, hangs or loses all data under two replicas, and while several workers share one port.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { type LimitTable, limitTable } from '../../core/limits/table.ts';
import { until } from '../helpers/clock.ts';
import { COMPILE_CACHE } from '../helpers/compile-cache.ts';
import { freePort } from '../helpers/ports.ts';
import { testDatabase } from '../helpers/postgres.ts';
import { type OwnRedis, startRedis, testRedis } from '../helpers/redis.ts';
import {
	type Account,
	type Answer,
	databaseVariables,
	must,
	publishGateway,
	registerAccount,
	SECRETS,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';

const MAX = 60;
const perMinute = (max: number) => ({ max, seconds: 60 });
const REAL = limitTable({ rateLimit: { max: 100, windowSeconds: 60 } });
const TABLE: LimitTable = {
	...REAL,
	gateways: perMinute(MAX),
	categories: { ...REAL.categories, apis: perMinute(10_000), auth: perMinute(40) },
	routes: { 'POST /auth/login': perMinute(40) },
};
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

interface Pair {
	redis: OwnRedis;
	/** The path of the gateway, which has a token endpoint, too. */
	path: string;
	replicas: [TestService, TestService];
	account: Account;
	/** Sends one request with a key to one replica. */
	ask(key: string, replica: TestService): Promise<Answer>;
	/** Creates an unused key. */
	mint(): Promise<string>;
}

async function start(t: TestContext): Promise<Pair> {
	const redis = await startRedis();
	const first = await startTestService({ redis, limits: TABLE });
	const second = await startTestService({ redis, limits: TABLE, replicaOf: first });
	t.after(async () => {
		redis.signal('SIGCONT');
		await second.stop();
		await first.stop();
	});
	const account = await registerAccount(first.url);
	const { id, url } = await publishGateway(account);
	const path = new URL(url).pathname;
	must(await account.post(`/gateways/${id}/auth`, { type: 'oauth2', isRequired: false }), 201);
	// Each replica announces itself every two seconds.
	await sleep(2200);
	return {
		redis,
		path,
		replicas: [first, second],
		account,
		ask: (key, replica) =>
			send(replica.url + path, 'POST', { body: LIST, headers: { 'x-api-key': key, accept: 'application/json, text/event-stream' } }),
		mint: async () => must(await account.post(`/gateways/${id}/auth/api-keys`, { name: 'another' }), 201).body.data.key,
	};
}

/** Sends requests one after another, each of which must get 200 or 429. @returns how many got 200 */
async function pass(count: number, ask: () => Promise<Answer>): Promise<number> {
	let passed = 0;
	for (let tries = 0; tries < count; tries++) {
		const { status, body } = await ask();
		assert.ok(status === 200 || status === 429, `${status}: ${JSON.stringify(body)}`);
		if (status === 200) passed++;
	}
	return passed;
}

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);

const limitOf = ({ headers }: Answer): number => Number(headers.get('x-ratelimit-limit'));
const isShared = async ({ ask }: Pair, key: string, replica: TestService): Promise<boolean> => limitOf(await ask(key, replica)) === MAX;

for (const [how, end, heal] of [
	[
		'is ended',
		(redis: OwnRedis) => redis.stop(),
		(redis: OwnRedis, t: TestContext) => startRedis(redis.port).then((back) => t.after(back.stop)),
	],
	['hangs', async (redis: OwnRedis) => redis.signal('SIGSTOP'), async (redis: OwnRedis) => redis.signal('SIGCONT')],
] as const) {
	test(`when Redis ${how}, nobody waits for it or gets a 5xx, each replica counts its share, and all is told when it is back`, async (t) => {
		const pair = await start(t);
		const { redis, path, replicas, ask, mint, account } = pair;
		const [first, second] = replicas;
		const [met, spent, idle] = [await mint(), await mint(), await mint()];
		assert.equal(await pass(10, () => ask(met, first)), 10);
		assert.equal(await pass(10, () => ask(idle, first)), 10);
		await end(redis);
		// Both replicas still answer while Redis is away.
		assert.equal((await ask(met, first)).status, 200);
		assert.equal(await pass(10, () => ask(idle, first)), 10);
		const shares = await Promise.all(replicas.map((replica) => pass(MAX, () => ask(spent, replica))));
		assert.deepEqual(shares, [MAX / 2, MAX / 2]);
		const windows = ['/token', '/revoke'].map(async (place) => limitOf(await send(first.url + path + place, 'POST')));
		assert.deepEqual(await Promise.all(windows), [MAX / 4, MAX / 2], 'where credentials are issued, half of the share');
		const body = { email: account.email, password: 'Wrong1Password' };
		const guess = async (): Promise<number> => (await send(`${second.url}/auth/login`, 'POST', { body })).status;
		const guesses: number[] = [];
		for (let tries = 0; tries < 15; tries++) guesses.push(await guess());
		assert.deepEqual(guesses, [...Array(10).fill(401), ...Array(5).fill(429)], 'half of the share');
		await heal(redis, t);
		const probe = await mint();
		for (const replica of replicas) await until(() => isShared(pair, probe, replica), 'Redis is used again', 100);
		// The requests that both passed have used up the limit.
		for (const replica of replicas) await until(async () => (await ask(spent, replica)).status === 429, 'what was counted is told', 100);
		const fresh = await mint();
		const together = await Promise.all(replicas.map((replica) => pass(MAX, () => ask(fresh, replica))));
		assert.equal(sum(together), MAX);
	});
}

test('when Redis loses everything in the middle, the replicas together pass no more than the limit', async (t) => {
	const { redis, replicas, ask, mint } = await start(t);
	const key = await mint();
	const admin = new Redis({ host: redis.host, port: redis.port });
	const flushed = sleep(100).then(() => admin.flushall());
	const passed = await Promise.all(replicas.map((replica) => pass(MAX * 2, () => ask(key, replica))));
	await flushed;
	assert.ok(sum(passed) <= MAX + 2, `${passed} of ${MAX}`);
	await admin.flushall();
	for (const replica of replicas) assert.equal(await pass(5, () => ask(key, replica)), 0, 'it is still refused');
	admin.disconnect();
});

// ── workers ────────────────────────────────────────────────────────────────────────────────────────────────────────

const MAIN = fileURLToPath(new URL('../../core/main.ts', import.meta.url));

interface Workers {
	url: string;
	child: ChildProcess;
	/** Counts the log lines with a message so far. */
	logged(message: string): number;
}

/** Starts the service as `WEB_CONCURRENCY=2 npm start` does, and waits until both workers listen. */
async function startWorkers(t: TestContext, env: Record<string, string>): Promise<Workers> {
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-workers-'));
	const [{ database, drop }, redis, port] = [await testDatabase(), await testRedis(), await freePort()];
	const shared = { ...databaseVariables(database), REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS };
	const child = spawn(process.execPath, [MAIN], {
		env: {
			PATH: process.env['PATH'],
			...COMPILE_CACHE,
			SVC_DATA_DIR: folder,
			...shared,
			HOST: '127.0.0.1',
			PORT: String(port),
			WEB_CONCURRENCY: '2',
			...env,
		},
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	const ended = new Promise((resolve) => child.on('exit', resolve));
	t.after(async () => {
		child.kill('SIGTERM');
		await ended;
		await drop();
		await redis.stop();
		rmSync(folder, { recursive: true, force: true });
	});
	let log = '';
	child.stdout?.on('data', (chunk) => {
		log += chunk;
	});
	const logged = (message: string): number => log.split(`"msg":"${message}`).length - 1;
	await until(() => logged('listening') >= 2, 'both workers listen', 100);
	return { url: `http://127.0.0.1:${port}`, child, logged };
}

/** Sends 200 requests of one address at once, each on its own connection, so that both workers get some. */
function crowd(url: string): Promise<Answer[]> {
	// The address is random, since all services on one Redis with the same configuration share their windows.
	const address = `10.${[1, 2, 3].map(() => Math.floor(Math.random() * 256)).join('.')}`;
	const headers = { 'x-forwarded-for': address, connection: 'close' };
	return Promise.all(Array.from({ length: 200 }, () => send(`${url}/plugins`, 'GET', { headers })));
}

test('the workers of WEB_CONCURRENCY are one limit together', async (t) => {
	const { url, logged } = await startWorkers(t, { RATE_LIMIT_MAX: '50', TRUST_PROXY: '127.0.0.1' });
	// On a busy machine, Redis may answer a worker too late, which counts alone then: such a round says nothing.
	const outages = (): number => logged('limits are counted by this replica alone');
	let answers: Answer[] = [];
	for (let round = 0, before = -1; round < 10 && outages() !== before; round++) {
		before = outages();
		await until(() => logged('limits are counted by all replicas again') === before, 'no worker counts alone');
		answers = await crowd(url);
	}
	const statuses = answers.map(({ status }) => status);
	assert.deepEqual([statuses.filter((status) => status === 401).length, statuses.filter((status) => status === 429).length], [50, 150]);
	assert.deepEqual([...new Set(answers.map(limitOf))], [50]);
});
