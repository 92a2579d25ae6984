// Tests of windows of requests: the same behaviour with a real Redis and without one; then the cases that need replicas on one Redis.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { isBeforeTimer, spanOf, until } from '../../test/helpers/clock.ts';
import { type OwnRedis, startRedis, type TestRedis, testRedis } from '../../test/helpers/redis.ts';
import { silent } from '../../test/helpers/silent.ts';
import { startTcpProxy } from '../../test/helpers/tcp-proxy.ts';
import { joinReplicas, type Presence } from '../shared/presence.ts';
import { createShared } from '../shared/redis.ts';
import { type Bucket, createWindows, type Verdict, type Windows } from './windows.ts';

const prefix = (): string => `gatehouse-test-${randomBytes(6).toString('hex')}:`;

type Replica = Windows & { presence: Presence };

/** Starts one replica. @param around what is done with each answer of Redis before it is heard. @param workers of its machine */
async function join(
	t: TestContext,
	redis: Pick<TestRedis, 'host' | 'port'> | null,
	keyPrefix = prefix(),
	around = (answer: number[]): number[] | Promise<number[]> => answer,
	workers?: number,
): Promise<Replica> {
	const shared = await createShared(redis && { host: redis.host, port: redis.port, keyPrefix }, silent);
	const presence = await joinReplicas(shared, randomBytes(8).toString('hex'), workers);
	const windows = createWindows({ ...shared, run: async (...asked) => around(await shared.run(...asked)) }, presence, silent);
	t.after(async () => {
		windows.close();
		await presence.close();
		await shared.close();
	});
	return Object.assign(windows, { presence });
}

async function ownRedis(t: TestContext): Promise<OwnRedis> {
	const redis = await startRedis();
	t.after(() => redis.stop());
	return redis;
}

async function client(t: TestContext, { host, port }: TestRedis): Promise<Redis> {
	const redis = new Redis({ host, port });
	t.after(() => redis.disconnect());
	return redis;
}

const bucket = (more: Partial<Bucket> = {}): Bucket => ({ key: 'somebody', max: 10, windowMs: 60_000, ...more });

const passed = (verdicts: Verdict[]): number => verdicts.filter(({ refusedBy }) => refusedBy === -1).length;

/** Sends all hits at once. */
const burst = (windows: Windows, count: number, ...buckets: Bucket[]): Promise<Verdict[]> =>
	Promise.all(Array.from({ length: count }, () => windows.hit(buckets)));

// ── the same with and without Redis ────────────────────────────────────────────────────────────────────────────────

