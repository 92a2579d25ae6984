// A map with a maximum number of entries. Setting a key makes it the newest: a caller that sets each entry again when it reads it evicts
// the least recently used ones, any other caller the oldest ones.

export interface Leaving<K, V> {
	/** Called with an entry that was evicted, not with one that was deleted. */
	onEvicted?: (key: K, value: V) => void;
	/** Returns true for an entry that must stay: the next oldest is evicted instead. */
	mustStay?: (value: V) => boolean;
}

export class BoundedMap<K, V> extends Map<K, V> {
	readonly #capacity: number;
	readonly #leaving: Leaving<K, V>;

	constructor(capacity: number, leaving: Leaving<K, V> = {}) {
		super();
		this.#capacity = capacity;
		this.#leaving = leaving;
	}

	override set(key: K, value: V): this {
		this.delete(key);
		super.set(key, value);
		if (this.size > this.#capacity) this.#evict();
		return this;
	}

	/** Evicts the oldest entry that may go. */
	#evict(): void {
		const { mustStay, onEvicted } = this.#leaving;
		for (const [key, value] of this) {
			if (mustStay?.(value)) continue;
			this.delete(key);
			onEvicted?.(key, value);
			return;
		}
	}
}
