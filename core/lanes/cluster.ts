// Bottleneck in Redis, for all replicas. Its traps are named where they are avoided.

import { setImmediate as nextTurn } from 'node:timers/promises';
import Bottleneck from 'bottleneck';
import type { RedisClient } from '../shared/redis.ts';
import type { OutboundLimits } from '../store/store.ts';
import { mendScripts } from './bottleneck-patch.ts';
import { GRACE_MS, stopLimiter, takePlace } from './gates.ts';
import type { Gate, Leave } from './lane.ts';

/** Bottleneck looks after expired places and lost messages with each beat. */
const HEARTBEAT_MS = 1000;
/** Until then, Bottleneck offers free places to a replica that is gone first. */
const CLIENT_TIMEOUT_MS = 5000;
/** Without it, Bottleneck waits for Redis without end. */
const READY_MS = 1000;
/** Redis keeps the state of a lane so long after its last use: longer than any call, and than an idle lane is kept. */
const KEPT_MS = 10 * 60_000;
/** For what was said last to reach Redis: when the service stops, and when nobody is in a hurry. */
const FAREWELL_MS = 500;
const LINGER_MS = 2000;
/** Redis lost what it knew. Bottleneck's own check for these fails since Redis 7 puts `ERR` before them. */
const FORGOTTEN = /SETTINGS_KEY_NOT_FOUND|UNKNOWN_CLIENT/;

export interface ClusterParts {
	connect: () => RedisClient;
	/** Last seen alive. */
	replicas: () => number;
	/** `isForgotten`: Redis answers, but has lost the state of the lanes. */
	onTrouble: (cluster: LaneCluster, trouble: { error: Error; isForgotten: boolean }) => void;
}

/**
 * The connections to Redis from one trouble to the next: after any, gates come from a new one, since Bottleneck's limiters do not
 * recover. The old one lives on until the places that it gave have been given back.
 */
export class LaneCluster {
	readonly #parts: ClusterParts;
	readonly #client: RedisClient;
	readonly #connection: Bottleneck.IORedisConnection;
	readonly #limiters = new Set<Bottleneck>();
	readonly #ended = Promise.withResolvers<void>();
	/** Places of which Redis has not heard that they are free. */
	#given = 0;
	#isForgotten = false;
	#isRetired = false;

	constructor(parts: ClusterParts) {
		this.#parts = parts;
		this.#client = parts.connect();
		mendScripts(this.#client, { isRetired: () => this.#isRetired, onFreeing: (freeing) => this.#await(freeing) });
		this.#connection = new Bottleneck.IORedisConnection({ client: this.#client });
		this.#connection.on('error', (error: Error) => this.#trouble(error));
		this.#client.on('close', () => this.#trouble(new Error('The connection to Redis was closed.')));
	}

	/** Its limits are part of the name under which replicas share it: settings that Redis has already would win over new ones. */
	gate(apiId: string, { maxConcurrent, minTimeMs }: OutboundLimits): Gate {
		// Also the name of channels, to which ioredis adds no prefix.
		const id = `${this.#client.options.keyPrefix ?? ''}lane:${apiId}:${maxConcurrent ?? ''}:${minTimeMs ?? ''}`;
		const limiter = new Bottleneck({
			connection: this.#connection,
			id,
			maxConcurrent: maxConcurrent ?? null,
			minTime: minTimeMs ?? 0,
			timeout: KEPT_MS,
			heartbeatInterval: HEARTBEAT_MS,
			clientTimeout: CLIENT_TIMEOUT_MS,
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
			// Its beginning may be as far away as one call of each replica.
			place: (holdMs) => ready.then(() => this.#place(limiter, holdMs + GRACE_MS + (minTimeMs ?? 0) * this.#parts.replicas())),
			drop: () => this.#drop(limiter),
		};
	}

	/** No gate of it is asked any more. Resolves when all that it gave is back, and its connections are closed. */
	retire(): Promise<void> {
		this.#isRetired = true;
		this.#endIfIdle();
		return this.#ended.promise;
	}

	/** Also while Redis cannot be reached. */
	async close(): Promise<void> {
		this.#isRetired = true;
		for (const limiter of this.#limiters) stopLimiter(limiter);
		// Bottleneck sends what was given back last a few steps later.
		await nextTurn();
		await within(FAREWELL_MS, this.#connection.disconnect(true)).catch(() => undefined);
		await this.#end();
	}

	async #place(limiter: Bottleneck, expirationMs: number): Promise<Leave> {
		try {
			const { leave, over } = await takePlace(limiter, expirationMs);
			this.#await(over);
			return leave;
		} catch (error) {
			// Bottleneck rejects with errors only. What waited in a limiter that was dropped is refused by that, not by Redis.
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
		// Of a retired connection it must go on until its places are back.
		if (this.#isRetired) return;
		this.#limiters.delete(limiter);
		stopLimiter(limiter);
		// Its timer begins when it is ready.
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
