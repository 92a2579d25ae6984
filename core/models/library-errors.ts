// Turns errors of the provider packages, which hold requests and answers, into ours. Some are those that a provider sends where its answer should
// be: in a stream that has begun, or as the body of a 200.

import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/nouns.ts';
import { cleanText } from '../kit/clean-text.ts';
import { isObject } from '../kit/json.ts';

/** Names and numbers of errors. What a provider says in words may repeat anything that it was sent. */
const NAME = /^(?:[a-z][a-z0-9_]{0,63}|\d{3})$/;
const TO_WAIT: ReadonlySet<string> = new Set(['429', 'rate_limit_error', 'rate_limit_exceeded']);
/** A longer body is no error. */
const MAX_BODY_CHARS = 16_384;
const MAX_SHOWN_CHARS = 100;

/** @param error what a package throws, or puts into its stream */
export function ours(error: unknown): GatewayError {
	const cause = error instanceof Error ? error.cause : null;
	return asGatewayError(error) ?? asGatewayError(cause) ?? unsendable(error) ?? sentError(error) ?? unreadable();
}

/** Returns the event of a stream that a package could not read, if it is why it failed; null otherwise. */
export function unreadEvent(error: unknown): JsonObject | null {
	const event = error instanceof Error && error.name === 'AI_TypeValidationError' ? (error as { value?: unknown }).value : null;
	return isObject(event) ? event : null;
}

const unreadable = (): GatewayError => new GatewayError('upstream_failed', 'The model provider sent what cannot be read.');

/** Tells of what the wire of the provider has no place for, such as a file of some type: nothing was sent. */
function unsendable(error: unknown): GatewayError | null {
	if (!(error instanceof Error) || error.name !== 'AI_UnsupportedFunctionalityError') return null;
	const { functionality = 'a part of the request' } = error as { functionality?: unknown };
	const what = cleanText(String(functionality), MAX_SHOWN_CHARS);
	return new GatewayError('validation_failed', `The model provider cannot be sent this: ${what}.`);
}

/** Returns the error that the provider sent; null where it sent none. */
function sentError(error: unknown): GatewayError | null {
	const sent = error instanceof Error ? errorIn(error) : error;
	if (!isObject(sent) && typeof sent !== 'string') return null;
	const { type = null, code = null, statusCode = null } = isObject(sent) ? sent : {};
	const names = [type, code, statusCode].map(String).filter((name) => name !== 'null' && NAME.test(name));
	if (names.some((name) => TO_WAIT.has(name))) return new GatewayError('rate_limited', 'The model provider asks to wait.');
	const [name] = names;
	return new GatewayError('upstream_failed', `The model provider sent an error in its answer${name === undefined ? '' : ` (${name})`}.`);
}

/** Finds the error in what a package could not read, or took for one itself. */
function errorIn(thrown: Error): unknown {
	const { value, responseBody } = thrown as { value?: unknown; responseBody?: unknown };
	const body = isObject(value) ? value : parsed(responseBody);
	if (body === null) return null;
	return body['error'] ?? (typeof body['message'] === 'string' && ('type' in body || 'code' in body) ? body : null);
}

function parsed(text: unknown): JsonObject | null {
	if (typeof text !== 'string' || text.length > MAX_BODY_CHARS) return null;
	try {
		const body: unknown = JSON.parse(text);
		return isObject(body) ? body : null;
	} catch {
		return null;
	}
}
