// The status of a failed run in protocols that answer a call with a status of HTTP, so that all of them say the same.

import { ERRORS, type ErrorCode } from '../contract/errors.ts';
import type { RunResult } from '../contract/results.ts';

/** The status of a tool that ran and says itself that it failed: mostly, its arguments name something that does not exist. */
const SAID_SO = 422;
/** Statuses of failed runs that would say something else about the request: that it is over its own limit, or not admitted. */
const OF_RUNS: Partial<Record<ErrorCode, number>> = {
	rate_limited: 503,
	unauthorized: 502,
	forbidden: 502,
	insufficient_scope: 502,
	egress_refused: 502,
};

/** The failure of a run, as a client is told. */
interface RunFailure {
	status: number;
	/** `execution_failed`: the tool itself said that it failed. */
	code: ErrorCode | 'execution_failed';
}

/** Tells a failed run from a refused request: 422 where the tool itself failed, else what stood in its way. */
export function failureOf({ error }: Pick<RunResult, 'error'>): RunFailure {
	if (!error) return { status: SAID_SO, code: 'execution_failed' };
	return { status: OF_RUNS[error.code] ?? ERRORS[error.code], code: error.code === 'rate_limited' ? 'unavailable' : error.code };
}
