// Converts JSON to the text of XML: valid names, escapes, and values that XML cannot represent.

import { invalid } from '../contract/errors.ts';
import type { Json } from '../contract/nouns.ts';

/** Productions 4 and 4a of XML 1.0 (fifth edition), without the colon (Namespaces in XML 1.0, production 4). */
const START =
	'A-Z_a-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u02ff\\u0370-\\u037d\\u037f-\\u1fff\\u200c\\u200d\\u2070-\\u218f\\u2c00-\\u2fef' +
	'\\u3001-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\ufffd\\u{10000}-\\u{effff}';
const NC_NAME = new RegExp(`^[${START}][${START}\\-.0-9\\u00b7\\u0300-\\u036f\\u203f\\u2040]{0,499}$`, 'u');

/** Matches most names, ten times as fast. */
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,499}$/;

/** Characters that no document may contain, escaped or not (production 2 of XML 1.0). */
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

const SPECIAL = /[&<>\r]/;

/** Created once, when it is needed: that takes longer than formatting a thousand numbers. */
let withoutExponent: Intl.NumberFormat | null = null;

/** Whether a text is a name without a prefix, of up to 500 characters. */
export const isNcName = (name: string): boolean => PLAIN_NAME.test(name) || NC_NAME.test(name);

/** JSON pointer of a value among the arguments; a function computes it only when it is needed. */
type At = string | (() => string);

function refuse(at: At, fault: string): never {
	const pointer = typeof at === 'string' ? at : at();
	throw invalid(pointer, `${pointer} ${fault}.`);
}

/** Checks a text. @throws validation_failed for characters that XML does not have */
export function xmlText(text: string, at: At): string {
	if (FORBIDDEN.test(text)) refuse(at, 'must not contain control characters: XML cannot carry them');
	return text;
}

/** Formats a number in the lexical form of `xs:decimal`. @throws validation_failed for a number that has already lost digits */
export function xmlDecimal(value: number, at: At): string {
	if (Number.isInteger(value) && !Number.isSafeInteger(value))
		refuse(at, 'must be given as a string of digits: a number of this size has already lost some');
	const text = String(value);
	if (!text.includes('e')) return text;
	withoutExponent ??= new Intl.NumberFormat('en-US', { useGrouping: false, maximumFractionDigits: 100 });
	return withoutExponent.format(value);
}

/** Formats a scalar. @throws validation_failed for lists, objects and null */
export function xmlScalar(value: Json, at: At): string {
	if (typeof value === 'string') return xmlText(value, at);
	if (typeof value === 'boolean') return String(value);
	if (typeof value === 'number') return xmlDecimal(value, at);
	return refuse(at, 'must be a string, number or boolean');
}

export const escapeXml = (text: string): string => (SPECIAL.test(text) ? escaped(text) : text);

const escaped = (text: string): string =>
	text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('\r', '&#13;');

/** Escapes an attribute's value, in which line breaks and tabs would be read as spaces. */
export const escapeXmlAttribute = (text: string): string =>
	escapeXml(text).replaceAll('"', '&quot;').replaceAll('\n', '&#10;').replaceAll('\t', '&#9;');
