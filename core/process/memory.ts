// Memory that a start leaves behind, given back before anybody is served.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface CollectOptions {
	type: 'major';
	execution: 'sync';
	/** Takes all that can be had, and leaves heaps as small as they go. */
	flavor: 'last-resort';
}

/**
 * Loading grows V8's young generation to 128 MiB, as so much of it survives, and a service at rest never gives that back: it collects
 * nothing. Takes some 60 ms, once. No option of V8 says the same without bounding the young generation under load as well.
 */
export function giveBackMemory(): void {
	setFlagsFromString('--expose-gc');
	const collect = runInNewContext('gc') as (options: CollectOptions) => void;
	setFlagsFromString('--no-expose-gc');
	collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
