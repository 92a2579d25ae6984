// Encodes text in the charset that its media type names.

import { invalid } from '../../../core/index.ts';

interface Charset {
	/** The greatest code unit that the charset has. */
	most: number;
	encode(text: string): Buffer;
}

const latin1: Charset = { most: 0xff, encode: (text) => Buffer.from(text, 'latin1') };
const ascii: Charset = { most: 0x7f, encode: (text) => Buffer.from(text, 'latin1') };
const utf16le: Charset = { most: 0xffff, encode: (text) => Buffer.from(text, 'utf16le') };
const utf16be: Charset = { most: 0xffff, encode: (text) => Buffer.from(text, 'utf16le').swap16() };
/** A byte order mark is written: without it some read big-endian and others little-endian (RFC 2781 §4.3). */
const utf16: Charset = { most: 0xffff, encode: (text) => utf16be.encode(`\ufeff${text}`) };

const CHARSETS: Readonly<Record<string, Charset>> = {
	'us-ascii': ascii,
	ascii,
	'iso-8859-1': latin1,
	latin1,
	'utf-16': utf16,
	'utf-16le': utf16le,
	'utf-16be': utf16be,
};

/** Returns the charset in lower case; null if none is named. */
export const charsetName = (contentType: string): string | null =>
	/;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1]?.toLowerCase() ?? null;

const isUtf8 = (name: string): boolean => name === 'utf-8' || name === 'utf8';

/** Encodes JSON. Its escapes write every character in ASCII, which readers that know the charset and those that do not read alike. */
export function jsonInCharset(json: string, contentType: string): string | Buffer {
	const name = charsetName(contentType) ?? 'utf-8';
	if (isUtf8(name)) return json;
	const escaped = json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
	return inCharset(escaped, contentType, '');
}

/**
 * Encodes a text, in UTF-8 if no charset is named. In unknown charsets only ASCII is written, which nearly all encode alike.
 * @throws validation_failed for characters that the charset does not have
 */
export function inCharset(text: string, contentType: string, at: string): string | Buffer {
	const name = charsetName(contentType) ?? 'utf-8';
	if (isUtf8(name)) return text;
	const charset = Object.hasOwn(CHARSETS, name) ? CHARSETS[name] : undefined;
	const { most, encode } = charset ?? ascii;
	for (let index = 0; index < text.length; index++) {
		if (text.charCodeAt(index) > most) throw invalid(at, `${at} holds characters that cannot be written as ${name}, in which it is sent.`);
	}
	return encode(text);
}
