// Tests the guarantee of each measure around Bottleneck, with a real Redis: the table "Why Bottleneck is mended" of this room's README
// names these tests. They read Redis where Bottleneck's own records show the effect sooner than a waiting call.

import assert from 'node:assert/strict';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { apiWith as apiOf, type Breakable, breakable, type Cluster, cluster, HOLD_MS } from '../../test/helpers/lanes.ts';
import { silent } from '../../test/helpers/silent.ts';
import { connectLanes, type RedisClient } from '../shared/redis.ts';
import type { OutboundLimits } from '../store/store.ts';
import { createLanes, type Lanes } from './lanes.ts';

type Target = Cluster['target'];

const LASTING_MS = 3_600_000;
/** Options of a call whose place is freed only on release: it would expire after an hour. */
const lasting = () => ({ signal: new AbortController().signal, holdMs: LASTING_MS });
const apiWith = (outbound: OutboundLimits, version = 1) => apiOf({ ...outbound, maxWaitMs: LASTING_MS }, version);

/** Resolves when the condition holds; the test's own timeout ends it otherwise. */
async function eventually(condition: () => Promise<boolean>): Promise<void> {
	while (!(await condition())) await sleep(20);
}

function redisOf(t: TestContext, { host, port }: Target): Redis {
	const client = new Redis(port, host);
	client.on('error', () => undefined);
	t.after(() => client.disconnect());
	return client;
}

/** Names Bottleneck's record of the lane of `api` with these limits. */
const recordOf = ({ keyPrefix }: Target, record: string, limits = '2:'): string =>
	`${keyPrefix}b_${keyPrefix}lane:pets:${limits}_${record}`;

/** Starts one more replica, on a connection that `change` alters. */
function replicaOn(t: TestContext, target: Target, change: (client: RedisClient) => void): Lanes {
	const connect = (): RedisClient => {
		const client = connectLanes(target);
		change(client);
		return client;
	};
	const lanes = createLanes({ redis: { connect, ping: async () => {}, replicas: () => 2 }, log: silent });
	t.after(() => lanes.close());
	return lanes;
}

/** Starts one more replica, for which `change` alters the first answers to a script of Bottleneck's. */
function replicaWithAnswers(
	t: TestContext,
	target: Target,
	{ script = 'register', count = 1, change }: { script?: string; count?: number; change: (answer: unknown) => Promise<unknown> },
): Lanes {
	let left = count;
	return replicaOn(t, target, (client) => {
		const define = client.defineCommand.bind(client);
		// ioredis adds scripts under names that its types cannot know.
		const commands = client as unknown as Record<string, (...input: unknown[]) => Promise<unknown>>;
		client.defineCommand = (name, definition) => {
			define(name, definition);
			const send = commands[name]?.bind(client);
			if (name !== script || !send) return;
			commands[name] = async (...input) => {
				// Bottleneck passes a callback as the last argument of scripts that are not mended.
				const last = input.at(-1);
				const callback = typeof last === 'function' ? (last as (error: unknown, answer?: unknown) => void) : null;
				const answered = send(...(callback ? input.slice(0, -1) : input)).then((answer) => (left-- > 0 ? change(answer) : answer));
				if (!callback) return answered;
				return answered.then(
					(answer) => callback(null, answer),
					(error) => callback(error),
				);
			};
		};
	});
}

/** Starts a proxy between a replica and Redis; `isMute` drops all data. */
async function relay(t: TestContext, { host, port }: Target, { isMute }: { isMute: boolean }) {
	const sockets = new Set<Socket>();
	const server = createServer((socket) => {
		sockets.add(socket.on('error', () => undefined));
		if (isMute) return;
		const upstream = connectTcp(port, host).on('error', () => undefined);
		sockets.add(upstream);
		socket.pipe(upstream).pipe(socket);
	});
	await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
	const address = server.address();
	assert.ok(address && typeof address === 'object');
	const end = (): void => {
		server.close();
		for (const socket of sockets) socket.destroy();
	};
	t.after(end);
	return { port: address.port, end };
}

/** Starts one more replica, whose subscriber connects to another port. */
const replicaListeningAt = (t: TestContext, target: Target, port: number): Lanes =>
	replicaOn(t, target, (client) => {
		const other = connectLanes({ ...target, port }).on('error', () => undefined);
		client.duplicate = () => {
			other.disconnect();
			return other.duplicate();
		};
	});

