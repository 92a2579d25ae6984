// The total time that one request waits for the database: each statement has its deadline, but those of a request add up, and so do the
// wait for a connection and the statement that follows. It also tells whether a database that did not answer in time is busy or away.

import { BaseError, ConnectionAcquireTimeoutError } from 'sequelize';
import { around } from '../core/process/around.ts';
import type { TimeLeft } from '../core/store/store.ts';
import { busy, stateOf } from './errors.ts';

const DEADLINE_MS = 2_000;
/**
 * An answer within this time shows a healthy server and restores the request's time, so a request that runs for hours does not use it up.
 */
const PROMPT_MS = 100;

/** Begins the time of a request, which all its statements share. */
export const beginTime = (allMs = DEADLINE_MS): TimeLeft => ({ leftMs: allMs, allMs });

/** Milliseconds; null outside a request. */
const timeLeft = (): number | null => around().deadline?.leftMs ?? null;

/** A deadline, as the work under it sees it. */
export interface Deadline {
	/** Aborted when the deadline has passed. */
	signal: AbortSignal;
	/** Ends the deadline: the caller waits for all that follows. @throws Error when it has passed */
	end(): void;
}

/**
 * @param mostMs applies also outside a request; null: no limit there
 * @throws Error when it took longer, which aborts the signal
 */
export async function inTime<T>(mostMs: number | null, work: (deadline: Deadline) => Promise<T>): Promise<T> {
	const leftMs = Math.min(timeLeft() ?? Number.POSITIVE_INFINITY, mostMs ?? Number.POSITIVE_INFINITY);
	const giveUp = new AbortController();
	const { signal } = giveUp;
	if (leftMs === Number.POSITIVE_INFINITY) return work({ signal, end: () => undefined });
	const startedMs = performance.now();
	const { promise: late, reject } = Promise.withResolvers<never>();
	const timer = setTimeout(() => {
		const error = new Error('Timeout of the request at the database');
		giveUp.abort(error);
		// An answer that already arrived while the event loop was blocked is read first.
		setImmediate(reject, error);
	}, leftMs);
	const end = (): void => {
		signal.throwIfAborted();
		clearTimeout(timer);
	};
	try {
		return await Promise.race([work({ signal, end }), late]);
	} finally {
		clearTimeout(timer);
		spend(performance.now() - startedMs);
	}
}

function spend(tookMs: number): void {
	const { deadline } = around();
	if (deadline) deadline.leftMs = tookMs < PROMPT_MS ? deadline.allMs : Math.max(0, deadline.leftMs - tookMs);
}

/** Records the last time that a database answered, on any of its connections. */
export class Answers {
	#lastMs = Number.NEGATIVE_INFINITY;

	/** Runs `work`. @throws unavailable, with the message of a busy database, when `work` timed out while others were answered; else its own error */
	async watch<T>(work: () => Promise<T>): Promise<T> {
		try {
			const result = await work();
			this.#lastMs = performance.now();
			return result;
		} catch (error) {
			throw this.#explain(error);
		}
	}

	#explain(error: unknown): unknown {
		if (!(error instanceof Error)) return error;
		// A refusal is an answer, too.
		if (stateOf(error) !== null) this.#lastMs = performance.now();
		const isAnswering = performance.now() - this.#lastMs <= DEADLINE_MS;
		return isAnswering && isTimeout(error) ? busy(error) : error;
	}
}

/** Recognizes timeouts of ours, of the pool, of a statement and of connecting: only their messages distinguish them. */
function isTimeout(error: Error): boolean {
	if (error instanceof ConnectionAcquireTimeoutError) return true;
	const { name, message } = error instanceof BaseError && 'parent' in error && error.parent instanceof Error ? error.parent : error;
	return name === 'Error' && /timeout/i.test(message);
}
