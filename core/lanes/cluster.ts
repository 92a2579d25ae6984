// Bottleneck with Redis, shared by all replicas. README.md lists which measure keeps which promise.

import { setImmediate as nextTurn } from 'node:timers/promises';
import Bottleneck from 'bottleneck';
import type { RedisClient } from '../shared/redis.ts';
import type { OutboundLimits } from '../store/store.ts';
import { mendScripts } from './bottleneck-patch.ts';
import { GRACE_MS, stopLimiter, takePlace } from './gates.ts';
import type { Gate, Leave } from './lane.ts';

/** Each heartbeat of Bottleneck frees expired places and repeats messages that were lost. */
const HEARTBEAT_MS = 1000;
/** Bottleneck itself waits for its connection without end. */
const READY_MS = 1000;
/** Redis keeps the state of a lane this long after its last use: longer than any call, and than this process keeps an idle lane. */
const KEPT_MS = 10 * 60_000;
/** A retired connection is kept this long after its last place, since a place may be on its way from Redis. */
const LINGER_MS = 2000;
/** These errors say that Redis lost its data. Bottleneck compares the whole message and misses them since Redis 7 puts `ERR` before it. */
const FORGOTTEN = /SETTINGS_KEY_NOT_FOUND|UNKNOWN_CLIENT/;

export interface ClusterParts {
	connect: () => RedisClient;
	/** The number of replicas that were last seen alive. */
	replicas: () => number;
	/** Called on each failure. `isForgotten` means that Redis answers, but has lost the state of the lanes. */
	onTrouble: (cluster: LaneCluster, trouble: { error: Error; isForgotten: boolean }) => void;
}

/**
 * One connection to Redis (with its subscriber), used until the first failure. Bottleneck's limiters do not recover from one, so gates
 * come from a new cluster afterwards; the retired one is kept until the places that it gave have been given back.
 */
export class LaneCluster {
	readonly #parts: ClusterParts;
	readonly #client: RedisClient;
	readonly #connection: Bottleneck.IORedisConnection;
	readonly #limiters = new Set<Bottleneck>();
	readonly #ended = Promise.withResolvers<void>();
	/** The number of places that Redis still counts as taken. */
	#given = 0;
	#isForgotten = false;
	#isRetired = false;

	constructor(parts: ClusterParts) {
		this.#parts = parts;
		this.#client = parts.connect();
		mendScripts(this.#client, { isRetired: () => this.#isRetired, onFreeing: (freeing) => this.#await(freeing) });
		this.#connection = new Bottleneck.IORedisConnection({ client: this.#client });
		this.#connection.on('error', (error: Error) => this.#trouble(error));
	}

	/** The limits are part of the name under which replicas share the lane: settings that Redis has already would win over new ones. */
	gate(apiId: string, { maxConcurrent, minTimeMs }: OutboundLimits): Gate {
		// The name is used for channels too, to which ioredis adds no prefix.
		const id = `${this.#client.options.keyPrefix ?? ''}lane:${apiId}:${maxConcurrent ?? ''}:${minTimeMs ?? ''}`;
		const limiter = new Bottleneck({
			connection: this.#connection,
			id,
			maxConcurrent: maxConcurrent ?? null,
			minTime: minTimeMs ?? 0,
			timeout: KEPT_MS,
			heartbeatInterval: HEARTBEAT_MS,
		});
		limiter.on('error', (error: Error) => this.#trouble(error));
		this.#limiters.add(limiter);
		const ready = within(READY_MS, limiter.ready());
		ready.catch((error: Error) => this.#trouble(error));
		const cluster = this;
		return {
			most: Number.POSITIVE_INFINITY,
			get countedAs() {
				return cluster.#isForgotten ? null : id;
			},
			// Each replica may have reserved one beginning before this one.
			place: (holdMs) => ready.then(() => this.#place(limiter, holdMs + GRACE_MS + (minTimeMs ?? 0) * this.#parts.replicas())),
			drop: () => this.#drop(limiter),
		};
	}

	/** Called when its gates are no longer used. Resolves when all its places have been given back and its connections are closed. */
	retire(): Promise<void> {
		this.#isRetired = true;
		this.#endIfIdle();
		return this.#ended.promise;
	}

	/** Closes the connections, whether Redis can be reached or not. */
	async close(): Promise<void> {
		this.#isRetired = true;
		for (const limiter of this.#limiters) stopLimiter(limiter);
		// Bottleneck sends the last places that were given back a few promises later.
		await nextTurn();
		await this.#end();
	}

	async #place(limiter: Bottleneck, expirationMs: number): Promise<Leave> {
		try {
			const { leave, over } = await takePlace(limiter, expirationMs);
			this.#await(over);
			return leave;
		} catch (error) {
			// Bottleneck rejects with errors only. A limiter that was dropped rejects what waited in it, which is no failure of Redis.
			if (this.#limiters.has(limiter)) this.#trouble(error as Error);
			throw error;
		}
	}

	#await(over: Promise<void>): void {
		this.#given++;
		void over.then(() => {
			this.#given--;
			this.#endIfIdle();
		});
	}

	#drop(limiter: Bottleneck): void {
		// A stopped limiter would lose the places that it has reserved; a retired connection is kept until they are given back.
		if (this.#isRetired) return;
		this.#limiters.delete(limiter);
		stopLimiter(limiter);
		// Its heartbeat, which `disconnect` ends, begins when it is ready.
		limiter.ready().then(
			() => limiter.disconnect(),
			() => undefined,
		);
	}

	#trouble(error: Error): void {
		const isForgotten = FORGOTTEN.test(error.message);
		this.#isForgotten ||= isForgotten;
		this.#parts.onTrouble(this, { error, isForgotten });
	}

	#endIfIdle(): void {
		if (!this.#isRetired || this.#given > 0) return;
		setTimeout(() => this.#end(), LINGER_MS).unref();
	}

	async #end(): Promise<void> {
		await this.#connection.disconnect(false);
		this.#ended.resolve();
	}
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
	const { promise, reject } = Promise.withResolvers<never>();
	const timer = setTimeout(() => reject(new Error(`Redis did not answer within ${ms} ms.`)), ms);
	return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
