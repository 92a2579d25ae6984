// Values computed once and cached for a while in this process: bounded, single-flight, failures not cached.

import { BoundedMap } from '../kit/bounded-map.ts';

interface MemoEntry {
	value: Promise<unknown>;
	expiresAt: number;
}

export class Memo {
	readonly #entries: BoundedMap<string, MemoEntry>;

	/** @param capacity number of entries; the least recently computed are evicted first */
	constructor(capacity: number) {
		this.#entries = new BoundedMap(capacity);
	}

	get<T>(key: string, ttlMs: number, compute: () => Promise<T>): Promise<T> {
		const now = performance.now();
		const known = this.#entries.get(key);
		// Values of a key come from the same caller's `compute`, so the value is its T.
		if (known && known.expiresAt > now) return known.value as Promise<T>;
		const value = compute();
		const entry = { value, expiresAt: now + ttlMs };
		this.#dropExpired(now);
		this.#entries.set(key, entry);
		value.catch(() => this.#entries.get(key) === entry && this.#entries.delete(key));
		return value;
	}

	/** Drops expired entries, oldest first: memory is bounded by the lifetime of entries, not by all that were ever added. */
	#dropExpired(now: number): void {
		for (const [key, { expiresAt }] of this.#entries) {
			if (expiresAt > now) return;
			this.#entries.delete(key);
		}
	}

	drop(key: string): void {
		this.#entries.delete(key);
	}

	/** The number of entries. */
	get size(): number {
		return this.#entries.size;
	}

	clear(): void {
		this.#entries.clear();
	}
}
