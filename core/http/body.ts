// Reads a request's body with a counting reader of our own (hapi's stream mode enforces only Content-Length), and parses
// it the same way everywhere: UTF-8, bounded depth, no prototype keys, no text that PostgreSQL cannot hold.

import type { IncomingMessage } from 'node:http';
import { type ErrorDetail, GatewayError } from '../contract/errors.ts';
import { pointerToken } from '../kit/json-pointer.ts';
import { parseForm } from './queries.ts';

export const DEFAULT_MAX_BYTES = 1_048_576;
/** Deeper JSON is refused: recursive readers behind us, PostgreSQL's among them, would overflow. */
export const MAX_DEPTH = 64;

/** Options of a route whose handler reads the body itself, with a limit of its own. */
export const UNREAD = {
	payload: { parse: false, output: 'stream', maxBytes: Number.MAX_SAFE_INTEGER },
	plugins: { gatehouse: { body: 'unread' } },
} as const;

/** Null without a body. @throws payload_too_large, unsupported_media_type, validation_failed */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
	const { 'content-length': length, 'content-encoding': encoding, 'transfer-encoding': transfer } = request.headers;
	if (length === undefined && transfer === undefined) return null;
	if (encoding !== undefined && encoding !== 'identity') {
		throw new GatewayError('unsupported_media_type', `Content-Encoding "${encoding.slice(0, 40)}" is not read; send the body as it is.`);
	}
	if (Number(length) > maxBytes) throw tooLarge(maxBytes);
	return collect(request, maxBytes);
}

/** By events: an iterator over the request would destroy the socket when it is left, and the 413 still has to go out on it. */
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
		request.once('error', broken);
		request.once('close', () => request.readableEnded || broken());
	});
}

export const tooLarge = (maxBytes: number): GatewayError =>
	new GatewayError('payload_too_large', `The body is larger than ${maxBytes} bytes.`);

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws validation_failed saying where it is too deep or holds what cannot be stored; with a cause, that it is no UTF-8 or no JSON */
export function parseJson(body: Buffer): unknown {
	const text = decode(body);
	const value = parse(text);
	if (isPlain(text)) return value;
	const faults = textFaults(value);
	if (faults.length > 0)
		throw new GatewayError('validation_failed', `${faults[0]?.path || 'The body'} ${faults[0]?.message}`, { details: faults });
	return value;
}

/** Nothing that `textFaults` looks for can be in it, told from the text alone: no escape, no `__proto__`, few brackets. */
function isPlain(text: string): boolean {
	if (text.includes('\\u') || text.includes('__proto__')) return false;
	let opened = 0;
	for (let at = 0; at < text.length && opened <= MAX_DEPTH; at++) {
		const character = text[at];
		if (character === '[' || character === '{') opened++;
	}
	return opened <= MAX_DEPTH;
}

/** @throws validation_failed naming the field that is no UTF-8 */
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
	} catch (cause) {
		throw unreadable(`The body is not JSON: ${cause instanceof Error ? cause.message.slice(0, 200) : 'malformed'}.`, cause);
	}
}

/** The place is the whole body. */
const unreadable = (message: string, cause: unknown): GatewayError =>
	new GatewayError('validation_failed', message, { cause, details: [{ path: '', message }] });

/** What no input may hold, whoever reads it: depth, `__proto__`, NUL (PostgreSQL refuses it), lone surrogates (they would be lost). */
export function textFaults(value: unknown): ErrorDetail[] {
	const faults: ErrorDetail[] = [];
	const stack: { value: unknown; path: string; depth: number }[] = [{ value, path: '', depth: 0 }];
	for (let next = stack.pop(); next !== undefined && faults.length < 5; next = stack.pop()) {
		const { path, depth } = next;
		if (typeof next.value === 'string') {
			const fault = textFault(next.value);
			if (fault) faults.push({ path, message: fault });
			continue;
		}
		if (next.value === null || typeof next.value !== 'object') continue;
		if (depth >= MAX_DEPTH) {
			faults.push({ path: path.slice(0, 200), message: `nests deeper than ${MAX_DEPTH} levels.` });
			continue;
		}
		for (const [key, child] of Object.entries(next.value)) {
			const fault = key === '__proto__' ? 'is not a name that a body may use.' : textFault(key);
			const at = `${path}/${pointerToken(key)}`;
			if (fault) faults.push({ path: at.toWellFormed().replaceAll('\0', '\\u0000'), message: fault });
			stack.push({ value: child, path: at, depth: depth + 1 });
		}
	}
	return faults;
}

function textFault(text: string): string | null {
	if (text.includes('\0')) return 'holds the character U+0000, which cannot be stored.';
	return text.isWellFormed() ? null : 'holds half of a surrogate pair, which is no character.';
}
