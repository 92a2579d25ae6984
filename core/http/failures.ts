// The answer to a failed request: the error of the closed table, its headers, and its body. Nothing of it fails to be sent, whatever a plugin
// threw.

import type { Request, ResponseObject } from '@hapi/hapi';
import { asGatewayError, type ErrorDetail, GatewayError, PluginFault } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import { validateHeaderName, validateHeaderValue } from '../process/node-http.ts';
import { describeThrown } from '../process/strays.ts';
import { tellFault } from '../tracker/requests.ts';

declare module '@hapi/hapi' {
	interface PluginSpecificConfiguration {
		/** Builds the body of every error of the route, for clients of another protocol than this API's. */
		errorBody?: (error: GatewayError, usual: object) => object;
	}
	interface PluginsStates {
		/** The plugin that serves the request at the moment, `kind:name`, and the gateway: for the log. */
		servedBy?: { plugin: string; gateway?: string };
	}
}

/** Default of Retry-After when a refusal gives no time. */
const RETRY_SECONDS = '1';
/** Headers that no error may set: they say where an answer ends, or log somebody in. */
const NOT_OF_ERRORS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'content-encoding', 'set-cookie']);

/** Turns anything thrown into an error of the closed table; what is unforeseen is logged and becomes `internal`. */
export function describeError(thrown: Error & { output?: { statusCode: number } }, request: Request, log: Log): GatewayError {
	const known = asGatewayError(thrown);
	if (known && known.code !== 'internal') {
		if (thrown instanceof PluginFault) logFailure(thrown, request, log);
		tellFault(known, thrown, request);
		return known;
	}
	const status = thrown.output?.statusCode ?? 500;
	if (!known && status === 404) return new GatewayError('not_found', 'There is nothing at this path.');
	if (!known && status < 500) return new GatewayError('validation_failed', 'The request is not valid.', { cause: thrown });
	return unforeseen(thrown, request, log);
}

/** Logs an error under the plugin whose fault it is, or else the one that serves the request. */
function logFailure(thrown: Error, request: Request, log: Log): void {
	const { feature } = request.route.settings.plugins as { feature?: string };
	const servedBy = request.plugins.servedBy ?? (feature === undefined ? {} : { plugin: `feature:${feature}` });
	const fields = {
		requestId: request.info.id,
		...servedBy,
		...(thrown instanceof PluginFault && { plugin: thrown.plugin }),
		error: describeThrown(thrown),
		cause: thrown.cause === undefined ? '' : describeThrown(thrown.cause),
	};
	log.error(fields, 'request failed');
}

function unforeseen(thrown: Error, request: Request, log: Log): GatewayError {
	logFailure(thrown, request, log);
	// A library's error may have the code `internal`, too: only our own class promises a message that may be sent.
	const told = thrown instanceof GatewayError ? thrown.message : 'Something went wrong on our side; the request id names it.';
	const error = new GatewayError('internal', told);
	tellFault(error, thrown, request);
	return error;
}

/**
 * Returns the error that replaces an answer that cannot be sent: hapi would answer with a body of its own. The body is converted here, where a
 * fault can still be answered.
 */
export function sendingFault(response: ResponseObject, request: Request, log: Log): GatewayError | null {
	try {
		// Replies of gateways are checked where they are made.
		if (!request.plugins.servedBy) assertHeaders(response.headers);
		if (response.variety === 'plain' && typeof response.source === 'object' && response.source !== null) {
			// hapi reads the source once more when it sends; the type was set when the response was made.
			Object.assign(response, { source: JSON.stringify(response.source) });
		}
		return null;
	} catch (thrown) {
		return unforeseen(thrown as Error, request, log);
	}
}

/** @throws TypeError naming the header */
function assertHeaders(headers: ResponseObject['headers']): void {
	for (const name in headers) for (const value of [headers[name]].flat()) validateHeaderValue(name, String(value));
}

/**
 * Adds `Retry-After` to every 503, and the headers that specification 7 requires to every 429, also without a window: too many passwords at
 * once, a full lane.
 */
export function headersOf({ code, headers }: GatewayError): Record<string, string> {
	const sendable = Object.fromEntries(Object.entries(headers).flatMap(sendableHeader));
	if (code === 'unavailable') return { 'retry-after': RETRY_SECONDS, ...sendable };
	return code === 'rate_limited' ? { 'retry-after': RETRY_SECONDS, 'x-ratelimit-remaining': '0', ...sendable } : sendable;
}

function sendableHeader([name, value]: [string, unknown]): [string, string][] {
	if (NOT_OF_ERRORS.has(name.toLowerCase())) return [];
	try {
		validateHeaderName(name);
		validateHeaderValue(name, String(value));
		return [[name, String(value)]];
	} catch {
		// A plugin's error may bring anything; its status and sentence count.
		return [];
	}
}

/** Builds an error's body, as the route has it. */
export function bodyOf(error: GatewayError, request: Request): object {
	const usual = usualBody(error, request);
	return request.route.settings.plugins?.errorBody?.(error, usual) ?? usual;
}

/** Specification 7 defines the body of a 429 exactly. */
function usualBody(error: GatewayError, request: Request): object {
	const { code, status, headers } = error;
	const message = String(error.message);
	const body = { success: false, message, error: code.toUpperCase(), statusCode: status };
	const details = error.details.flatMap(readableDetail);
	if (code !== 'rate_limited') return { ...body, ...error.more, requestId: request.info.id, ...(details.length > 0 && { details }) };
	return headers['retry-after'] === undefined ? { ...body, message: `${message} Retry after ${RETRY_SECONDS} seconds.` } : body;
}

function readableDetail(detail: Partial<ErrorDetail> | null | undefined): ErrorDetail[] {
	const { path, message } = detail ?? {};
	return typeof path === 'string' && typeof message === 'string' ? [{ path, message }] : [];
}
