// What replicas share and may lose: Redis, or this process when there is none. Everything durable is in the store.

import { Redis } from 'ioredis';
import type { Config } from './config.ts';
import type { KeyValue, Log } from './contracts.ts';
import { GatewayError } from './errors.ts';

export interface Shared {
	/** Keys under one prefix, which its user sees without it. */
	keyValue(prefix: string): KeyValue;
	/** @throws unavailable */
	ping(): Promise<void>;
	/** False when there is no Redis: this process only. */
	readonly distributed: boolean;
	close(): Promise<void>;
}

const COMMAND_TIMEOUT_MS = 100;
const CONNECT_TIMEOUT_MS = 1000;
/** Entries that this process keeps when there is no Redis; the oldest go first. */
const LOCAL_ENTRIES = 100_000;

export function createShared(redis: Config['redis'], log: Log): Shared {
	return redis === null ? createLocal() : createRedis(redis, log);
}

function createRedis(target: NonNullable<Config['redis']>, log: Log): Shared {
	// An outage must not queue: commands fail at once, and the connection comes back by itself.
	const redis = new Redis({
		host: target.host,
		port: target.port,
		keyPrefix: target.keyPrefix,
		enableOfflineQueue: false,
		enableAutoPipelining: true,
		maxRetriesPerRequest: 1,
		commandTimeout: COMMAND_TIMEOUT_MS,
		connectTimeout: CONNECT_TIMEOUT_MS,
		retryStrategy: (attempt) => Math.min(attempt * 50, 1000),
	});
	redis.on('error', (error: Error) => log.warn({ error: error.message }, 'Redis cannot be reached'));
	const guard = async <T>(work: Promise<T>): Promise<T> =>
		work.catch((cause: unknown) => {
			throw new GatewayError('unavailable', 'The shared store cannot be reached.', { cause, headers: { 'retry-after': '1' } });
		});
	return {
		distributed: true,
		keyValue: (prefix) => ({
			get: (key) => guard(redis.get(prefix + key)),
			put: async (key, value, ttlMs) => void (await guard(redis.set(prefix + key, value, 'PX', ttlMs))),
			putIfAbsent: async (key, value, ttlMs) => (await guard(redis.set(prefix + key, value, 'PX', ttlMs, 'NX'))) === 'OK',
			drop: async (key) => void (await guard(redis.del(prefix + key))),
		}),
		ping: async () => void (await guard(redis.ping())),
		close: async () => redis.disconnect(),
	};
}

function createLocal(): Shared {
	const entries = new Map<string, { value: string; expiresAt: number }>();
	const live = (key: string): string | null => {
		const entry = entries.get(key);
		if (entry && entry.expiresAt > Date.now()) return entry.value;
		entries.delete(key);
		return null;
	};
	const put = (key: string, value: string, ttlMs: number): void => {
		entries.delete(key);
		entries.set(key, { value, expiresAt: Date.now() + ttlMs });
		if (entries.size > LOCAL_ENTRIES) entries.delete(entries.keys().next().value ?? key);
	};
	return {
		distributed: false,
		keyValue: (prefix) => ({
			get: async (key) => live(prefix + key),
			put: async (key, value, ttlMs) => put(prefix + key, value, ttlMs),
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
