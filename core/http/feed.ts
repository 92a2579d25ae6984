// A bounded queue between one side that gives items when it has them and another that takes them when it can.

interface Waiting<T> {
	item: T;
	size: number;
}

/** One consumer iterates over it. When that leaves, further items are refused. */
export class Feed<T> implements AsyncIterable<T, void> {
	readonly #max: number;
	readonly #waiting: Waiting<T>[] = [];
	#size = 0;
	#hasEnded = false;
	#taker: ((result: IteratorResult<T, void>) => void) | null = null;

	/** @param max the most that may wait, in the unit in which `give` counts */
	constructor(max: number) {
		this.#max = max;
	}

	/** Returns false when the item was refused: too many wait, or the feed has ended. */
	give(item: T, size = 1): boolean {
		if (this.#hasEnded) return false;
		if (this.#hand(item)) return true;
		if (this.#size + size > this.#max) return false;
		this.#keep({ item, size });
		return true;
	}

	/** Ends the feed. @param last is taken whatever waits */
	end(last?: T): void {
		if (this.#hasEnded) return;
		this.#hasEnded = true;
		if (last !== undefined && !this.#hand(last)) this.#keep({ item: last, size: 0 });
		this.#taker?.({ done: true, value: undefined });
		this.#taker = null;
	}

	[Symbol.asyncIterator](): AsyncIterator<T, void> {
		return {
			next: () => new Promise((resolve) => this.#take(resolve)),
			return: async () => {
				this.#waiting.length = 0;
				this.end();
				return { done: true, value: undefined };
			},
		};
	}

	#take(taker: (result: IteratorResult<T, void>) => void): void {
		const first = this.#waiting.shift();
		if (first) this.#size -= first.size;
		if (first) taker({ done: false, value: first.item });
		else if (this.#hasEnded) taker({ done: true, value: undefined });
		else this.#taker = taker;
	}

	#hand(item: T): boolean {
		const taker = this.#taker;
		this.#taker = null;
		taker?.({ done: false, value: item });
		return taker !== null;
	}

	#keep(waiting: Waiting<T>): void {
		this.#waiting.push(waiting);
		this.#size += waiting.size;
	}
}
