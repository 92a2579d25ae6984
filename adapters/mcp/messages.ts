// Reads and writes JSON-RPC 2.0 as MCP frames it.

import { asGatewayError, isObject, type Json, type JsonObject, parseMessage, type Reply } from '../../core/index.ts';

export type RequestId = string | number;

export interface RequestMessage {
	kind: 'request';
	id: RequestId;
	method: string;
	params: JsonObject;
}

/** The answer to a request of ours: its result, or absent for an error. */
export interface ResponseMessage {
	kind: 'response';
	id: Json | undefined;
	result: Json | undefined;
}

export type Message = RequestMessage | { kind: 'notification'; method: string; params: JsonObject } | ResponseMessage;

/** The codes of JSON-RPC 2.0 §5.1, and those that MCP 2026-07-28 adds (basic, "Error Codes"). */
export const CODES = {
	parseError: -32700,
	invalidRequest: -32600,
	methodNotFound: -32601,
	invalidParams: -32602,
	internalError: -32603,
	/** For legacy clients alone (2025-11-25, resources, "Error Handling"); 2026-07-28 uses `invalidParams`. */
	resourceNotFound: -32002,
	headerMismatch: -32020,
	missingClientCapability: -32021,
	unsupportedProtocolVersion: -32022,
} as const;

export interface ProtocolErrorOptions {
	/** HTTP status; 200 where the request was well-formed and only its outcome is an error. */
	status?: 200 | 400 | 404;
	data?: JsonObject;
	/** The id of a message that was refused before it was taken for a request. */
	id?: RequestId | null;
}

/** An error that is the protocol's own, answered as a JSON-RPC error. */
export class ProtocolError extends Error {
	readonly code: number;
	readonly status: number;
	readonly data: JsonObject | null;
	readonly id: RequestId | null;

	constructor(code: number, message: string, { status = 200, data, id = null }: ProtocolErrorOptions = {}) {
		super(message);
		this.name = 'ProtocolError';
		this.code = code;
		this.status = status;
		this.data = data ?? null;
		this.id = id;
	}
}

/** @throws ProtocolError with HTTP 400 */
export function readMessage(body: unknown): Message {
	const value = readJson(body);
	// 2025-06-18 removed batches; of the revisions here only 2025-03-26 had them.
	if (Array.isArray(value)) throw invalidRequest('Batches are not supported: send one message a request.');
	if (!isObject(value)) throw invalidRequest('The body must be a JSON-RPC 2.0 message, an object.');
	if (value.jsonrpc !== '2.0') throw invalidRequest('"jsonrpc" must be "2.0".', value.id);
	if (value.method === undefined && ('result' in value || 'error' in value)) {
		return { kind: 'response', id: value.id, result: value.result };
	}
	return readCall(value);
}

function readCall({ id, method, params: given }: JsonObject): Message {
	if (typeof method !== 'string') throw invalidRequest('"method" must be a string.', id);
	// Clients in languages without `undefined` write null for what they leave out.
	const params = given ?? {};
	if (!isObject(params)) throw invalidRequest('"params" must be an object.', id);
	if (id === undefined) return { kind: 'notification', method, params };
	// "The request ID MUST be a string or integer" (basic, "Requests"); a number that JSON cannot carry exactly could not be echoed.
	if (!isId(id)) throw invalidRequest('"id" must be a string or an integer up to 2^53 - 1.');
	return { kind: 'request', id, method, params };
}

const isId = (id: Json | undefined): id is RequestId => typeof id === 'string' || Number.isSafeInteger(id);

/** Text that is not JSON is a parse error; JSON that is refused for another reason is an invalid request. */
function readJson(body: unknown): Json {
	if (!Buffer.isBuffer(body) || body.length === 0) throw new ProtocolError(CODES.parseError, 'The body is empty.', { status: 400 });
	try {
		// `parseMessage` returns nothing but JSON values.
		return parseMessage(body) as Json;
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (!error) throw thrown;
		// `parseMessage` sets a cause where the text is not UTF-8 or not JSON.
		const code = error.cause === undefined ? CODES.invalidRequest : CODES.parseError;
		throw new ProtocolError(code, error.message, { status: 400 });
	}
}

/** "Error responses MUST include the same ID as the request they correspond to", unless it could not be read (basic, "Error Responses"). */
const invalidRequest = (message: string, id?: Json): ProtocolError =>
	new ProtocolError(CODES.invalidRequest, message, { status: 400, id: isId(id) ? id : null });

/** `params._meta`, which every request may carry. */
export const metaOf = (params: JsonObject): JsonObject => (isObject(params._meta) ? params._meta : {});

export const resultMessage = (id: RequestId, result: JsonObject): JsonObject => ({ jsonrpc: '2.0', id, result });

/** @param id null when the request could not be read far enough to know it */
export const errorMessage = (id: RequestId | null, error: ProtocolError): JsonObject => ({
	jsonrpc: '2.0',
	id,
	error: { code: error.code, message: error.message, ...(error.data && { data: error.data }) },
});

export const errorReply = (id: RequestId | null, error: ProtocolError): Reply => ({ status: error.status, body: errorMessage(id, error) });
