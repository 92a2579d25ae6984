// This process's knowledge of the windows it counts in: the counts that Redis answered with, and the hits not yet reported to it. Without
// Redis, this is all there is.

import { BoundedMap } from '../kit/bounded-map.ts';
import type { CountedHit } from './shared-hits.ts';
import type { Bucket, Standing } from './windows.ts';

interface MirroredWindow {
	/** The greatest count that Redis answered with; never above the count in Redis, unless Redis lost data. */
	confirmed: number;
	/** The part of it that this process reported. */
	own: number;
	/** Hits not yet reported to Redis. */
	unreported: number;
	/** Hits that are being reported, besides those of the requests that report them. */
	sent: number;
	/** By the monotonic clock of this process. */
	endsAt: number;
}

type Counted = CountedHit['windows'][number];

/** The number of windows kept; beyond it, those that began first are dropped. */
const CAPACITY = 200_000;
/** The time before the end of a window in which it may already be over in Redis: its count must not be carried into the next. */
const ENDING_MS = 250;
/** The time that a window may seem longer by rounding. */
const SLACK_MS = 10;

export class WindowMirror {
	readonly #open = new BoundedMap<string, MirroredWindow>(CAPACITY);

	/** Counts a hit; opens a window when there is none. */
	count(bucket: Bucket): void {
		const mirror = this.#get(bucket) ?? this.#begin(bucket.key, performance.now() + bucket.windowMs);
		mirror.unreported++;
	}

	/** Returns the count that Redis should have even after losing data, and its remaining time. */
	known(bucket: Bucket): Counted {
		const mirror = this.#open.get(bucket.key);
		const leftMs = mirror ? Math.ceil(mirror.endsAt - performance.now()) : 0;
		return mirror && leftMs > ENDING_MS ? { count: mirror.confirmed, leftMs } : { count: 0, leftMs: bucket.windowMs };
	}

	/** Takes the hits to be reported. A window about to end needs no report. */
	take({ key }: Bucket): number {
		const mirror = this.#open.get(key);
		if (!mirror || mirror.endsAt - performance.now() <= ENDING_MS) return 0;
		const hits = mirror.unreported;
		mirror.unreported = 0;
		mirror.sent += hits;
		return hits;
	}

	/** Records after `take` whether the report arrived. */
	settle(key: string, hits: number, didArrive: boolean): void {
		const mirror = this.#open.get(key);
		if (!mirror) return;
		mirror.sent = Math.max(0, mirror.sent - hits);
		mirror[didArrive ? 'own' : 'unreported'] += hits;
	}

	/**
	 * Learns the count of a window from Redis.
	 * @param askedAt the time of sending the request, so that no window seems to last longer than it does
	 * @param added the hits that the request itself reported
	 */
	learn(key: string, { count, leftMs }: Counted, { askedAt, added }: { askedAt: number; added: number }): void {
		if (leftMs <= 0) return;
		const endsAt = askedAt + leftMs;
		const known = this.#open.get(key);
		const isNext = known !== undefined && known.endsAt - askedAt <= ENDING_MS && endsAt > known.endsAt + ENDING_MS + SLACK_MS;
		const mirror = known && known.endsAt > askedAt && !isNext ? known : this.#begin(key, endsAt);
		mirror.confirmed = Math.max(mirror.confirmed, count);
		mirror.own += added;
		mirror.endsAt = Math.max(mirror.endsAt, endsAt);
	}

	/** @param max may be less than the window's own */
	describe(bucket: Bucket, max: number): Standing {
		const mirror = this.#get(bucket);
		const leftMs = mirror ? mirror.endsAt - performance.now() : bucket.windowMs;
		return { max, remaining: Math.max(0, max - (mirror ? countOf(mirror) : 0)), resetAtMs: Date.now() + leftMs };
	}

	isFull(bucket: Bucket, max: number): boolean {
		const mirror = this.#get(bucket);
		return mirror !== null && countOf(mirror) >= max;
	}

	/** Prepares for an emptied Redis: each replica reports its own hits again, and so none twice. */
	forgetConfirmed(): void {
		for (const mirror of this.#open.values()) {
			mirror.unreported += mirror.own;
			mirror.own = 0;
			mirror.confirmed = 0;
		}
	}

	/** Lists the keys of windows with hits not yet reported. */
	unreported(): string[] {
		const keys: string[] = [];
		for (const [key, { unreported, endsAt }] of this.#open) if (unreported > 0 && endsAt > performance.now()) keys.push(key);
		return keys;
	}

	sweep(): void {
		const now = performance.now();
		for (const [key, { endsAt }] of this.#open) if (endsAt <= now) this.#open.delete(key);
	}

	clear(): void {
		this.#open.clear();
	}

	/** Returns the open window of the bucket; null when there is none. */
	#get({ key }: Bucket): MirroredWindow | null {
		const mirror = this.#open.get(key);
		return mirror && mirror.endsAt > performance.now() ? mirror : null;
	}

	#begin(key: string, endsAt: number): MirroredWindow {
		const mirror = { confirmed: 0, own: 0, unreported: 0, sent: 0, endsAt };
		this.#open.set(key, mirror);
		return mirror;
	}
}

const countOf = ({ confirmed, unreported, sent }: MirroredWindow): number => confirmed + unreported + sent;
