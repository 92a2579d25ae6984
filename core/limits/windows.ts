// Fixed windows of requests, counted by all replicas together in one round trip; by this process alone where there is no
// Redis, or while it cannot be reached.

import type { Log } from '../contract/nouns.ts';
import type { Presence } from '../shared/presence.ts';
import { defineScript, type Shared } from '../shared/redis.ts';
import { Mirrors } from './window-mirror.ts';

/** One window of one subject. It begins with the first hit. */
export interface Bucket {
	key: string;
	max: number;
	windowMs: number;
	/** Only looked at: refuses when it is full, and grows no fuller. */
	isPeek?: boolean;
	/** With Redis away, half of this replica's share: where guessing must not get easier. */
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
	/** Index of the bucket that refuses, of several the one that ends last; -1 when none does. */
	refusedBy: number;
	standings: Standing[];
}

export interface Windows {
	hit(buckets: readonly Bucket[]): Promise<Verdict>;
	/** As far as this process knows without asking. */
	look(bucket: Bucket): Standing;
	close(): void;
}

/**
 * Per window: its greatest count, for how long it lasts as far as the asker knows, what to add, what was not told yet, and the
 * least that it must have by now. All or nothing: either every window has room and every one is counted, or none is. Of those without
 * room the one that ends last refuses: whoever waits for it finds room in all.
 */
const HIT = defineScript(`
local refused, last, stored, counts, lefts = 0, -1, {}, {}, {}
for i, key in ipairs(KEYS) do
	local max, leftMs, cost = tonumber(ARGV[i * 5 - 4]), tonumber(ARGV[i * 5 - 3]), tonumber(ARGV[i * 5 - 2])
	local untold, floor = tonumber(ARGV[i * 5 - 1]), tonumber(ARGV[i * 5])
	stored[i] = tonumber(redis.call('GET', key) or '0')
	counts[i] = math.max(stored[i], floor) + untold
	lefts[i] = redis.call('PTTL', key)
	local ends = (lefts[i] < 0 or (untold > 0 and lefts[i] < leftMs)) and leftMs or lefts[i]
	if counts[i] + math.max(cost, 1) > max and ends > last then refused, last = i, ends end
end
local answer = { refused }
for i, key in ipairs(KEYS) do
	local leftMs, cost, untold = tonumber(ARGV[i * 5 - 3]), tonumber(ARGV[i * 5 - 2]), tonumber(ARGV[i * 5 - 1])
	local count = counts[i] + (refused == 0 and cost or 0)
	local left = lefts[i]
	if count > stored[i] then
		redis.call('INCRBY', key, count - stored[i])
		if left < 0 or (untold > 0 and left < leftMs) then
			redis.call('PEXPIRE', key, leftMs)
			left = leftMs
		end
	end
	answer[#answer + 1] = count
	answer[#answer + 1] = left
end
return answer`);

const SWEEP_MS = 10_000;
/** Windows told of in one call, so that Redis is never held up. */
const TOLD_AT_ONCE = 200;

export const createWindows = (shared: Shared, presence: Presence, log: Log): Windows => new SharedWindows(shared, presence, log);

class SharedWindows implements Windows {
	readonly #shared: Shared;
	readonly #presence: Presence;
	readonly #log: Log;
	readonly #mirrors = new Mirrors();
	readonly #sweeper: NodeJS.Timeout;
	readonly #unwatch: () => void;
	#isClosed = false;

	constructor(shared: Shared, presence: Presence, log: Log) {
		this.#shared = shared;
		this.#presence = presence;
		this.#log = log;
		this.#sweeper = setInterval(() => this.#mirrors.sweep(), SWEEP_MS).unref();
		this.#unwatch = presence.watch({ lost: (error) => this.#lost(error), back: (wasEmptied) => this.#back(wasEmptied) });
	}

	async hit(buckets: readonly Bucket[]): Promise<Verdict> {
		// What is known to be full needs no question: a flood costs Redis nothing.
		if (!this.#shared.distributed || this.#presence.isAway || this.#refusing(buckets) !== -1) return this.#hitHere(buckets);
		try {
			return await this.#hitShared(buckets);
		} catch (error) {
			this.#presence.lost(error);
			return this.#hitHere(buckets);
		}
	}

	look(bucket: Bucket): Standing {
		return this.#mirrors.describe(bucket, this.#maxOf(bucket));
	}

	close(): void {
		this.#isClosed = true;
		this.#unwatch();
		clearInterval(this.#sweeper);
		this.#mirrors.clear();
	}

	#maxOf({ max, isStrict }: Bucket): number {
		return this.#presence.isAway ? Math.max(1, Math.floor(max / this.#presence.replicas / (isStrict ? 2 : 1))) : max;
	}

	/** Index of the one that refuses, as far as this process knows; -1 when there is none. */
	#refusing(buckets: readonly Bucket[]): number {
		let refusing = -1;
		let endsAtMs = 0;
		for (const [at, bucket] of buckets.entries()) {
			if (!this.#mirrors.isFull(bucket, this.#maxOf(bucket))) continue;
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
		if (refusedBy === -1) for (const bucket of buckets) if (!bucket.isPeek) this.#mirrors.count(bucket);
		return this.#verdict(buckets, refusedBy);
	}

	async #hitShared(buckets: readonly Bucket[]): Promise<Verdict> {
		const taken = buckets.map((bucket) => this.#mirrors.take(bucket));
		const args = buckets.flatMap((bucket, at) => {
			const { count, leftMs } = this.#mirrors.known(bucket);
			return [bucket.max, leftMs, bucket.isPeek ? 0 : 1, taken[at] ?? 0, count];
		});
		const settle = (didArrive: boolean): void => {
			for (const [at, hits] of taken.entries()) if (hits > 0) this.#mirrors.settle(buckets[at]?.key ?? '', hits, didArrive);
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
			this.#mirrors.learn(key, { count: counted[at * 2] ?? 0, leftMs: counted[at * 2 + 1] ?? 0 }, { askedAt, added });
		}
		return this.#verdict(buckets, refused - 1);
	}

	#lost(error: unknown): void {
		this.#log.warn({ error: String(error) }, 'limits are counted by this replica alone: Redis cannot be reached');
	}

	#back(wasEmptied: boolean): void {
		// Who is told of a window first is no matter then. What was lost without an outage, the next hit puts right.
		if (wasEmptied) this.#mirrors.forgetTold();
		this.#log.info({}, 'limits are counted by all replicas again');
		void this.#tell();
	}

	/** What was counted while Redis was away: another replica may be asked next. What a hit takes along first is told by it. */
	async #tell(): Promise<void> {
		const keys = this.#mirrors.untold();
		for (let at = 0; at < keys.length && !this.#presence.isAway && !this.#isClosed; at += TOLD_AT_ONCE) {
			const looked = keys.slice(at, at + TOLD_AT_ONCE).map((key) => ({ key, max: Number.MAX_SAFE_INTEGER, windowMs: 1, isPeek: true }));
			await this.#hitShared(looked).catch((error: unknown) => this.#presence.lost(error));
		}
	}
}
