// Tests the limits where the universal endpoint issues credentials: registration of clients and tokens, counted by address over two replicas, with
// Redis and while it is away.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LimitTable, limitTable } from '../../core/limits/table.ts';
import { startRedis } from '../helpers/redis.ts';
import { type Answer, send, startTestService, type TestService } from '../helpers/service.ts';

const MAX = 60;
/** The window of registration, which the route declares. */
const REGISTRATIONS = 10;
const REAL = limitTable({ rateLimit: { max: 100, windowSeconds: 60 } });
const TABLE: LimitTable = { ...REAL, categories: { ...REAL.categories, mcp: { max: MAX, seconds: 60 } } };
const CLIENT = { client_name: 'Test', redirect_uris: ['http://127.0.0.1/callback'], token_endpoint_auth_method: 'none' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

const register = ({ url }: TestService): Promise<Answer> => send(`${url}/mcp/register`, 'POST', { body: CLIENT });
const redeem = ({ url }: TestService): Promise<Answer> =>
	send(`${url}/mcp/token`, 'POST', { body: 'grant_type=authorization_code&code=none&client_id=none', headers: FORM });

/** Sends requests in turn, and counts their statuses. */
async function statuses(count: number, replicas: readonly TestService[], ask: (replica: TestService) => Promise<Answer>) {
	const seen: Record<number, number> = {};
	for (let at = 0; at < count; at++) {
		const replica = replicas[at % replicas.length] ?? assert.fail();
		const { status, headers, body } = await ask(replica);
		seen[status] = (seen[status] ?? 0) + 1;
		if (status === 429) assert.ok(Number(headers.get('retry-after')) > 0, JSON.stringify(body));
	}
	return seen;
}

test('registrations and tokens at /mcp are counted by address, by both replicas together, and stay counted without Redis', async (t) => {
	const redis = await startRedis();
	t.after(() => redis.stop());
	const first = await startTestService({ redis, limits: TABLE });
	const second = await startTestService({ redis, limits: TABLE, replicaOf: first });
	t.after(async () => {
		await second.stop();
		await first.stop();
	});
	const replicas = [first, second];
	// Each replica announces itself every two seconds.
	await sleep(2200);

	assert.deepEqual(await statuses(REGISTRATIONS + 4, replicas, register), { 201: REGISTRATIONS, 429: 4 });
	const { headers } = await register(second);
	assert.equal(headers.get('x-ratelimit-limit'), String(REGISTRATIONS));
	const tokens = await statuses(MAX + 5, replicas, redeem);
	assert.deepEqual(Object.keys(tokens), ['401', '429'], 'an unknown client is no fault of ours');
	// Registrations count in the window of the address, too.
	assert.ok((tokens[401] ?? 0) <= MAX - REGISTRATIONS, JSON.stringify(tokens));
	assert.ok((tokens[401] ?? 0) > 0, JSON.stringify(tokens));

	await redis.stop();
	// A window that was spent stays spent.
	for (const replica of replicas) for (const ask of [register, redeem]) assert.equal((await ask(replica)).status, 429);
});

test('without Redis from its first request each replica lets in half of its share, and answers no 5xx', async (t) => {
	const redis = await startRedis();
	t.after(() => redis.stop());
	const first = await startTestService({ redis, limits: TABLE });
	const second = await startTestService({ redis, limits: TABLE, replicaOf: first });
	t.after(async () => {
		await second.stop();
		await first.stop();
	});
	await sleep(2200);
	await redis.stop();
	// The first request of each replica finds out that Redis is away.
	for (const replica of [first, second]) await redeem(replica);
	for (const replica of [first, second]) {
		const registrations = await statuses(6, [replica], register);
		assert.deepEqual(registrations, { 201: Math.floor(REGISTRATIONS / 4), 429: 6 - Math.floor(REGISTRATIONS / 4) });
		const tokens = await statuses(MAX, [replica], redeem);
		assert.deepEqual(Object.keys(tokens), ['401', '429']);
		assert.ok((tokens[401] ?? 0) <= MAX / 4, JSON.stringify(tokens));
	}
});
