// Work in small steps, between which the event loop runs: a message can be megabytes.

import { TimeSlice } from '../../../core/index.ts';

/** Work that yields now and then, and ends with its result. */
export type Steps<T> = Generator<void, T>;

const STRIDE = 32;

/** Whether a step ends before this item: to end one at each would cost more than the items, of which most messages have few. */
export const endsStep = (index: number): boolean => index % STRIDE === STRIDE - 1;

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
