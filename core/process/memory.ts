// Returns the memory that the start needed, before the first request.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface CollectOptions {
	type: 'major';
	execution: 'sync';
	/** Collects everything and shrinks the heaps as far as possible. */
	flavor: 'last-resort';
}

/**
 * Loading modules grows V8's young generation to 128 MiB, since so much of it survives, and a service at rest never collects. The
 * collection takes some 60 ms, once. No option of V8 has the same effect without limiting the young generation under load as well.
 */
export function giveBackMemory(): void {
	setFlagsFromString('--expose-gc');
	const collect = runInNewContext('gc') as (options: CollectOptions) => void;
	setFlagsFromString('--no-expose-gc');
	collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
