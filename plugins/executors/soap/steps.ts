// Work in small steps, between which the event loop runs: a message can be megabytes.

import { TimeSlice } from '../../../core/index.ts';

/** Work that yields now and then, and ends with its result. */
export type Steps<T> = Generator<void, T>;

/** Does the work in slices of a few milliseconds. @throws the signal's reason */
export async function inSlices<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
	const slice = new TimeSlice();
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
		if (!slice.isOverNow) continue;
		await slice.next();
		signal?.throwIfAborted();
	}
}