const BEHAVIOURS: Record<string, (windows: Windows) => Promise<void>> = {
	'exactly the limit of concurrent requests passes': async (windows) => {
		assert.equal(passed(await burst(windows, 100, bucket())), 10);
	},
	'each hit leaves one less, until the window ends; all tell the same end': async (windows) => {
		const standings: Verdict['standings'] = [];
		const { fromMs, toMs } = await spanOf(async () => {
			for (let hits = 0; hits < 3; hits++) standings.push(...(await windows.hit([bucket({ max: 2 })])).standings);
		});
		assert.deepEqual(
			standings.map(({ remaining }) => remaining),
			[1, 0, 0],
		);
		for (const { max, resetAtMs } of standings) {
			assert.equal(max, 2);
			const beganAtMs = resetAtMs - 60_000;
			assert.ok(beganAtMs > fromMs - 100 && beganAtMs < toMs + 100, `began ${beganAtMs - fromMs} ms after the first hit`);
		}
	},
	'when a window has ended, the next one has the full limit': async (windows) => {
		// The burst must end before its window does, on a busy machine too.
		const short = bucket({ windowMs: 4000 });
		assert.equal(passed(await burst(windows, 20, short)), 10);
		await sleep(4100);
		assert.equal(passed(await burst(windows, 20, short)), 10);
	},
	'a refusal does not extend a window': async (windows) => {
		const short = bucket({ max: 1, windowMs: 10_000 });
		const [first] = (await windows.hit([short])).standings;
		for (let tries = 0; tries < 5; tries++) await sleep(100).then(() => windows.hit([short]));
		const [last] = (await windows.hit([short])).standings;
		assert.ok(first && last && last.resetAtMs - first.resetAtMs < 400, 'the tries took half a second');
	},
	'a hit counts in all of its windows, or in none': async (windows) => {
		const [wide, narrow] = [bucket({ key: 'wide', max: 5 }), bucket({ key: 'narrow', max: 2 })];
		const verdicts = await burst(windows, 4, wide, narrow);
		assert.deepEqual(
			verdicts.map(({ refusedBy }) => refusedBy),
			[-1, -1, 1, 1],
		);
		assert.equal((await windows.hit([wide])).standings[0]?.remaining, 2);
	},
	'the full window refuses; of two, the one that ends last, in any order': async (windows) => {
		const [short, long] = [bucket({ key: 'short', max: 1 }), bucket({ key: 'long', max: 1, windowMs: 300_000 })];
		await windows.hit([long]);
		assert.equal((await windows.hit([short, long])).refusedBy, 1);
		const { fromMs } = await spanOf(async () => windows.hit([short]));
		for (const [at, order] of [[long, short] as const, [short, long] as const].entries()) {
			const { refusedBy, standings } = await windows.hit(order);
			assert.equal(refusedBy, at);
			assert.deepEqual(standings[at]?.remaining, 0);
			assert.ok((standings[at]?.resetAtMs ?? 0) - fromMs > 290_000);
		}
	},
	'a peek is refused when the window is full, and counts nothing': async (windows) => {
		const watched = bucket({ key: 'watched', max: 2 });
		const looked = { ...watched, isPeek: true };
		assert.equal(passed(await burst(windows, 5, looked, bucket())), 5);
		assert.equal(passed(await burst(windows, 2, watched)), 2);
		assert.equal((await windows.hit([looked, bucket()])).refusedBy, 0);
	},
	'each bucket has a window of its own': async (windows) => {
		await burst(windows, 20, bucket());
		assert.equal(passed(await burst(windows, 20, bucket({ key: 'somebody else' }))), 10);
	},
	'a raised or lowered limit is effective at once': async (windows) => {
		await burst(windows, 10, bucket());
		assert.equal(passed(await burst(windows, 10, bucket({ max: 12 }))), 2);
		assert.equal(passed(await burst(windows, 1, bucket({ max: 5 }))), 0);
	},
	'a look answers without asking Redis': async (windows) => {
		assert.equal(windows.look(bucket()).remaining, 10);
		await burst(windows, 4, bucket());
		assert.equal(windows.look(bucket()).remaining, 6);
	},
};

for (const [behaviour, check] of Object.entries(BEHAVIOURS)) {
	test(`in this process: ${behaviour}`, async (t) => check(await join(t, null)));
	test(`in Redis: ${behaviour}`, async (t) => check(await join(t, await testRedis())));
}

// ── replicas on one Redis ──────────────────────────────────────────────────────────────────────────────────────────

test('replicas together pass exactly the limit, from the start of a window on', async (t) => {
	const [redis, keyPrefix] = [await testRedis(), prefix()];
	const replicas = [await join(t, redis, keyPrefix), await join(t, redis, keyPrefix)];
	for (let round = 0; round < 5; round++) {
		const key = `round ${round}`;
		const verdicts = await Promise.all(replicas.map((replica) => burst(replica, 200, bucket({ key, max: 100 }))));
		assert.equal(passed(verdicts.flat()), 100);
	}
});

test('a window that another replica has filled refuses also a peek', async (t) => {
	const [redis, keyPrefix] = [await testRedis(), prefix()];
	const [filling, looking] = [await join(t, redis, keyPrefix), await join(t, redis, keyPrefix)];
	const watched = bucket({ key: 'watched', max: 3 });
	const look = async (): Promise<number> => (await looking.hit([{ ...watched, isPeek: true }, bucket()])).refusedBy;
	await burst(filling, 2, watched);
	assert.equal(await look(), -1);
	await filling.hit([watched]);
	assert.equal(await look(), 0);
});

test('among two windows that another replica has filled, the one that ends last refuses', async (t) => {
	const redis = await testRedis();
	for (const order of ['short first', 'long first']) {
		const keyPrefix = prefix();
		const [filling, asking] = [await join(t, redis, keyPrefix), await join(t, redis, keyPrefix)];
		const both = [bucket({ key: 'short', max: 1 }), bucket({ key: 'long', max: 1, windowMs: 300_000 })];
		await filling.hit(both);
		const asked = order === 'short first' ? both : both.toReversed();
		const { refusedBy, standings } = await asking.hit(asked);
		assert.equal(asked[refusedBy]?.key, 'long', order);
		assert.equal(standings[refusedBy]?.remaining, 0);
	}
});

