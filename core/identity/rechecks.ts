// The callers of open event streams, each checked again after a change that may have ended their rights.

import type { GatewayError } from '../contract/errors.ts';
import { Semaphore } from '../kit/semaphore.ts';
import type { Changes, Topic } from '../store/store.ts';

/** The least time between two checks of one caller, and between an outage and the next. */
const AGAIN_MS = 500;
/** Checks at once, of which each asks the database a few times. */
const AT_ONCE = 4;
/** Timers of Node take no longer times. */
const LONGEST_MS = 2 ** 31 - 1;

export interface FollowedCaller {
	/** Aborts when the caller may no longer do all that they could when they came. */
	readonly signal: AbortSignal;
	leave(): void;
}

export interface RecheckParts<Who> {
	changes: Pick<Changes, 'subscribe'>;
	concerns(heard: ReadonlySet<Topic>, who: Who): boolean;
	/** Returns the refusal that ends the caller's streams; null: they may come, `unknown`: it cannot be told now. Never throws. */
	check(who: Who, signal: AbortSignal): Promise<GatewayError | 'unknown' | null>;
	/** Returns the time at which the caller is checked without a change. */
	expiresAt?(who: Who): Date | null | undefined;
}

/** One caller, whose streams share a check. */
interface Entry<Who> {
	who: Who;
	streams: number;
	ending: AbortController;
	isDue: boolean;
	isChecking: boolean;
	timer: NodeJS.Timeout | null;
}

export class Rechecks<Who> {
	readonly #parts: RecheckParts<Who>;
	readonly #entries = new Map<string, Entry<Who>>();
	readonly #checks = new Semaphore(AT_ONCE, Number.POSITIVE_INFINITY, () => new Error('Too many callers are checked.'));
	readonly #unsubscribe: () => void;

	/** Must be made after the caches that the check reads, which drop what has changed before anybody is checked. */
	constructor(parts: RecheckParts<Who>) {
		this.#parts = parts;
		this.#unsubscribe = parts.changes.subscribe((topics) => this.#hear(topics));
	}

	/** The number of callers who have streams. */
	get size(): number {
		return this.#entries.size;
	}

	/** @param key names the caller: streams with the same key are checked together */
	follow(key: string, who: Who): FollowedCaller {
		const entry = this.#entries.get(key) ?? this.#add(key, who);
		entry.streams += 1;
		let isIn = true;
		return {
			signal: entry.ending.signal,
			leave: () => {
				if (isIn) this.#leave(key, entry);
				isIn = false;
			},
		};
	}

	close(): void {
		this.#unsubscribe();
		for (const [key, entry] of this.#entries) this.#drop(key, entry);
	}

	#add(key: string, who: Who): Entry<Who> {
		const entry: Entry<Who> = { who, streams: 0, ending: new AbortController(), isDue: false, isChecking: false, timer: null };
		this.#entries.set(key, entry);
		// A change in the time in which the stream was opened may have been announced before.
		this.#becomesDue(key, entry);
		return entry;
	}

	#leave(key: string, entry: Entry<Who>): void {
		entry.streams -= 1;
		if (entry.streams === 0) this.#drop(key, entry);
	}

	#drop(key: string, entry: Entry<Who>): void {
		if (entry.timer) clearTimeout(entry.timer);
		entry.timer = null;
		if (this.#entries.get(key) === entry) this.#entries.delete(key);
	}

	#hear(topics: readonly Topic[]): void {
		const heard = new Set(topics);
		for (const [key, entry] of this.#entries) if (this.#parts.concerns(heard, entry.who)) this.#becomesDue(key, entry);
	}

	#becomesDue(key: string, entry: Entry<Who>): void {
		entry.isDue = true;
		if (!entry.isChecking) this.#later(key, entry, 0);
	}

	/** Checks after this time, or when the caller's credential ends. */
	#later(key: string, entry: Entry<Who>, waitMs: number): void {
		if (entry.timer) clearTimeout(entry.timer);
		entry.timer = setTimeout(() => void this.#check(key, entry), Math.min(Math.max(waitMs, 0), LONGEST_MS)).unref();
	}

	async #check(key: string, entry: Entry<Who>): Promise<void> {
		entry.timer = null;
		entry.isChecking = true;
		entry.isDue = false;
		const ended = await this.#checks.run(() => this.#parts.check(entry.who, entry.ending.signal));
		if (ended === 'unknown') entry.isDue = true;
		else if (ended) {
			this.#drop(key, entry);
			return entry.ending.abort(ended);
		}
		const expiresAt = this.#parts.expiresAt?.(entry.who);
		// The next one waits, so that a busy organization does not have its callers checked all the time.
		setTimeout(() => {
			entry.isChecking = false;
			if (this.#entries.get(key) !== entry) return;
			if (entry.isDue) this.#later(key, entry, 0);
			else if (expiresAt) this.#later(key, entry, expiresAt.getTime() - Date.now());
		}, AGAIN_MS).unref();
	}
}
