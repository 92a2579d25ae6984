// Values computed once and kept for a while in this process: bounded, single-flight, failures not kept.

import { BoundedMap } from '../kit/bounded-map.ts';

interface Entry {
	value: Promise<unknown>;
	expiresAt: number;
}

export class Memo {
	readonly #entries: BoundedMap<string, Entry>;

	/** @param capacity entries kept; the least recently computed go first */
	constructor(capacity: number) {
		this.#entries = new BoundedMap(capacity);
	}

	get<T>(key: string, ttlMs: number, compute: () => Promise<T>): Promise<T> {
		const now = performance.now();
		const known = this.#entries.get(key);
		// What was put under a key came from the same caller's `compute`, so it is its T.
		if (known && known.expiresAt > now) return known.value as Promise<T>;
		const value = compute();
		const entry = { value, expiresAt: now + ttlMs };
		this.#dropExpired(now);
		this.#entries.set(key, entry);
		value.catch(() => this.#entries.get(key) === entry && this.#entries.delete(key));
		return value;
	}

	/** From the oldest on, as far as their time is over: memory holds what comes in a while, not whatever came since the start. */
	#dropExpired(now: number): void {
		for (const [key, { expiresAt }] of this.#entries) {
			if (expiresAt > now) return;
			this.#entries.delete(key);
		}
	}

	drop(key: string): void {
		this.#entries.delete(key);
	}

	/** How many are held. */
	get size(): number {
		return this.#entries.size;
	}

	clear(): void {
		this.#entries.clear();
	}
}