test('a hit is one round trip however many windows it counts in, and a flood that is refused is none', async (t) => {
	const redis = await ownRedis(t);
	const windows = await join(t, redis);
	const admin = await client(t, redis);
	await windows.hit([bucket({ key: 'first' })]);
	const calls = async (): Promise<number> => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1]);
	const before = await calls();
	await windows.hit([bucket({ key: 'a' }), bucket({ key: 'b', isPeek: true }), bucket({ key: 'c', max: 3 })]);
	// One more may be the replica announcing its presence.
	assert.ok((await calls()) - before <= 2);
	await burst(windows, 10, bucket({ key: 'c', max: 3 }));
	const full = await calls();
	for (let tries = 0; tries < 200; tries++) assert.equal((await windows.hit([bucket({ key: 'c', max: 3 })])).refusedBy, 0);
	assert.ok((await calls()) - full <= 2);
});

test('hits of one turn are one round trip, and each is counted and refused as if it were alone', async (t) => {
	const redis = await ownRedis(t);
	const windows = await join(t, redis);
	const admin = await client(t, redis);
	await windows.hit([bucket({ key: 'first' })]);
	const callsOf = (stats: string, name: string): number => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1]);
	const before = await admin.info('commandstats');
	const asked = Array.from({ length: 120 }, (_, at) => [bucket({ key: `of ${at % 40}`, max: 2 }), bucket({ key: 'of all', max: 70 })]);
	const verdicts = await Promise.all(asked.map((buckets) => windows.hit(buckets)));
	const after = await admin.info('commandstats');
	const more = (name: string): number => callsOf(after, name) - callsOf(before, name);
	// 240 windows are two calls, of 41 and 21 keys; one more may be the replica announcing its presence.
	assert.ok(more('evalsha') <= 3);
	assert.ok(more('get') <= 64 && more('incrby') <= 64, 'a window is read and written once, however many hits count in it');
	const refusals = verdicts.map(({ refusedBy }) => refusedBy);
	assert.deepEqual(refusals, [...Array(70).fill(-1), ...Array(10).fill(1), ...refusals.slice(80)]);
	assert.ok(refusals.slice(80).every((refusedBy) => refusedBy !== -1));
	assert.equal(windows.look(bucket({ key: 'of all', max: 70 })).remaining, 0);
	assert.equal(windows.look(bucket({ key: 'of 5', max: 3 })).remaining, 1);
	assert.equal(windows.look(bucket({ key: 'of 35', max: 3 })).remaining, 2);
});

test('hits that come while a call is under way are one call after it, or are counted alone with it if it fails', async (t) => {
	const redis = await ownRedis(t);
	const windows = await join(t, redis);
	const admin = await client(t, redis);
	await windows.hit([bucket({ key: 'first' })]);
	const calls = async (): Promise<number> => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1]);
	/** Sends ten hits, each in a turn of its own, of which only the first can have been answered. */
	const inTurns = async (): Promise<Promise<Verdict>[]> => {
		const sent: Promise<Verdict>[] = [];
		for (let turns = 0; turns < 10; turns++) {
			sent.push(Promise.resolve(windows.hit([bucket({ key: 'turns', max: 100 })])));
			await nextTurn();
		}
		return sent;
	};
	const before = await calls();
	redis.signal('SIGSTOP');
	const held = await inTurns();
	redis.signal('SIGCONT');
	assert.equal(passed(await Promise.all(held)), 10);
	// One more may be the replica announcing its presence.
	assert.ok((await calls()) - before <= 3);
	assert.equal(windows.look(bucket({ key: 'turns', max: 100 })).remaining, 90);
	redis.signal('SIGSTOP');
	const [first, ...others] = await inTurns();
	assert.ok(await isBeforeTimer(150, Promise.all([first, ...others])), 'none waits for a second call');
	redis.signal('SIGCONT');
	assert.equal(windows.look(bucket({ key: 'turns', max: 100 })).remaining, 80);
});

test('the keys of a window in Redis expire with it', async (t) => {
	const redis = await ownRedis(t);
	const windows = await join(t, redis, '');
	const admin = await client(t, redis);
	await burst(windows, 5, bucket({ windowMs: 4000 }), bucket({ key: 'looked at', isPeek: true }));
	assert.deepEqual((await admin.keys('limit:*')).sort(), ['limit:somebody']);
	await until(async () => (await admin.keys('limit:*')).length === 0, 'expired');
});