/** Freezes Redis until every replica has given up its connection: a heartbeat comes every second, and its answer may take another. */
async function interrupt({ freeze, thaw }: Breakable): Promise<void> {
	freeze();
	await sleep(2500);
	thaw();
}

describe('measures around Bottleneck', { concurrency: 4, timeout: 120_000 }, () => {
	test('a place that Redis gave and whose answer was lost is free again', async (t) => {
		const { replicas, target } = await cluster(t);
		const one = replicaWithAnswers(t, target, { change: () => Promise.reject(new Error('The connection was lost.')) });
		const api = apiWith({ maxConcurrent: 1 });
		// The replica goes on with its own share.
		(await one.enter(api, lasting()))();
		(await replicas[0].enter(api, lasting()))();
	});

	test('a lane goes on after a single command that failed', async (t) => {
		const { target } = await cluster(t);
		const change = () => Promise.reject(new Error('The connection was lost.'));
		const one = replicaWithAnswers(t, target, { script: 'submit', change });
		(await one.enter(apiWith({ maxConcurrent: 1 }), lasting()))();
	});

	test('a place that is given while its connection is replaced is free again', async (t) => {
		const given = await breakable(t);
		const [answered, replaced] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
		const one = replicaWithAnswers(t, given.target, {
			change: async (answer) => {
				answered.resolve();
				await replaced.promise;
				return answer;
			},
		});
		const api = apiWith({ maxConcurrent: 1 });
		const entering = one.enter(api, lasting());
		await answered.promise;
		await interrupt(given);
		replaced.resolve();
		(await entering)();
		(await given.replicas[0].enter(api, lasting()))();
	});

	test('a connection that was replaced takes no more places', async (t) => {
		const given = await breakable(t);
		const [first, second] = given.replicas;
		const api = apiWith({ maxConcurrent: 2 });
		const [held, other] = [await first.enter(api, lasting()), await second.enter(api, lasting())];
		// The call waits in the lane, and in Bottleneck's queue of the connection that is replaced.
		const waiting = first.enter(api, lasting());
		await sleep(100);
		await interrupt(given);
		other();
		(await waiting)();
		held();
		const redis = redisOf(t, given.target);
		await eventually(async () => (await redis.hget(recordOf(given.target, 'settings'), 'running')) === '0');
		await sleep(500);
		assert.equal(await redis.hget(recordOf(given.target, 'settings'), 'done'), '3');
	});

	test('a place that is given back while Redis refuses to write is free once it writes again', async (t) => {
		const given = await breakable(t);
		const [first, second] = given.replicas;
		const api = apiWith({ maxConcurrent: 1 });
		const leave = await first.enter(api, lasting());
		const redis = redisOf(t, given.target);
		// Redis becomes a replica of a server that does not exist: it answers READONLY to all writes.
		await redis.replicaof('127.0.0.1', 1);
		leave();
		await sleep(200);
		await redis.replicaof('NO', 'ONE');
		(await second.enter(api, lasting()))();
	});

	test('a call that ends long after its connection was replaced gives its place back', async (t) => {
		const given = await breakable(t);
		const [first, second] = given.replicas;
		const api = apiWith({ maxConcurrent: 1 });
		const leave = await first.enter(api, lasting());
		await interrupt(given);
		// The time is longer than that for which a connection without places is kept.
		await sleep(3000);
		leave();
		(await second.enter(api, lasting()))();
	});

	test('a lane that is opened while Redis hangs, or hangs for its subscriber alone, begins in the share of the replica', async (t) => {
		const given = await breakable(t);
		const { port } = await relay(t, given.target, { isMute: true });
		const api = apiWith({ maxConcurrent: 2 });
		(await replicaListeningAt(t, given.target, port).enter(api, lasting()))();
		given.freeze();
		(await given.replicas[0].enter(api, lasting()))();
	});

	test('a replica that no longer hears of free places goes on with its share', async (t) => {
		const given = await breakable(t);
		const { port, end } = await relay(t, given.target, { isMute: false });
		const deaf = replicaListeningAt(t, given.target, port);
		const api = apiWith({ maxConcurrent: 2 });
		await Promise.all([given.replicas[0].enter(api, lasting()), given.replicas[0].enter(api, lasting())]);
		const waiting = deaf.enter(api, lasting());
		await sleep(500);
		end();
		(await waiting)();
	});

	test('a Redis that forgets lanes over and over is as good as none', async (t) => {
		const { target } = await cluster(t);
		const forgotten = Object.assign(new Error('ERR SETTINGS_KEY_NOT_FOUND'), { name: 'ReplyError' });
		const one = replicaWithAnswers(t, target, { count: Number.POSITIVE_INFINITY, change: () => Promise.reject(forgotten) });
		const api = apiWith({ maxConcurrent: 2 });
		(await one.enter(api, lasting()))();
		(await one.enter(api, lasting()))();
	});

	test('a call that began on a connection before the last is counted when Redis is flushed', async (t) => {
		const given = await breakable(t);
		const api = apiWith({ maxConcurrent: 1 });
		const leave = await given.replicas[0].enter(api, lasting());
		await interrupt(given);
		await given.flush();
		const redis = redisOf(t, given.target);
		await eventually(async () => (await redis.hget(recordOf(given.target, 'settings', '1:'), 'running')) === '1');
		leave();
		(await given.replicas[1].enter(api, lasting()))();
	});

	test('a replica that closes gives back what it held', async (t) => {
		const { replicas, target } = await cluster(t);
		const [first, second] = replicas;
		const api = apiWith({ maxConcurrent: 2 });
		await Promise.all([first.enter(api, lasting()), first.enter(api, lasting())]);
		const redis = redisOf(t, target);
		await eventually(async () => (await redis.hget(recordOf(target, 'settings'), 'running')) === '2');
		await first.close();
		// Redis may answer this connection before it reads what the closed one has sent.
		await eventually(async () => (await redis.hget(recordOf(target, 'settings'), 'running')) === '0');
		for (const leave of await Promise.all([1, 2].map(() => second.enter(api, lasting())))) leave();
	});

	test('closing does not wait for a Redis that hangs', async (t) => {
		const given = await breakable(t);
		await given.replicas[0].enter(apiWith({ maxConcurrent: 2 }), lasting());
		given.freeze();
		await given.replicas[0].close();
	});

	test('a place that begins later is kept until its call can have ended', async (t) => {
		const { replicas, target } = await cluster(t);
		const minTimeMs = 3000;
		const api = apiWith({ maxConcurrent: 2, minTimeMs });
		(await replicas[0].enter(api, lasting()))();
		replicas[0].enter(api, lasting()).catch(() => undefined);
		const redis = redisOf(t, target);
		const limits = `2:${minTimeMs}`;
		await eventually(async () => (await redis.hget(recordOf(target, 'settings', limits), 'running')) === '1');
		const [, expiresAtMs] = await redis.zrevrange(recordOf(target, 'job_expirations', limits), 0, 0, 'WITHSCORES');
		const beginsAtMs = Number(await redis.hget(recordOf(target, 'settings', limits), 'nextRequest')) - minTimeMs;
		assert.ok(Number(expiresAtMs) >= beginsAtMs + LASTING_MS);
	});

	test('what Redis keeps of a lane expires, and later than any of its calls', async (t) => {
		const { replicas, target } = await cluster(t);
		const redis = redisOf(t, target);
		const enter = async (): Promise<void> => (await replicas[0].enter(apiWith({ maxConcurrent: 2 }), lasting()))();
		await eventually(() => enter().then(async () => (await redis.exists(recordOf(target, 'settings'))) === 1));
		const keys = await redis.keys(`${target.keyPrefix}*`);
		for (const key of keys) assert.ok((await redis.pttl(key)) > HOLD_MS, key);
	});

	test('a lane whose limits changed leaves no subscription behind, and installations on one Redis share no channel', async (t) => {
		const { replicas, target } = await cluster(t);
		const redis = redisOf(t, target);
		const channels = (): Promise<string[]> => redis.pubsub('CHANNELS', `*${target.keyPrefix}lane:pets:*`) as Promise<string[]>;
		(await replicas[0].enter(apiWith({ maxConcurrent: 2 }), lasting()))();
		// One channel is the lane's, the other that of the replica in it.
		await eventually(async () => (await channels()).length === 2);
		(await replicas[0].enter(apiWith({ maxConcurrent: 3 }, 2), lasting()))();
		await eventually(async () => (await channels()).map((channel) => /:pets:3:/.test(channel)).join() === 'true,true');
	});
});
