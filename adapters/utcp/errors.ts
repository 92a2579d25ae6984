// Refusals and failed runs in the form of this protocol: `{"error":{"code","message","details"}}`, with the status that says the same.

import { ERRORS, type ErrorCode, type GatewayError, type JsonObject, type Reply, type RunResult } from '../../core/index.ts';
import { textOf } from './results.ts';

/** The names under which clients of such services know errors; the others are core's own, in capitals. */
const NAMES: Partial<Record<ErrorCode, string>> = {
	...{ validation_failed: 'INVALID_PARAMS', tool_not_found: 'TOOL_NOT_FOUND', unauthorized: 'UNAUTHORIZED', rate_limited: 'RATE_LIMITED' },
	...{ upstream_failed: 'EXECUTION_FAILED', upstream_timeout: 'EXECUTION_TIMEOUT' },
};
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

const nameOf = (code: ErrorCode): string => NAMES[code] ?? code.toUpperCase();

export function fail({ code, message, details, status }: GatewayError): Reply {
	const shown = details.map((detail) => ({ path: detail.path, message: detail.message }));
	// The service is not at fault for an ability that clients lack.
	const isOfClient = code === 'not_implemented' && details.some(({ path }) => path.startsWith('client/'));
	return errorReply(isOfClient ? SAID_SO : status, nameOf(code), message, shown.length > 0 ? { details: shown } : {});
}

/** The answer for a run that failed. */
export function failedRun(result: RunResult): Reply {
	const { error, structured } = result;
	const message = textOf(result);
	const details = structured === undefined ? {} : { details: [{ path: '', message: 'What the tool returned.', value: structured }] };
	if (!error) return errorReply(SAID_SO, 'EXECUTION_FAILED', message, details);
	return errorReply(OF_RUNS[error.code] ?? ERRORS[error.code], error.code === 'rate_limited' ? 'UNAVAILABLE' : nameOf(error.code), message);
}

const errorReply = (status: number, code: string, message: string, more: JsonObject = {}): Reply => ({
	...{ status, headers: { 'cache-control': 'no-store' }, body: { error: { code, message, ...more } } },
});
