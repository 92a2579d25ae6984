// Attempts that outlive their process: each is a step of a run, and so is the pause before the next one.

import type { Json } from '../contract/nouns.ts';
import { type RunContext, RunError } from '../runs/context.ts';
import type { RunFault } from '../store/store.ts';

/** The end of an attempt, in a form that a step keeps. `busy`: it was not made, and does not count. */
export type Tried =
	| { how: 'done'; output: Json }
	| { how: 'failed'; error: RunFault; again: boolean; afterMs: number | null }
	| { how: 'busy' };

export interface AttemptPolicy {
	attempts: number;
	/** The pause after the first attempt; each further one is so many times longer, up to the most. */
	pauseMs: { first: number; factor: number; most: number };
}

/** Turns that an attempt waits for while it is busy; then it counts as made. */
const TURNS = 12;
const TURN_MS = { first: 2_000, factor: 2, most: 5 * 60_000 };
const BUSY: RunFault = { code: 'upstream_failed', message: 'The receiver was busy with others for too long.' };

/** @returns the output of the attempt that succeeded @throws RunError with the fault of the last one */
export async function inAttempts(
	run: RunContext,
	{ attempts, pauseMs }: AttemptPolicy,
	tryOnce: (attempt: number, signal: AbortSignal) => Promise<Tried>,
): Promise<Json> {
	for (let attempt = 1; ; attempt++) {
		const tried = await inTurn(run, attempt, tryOnce);
		if (tried.how === 'done') return tried.output;
		if (!tried.again || attempt >= attempts) throw new RunError(tried.error);
		await run.sleep(`pause ${attempt}`, Math.max(tried.afterMs ?? 0, pauseOf(pauseMs, attempt)));
	}
}

async function inTurn(
	run: RunContext,
	attempt: number,
	tryOnce: (attempt: number, signal: AbortSignal) => Promise<Tried>,
): Promise<Exclude<Tried, { how: 'busy' }>> {
	for (let turn = 1; turn <= TURNS; turn++) {
		const key = turn === 1 ? `attempt ${attempt}` : `attempt ${attempt}, turn ${turn}`;
		const tried = await run.step(key, (signal) => tryOnce(attempt, signal));
		if (tried.how !== 'busy') return tried;
		await run.sleep(`before ${attempt}, turn ${turn + 1}`, pauseOf(TURN_MS, turn));
	}
	return { how: 'failed', error: BUSY, again: true, afterMs: null };
}

/** A half of the pause is left to chance, so that what failed together is not repeated together. */
function pauseOf({ first, factor, most }: AttemptPolicy['pauseMs'], attempt: number): number {
	return Math.min(most, first * factor ** (attempt - 1)) * (0.5 + Math.random() / 2);
}
