// JSON-RPC 2.0 messages as they are read from either side. The text is kept: what is passed on is not written anew, so numbers of any size survive.

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
	[name: string]: Json | undefined;
}

export type Id = string | number;

export interface RequestMessage {
	kind: 'request';
	id: Id;
	method: string;
	params: JsonObject;
	text: string;
}

export interface NotificationMessage {
	kind: 'notification';
	method: string;
	params: JsonObject;
	text: string;
}

export interface ResponseMessage {
	kind: 'response';
	/** Null where the other side could not tell which request it answers. */
	id: Id | null;
	result: Json | undefined;
	error: RpcError | null;
	text: string;
}

export type Message = RequestMessage | NotificationMessage | ResponseMessage;

export interface RpcError {
	code: number;
	message: string;
	data?: Json | undefined;
}

export const CODES = { parse: -32700, invalidRequest: -32600, methodNotFound: -32601, invalidParams: -32602, internal: -32603 } as const;

/** An error that answers a request; the id is null where the request has none that can be read. */
export class MessageFault extends Error {
	readonly code: number;
	readonly id: Id | null;

	constructor(code: number, message: string, id: Id | null = null) {
		super(message);
		this.code = code;
		this.id = id;
	}
}

export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export const isId = (value: unknown): value is Id => typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));

/** @throws MessageFault for a text that is no message */
export function readMessage(text: string): Message {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		throw new MessageFault(CODES.parse, 'The line is not JSON.');
	}
	if (Array.isArray(value)) throw new MessageFault(CODES.invalidRequest, 'Batches are not supported: send one message on a line.');
	if (!isObject(value)) throw new MessageFault(CODES.invalidRequest, 'A message must be an object.');
	const { id, method, params: given } = value;
	// Clients in languages without `undefined` write null for what they leave out.
	const params = given ?? {};
	const known = isId(id) ? id : null;
	if (value['jsonrpc'] !== '2.0') throw new MessageFault(CODES.invalidRequest, 'jsonrpc must be "2.0".', known);
	if (method === undefined) return readResponse(value, text);
	if (typeof method !== 'string') throw new MessageFault(CODES.invalidRequest, 'method must be a string.', known);
	if (!isObject(params)) throw new MessageFault(CODES.invalidParams, 'params must be an object.', known);
	if (id === undefined) return { kind: 'notification', method, params, text };
	if (known === null) throw new MessageFault(CODES.invalidRequest, 'id must be a string or a number.');
	return { kind: 'request', id: known, method, params, text };
}

function readResponse({ id, ...outcome }: JsonObject, text: string): ResponseMessage {
	const error = outcome['error'] ?? undefined;
	// A null beside an error stands for no result.
	const result = error === undefined ? outcome['result'] : (outcome['result'] ?? undefined);
	if ((id !== null && !isId(id)) || (result === undefined) === (error === undefined))
		throw new MessageFault(CODES.invalidRequest, 'The message is neither a request, nor a notification, nor a response.');
	if (error === undefined) return { kind: 'response', id, result, error: null, text };
	if (!isObject(error) || typeof error['code'] !== 'number' || typeof error['message'] !== 'string')
		throw new MessageFault(CODES.invalidRequest, 'error must have a code and a message.');
	return { kind: 'response', id, result, error: { code: error['code'], message: error['message'], data: error['data'] }, text };
}

/** Writes JSON on one line: between the tokens of a JSON text, a line break is a space. */
export const onOneLine = (text: string): string => text.replace(/[\r\n]+/g, ' ');

export const errorMessage = (id: Id | null, code: number, message: string): JsonObject => ({
	jsonrpc: '2.0',
	id,
	error: { code, message },
});

export const resultMessage = (id: Id, result: JsonObject): JsonObject => ({ jsonrpc: '2.0', id, result });

export const requestMessage = (id: Id, method: string, params: JsonObject): JsonObject => ({ jsonrpc: '2.0', id, method, params });

export const notification = (method: string, params?: JsonObject): JsonObject => ({ jsonrpc: '2.0', method, ...(params && { params }) });
