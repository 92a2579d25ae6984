// Work that is left to the end of the event loop's turn, where all of a turn is done in a row.

import { AsyncLocalStorage } from 'node:async_hooks';

let waiting: (() => void)[] = [];

/** Runs a function in the context in which this file was loaded: that of no request. */
const outside = AsyncLocalStorage.snapshot();

/**
 * Does the work when this turn of the event loop ends, in the context of no request. It is meant for writing to sockets: writes in a row cost less
 * than the same writes between other work (test/bench/README.md), most likely since only the first one has to wake the process that it reaches.
 */
export function atTurnEnd(work: () => void): void {
	if (waiting.length === 0) outside(() => setImmediate(doAll));
	waiting.push(work);
}

function doAll(): void {
	const all = waiting;
	waiting = [];
	doEach(all, (error) =>
		process.nextTick(() => {
			throw error;
		}),
	);
}

/** Does all of the work, whatever some of it throws. */
export function doEach(works: readonly (() => void)[], onError: (error: unknown) => void): void {
	for (const work of works) {
		try {
			work();
		} catch (error) {
			onError(error);
		}
	}
}
