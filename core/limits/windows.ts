// Fixed windows of requests, counted by all replicas together in one round trip a turn; by this process alone without Redis, or while it
// cannot be reached.

import type { Log } from '../contract/nouns.ts';
import type { Presence } from '../shared/presence.ts';
import type { Shared } from '../shared/redis.ts';
import { type AskedWindow, type CountedHit, SharedHits, WINDOWS_AT_ONCE } from './shared-hits.ts';
import { WindowMirror } from './window-mirror.ts';

/** One window of one subject. It begins with the first hit. */
export interface Bucket {
	key: string;
	max: number;
	windowMs: number;
	/** Only reads the window: refuses when it is full, and counts nothing. */
	isPeek?: boolean;
	/** While Redis is away, halves this replica's share: for windows against guessing. */
	isStrict?: boolean;
}

export interface Standing {
	max: number;
	/** Never below 0. */
	remaining: number;
	/** Unix time, milliseconds. */
	resetAtMs: number;
}

/** One standing per bucket, in their order. A refused request counts nowhere. */
export interface Verdict {
	/** Index of the refusing bucket, of several the one that ends last; -1 when none does. */
	refusedBy: number;
	standings: Standing[];
}

export interface Windows {
	/** The verdict of this process alone needs no wait. */
	hit(buckets: readonly Bucket[]): Verdict | Promise<Verdict>;
	/** Returns the standing as far as this process knows without asking Redis. */
	look(bucket: Bucket): Standing;
	close(): void;
}

const SWEEP_MS = 10_000;

export const createWindows = (shared: Shared, presence: Presence, log: Log): Windows => new SharedWindows(shared, presence, log);

class SharedWindows implements Windows {
	readonly #shared: Shared;
	readonly #hits: SharedHits;
	readonly #presence: Presence;
	readonly #log: Log;
	readonly #mirror = new WindowMirror();
	readonly #sweeper: NodeJS.Timeout;
	readonly #unwatch: () => void;
	#isClosed = false;

	constructor(shared: Shared, presence: Presence, log: Log) {
		this.#shared = shared;
		this.#hits = new SharedHits(shared);
		this.#presence = presence;
		this.#log = log;
		this.#sweeper = setInterval(() => this.#mirror.sweep(), SWEEP_MS).unref();
		this.#unwatch = presence.watch({ lost: (error) => this.#lost(error), back: (wasEmptied) => this.#back(wasEmptied) });
	}

	hit(buckets: readonly Bucket[]): Verdict | Promise<Verdict> {
		// A window known to be full needs no request: a flood costs Redis nothing.
		if (!this.#shared.distributed || this.#presence.isAway || this.#refusing(buckets) !== -1) return this.#hitHere(buckets);
		return this.#hitTogether(buckets);
	}

	look(bucket: Bucket): Standing {
		return this.#mirror.describe(bucket, this.#maxOf(bucket));
	}

	close(): void {
		this.#isClosed = true;
		this.#unwatch();
		clearInterval(this.#sweeper);
		this.#mirror.clear();
	}

	#maxOf({ max, isStrict }: Bucket): number {
		return this.#presence.isAway ? Math.max(1, Math.floor(max / this.#presence.replicas / (isStrict ? 2 : 1))) : max;
	}

	/** Index of the refusing bucket, as far as this process knows; -1 when there is none. */
	#refusing(buckets: readonly Bucket[]): number {
		let refusing = -1;
		let endsAtMs = 0;
		for (let at = 0; at < buckets.length; at++) {
			const bucket = buckets[at] as Bucket;
			if (!this.#mirror.isFull(bucket, this.#maxOf(bucket))) continue;
			const { resetAtMs } = this.look(bucket);
			if (resetAtMs <= endsAtMs) continue;
			refusing = at;
			endsAtMs = resetAtMs;
		}
		return refusing;
	}

	#verdict(buckets: readonly Bucket[], refusedBy: number): Verdict {
		const standings = buckets.map((bucket, at) => (at === refusedBy ? { ...this.look(bucket), remaining: 0 } : this.look(bucket)));
		return { refusedBy, standings };
	}

	#hitHere(buckets: readonly Bucket[]): Verdict {
		const refusedBy = this.#refusing(buckets);
		if (refusedBy === -1) for (const bucket of buckets) if (!bucket.isPeek) this.#mirror.count(bucket);
		return this.#verdict(buckets, refusedBy);
	}

	/** Counts in Redis, and here alone where it does not answer. */
	async #hitTogether(buckets: readonly Bucket[]): Promise<Verdict> {
		const taken: number[] = [];
		let askedAt = 0;
		const ask = (): AskedWindow[] => {
			askedAt = performance.now();
			return buckets.map((bucket) => {
				const unreported = this.#mirror.take(bucket);
				taken.push(unreported);
				const { count, leftMs } = this.#mirror.known(bucket);
				return { key: bucket.key, max: bucket.max, leftMs, cost: bucket.isPeek ? 0 : 1, unreported, floor: count };
			});
		};
		let counted: CountedHit;
		try {
			counted = await this.#hits.hit(buckets.length, ask);
		} catch (error) {
			this.#settle(buckets, taken, false);
			this.#presence.lost(error);
			return this.#hitHere(buckets);
		}
		this.#settle(buckets, taken, true);
		const { refusedBy, windows } = counted;
		for (let at = 0; at < buckets.length; at++) {
			const { key, isPeek } = buckets[at] as Bucket;
			const window = windows[at];
			if (window) this.#mirror.learn(key, window, { askedAt, added: refusedBy === -1 && !isPeek ? 1 : 0 });
		}
		return this.#verdict(buckets, refusedBy);
	}

	#settle(buckets: readonly Bucket[], taken: readonly number[], didArrive: boolean): void {
		for (let at = 0; at < taken.length; at++) {
			const hits = taken[at] as number;
			if (hits > 0) this.#mirror.settle((buckets[at] as Bucket).key, hits, didArrive);
		}
	}

	#lost(error: unknown): void {
		this.#log.warn({ error: String(error) }, 'limits are counted by this replica alone: Redis cannot be reached');
	}

	#back(wasEmptied: boolean): void {
		// From here on, any replica may restore a window. Data lost without an outage is restored by the next hit.
		if (wasEmptied) this.#mirror.forgetConfirmed();
		this.#log.info({}, 'limits are counted by all replicas again');
		void this.#report();
	}

	/**
	 * Reports the hits counted while Redis was away, since the next request may reach another replica. A hit may report a window earlier than
	 * this does.
	 */
	async #report(): Promise<void> {
		const keys = this.#mirror.unreported();
		for (let at = 0; at < keys.length && !this.#presence.isAway && !this.#isClosed; at += WINDOWS_AT_ONCE) {
			const looked = keys.slice(at, at + WINDOWS_AT_ONCE).map((key) => ({ key, max: Number.MAX_SAFE_INTEGER, windowMs: 1, isPeek: true }));
			await this.#hitTogether(looked);
		}
	}
}
