// A few places for costly work, and a bounded queue in front of them.

import { GatewayError } from '../contract/errors.ts';
import { raceWith } from '../kit/race.ts';

export class Semaphore {
	readonly #what: string;
	readonly #maxWaiting: number;
	readonly #waiting = new Set<() => void>();
	#free: number;

	/** @param what names the work in the refusal: `imports` */
	constructor(places: number, maxWaiting: number, what: string) {
		this.#free = places;
		this.#maxWaiting = maxWaiting;
		this.#what = what;
	}

	/**
	 * Runs `work` when a place is free. @throws unavailable when too many wait already; the signal's reason when it was
	 * aborted while waiting
	 */
	async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
		await this.#enter(signal);
		try {
			return await work();
		} finally {
			this.#exit();
		}
	}

	async #enter(signal: AbortSignal): Promise<void> {
		signal.throwIfAborted();
		if (this.#free > 0) {
			this.#free--;
			return;
		}
		if (this.#waiting.size >= this.#maxWaiting)
			throw new GatewayError('unavailable', `Too many ${this.#what} are waiting: try again later.`, { headers: { 'retry-after': '30' } });
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#waiting.add(resolve);
		await raceWith(signal, promise, { leave: () => this.#waiting.delete(resolve) });
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
