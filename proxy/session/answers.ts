// Answers to the client, in both eras of MCP: with a handshake, and as of 2026-07-28.

import { ownVersion } from '../gateway/client.ts';
import { Refusal } from '../gateway/refusals.ts';
import { VERSION } from '../version.ts';
import { CODES, errorMessage, isObject, type JsonObject, MessageFault, type RequestMessage, resultMessage } from '../wire/messages.ts';
import type { Answered } from './relay.ts';

export const SERVER_INFO: JsonObject = { name: 'gatehouse-proxy', title: 'Gatehouse', version: VERSION };
export const MODERN_VERSION = '2026-07-28';

const SERVER_KEY = 'io.modelcontextprotocol/serverInfo';
/** Lists that we make ourselves: who listens is told of changes, who does not lists again after a minute. */
const CACHEABLE: JsonObject = { ttlMs: 60_000, cacheScope: 'private' };

/** Makes a result, with what 2026-07-28 asks for where the request is of that revision. */
export function seal({ params }: Pick<RequestMessage, 'params'>, result: JsonObject, isList = false): JsonObject {
	if (ownVersion(params) === null) return result;
	const meta = isObject(result['_meta']) ? result['_meta'] : {};
	return { resultType: 'complete', ...(isList && CACHEABLE), ...result, _meta: { ...meta, [SERVER_KEY]: SERVER_INFO } };
}

export const resultOf = (request: RequestMessage, result: JsonObject, isList = false): JsonObject =>
	resultMessage(request.id, seal(request, result, isList));

/** Makes a result that tells the model what went wrong. */
export const toolError = (request: RequestMessage, sentence: string): JsonObject =>
	resultOf(request, { content: [{ type: 'text', text: sentence }], isError: true });

/** Passes an answer of the gateway on, under the id of the request if it has none. */
export const passed = ({ id }: RequestMessage, { message }: Answered): JsonObject | string =>
	message.id === null && message.error ? errorMessage(id, message.error.code, message.error.message) : message.text;

/**
 * Passes the answer of a call on: faults of the request are errors, and what went wrong behind the gateway is the tool's result, which a
 * model can act upon.
 */
export function passedCall(request: RequestMessage, answered: Answered): JsonObject | string {
	const { message, status } = answered;
	if (!message.error || message.error.code === CODES.invalidParams) return passed(request, answered);
	const isOurs = message.error.code === CODES.internal || (status >= 400 && ownVersion(request.params) === null);
	return isOurs ? toolError(request, message.error.message) : passed(request, answered);
}

/** Answers a request that failed. */
export function failed(request: RequestMessage, error: unknown): JsonObject {
	if (error instanceof MessageFault) return errorMessage(request.id, error.code, error.message);
	const said = error instanceof Refusal ? error.message : 'The proxy failed; its standard error says why.';
	const told = error instanceof Refusal && request.method === 'tools/call' ? withCaution(error) : said;
	return request.method === 'tools/call' ? toolError(request, told) : errorMessage(request.id, CODES.internal, told);
}

/** A call that got lost may have run, and is not repeated. */
function withCaution({ kind, message }: Refusal): string {
	if (kind === 'unreachable' || kind === 'late') return `${message} The call is not repeated by itself, since it may have run.`;
	return message;
}
