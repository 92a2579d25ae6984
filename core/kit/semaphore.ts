// Limits concurrent work, with a bounded queue of waiting callers.

import { raceWith } from './race.ts';

export class Semaphore {
	readonly #maxWaiting: number;
	readonly #tooMany: () => Error;
	readonly #waiting = new Set<() => void>();
	#free: number;

	/** @param tooMany builds the error for a caller when `maxWaiting` are waiting already */
	constructor(slots: number, maxWaiting: number, tooMany: () => Error) {
		this.#free = slots;
		this.#maxWaiting = maxWaiting;
		this.#tooMany = tooMany;
	}

	/**
	 * Runs `work` when a slot is free. @throws the error of `tooMany` when the queue is full; the signal's reason when it was
	 * aborted while waiting
	 */
	async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
		await this.#enter(signal);
		try {
			return await work();
		} finally {
			this.#exit();
		}
	}

	async #enter(signal: AbortSignal | undefined): Promise<void> {
		signal?.throwIfAborted();
		if (this.#free > 0) {
			this.#free--;
			return;
		}
		if (this.#waiting.size >= this.#maxWaiting) throw this.#tooMany();
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#waiting.add(resolve);
		await (signal ? raceWith(signal, promise, { leave: () => this.#waiting.delete(resolve) }) : promise);
	}

	#exit(): void {
		const [next] = this.#waiting;
		if (!next) {
			this.#free++;
			return;
		}
		// The slot is handed over without becoming free, so that no other caller can take it in between.
		this.#waiting.delete(next);
		next();
	}
}
