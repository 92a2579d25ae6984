// The calls with which jobs begin in the process that received them, until their first attempt takes them.

import type { LiveCall } from '../tools/job-desk.ts';

/** Returns the call with the signal of the attempt. */
type GoOn = (signal: AbortSignal) => LiveCall | null;

export class LiveCalls {
	readonly #lent = new Map<string, GoOn>();

	/** @param ref the name of the job's envelopes @returns how to take it back, when the job did not begin here */
	lend(ref: string, goOn: GoOn): () => void {
		this.#lent.set(ref, goOn);
		return () => void this.#lent.delete(ref);
	}

	take(ref: string): GoOn | null {
		const goOn = this.#lent.get(ref) ?? null;
		this.#lent.delete(ref);
		return goOn;
	}
}
