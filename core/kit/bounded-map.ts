// A map that never holds more than so many entries. Setting a key makes it the newest, so whoever sets what it gets as well keeps what is
// in use, and whoever does not keeps what came last.

export interface Leaving<K, V> {
	/** Called with what had to go for others, not with what was deleted. */
	onEvicted?: (key: K, value: V) => void;
	/** True for what must stay: the next oldest goes in its place. */
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

	/** The oldest that may go. */
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
