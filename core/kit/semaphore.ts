// A few places for costly work, and a bounded queue in front of them.

import { raceWith } from './race.ts';

export class Semaphore {
	readonly #maxWaiting: number;
	readonly #tooMany: () => Error;
	readonly #waiting = new Set<() => void>();
	#free: number;

	/** @param tooMany the refusal of whoever comes when `maxWaiting` wait already */
	constructor(places: number, maxWaiting: number, tooMany: () => Error) {
		this.#free = places;
		this.#maxWaiting = maxWaiting;
		this.#tooMany = tooMany;
	}

	/**
	 * Runs `work` when a place is free. @throws the refusal when too many wait already; the signal's reason when it was
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
		// The place passes on without becoming free, so nobody can take it in between.
		this.#waiting.delete(next);
		next();
	}
}
