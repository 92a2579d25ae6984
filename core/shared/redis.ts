// State that replicas share and may lose: in Redis, or in this process without Redis. Durable data is in the store.

import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis, RedisOptions } from 'ioredis';
import type { Config } from '../config/config.ts';
import type { KeyValue } from '../contract/context.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import { BoundedMap } from '../kit/bounded-map.ts';

/** A Lua script that Redis runs atomically; it returns an integer or a list of them. */
export interface Script {
	lua: string;
	/** The hash by which Redis knows the script after its first run. */
	sha1: string;
}

export const defineScript = (lua: string): Script => ({ lua, sha1: createHash('sha1').update(lua).digest('hex') });

export interface Shared {
	/** Runs a script. @throws unavailable, also without Redis */
	run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<number[]>;
	/** Returns the keys under a prefix, which is added to each key. */
	keyValue(prefix: string): KeyValue;
	/** @throws unavailable */
	ping(): Promise<void>;
	/** False without Redis: shared within this process only. */
	readonly distributed: boolean;
	close(): Promise<void>;
}

/** Limit from a call to its answer. */
const DEADLINE_MS = 100;
/** Limit of a health check, which must not report an outage when only this process is busy. */
const PING_DEADLINE_MS = 1000;
/** Limit of Bottleneck's commands, which requests wait for anyway: a busy event loop must not look like an outage. */
const LANE_DEADLINE_MS = 1000;
const CONNECT_TIMEOUT_MS = 1000;
/** A connection without an answer for so long is closed: its other end may have disappeared silently. */
const SILENCE_MS = 2000;
/** Number of entries that this process keeps without Redis; the oldest are evicted first. */
const LOCAL_ENTRIES = 100_000;

/**
 * Connects; resolves after a second at the latest, and the connection is made in the background then.
 * @param deadlineMs of each answer, instead of the usual one
 */
export async function createShared(redis: Config['redis'], log: Log, deadlineMs = DEADLINE_MS): Promise<Shared> {
	return redis === null ? createLocal() : createRedis(redis, log, deadlineMs);
}

/** Returns where a Redis is, and by whom and how it is reached. Its certificate is checked as by HTTPS. */
const access = ({ host, port, username, password, ssl }: NonNullable<Config['redis']>) =>
	({
		host,
		port,
		...(username && { username }),
		...(password && { password }),
		...(ssl && { tls: isIP(host) ? {} : { servername: host } }),
	}) satisfies RedisOptions;

const settings = (target: NonNullable<Config['redis']>) =>
	({
		...access(target),
		keyPrefix: target.keyPrefix,
		enableOfflineQueue: false,
		maxRetriesPerRequest: 0,
		autoResendUnfulfilledCommands: false,
		connectTimeout: CONNECT_TIMEOUT_MS,
		retryStrategy: (attempt: number) => Math.min(attempt * 50, 1000),
		// The primary has become a replica and kept its connections: its name may lead to another one by now.
		reconnectOnError: (error: Error) => error.message.includes('READONLY'),
	}) satisfies RedisOptions;

export type RedisClient = Redis;

const require = createRequire(import.meta.url);

/** Returns the client's class. The package is loaded for the first client: without a Redis, a start is spared some 140 ms of CPU time. */
const redisClass = (): typeof Redis => (require('ioredis') as typeof import('ioredis')).Redis;

/** Connects for Bottleneck, which has scripts of its own and duplicates the connection for its subscription. */
export function connectLanes(target: NonNullable<Config['redis']>): RedisClient {
	const client = new (redisClass())({ ...settings(target), connectionName: 'gatehouse-lanes', commandTimeout: LANE_DEADLINE_MS });
	client.duplicate = () => {
		const { connectTimeout, retryStrategy } = settings(target);
		const subscriber = new (redisClass())({ ...access(target), connectTimeout, retryStrategy, maxRetriesPerRequest: null });
		const unsubscribe = subscriber.unsubscribe.bind(subscriber);
		// Bottleneck does not await it, so a failure would be an unhandled rejection, which ends the process. It passes channels only.
		subscriber.unsubscribe = ((...channels: string[]) => unsubscribe(...channels).catch(() => 0)) as Redis['unsubscribe'];
		return subscriber;
	};
	return client;
}

