// Fixed windows of requests, counted by all replicas together in one round trip; by this process alone without Redis, or while it cannot be
// reached.

import type { Log } from '../contract/nouns.ts';
import type { Presence } from '../shared/presence.ts';
import { defineScript, type Shared } from '../shared/redis.ts';
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
	hit(buckets: readonly Bucket[]): Promise<Verdict>;
	/** Returns the standing as far as this process knows without asking Redis. */
	look(bucket: Bucket): Standing;
	close(): void;
}

/**
 * Arguments per window: its greatest count, its remaining time as far as the caller knows, the hits to add, the hits not yet reported, and
 * the least count that it must have by now. All or nothing: either every window has room and all are counted, or none is. Of the full
 * windows, the one that ends last refuses: a client that waits for it finds room in all.
 */
const HIT = defineScript(`
local refused, last, stored, counts, lefts = 0, -1, {}, {}, {}
for i, key in ipairs(KEYS) do
	local max, leftMs, cost = tonumber(ARGV[i * 5 - 4]), tonumber(ARGV[i * 5 - 3]), tonumber(ARGV[i * 5 - 2])
	local unreported, floor = tonumber(ARGV[i * 5 - 1]), tonumber(ARGV[i * 5])
	stored[i] = tonumber(redis.call('GET', key) or '0')
	counts[i] = math.max(stored[i], floor) + unreported
	lefts[i] = redis.call('PTTL', key)
	local ends = (lefts[i] < 0 or (unreported > 0 and lefts[i] < leftMs)) and leftMs or lefts[i]
	if counts[i] + math.max(cost, 1) > max and ends > last then refused, last = i, ends end
end
local answer = { refused }
for i, key in ipairs(KEYS) do
	local leftMs, cost, unreported = tonumber(ARGV[i * 5 - 3]), tonumber(ARGV[i * 5 - 2]), tonumber(ARGV[i * 5 - 1])
	local count = counts[i] + (refused == 0 and cost or 0)
	local left = lefts[i]
	if count > stored[i] then
		redis.call('INCRBY', key, count - stored[i])
		if left < 0 or (unreported > 0 and left < leftMs) then
			redis.call('PEXPIRE', key, leftMs)
			left = leftMs
		end
	end
	answer[#answer + 1] = count
	answer[#answer + 1] = left
end
return answer`);

const SWEEP_MS = 10_000;
/** The number of windows reported in one call, so that Redis is never held up. */
const REPORTED_AT_ONCE = 200;

export const createWindows = (shared: Shared, presence: Presence, log: Log): Windows => new SharedWindows(shared, presence, log);

class SharedWindows implements Windows {
	readonly #shared: Shared;
	readonly #presence: Presence;
	readonly #log: Log;
	readonly #mirror = new WindowMirror();
	readonly #sweeper: NodeJS.Timeout;
	readonly #unwatch: () => void;
	#isClosed = false;

	constructor(shared: Shared, presence: Presence, log: Log) {
		this.#shared = shared;
		this.#presence = presence;
		this.#log = log;
		this.#sweeper = setInterval(() => this.#mirror.sweep(), SWEEP_MS).unref();
		this.#unwatch = presence.watch({ lost: (error) => this.#lost(error), back: (wasEmptied) => this.#back(wasEmptied) });
	}

	async hit(buckets: readonly Bucket[]): Promise<Verdict> {
		// A window known to be full needs no request: a flood costs Redis nothing.
		if (!this.#shared.distributed || this.#presence.isAway || this.#refusing(buckets) !== -1) return this.#hitHere(buckets);
		try {
			return await this.#hitShared(buckets);
		} catch (error) {
			this.#presence.lost(error);
			return this.#hitHere(buckets);
		}
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
		for (const [at, bucket] of buckets.entries()) {
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

	async #hitShared(buckets: readonly Bucket[]): Promise<Verdict> {
		const taken = buckets.map((bucket) => this.#mirror.take(bucket));
		const args = buckets.flatMap((bucket, at) => {
			const { count, leftMs } = this.#mirror.known(bucket);
			return [bucket.max, leftMs, bucket.isPeek ? 0 : 1, taken[at] ?? 0, count];
		});
		const settle = (didArrive: boolean): void => {
			for (const [at, hits] of taken.entries()) if (hits > 0) this.#mirror.settle(buckets[at]?.key ?? '', hits, didArrive);
		};
		const askedAt = performance.now();
		const keys = buckets.map(({ key }) => `limit:${key}`);
		const [refused = 0, ...counted] = await this.#shared.run(HIT, keys, args).catch((error: unknown) => {
			settle(false);
			throw error;
		});
		settle(true);
		for (const [at, { key }] of buckets.entries()) {
			const added = refused === 0 && !buckets[at]?.isPeek ? 1 : 0;
			this.#mirror.learn(key, { count: counted[at * 2] ?? 0, leftMs: counted[at * 2 + 1] ?? 0 }, { askedAt, added });
		}
		return this.#verdict(buckets, refused - 1);
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
		for (let at = 0; at < keys.length && !this.#presence.isAway && !this.#isClosed; at += REPORTED_AT_ONCE) {
			const looked = keys.slice(at, at + REPORTED_AT_ONCE).map((key) => ({ key, max: Number.MAX_SAFE_INTEGER, windowMs: 1, isPeek: true }));
			await this.#hitShared(looked).catch((error: unknown) => this.#presence.lost(error));
		}
	}
}