test('scripts that Redis has forgotten are sent again', async (t) => {
	const redis = await ownRedis(t);
	const windows = await join(t, redis);
	await burst(windows, 5, bucket());
	await (await client(t, redis)).script('FLUSH');
	assert.equal(passed(await burst(windows, 20, bucket())), 5);
});

test('a replica that ends is no longer counted, and neither is a silent one', async (t) => {
	const [redis, keyPrefix] = [await ownRedis(t), prefix()];
	const staying = await join(t, redis, keyPrefix);
	const leaving = await join(t, redis, keyPrefix);
	await until(() => staying.presence.replicas === 2, 'the second is seen');
	await leaving.presence.close();
	await until(() => staying.presence.replicas === 1, 'its end is seen');
	await (await client(t, redis)).zadd(`${keyPrefix}replicas`, Date.now() - 60_000, 'silent', Date.now(), 'here');
	await until(() => staying.presence.replicas === 2, 'only the silent one is forgotten');
});

// ── outages ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Starts two replicas that know of each other. */
async function pair(t: TestContext): Promise<{ redis: OwnRedis; first: Replica; second: Replica }> {
	const [redis, keyPrefix] = [await ownRedis(t), prefix()];
	const first = await join(t, redis, keyPrefix);
	const second = await join(t, redis, keyPrefix);
	await until(() => first.presence.replicas === 2, 'both are seen');
	return { redis, first, second };
}

for (const [how, end, heal] of [
	[
		'ended',
		(redis: OwnRedis) => redis.stop(),
		(redis: OwnRedis, t: TestContext) => startRedis(redis.port).then((back) => t.after(back.stop)),
	],
	['hanging', async (redis: OwnRedis) => redis.signal('SIGSTOP'), async (redis: OwnRedis) => redis.signal('SIGCONT')],
] as const) {
	test(`with Redis ${how}: a share for each replica, half of it where it is strict, 150 ms at most, then all is reported`, async (t) => {
		const { redis, first, second } = await pair(t);
		const wide = bucket({ key: 'wide', max: 100 });
		assert.equal(passed(await burst(first, 10, wide)), 10);
		await end(redis);
		const met = burst(first, 100, wide);
		assert.ok(await isBeforeTimer(300, met), 'nothing but a timer of 100 ms ends it');
		assert.equal(passed(await met), 40, 'its share, of which 10 were spent');
		const strict = burst(first, 100, bucket({ key: 'strict', max: 100, isStrict: true }));
		assert.ok(await isBeforeTimer(90, strict), 'nobody waits for what is known to be away');
		assert.equal(passed(await strict), 25);
		assert.equal(passed(await burst(first, 5, bucket({ key: 'one', max: 1, isStrict: true }))), 1, 'one at least');
		assert.equal(passed(await burst(second, 100, wide)), 50, 'it knows of none before');
		await heal(redis, t);
		await until(
			async () => (await second.hit([{ ...wide, isPeek: true }])).standings[0]?.max === 100,
			'the second replica finds Redis again',
		);
		await until(() => first.look(wide).max === 100, 'and by the first');
		await until(async () => (await second.hit([{ ...wide, isPeek: true }])).refusedBy === 0, 'the hits of both are reported');
		assert.equal(passed(await burst(first, 10, wide)), 0);
	});
}

for (const order of ['the first', 'the second'] as const) {
	test(`a Redis that comes back empty gets all hits of all replicas again, when ${order} finds it first`, async (t) => {
		const [redis, keyPrefix] = [await startRedis(), prefix()];
		const cables = [await startTcpProxy(redis), await startTcpProxy(redis)] as const;
		const [near, far] = [
			{ host: '127.0.0.1', port: cables[0].port },
			{ host: '127.0.0.1', port: cables[1].port },
		];
		const [first, second] = [await join(t, near, keyPrefix), await join(t, far, keyPrefix)];
		t.after(() => Promise.all(cables.map((cable) => cable[Symbol.asyncDispose]())));
		await until(() => first.presence.replicas === 2, 'both are seen');
		const wide = bucket({ key: 'wide', max: 100 });
		assert.equal(passed(await burst(first, 10, wide)), 10);
		await redis.stop();
		for (const cable of cables) await cable.cut();
		assert.deepEqual([passed(await burst(first, 100, wide)), passed(await burst(second, 100, wide))], [40, 50]);
		const back = await startRedis(redis.port);
		t.after(() => back.stop());
		const told = await client(t, back);
		const ends = [first, second].map((windows, at) => ({ windows, cable: cables[at === 0 ? 0 : 1] }));
		for (const { windows, cable } of order === 'the first' ? ends : ends.toReversed()) {
			await cable.mend();
			await until(() => windows.look(wide).max === 100, 'Redis is found again');
			await until(async () => (await told.get(`${keyPrefix}limit:wide`)) !== null, 'and told');
		}
		await until(async () => (await told.get(`${keyPrefix}limit:wide`)) === '100', 'all of it');
		assert.equal(passed(await burst(second, 10, wide)), 0);
	});
}

