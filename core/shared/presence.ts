// The number of live replicas, and whether Redis can be reached. Limits and lanes compute their share from it.

import { defineScript, type Shared } from './redis.ts';

// Registers this replica and forgets silent ones, by Redis's clock, since those of replicas may differ. The second
// answer is the time at which this Redis was last empty: if it changes, Redis has lost its data.
const PRESENT = defineScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], now, 'NX')
return { redis.call('ZCARD', KEYS[1]), tonumber(redis.call('GET', KEYS[2])) }`);

const ABSENT = defineScript(`return redis.call('ZREM', KEYS[1], ARGV[1])`);

const REPLICAS = 'replicas';
/** The key is named after its first user. */
const SINCE = 'limits-since';
const PRESENCE_MS = 2_000;
const SILENCE_MS = 10_000;
/** Redis is probed at this interval while it is away, so that requests do not wait for it. */
const PROBE_MS = 250;

export interface RedisWatcher {
	/** Called when Redis is lost, and at once if it was lost already. */
	lost(error: unknown): void;
	/** @param wasEmptied whether Redis has lost its data since it was last reached */
	back(wasEmptied: boolean): void;
}

/** Registers this replica. @param replicaId unique to this process. @param workers of its machine, which count before they are heard of */
export async function joinReplicas(shared: Shared, replicaId: string, workers = 1): Promise<Presence> {
	const presence = new Presence(shared, replicaId, workers);
	await presence.start();
	return presence;
}

export class Presence {
	readonly #shared: Shared;
	readonly #replicaId: string;
	readonly #workers: number;
	readonly #watchers = new Set<RedisWatcher>();
	#timer: NodeJS.Timeout | undefined;
	/** Set while Redis is away. */
	#probe: { timer: NodeJS.Timeout; error: unknown } | null = null;
	#isClosed = false;
	#replicas: number;
	/** The time at which Redis was last empty, by its last answer; null before the first. */
	#since: number | null = null;

	constructor(shared: Shared, replicaId: string, workers: number) {
		this.#shared = shared;
		this.#replicaId = replicaId;
		this.#workers = workers;
		this.#replicas = workers;
	}

	async start(): Promise<void> {
		if (!this.#shared.distributed) return;
		this.#timer = setInterval(() => this.#probe ?? this.#present(), PRESENCE_MS).unref();
		await this.#present();
	}

	/** The number of live replicas, including this one; never below that of the workers of this machine. */
	get replicas(): number {
		return this.#replicas;
	}

	/** Whether Redis could not be reached at the last attempt; false if there is no Redis. */
	get isAway(): boolean {
		return this.#probe !== null;
	}

	/** Subscribes a watcher. @returns a function that unsubscribes it */
	watch(watcher: RedisWatcher): () => void {
		this.#watchers.add(watcher);
		if (this.#probe) watcher.lost(this.#probe.error);
		return () => void this.#watchers.delete(watcher);
	}

	/** Reports that Redis cannot be reached: only the probe calls it until it is back. */
	lost(error: unknown): void {
		if (this.#probe || this.#isClosed) return;
		this.#probe = { timer: setInterval(() => void this.#present(), PROBE_MS).unref(), error };
		for (const watcher of this.#watchers) watcher.lost(error);
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		clearInterval(this.#timer);
		if (this.#probe) clearInterval(this.#probe.timer);
		// If this fails, the other replicas forget this one after SILENCE_MS.
		if (this.#shared.distributed) await this.#shared.run(ABSENT, [REPLICAS], [this.#replicaId]).catch(() => null);
	}

	/** Registers this replica. It writes, since a read-only Redis cannot count. */
	async #present(): Promise<void> {
		try {
			const [count = 1, since = 0] = await this.#shared.run(PRESENT, [REPLICAS, SINCE], [this.#replicaId, SILENCE_MS]);
			// A Redis that is back may be empty, and the others have not registered there yet: their shares stay theirs.
			this.#replicas = Math.max(this.#probe ? this.#replicas : this.#workers, count);
			this.#found(since);
		} catch (error) {
			this.lost(error);
		}
	}

	/** @param since the time at which Redis was last empty */
	#found(since: number): void {
		const wasEmptied = this.#since !== null && since !== this.#since;
		this.#since = since;
		if (!this.#probe) return;
		clearInterval(this.#probe.timer);
		this.#probe = null;
		for (const watcher of this.#watchers) watcher.back(wasEmptied);
	}
}
