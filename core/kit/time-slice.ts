// Splits long work on the event loop into slices of a few milliseconds.

import { setImmediate as nextTurn } from 'node:timers/promises';

const SLICE_MS = 4;

/** The remaining time of the current slice. */
export class TimeSlice {
	readonly #lengthMs: number;
	#until: number;
	#steps = 0;

	constructor(lengthMs = SLICE_MS) {
		this.#lengthMs = lengthMs;
		this.#until = performance.now() + lengthMs;
	}

	/** Whether the slice is used up. Cheap enough for every small step: it reads the clock at every 64th call only. */
	get isOver(): boolean {
		this.#steps += 1;
		return this.#steps % 64 === 0 && this.isOverNow;
	}

	/** Whether the slice is used up, for steps that can be long themselves. */
	get isOverNow(): boolean {
		return performance.now() > this.#until;
	}

	/** Lets other work run, then starts the next slice. */
	async next(): Promise<void> {
		await nextTurn();
		this.#until = performance.now() + this.#lengthMs;
	}
}
