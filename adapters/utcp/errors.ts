// Refusals and failed runs in the form of this protocol: `{"error":{"code","message","details"}}`, with the status that says the same.

import { type ErrorCode, failureOf, type GatewayError, type JsonObject, type Reply, type RunResult } from '../../core/index.ts';
import { textOf } from './results.ts';

/** The names under which clients of such services know errors; the others are core's own, in capitals. */
const NAMES: Partial<Record<ErrorCode, string>> = {
	...{ validation_failed: 'INVALID_PARAMS', tool_not_found: 'TOOL_NOT_FOUND', unauthorized: 'UNAUTHORIZED', rate_limited: 'RATE_LIMITED' },
	...{ upstream_failed: 'EXECUTION_FAILED', upstream_timeout: 'EXECUTION_TIMEOUT' },
};

const nameOf = (code: ErrorCode | 'execution_failed'): string =>
	(code === 'execution_failed' ? undefined : NAMES[code]) ?? code.toUpperCase();

export function fail({ code, message, details, status }: GatewayError): Reply {
	const shown = details.map((detail) => ({ path: detail.path, message: detail.message }));
	return errorReply(status, nameOf(code), message, shown.length > 0 ? { details: shown } : {});
}

/** The answer for a run that failed. */
export function failedRun(result: RunResult): Reply {
	const { status, code } = failureOf(result);
	const { error, structured } = result;
	const isShown = !error && structured !== undefined;
	const details = isShown ? { details: [{ path: '', message: 'What the tool returned.', value: structured }] } : {};
	return errorReply(status, nameOf(code), textOf(result), details);
}

const errorReply = (status: number, code: string, message: string, more: JsonObject = {}): Reply => ({
	...{ status, headers: { 'cache-control': 'no-store' }, body: { error: { code, message, ...more } } },
});
