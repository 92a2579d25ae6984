// What this process knows of the windows it counts in: what Redis told it, and what Redis has not heard yet. Where there is no
// Redis, this is all there is.

import { BoundedMap } from '../kit/bounded-map.ts';
import type { Bucket, Standing } from './windows.ts';

interface Mirror {
	/** The greatest count that Redis answered with; it never lies above what Redis has, unless that has lost something. */
	told: number;
	/** Of it, what this process has told. */
	own: number;
	/** Hits that Redis has not heard of. */
	untold: number;
	/** Hits that are on their way to it, beside those of the requests that bring them. */
	sent: number;
	/** By the process's own clock, which nobody sets. */
	endsAt: number;
}

/** A window as Redis has it. `leftMs` is below 1 when it has none. */
interface Counted {
	count: number;
	leftMs: number;
}

/** Windows remembered; beyond it, those that began first are forgotten. */
const CAPACITY = 200_000;
/** So near its end a window may be over in Redis: what is known of it must not be carried into the next. */
const ENDING_MS = 250;
/** What a window may seem longer by, for rounding. */
const SLACK_MS = 10;

export class Mirrors {
	readonly #open = new BoundedMap<string, Mirror>(CAPACITY);

	/** Opens a window when there is none. */
	count(bucket: Bucket): void {
		const mirror = this.#get(bucket) ?? this.#begin(bucket.key, performance.now() + bucket.windowMs);
		mirror.untold++;
	}

	/** What Redis should believe even if it has lost it, and for how long. */
	known(bucket: Bucket): Counted {
		const mirror = this.#open.get(bucket.key);
		const leftMs = mirror ? Math.ceil(mirror.endsAt - performance.now()) : 0;
		return mirror && leftMs > ENDING_MS ? { count: mirror.told, leftMs } : { count: 0, leftMs: bucket.windowMs };
	}

	/** Of a window that is ending, nothing has to be told. */
	take({ key }: Bucket): number {
		const mirror = this.#open.get(key);
		if (!mirror || mirror.endsAt - performance.now() <= ENDING_MS) return 0;
		const hits = mirror.untold;
		mirror.untold = 0;
		mirror.sent += hits;
		return hits;
	}

	/** After `take`: whether they arrived. */
	settle(key: string, hits: number, didArrive: boolean): void {
		const mirror = this.#open.get(key);
		if (!mirror) return;
		mirror.sent = Math.max(0, mirror.sent - hits);
		mirror[didArrive ? 'own' : 'untold'] += hits;
	}

	/**
	 * @param askedAt when the question was sent, so that no window seems to last longer than it does
	 * @param added the hits that the question itself brought
	 */
	learn(key: string, { count, leftMs }: Counted, { askedAt, added }: { askedAt: number; added: number }): void {
		if (leftMs <= 0) return;
		const endsAt = askedAt + leftMs;
		const known = this.#open.get(key);
		const isNext = known !== undefined && known.endsAt - askedAt <= ENDING_MS && endsAt > known.endsAt + ENDING_MS + SLACK_MS;
		const mirror = known && known.endsAt > askedAt && !isNext ? known : this.#begin(key, endsAt);
		mirror.told = Math.max(mirror.told, count);
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

	/** Redis has been emptied: each replica tells it of its own hits again, and so of none twice. */
	forgetTold(): void {
		for (const mirror of this.#open.values()) {
			mirror.untold += mirror.own;
			mirror.own = 0;
			mirror.told = 0;
		}
	}

	/** Keys of the windows of which Redis has not heard all. */
	untold(): string[] {
		const keys: string[] = [];
		for (const [key, { untold, endsAt }] of this.#open) if (untold > 0 && endsAt > performance.now()) keys.push(key);
		return keys;
	}

	sweep(): void {
		const now = performance.now();
		for (const [key, { endsAt }] of this.#open) if (endsAt <= now) this.#open.delete(key);
	}

	clear(): void {
		this.#open.clear();
	}

	/** Null when no window of it is open. */
	#get({ key }: Bucket): Mirror | null {
		const mirror = this.#open.get(key);
		return mirror && mirror.endsAt > performance.now() ? mirror : null;
	}

	#begin(key: string, endsAt: number): Mirror {
		const mirror = { told: 0, own: 0, untold: 0, sent: 0, endsAt };
		this.#open.set(key, mirror);
		return mirror;
	}
}

const countOf = ({ told, untold, sent }: Mirror): number => told + untold + sent;
