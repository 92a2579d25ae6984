// The program that a client says it is: in `_meta` of each request, or in the session's id, which `initialize` made of it.

import { type Call, type Incoming, isObject, type Json } from '../../core/index.ts';

interface ClientName {
	name: string;
	version?: string;
}

const CLIENT_KEY = 'io.modelcontextprotocol/clientInfo';
const MAX_NAME = 48;
const MAX_VERSION = 16;
/** A session's id of ours: a random part, whether the client takes forms, and its name. */
const SESSION = /^([0-9a-f-]{36}(?:\.forms)?)(?:\.c([\w-]{1,200}))?$/;

/** Tells who the client of a request says it is. */
export function introduce(call: Call, { headers }: Incoming, message?: object): void {
	const client = clientInMessage(message) ?? clientInSession(headers);
	if (client) call.introduce(client);
}

function clientInMessage(message: object | undefined): ClientName | null {
	if (!message || !('params' in message) || !isObject(message.params)) return null;
	const { _meta: meta, clientInfo } = message.params;
	if (isObject(meta) && meta[CLIENT_KEY] !== undefined) return readClient(meta[CLIENT_KEY]);
	return 'method' in message && message.method === 'initialize' ? readClient(clientInfo) : null;
}

/** Returns the `Implementation` of a client; null for what is none. */
function readClient(given: Json | undefined): ClientName | null {
	if (!isObject(given) || typeof given.name !== 'string' || given.name === '') return null;
	return { name: given.name, ...(typeof given.version === 'string' && { version: given.version }) };
}

/** Returns the part of a session's id that carries the name of its client: nothing is kept between requests. */
export function clientMark(given: Json | undefined): string {
	const client = readClient(given);
	if (!client) return '';
	const text = JSON.stringify([client.name.slice(0, MAX_NAME), (client.version ?? '').slice(0, MAX_VERSION)]);
	const mark = Buffer.from(text.toWellFormed()).toString('base64url');
	return mark.length > 200 ? '' : `.c${mark}`;
}

/** Returns the session of a request without the name of its client; null for an id that is none of ours. */
export const sessionIn = (headers: Incoming['headers']): string | null =>
	SESSION.exec(headers['mcp-session-id']?.trim() ?? '')?.[1] ?? null;

/** Returns the client that a session's id names. */
function clientInSession(headers: Incoming['headers']): ClientName | null {
	const mark = SESSION.exec(headers['mcp-session-id']?.trim() ?? '')?.[2];
	if (mark === undefined) return null;
	try {
		const [name, version]: unknown[] = JSON.parse(Buffer.from(mark, 'base64url').toString()) as unknown[];
		return readClient({ name: String(name ?? ''), version: String(version ?? '') });
	} catch {
		return null;
	}
}
