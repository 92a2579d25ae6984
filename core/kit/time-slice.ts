// Long work on the event loop, a few milliseconds at a time.

import { setImmediate as nextTurn } from 'node:timers/promises';

const SLICE_MS = 4;

/** What the work has left of its turn. */
export class TimeSlice {
	#until = performance.now() + SLICE_MS;
	#steps = 0;

	/** Whether it is used up. Cheap enough to be asked at every small step: it looks at the clock at every 64th only. */
	get isOver(): boolean {
		this.#steps += 1;
		return this.#steps % 64 === 0 && this.isOverNow;
	}

	/** The same between steps that can be long themselves. */
	get isOverNow(): boolean {
		return performance.now() > this.#until;
	}

	/** Everything else has its turn first. */
	async next(): Promise<void> {
		await nextTurn();
		this.#until = performance.now() + SLICE_MS;
	}
}
