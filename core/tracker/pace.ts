// How many faults are told in a minute: a fault that comes with each request must not become a second load.

const MINUTE_MS = 60_000;
/** All faults of this process in a minute. */
export const MAX_IN_A_MINUTE = 60;
/** Equal faults of this process in a minute. */
export const MAX_ALIKE_IN_A_MINUTE = 5;

export class Pace {
	readonly #alike = new Map<string, number>();
	readonly #now: () => number;
	#admitted = 0;
	#held = 0;
	#endsAtMs = Number.NEGATIVE_INFINITY;

	/** @param now the clock, in milliseconds */
	constructor(now: () => number = () => performance.now()) {
		this.#now = now;
	}

	/** Returns the number of faults that were held back since the last admitted one; null for one that is held back. */
	admit(key: string): number | null {
		if (this.#now() >= this.#endsAtMs) this.#begin();
		const alike = this.#alike.get(key) ?? 0;
		if (this.#admitted >= MAX_IN_A_MINUTE || alike >= MAX_ALIKE_IN_A_MINUTE) {
			this.#held++;
			return null;
		}
		this.#admitted++;
		this.#alike.set(key, alike + 1);
		const held = this.#held;
		this.#held = 0;
		return held;
	}

	#begin(): void {
		this.#endsAtMs = this.#now() + MINUTE_MS;
		this.#admitted = 0;
		this.#alike.clear();
	}
}