/** Connects to send and to receive announcements: a connection that receives can do nothing else. Both are lazy. */
export function connectCarrier(target: NonNullable<Config['redis']>): { publisher: RedisClient; subscriber: RedisClient } {
	const { keyPrefix: _prefix, ...plain } = settings(target);
	const usual = { ...plain, lazyConnect: true, socketTimeout: SILENCE_MS };
	const publisher = new (redisClass())({ ...usual, commandTimeout: DEADLINE_MS });
	return { publisher, subscriber: new (redisClass())({ ...usual, autoResubscribe: false }) };
}

async function createRedis(target: NonNullable<Config['redis']>, log: Log, usualMs: number): Promise<Shared> {
	// Commands fail at once in an outage; none is queued or resent, and the connection is restored by itself.
	const redis = new (redisClass())({ ...settings(target), lazyConnect: true, socketTimeout: Math.max(SILENCE_MS, usualMs) });
	redis.on('error', (error: Error) => log.warn({ error: error.message }, 'Redis cannot be reached'));
	await Promise.race([redis.connect().catch(() => undefined), sleep(CONNECT_TIMEOUT_MS, undefined, { ref: false })]);
	const guard = <T>(work: Promise<T>, deadlineMs = usualMs): Promise<T> =>
		inTime(work, deadlineMs).catch((cause: unknown) => {
			throw new GatewayError('unavailable', 'The shared store cannot be reached.', { cause, headers: { 'retry-after': '1' } });
		});
	const run: Shared['run'] = async (script, keys, args) => {
		const answer = await guard(runScript(redis, script, keys.length, [...keys, ...args]));
		return Array.isArray(answer) ? answer : [answer];
	};
	return {
		distributed: true,
		run,
		keyValue: (prefix) => ({
			get: (key) => guard(redis.get(prefix + key)),
			put: async (key, value, ttlMs) => void (await guard(redis.set(prefix + key, value, 'PX', ttlMs))),
			putIfAbsent: async (key, value, ttlMs) => (await guard(redis.set(prefix + key, value, 'PX', ttlMs, 'NX'))) === 'OK',
			drop: async (key) => void (await guard(redis.del(prefix + key))),
		}),
		ping: async () => void (await guard(redis.ping(), PING_DEADLINE_MS)),
		close: async () => redis.disconnect(),
	};
}

/**
 * Runs a script with built-in commands only: ioredis defines a script's command on the client, but not on a pipeline that it has already
 * begun, and then gives the pipeline's answers to the wrong callers ("results[i] is not iterable").
 */
async function runScript(redis: Redis, { lua, sha1 }: Script, count: number, rest: (string | number)[]): Promise<number | number[]> {
	try {
		// A script returns integers, as `Script` documents.
		return (await redis.evalsha(sha1, count, ...rest)) as number | number[];
	} catch (error) {
		if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
		return (await redis.eval(lua, count, ...rest)) as number | number[];
	}
}

/** Limits a promise. @throws Error without an answer by the deadline. Answers received while the event loop was busy are read first. */
function inTime<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => setImmediate(reject, new Error(`no answer within ${deadlineMs} ms`)), deadlineMs);
		work.then(resolve, reject).finally(() => clearTimeout(timer));
	});
}

/** Makes a store of this process alone. */
export function createLocal(): Shared {
	const entries = new BoundedMap<string, { value: string; expiresAt: number }>(LOCAL_ENTRIES);
	const live = (key: string): string | null => {
		const entry = entries.get(key);
		if (entry && entry.expiresAt > Date.now()) return entry.value;
		entries.delete(key);
		return null;
	};
	const put = (key: string, value: string, ttlMs: number) => entries.set(key, { value, expiresAt: Date.now() + ttlMs });
	return {
		distributed: false,
		run: () => Promise.reject(new GatewayError('unavailable', 'There is no Redis to run it in.')),
		keyValue: (prefix) => ({
			get: async (key) => live(prefix + key),
			put: async (key, value, ttlMs) => void put(prefix + key, value, ttlMs),
			putIfAbsent: async (key, value, ttlMs) => {
				if (live(prefix + key) !== null) return false;
				put(prefix + key, value, ttlMs);
				return true;
			},
			drop: async (key) => void entries.delete(prefix + key),
		}),
		ping: async () => {},
		close: async () => entries.clear(),
	};
}
