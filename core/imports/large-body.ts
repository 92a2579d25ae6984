// Takes the document out of the body of an import without parsing it as a string of JSON, which copies it several times.

import { isUtf8 } from 'node:buffer';

export interface TakenContent {
	/** The document in UTF-8, in the memory of the body. */
	content: Buffer;
	/** The body with an empty `schemaContent`: valid JSON. */
	rest: Buffer;
}

/** A smaller body is parsed in no time. */
const MIN_BYTES = 1024 * 1024;
const START = /^[ \t\n\r]*\{[ \t\n\r]*"schemaContent"[ \t\n\r]*:[ \t\n\r]*"/;
const MAX_START_CHARS = 64;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
const ESCAPES = new Map(Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }));
/** The characters of escapes by those that name them (RFC 8259 §7); 0 for `\u` and what is no escape. */
const ESCAPED = Uint8Array.from({ length: 256 }, (_, code) => ESCAPES.get(String.fromCharCode(code))?.charCodeAt(0) ?? 0);

/**
 * Overwrites the body with its document, if the body is a large one that begins with it as clients write it.
 * @returns null for any other body, and one with a fault; it is left as it is
 */
export function takeContent(body: Buffer): TakenContent | null {
	if (body.length < MIN_BYTES || !isUtf8(body)) return null;
	const [match] = START.exec(body.toString('latin1', 0, MAX_START_CHARS)) ?? [];
	if (match === undefined) return null;
	const start = match.length;
	const end = endOfText(body, start);
	if (end === null) return null;
	const rest = Buffer.concat([body.subarray(0, start), body.subarray(end)]);
	return isWholeWithout(rest, start) ? { content: body.subarray(start, dropEscapes(body, start, end)), rest } : null;
}

/** Returns the place of the quote behind a text; null if there is none, or the text has what is left to the parser. */
function endOfText(body: Buffer, start: number): number | null {
	for (let at = start; at < body.length; at++) {
		const byte = body[at] ?? 0;
		if (byte === QUOTE) return at;
		if (byte < FIRST_PRINTABLE) return null;
		if (byte === BACKSLASH && ESCAPED[body[++at] ?? 0] === 0) return null;
	}
	return null;
}

/** Whether the rest is JSON in which no other member could replace the document. */
function isWholeWithout(rest: Buffer, start: number): boolean {
	if (rest.includes('schemaContent', start) || rest.includes('\\', start)) return false;
	try {
		JSON.parse(rest.toString());
		return true;
	} catch {
		// The parser of the whole body names the place of the fault.
		return false;
	}
}

/** @returns the end of the text without escapes, which begins at the same place */
function dropEscapes(body: Buffer, start: number, end: number): number {
	let to = start;
	for (let from = start; from < end; from++) {
		const byte = body[from] ?? 0;
		body[to++] = byte === BACKSLASH ? (ESCAPED[body[++from] ?? 0] ?? 0) : byte;
	}
	return to;
}
