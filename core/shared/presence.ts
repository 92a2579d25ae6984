// Which replicas there are, and whether Redis is there, through which they know of each other. Limits and lanes ask for their share by it.

import { defineScript, type Shared } from './redis.ts';

// Every replica says that it is there; those that went silent are forgotten. By Redis's clock, since theirs may differ. The second
// answer is when this Redis was empty last: another one, another memory.
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
/** Named for those who asked first. */
const SINCE = 'limits-since';
const PRESENCE_MS = 2_000;
const SILENCE_MS = 10_000;
/** While Redis is away, requests do not wait for it: this looks whether it is back. */
const PROBE_MS = 250;

export interface RedisWatcher {
	/** Also when it was away already. */
	lost(error: unknown): void;
	/** @param wasEmptied whether it has lost what it was told, since it was last reached */
	back(wasEmptied: boolean): void;
}

/** @param replicaId unique to this process */
export async function joinReplicas(shared: Shared, replicaId: string): Promise<Presence> {
	const presence = new Presence(shared, replicaId);
	await presence.start();
	return presence;
}

export class Presence {
	readonly #shared: Shared;
	readonly #replicaId: string;
	readonly #watchers = new Set<RedisWatcher>();
	#timer: NodeJS.Timeout | undefined;
	/** Runs while Redis is away. */
	#probe: { timer: NodeJS.Timeout; error: unknown } | null = null;
	#isClosed = false;
	#replicas = 1;
	/** When Redis was empty last, as it was when it was last reached; null before. */
	#since: number | null = null;

	constructor(shared: Shared, replicaId: string) {
		this.#shared = shared;
		this.#replicaId = replicaId;
	}

	async start(): Promise<void> {
		if (!this.#shared.distributed) return;
		this.#timer = setInterval(() => this.#probe ?? this.#present(), PRESENCE_MS).unref();
		await this.#present();
	}

	/** Last seen alive, this one among them. */
	get replicas(): number {
		return this.#replicas;
	}

	/** Whether Redis could not be reached when it was last asked; never where there is none. */
	get isAway(): boolean {
		return this.#probe !== null;
	}

	/** @returns a function that ends it */
	watch(watcher: RedisWatcher): () => void {
		this.#watchers.add(watcher);
		if (this.#probe) watcher.lost(this.#probe.error);
		return () => void this.#watchers.delete(watcher);
	}

	/** For whoever finds that Redis cannot be reached: nobody asks it until it is back. */
	lost(error: unknown): void {
		if (this.#probe || this.#isClosed) return;
		this.#probe = { timer: setInterval(() => void this.#present(), PROBE_MS).unref(), error };
		for (const watcher of this.#watchers) watcher.lost(error);
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		clearInterval(this.#timer);
		if (this.#probe) clearInterval(this.#probe.timer);
		// If it cannot be told, silence says it.
		if (this.#shared.distributed) await this.#shared.run(ABSENT, [REPLICAS], [this.#replicaId]).catch(() => null);
	}

	/** Writes, since a Redis that only reads cannot count. */
	async #present(): Promise<void> {
		try {
			const [count = 1, since = 0] = await this.#shared.run(PRESENT, [REPLICAS, SINCE], [this.#replicaId, SILENCE_MS]);
			this.#replicas = Math.max(1, count);
			this.#found(since);
		} catch (error) {
			this.lost(error);
		}
	}

	/** @param since when it was empty last */
	#found(since: number): void {
		const wasEmptied = this.#since !== null && since !== this.#since;
		this.#since = since;
		if (!this.#probe) return;
		clearInterval(this.#probe.timer);
		this.#probe = null;
		for (const watcher of this.#watchers) watcher.back(wasEmptied);
	}
}