test('a worker that has heard of no other yet takes no more than its share when Redis goes', async (t) => {
	const redis = await ownRedis(t);
	const worker = await join(t, redis, prefix(), undefined, 2);
	assert.equal(worker.presence.replicas, 2);
	const wide = bucket({ key: 'wide', max: 100 });
	assert.equal(passed(await burst(worker, 10, wide)), 10);
	await redis.stop();
	assert.equal(passed(await burst(worker, 100, wide)), 40, 'its share, of which 10 were spent');
	assert.equal(worker.presence.replicas, 2);
});

test('an empty Redis that is back, and goes again, leaves each replica its share', async (t) => {
	const { redis, first, second } = await pair(t);
	await until(() => second.presence.replicas === 2, 'both are seen by the second, too');
	const known: number[] = [];
	for (const { presence } of [first, second]) presence.watch({ lost: () => undefined, back: () => void known.push(presence.replicas) });
	await redis.stop();
	await Promise.all([burst(first, 1, bucket()), burst(second, 1, bucket())]);
	const back = await startRedis(redis.port);
	t.after(back.stop);
	await until(() => known.length === 2, 'both are back');
	assert.deepEqual(known, [2, 2]);
});

test('a Redis that lost everything is restored from the replicas: together they pass no more than the limit', async (t) => {
	const { redis, first, second } = await pair(t);
	const wide = bucket({ max: 100 });
	assert.equal(passed([...(await burst(first, 30, wide)), ...(await burst(second, 30, wide))]), 60);
	await (await client(t, redis)).flushall();
	const verdicts = await Promise.all([burst(second, 100, wide), burst(first, 100, wide)]);
	assert.equal(passed(verdicts.flat()), 40);
});

test('a lost and restored window ends at its original time', async (t) => {
	const redis = await ownRedis(t);
	const windows = await join(t, redis);
	const [before] = (await windows.hit([bucket()])).standings;
	await sleep(500);
	await (await client(t, redis)).flushall();
	const [after] = (await windows.hit([bucket()])).standings;
	assert.ok(before && after && Math.abs(after.resetAtMs - before.resetAtMs) < 400);
	assert.equal(after?.remaining, 8);
});

test('the count of a window is not carried into the next', async (t) => {
	const [redis, keyPrefix] = [await testRedis(), prefix()];
	const replicas = [await join(t, redis, keyPrefix), await join(t, redis, keyPrefix)];
	const told = await client(t, redis);
	const short = bucket({ windowMs: 1000 });
	// At the edge of a window, one replica may still know the old one when the other has begun the next.
	for (const [first, second] of [replicas, replicas.toReversed()]) {
		assert.ok(first && second);
		await burst(first, 9, short);
		// Replicas know when it ends at the earliest; Redis, when it does.
		while ((await told.exists(`${keyPrefix}limit:${short.key}`)) === 1) await second.hit([{ ...short, isPeek: true }]);
		assert.equal(passed(await burst(first, 20, short)), 10);
		await sleep(1100);
	}
});

test('a hit that waits until its window has ended is told nothing of it, and counts in the next alone', async (t) => {
	const [redis, keyPrefix] = [await testRedis(), prefix()];
	let held: Promise<unknown> | null = null;
	const slow = await join(t, redis, keyPrefix, async (answer) => {
		await held;
		return answer;
	});
	const other = await join(t, redis, keyPrefix);
	const told = await client(t, redis);
	const short = bucket({ windowMs: 3000 });
	await burst(slow, 7, short);
	const { promise, resolve } = Promise.withResolvers<void>();
	held = promise;
	// The first is answered late, and the second sent only then.
	const hits = [slow.hit([short]), nextTurn().then(() => slow.hit([short]))];
	while ((await told.exists(`${keyPrefix}limit:${short.key}`)) === 1) await sleep(20);
	await other.hit([short]);
	held = null;
	resolve();
	assert.equal(passed(await Promise.all(hits)), 2);
	assert.equal(await told.get(`${keyPrefix}limit:${short.key}`), '2');
});
