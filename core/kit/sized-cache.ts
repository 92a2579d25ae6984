// A cache with a maximum size in bytes: the least recently used entry is evicted first.

export class SizedCache<V> {
	readonly #maxBytes: number;
	/** In the order of their last use. */
	readonly #entries = new Map<string, { value: V; sizeBytes: number }>();
	#newest: string | null = null;
	#bytes = 0;

	constructor(maxBytes: number) {
		this.#maxBytes = maxBytes;
	}

	get bytes(): number {
		return this.#bytes;
	}

	get(key: string): V | undefined {
		const entry = this.#entries.get(key);
		// The same key again and again moves nothing.
		if (!entry || key === this.#newest) return entry?.value;
		this.#entries.delete(key);
		this.#entries.set(key, entry);
		this.#newest = key;
		return entry.value;
	}

	/** Stores a value, unless it is larger than the whole cache. */
	put(key: string, value: V, sizeBytes: number): void {
		this.drop(key);
		if (sizeBytes > this.#maxBytes) return;
		this.#entries.set(key, { value, sizeBytes });
		this.#newest = key;
		this.#bytes += sizeBytes;
		for (const oldest of this.#entries.keys()) {
			if (this.#bytes <= this.#maxBytes) return;
			this.drop(oldest);
		}
	}

	drop(key: string): void {
		const entry = this.#entries.get(key);
		if (!entry) return;
		this.#entries.delete(key);
		this.#bytes -= entry.sizeBytes;
	}
}

/**
 * Copies bytes into memory of their own. A small buffer of Node's is a part of a pool, which it keeps alive as a whole: a cache that counts
 * its bytes would hold many times as much.
 */
export function withOwnMemory(bytes: Uint8Array): Buffer {
	const own = Buffer.allocUnsafeSlow(bytes.length);
	own.set(bytes);
	return own;
}
