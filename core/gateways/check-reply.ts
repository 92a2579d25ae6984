// Checks what the handlers of routes return, and converts it for the server: its status, each header, and the body by its type.

import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { isUint8Array } from 'node:util/types';
import { PluginFault } from '../contract/errors.ts';
import type { EventOptions, ServerEvent } from '../contract/server-events.ts';
import { isTokenCookie } from '../identity/cookies.ts';
import { isObject, measureJson } from '../kit/json.ts';
import { mediaTypeOf } from '../kit/media-type.ts';

/** A reply that the server can send. */
export interface CheckedReply {
	status: number;
	headers: Readonly<Record<string, string>>;
	body: string | Buffer | Readable | undefined;
	/** The type of the body when the headers name none. */
	type: 'application/json' | 'text/plain' | undefined;
	/** The events that are sent instead of a body. */
	events?: EventReply;
}

/** Events, or an event stream that the plugin writes itself. */
export interface EventReply extends EventOptions {
	source: AsyncIterable<ServerEvent> | Readable;
}

/** The most that a body in memory may have, in characters or bytes: 64 Mi. Larger ones are streams. */
const MAX_BODY = 64 * 1024 * 1024;

/** Headers of the connection (RFC 9110 §7.6.1), and those by which the server says where the answer ends. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set(
	'connection content-length keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' '),
);
/** RFC 9110 §5.6.2 and §5.5, as Node checks them: its functions tell a fault by throwing only. */
const NAME = /^[!#$%&'*+\-.^_`|~\w]+$/;
const NOT_OF_VALUES = /[^\t\x20-\x7e\x80-\xff]/;
const NO_HEADERS = {};

export interface ReplyFrom {
	/** `kind:name`. */
	plugin: string;
	/** Whether the cookie is one that core gave the plugin for this answer. */
	gaveCookie(cookie: string): boolean;
}

/** @throws PluginFault */
export function checkReply(value: unknown, from: ReplyFrom): CheckedReply {
	const fault = replyFault(value, from);
	if (fault !== null) throw new PluginFault(from.plugin, `the reply of a handler ${fault}.`);
	const { status, headers = NO_HEADERS, body, stream } = value as Checked;
	if (isEvents(body)) return { status, headers, body: undefined, type: undefined, events: { ...stream, source: body } };
	const converted = convert(body, from.plugin);
	const { body: sent } = converted;
	if (!(sent instanceof Readable && isEventStream(headers))) return { status, headers, ...converted };
	return { status, headers, body: undefined, type: undefined, events: { ...stream, source: sent } };
}

const isEventStream = (headers: Readonly<Record<string, string>>): boolean =>
	Object.keys(headers).some((name) => name.toLowerCase() === 'content-type' && mediaTypeOf(headers[name]) === 'text/event-stream');

type Checked = { status: number; headers?: Record<string, string>; body: unknown; stream?: EventOptions };

function replyFault(value: unknown, from: ReplyFrom): string | null {
	if (!isObject(value)) return 'must be an object with a status';
	const { status, headers, body, stream } = value as Record<string, unknown>;
	if (!Number.isInteger(status) || (status as number) < 200 || (status as number) > 599)
		return `must have a status from 200 to 599, not ${typeof status === 'number' ? status : `a value of type ${typeof status}`}`;
	if (isEvents(body) && status !== 200) return `with events must have the status 200, not ${status}`;
	const ofEvents = isEvents(body) || stream !== undefined ? optionsFault(stream) : null;
	if (ofEvents !== null || headers === undefined) return ofEvents;
	if (!isObject(headers)) return 'must have an object as headers';
	for (const name in headers) {
		const fault = headerFault(name, headers[name], from);
		if (fault !== null) return fault;
	}
	return null;
}

/** Streams can be iterated over, too. */
const isEvents = (body: unknown): body is AsyncIterable<ServerEvent> =>
	typeof body === 'object' && body !== null && Symbol.asyncIterator in body && !(body instanceof ReadableStream) && !isStream(body);

function optionsFault(stream: unknown): string | null {
	if (stream === undefined) return null;
	if (!isObject(stream)) return 'must have an object as stream';
	const { finite, whenFull } = stream as Record<string, unknown>;
	if (finite !== undefined && typeof finite !== 'boolean') return 'must have a boolean as stream.finite';
	return whenFull === undefined || typeof whenFull === 'function' ? null : 'must have a function as stream.whenFull';
}

function headerFault(name: string, value: unknown, from: ReplyFrom): string | null {
	const shown = (): string => JSON.stringify(name.slice(0, 100));
	if (typeof value !== 'string') return `must have strings as headers, and ${shown()} is a value of type ${typeof value}`;
	// The value is not shown, since it may be a secret.
	if (!NAME.test(name) || NOT_OF_VALUES.test(value)) return `has a header that cannot be sent: ${shown()}`;
	const lower = name.toLowerCase();
	if (OF_THE_CONNECTION.has(lower)) return `may not have the header ${shown()}, which the server writes`;
	if (lower === 'set-cookie') return cookieFault(value, from);
	return null;
}

/** Finds cookies of core's own in one value of Set-Cookie. A cookie without a name is sent as its value, which may look like one of core's. */
function cookieFault(value: string, { gaveCookie }: ReplyFrom): string | null {
	const pair = value.split(';', 1)[0] ?? '';
	const name = pair.slice(0, Math.max(0, pair.indexOf('='))).trim();
	if (name === '') return 'has a Set-Cookie without a name';
	return isTokenCookie(name) && !gaveCookie(value) ? `may not set the cookie ${name}, which is Gatehouse’s own` : null;
}

type Body = Pick<CheckedReply, 'body' | 'type'>;

function convert(body: unknown, plugin: string): Body {
	const wrong = (what: string): PluginFault => new PluginFault(plugin, `the body of a reply ${what}.`);
	if (body === undefined || body === null) return { body: undefined, type: undefined };
	if (typeof body === 'string') return { body: bounded(body, wrong), type: 'text/plain' };
	if (isUint8Array(body)) return { body: bounded(bytesOf(body), wrong), type: undefined };
	if (typeof body !== 'object') throw wrong(`must be an object, a string, a Buffer, a stream or events, not a ${typeof body}`);
	if (body instanceof ReadableStream) return { body: Readable.fromWeb(body), type: undefined };
	if (isStream(body)) return { body: readable(body, wrong), type: undefined };
	return { body: bounded(jsonOf(body, wrong), wrong), type: 'application/json' };
}

const bytesOf = (body: Uint8Array): Buffer => (Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength));

/** Streams of older libraries have no `read`. */
function readable(body: Readable, wrong: (what: string) => PluginFault): Readable {
	if (body.readable !== true || body.destroyed) throw wrong('must be a stream that can still be read');
	return body instanceof Readable ? body : new Readable().wrap(body);
}

const isStream = (body: object): body is Readable => typeof (body as Partial<Readable>).pipe === 'function';

/** JSON.stringify is several times faster than our own look, which finds the place of a fault. */
function jsonOf(body: object, wrong: (what: string) => PluginFault): string {
	const isData = !(body instanceof Map || body instanceof Set || body instanceof Promise);
	const text = isData ? stringify(body) : undefined;
	if (text !== undefined) return text;
	const { fault } = measureJson(body, MAX_BODY);
	throw wrong(`must be JSON: it ${fault ?? 'cannot be written'}`);
}

function stringify(body: object): string | undefined {
	try {
		return JSON.stringify(body);
	} catch {
		// The caller looks for the fault.
		return undefined;
	}
}

function bounded<T extends string | Buffer>(body: T, wrong: (what: string) => PluginFault): T {
	if (body.length <= MAX_BODY) return body;
	throw wrong(`must have at most ${MAX_BODY} characters or bytes: send a larger one as a stream`);
}
