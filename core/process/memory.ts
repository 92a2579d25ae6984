// Returns the memory that the start needed.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface CollectOptions {
	type: 'major';
	execution: 'sync';
	/** Collects everything and shrinks the heaps as far as possible. */
	flavor: 'last-resort';
}

const LOOK_MS = 1000;
/** The share of a second in which an event loop counts as idle. */
const IDLE = 0.05;

/**
 * Loading modules grows V8's young generation to 128 MiB, since so much of it survives, and a service at rest never collects. The
 * collection takes some 60 ms, once, so it waits for a second in which there is nothing else to do; a busy service collects by itself.
 */
export function giveBackMemory(): void {
	let before = performance.eventLoopUtilization();
	const timer = setInterval(() => {
		const { utilization } = performance.eventLoopUtilization(before);
		before = performance.eventLoopUtilization();
		if (utilization > IDLE) return;
		clearInterval(timer);
		collect();
	}, LOOK_MS).unref();
}

/** No option of V8 has the same effect without limiting the young generation under load as well. */
function collect(): void {
	setFlagsFromString('--expose-gc');
	const gc = runInNewContext('gc') as (options: CollectOptions) => void;
	setFlagsFromString('--no-expose-gc');
	gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
