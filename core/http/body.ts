// Reads a request's body with our own counting reader (hapi's stream mode enforces only Content-Length), and parses
// it the same way everywhere: UTF-8, bounded depth, no prototype keys, no characters that PostgreSQL cannot store, no numbers that would be others.

import type { IncomingMessage } from 'node:http';
import { GatewayError, invalid } from '../contract/errors.ts';
import type { JsonObject } from '../contract/nouns.ts';
import { MAX_DEPTH, notJson, textFaults } from '../kit/input-faults.ts';
import { hasManyNames, isObject, MANY_NAMES } from '../kit/json.ts';
import { hasLargeExponent, isLongInteger, mayRound, quoteLongIntegersAtOnce } from '../kit/json-numbers.ts';
import { type Coding, codingOf, tooLarge } from './codings.ts';
import { parseForm } from './queries.ts';

export const DEFAULT_MAX_BYTES = 1_048_576;

/** Options of a route whose handler reads the body itself, with a limit of its own. */
export const UNREAD = {
	payload: { parse: false, output: 'stream', maxBytes: Number.MAX_SAFE_INTEGER },
	plugins: { gatehouse: { body: 'unread' } },
} as const;

const NO_BODY = Promise.resolve(null);

/**
 * Reads a body as it was sent; null if there is none. @param codings in which it may be; the result is in that coding
 * @throws payload_too_large, unsupported_media_type, validation_failed
 */
export function readBody(request: IncomingMessage, maxBytes: number, codings?: readonly Coding[]): Promise<Buffer | null> {
	const { 'content-length': length, 'content-encoding': encoding, 'transfer-encoding': transfer } = request.headers;
	if (length === undefined && transfer === undefined) return NO_BODY;
	codingOf(encoding, codings);
	if (Number(length) > maxBytes) throw tooLarge(maxBytes);
	if (!request.complete || request.readableLength > maxBytes) return collect(request, maxBytes);
	// A small body has arrived when its request begins. Nothing decodes it, so it is bytes; null is an empty one.
	return Promise.resolve((request.read() as Buffer | null) ?? Buffer.alloc(0));
}

/** Reads by events: leaving an iterator over the request would destroy the socket, on which the 413 still has to be sent. */
function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
	return new Promise((resolve, reject) => {
		const chunks: Buffer[] = [];
		let size = 0;
		request.on('data', (chunk: Buffer) => {
			size += chunk.length;
			if (size <= maxBytes) return void chunks.push(chunk);
			request.removeAllListeners('data').pause();
			reject(tooLarge(maxBytes));
		});
		request.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
		const broken = (cause?: unknown): void =>
			reject(new GatewayError('validation_failed', 'The body ended before it was complete.', { cause }));
		// Its events are over.
		if (request.destroyed && !request.readableEnded) return broken();
		request.once('error', broken);
		request.once('close', () => request.readableEnded || broken());
	});
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** How integers are read that no double holds: as texts with all their digits, or rounded, as in a schema, whose checks compare doubles. */
export type LongIntegers = 'exact' | 'rounded';

/**
 * Parses JSON.
 * @throws validation_failed naming what is too much, too deep or cannot be kept; with a cause if it is not UTF-8 or not JSON
 */
export function parseJson(body: Buffer, integers: LongIntegers = 'exact'): unknown {
	const text = decode(body);
	if (hasManyNames(text)) throw invalid('', `The body has ${MANY_NAMES}: send fewer at once, or the names as values in a list.`);
	const value = parse(text);
	const isLong = mayRound(text);
	if (!isLong && isPlain(text)) return value;
	const faults = textFaults(value);
	if (faults.length > 0)
		throw new GatewayError('validation_failed', `${faults[0]?.path || 'The body'} ${faults[0]?.message}`, { details: faults });
	if (!isLong || integers === 'rounded') return value;
	const exact = quoteLongIntegersAtOnce(text);
	return exact.rounded.size === 0 ? value : parse(exact.text);
}

/** Parses a message of JSON-RPC. An `id` that is echoed must not become a text: a long integer stays a number, which protocols refuse. */
export function parseMessage(body: Buffer): unknown {
	const message = parseJson(body);
	if (isObject(message) && isLongInteger(message['id'])) message['id'] = (parseJson(body, 'rounded') as JsonObject)['id'] ?? null;
	return message;
}

/** Whether nothing can be wrong with the value, by the text alone: no escape, no `__proto__`, few brackets, no large number. */
function isPlain(text: string): boolean {
	if (text.includes('\\u') || text.includes('__proto__') || hasLargeExponent(text)) return false;
	let opened = 0;
	for (let at = 0; at < text.length && opened <= MAX_DEPTH; at++) {
		const character = text[at];
		if (character === '[' || character === '{') opened++;
	}
	return opened <= MAX_DEPTH;
}

/** Parses a form. @throws validation_failed naming the field that is not UTF-8 */
export const parseFormBody = (body: Buffer): URLSearchParams => parseForm(decode(body));

function decode(body: Buffer): string {
	try {
		return utf8.decode(body);
	} catch (cause) {
		throw unreadable('The body is not UTF-8.', cause);
	}
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch (thrown) {
		throw notJson(thrown, text);
	}
}

/** Builds an error whose path is the whole body. */
const unreadable = (message: string, cause: unknown): GatewayError =>
	new GatewayError('validation_failed', message, { cause, details: [{ path: '', message }] });
