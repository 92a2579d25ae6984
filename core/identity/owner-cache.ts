// A cache of look-ups about users or organizations in this process. An entry is dropped when its owner changes, on whichever replica.

import type { Changes, Topic } from '../store/store.ts';

/** The capacity of each cache; entries not used lately are dropped first. */
const CAPACITY = 10_000;

interface OwnerCacheEntry<T> {
	/** The owner that the entry is about; null while unknown, and when the look-up found nobody. */
	ownerId: string | null;
	expiresAtMs: number;
	/** Whether the entry was used since the last eviction looked at it. */
	wasUsed: boolean;
	value: Promise<T | null>;
}

export interface LookUp<T> {
	/** The owner that it is about, if known beforehand. */
	ownerId?: string;
	/** Unix time. Default: never. */
	expiresAtMs?: number;
	/** @param found is called as soon as the owner is known: from then on, changes of others do not matter */
	look(found: (ownerId: string) => void): Promise<T | null>;
}

export interface CacheOptions<T> {
	/** The kind of owner whose changes drop entries. */
	owners: 'user' | 'org';
	ownerOf(value: T): string;
	/** Whether it also caches look-ups that found nobody. */
	keepsNobody: boolean;
}

export class OwnerCache<T> {
	readonly #entries = new Map<string, OwnerCacheEntry<T>>();
	readonly #options: CacheOptions<T>;
	readonly #unsubscribe: () => void;

	constructor(changes: Changes, options: CacheOptions<T>) {
		this.#options = options;
		this.#unsubscribe = changes.subscribe((topics) => this.#drop(new Set(topics)));
	}

	/** Returns the cached or running look-up; undefined when there is neither, or it has expired. One look-up on the hot path. */
	get(id: string): Promise<T | null> | undefined {
		const entry = this.#entries.get(id);
		if (!entry || entry.expiresAtMs <= Date.now()) return undefined;
		entry.wasUsed = true;
		return entry.value;
	}

	/** Starts a look-up, which replaces the existing entry; a failed one is not cached. */
	add(id: string, { ownerId, expiresAtMs = Number.POSITIVE_INFINITY, look }: LookUp<T>): Promise<T | null> {
		const entry: OwnerCacheEntry<T> = { ownerId: ownerId ?? null, expiresAtMs, wasUsed: false, value: Promise.resolve(null) };
		const found = (owner: string): void => {
			entry.ownerId = owner;
		};
		entry.value = look(found).then((value) => {
			if (value) found(this.#options.ownerOf(value));
			else if (!this.#options.keepsNobody) this.#forget(id, entry);
			return value;
		});
		entry.value.catch(() => this.#forget(id, entry));
		this.#entries.delete(id);
		this.#makeRoom();
		this.#entries.set(id, entry);
		return entry.value;
	}

	close(): void {
		this.#unsubscribe();
		this.#entries.clear();
	}

	#forget(id: string, entry: OwnerCacheEntry<T>): void {
		if (this.#entries.get(id) === entry) this.#entries.delete(id);
	}

	/**
	 * Makes room for one more. The oldest entry is evicted, unless it was used since it was last spared: a hit thus moves nothing, and
	 * entries in use stay.
	 */
	#makeRoom(): void {
		for (const [id, entry] of this.#entries) {
			if (this.#entries.size < CAPACITY) return;
			this.#entries.delete(id);
			if (!entry.wasUsed) continue;
			entry.wasUsed = false;
			this.#entries.set(id, entry);
		}
	}

	/**
	 * Drops the entries of changed owners. A running look-up may have read its rows before the change, and may be about anybody: callers that
	 * already wait for it get its result, later ones do not.
	 */
	#drop(topics: ReadonlySet<Topic>): void {
		const { owners } = this.#options;
		const all = topics.has('*');
		if (!all && ![...topics].some((topic) => topic.startsWith(`${owners}:`))) return;
		for (const [id, { ownerId }] of this.#entries) {
			if (all || ownerId === null || topics.has(`${owners}:${ownerId}`)) this.#entries.delete(id);
		}
	}
}
