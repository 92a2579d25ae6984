// The work that goes on: what its request or its run brings along, for whoever comes upon it. It is one place for all of it, since each place of its own
// costs every request a context more.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { TimeLeft } from '../store/store.ts';

export interface Around {
	/** Absent where nobody waits. */
	deadline?: TimeLeft | undefined;
	/** The span of `core/telemetry`; absent without telemetry. */
	span?: object | undefined;
}

const current = new AsyncLocalStorage<Around>();
const NOTHING: Around = {};

/** Returns what is around the current work. */
export const around = (): Around => current.getStore() ?? NOTHING;

/** Runs work with more around it, or with something else instead. */
export const runWith = <T>({ deadline, span }: Around, work: () => T): T => current.run({ deadline, span }, work);
