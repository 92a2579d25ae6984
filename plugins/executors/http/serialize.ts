// Writes values in every style and explode of OpenAPI 3.1 §4.8.12 and 3.2 §4.12 (which follow RFC 6570), to the byte.

import { invalid, type Json } from '../../../core/index.ts';
import type { Spend } from './budget.ts';
import type { Parameter, Part, Style } from './config.ts';
import { plainText } from './template.ts';

/** The way in which one value is written: its name, style and encoding. */
interface Spelling {
	name: string;
	style: Style;
	explode: boolean;
	/** Encodes the values, and the names that an object gives. */
	encode(text: string): string;
	/** Encodes the name, and what a style adds to it or puts between values. */
	encodeName(text: string): string;
	/** Hears of the characters of each piece. */
	spend: Spend;
}

/** A value as a text, a list of texts, or pairs of names and texts; null items are left out (RFC 6570 §2.3). */
type Shape = { kind: 'text'; text: string } | { kind: 'list'; items: string[] } | { kind: 'pairs'; pairs: Pair[] };

type Pair = [name: string, text: string];

/** Encodes all but the unreserved characters (RFC 3986 §2.3). @throws validation_failed for lone surrogates */
export function percentEncode(text: string): string {
	if (!text.isWellFormed()) throw invalid('', 'A text among the arguments is not valid Unicode: it holds half of a surrogate pair.');
	return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Keeps reserved characters (RFC 6570 §3.2.3), except those that would end a query parameter or be read as a space. */
export function encodeReserved(text: string): string {
	return text.replace(/%[0-9A-Fa-f]{2}|[:/?@!$'()*,;=]+|[\s\S]+?(?=%[0-9A-Fa-f]{2}|[:/?@!$'()*,;=]|$)/g, (piece) =>
		/^(?:%[0-9A-Fa-f]{2}|[:/?@!$'()*,;=]+)$/.test(piece) ? piece : percentEncode(piece),
	);
}

/**
 * Keeps the reserved characters that a path may have, slashes too. Escapes are not kept, and neither are semicolons: servers that decode the one, or cut
 * segments at the other, would read `..` there.
 */
const encodeInPath = (text: string): string => text.replace(/[^/:@!$&'()*+,=]+/g, percentEncode);

const verbatim = (text: string): string => text;
/** The pieces of a path and of a header repeat nothing of any length. */
const free: Spend = () => undefined;

/** Writes the value that replaces `{name}` in the path. */
export function pathValue(parameter: Parameter, value: Json): string {
	if (parameter.contentType) return percentEncode(inMediaType(parameter.contentType, value));
	const spelling: Spelling = {
		name: parameter.name,
		style: parameter.style ?? 'simple',
		explode: parameter.explode ?? false,
		encode: parameter.allowReserved ? encodeInPath : percentEncode,
		encodeName: percentEncode,
		spend: free,
	};
	const shape = shapeOf(value);
	// RFC 6570 §2.3: a list or object without members is undefined, and expands to nothing.
	return isEmpty(shape) ? '' : spellPath(spelling, shape);
}

/** Writes `name=value` pieces, to be joined by `&`; none when there is nothing to send. */
export function queryPieces(parameter: Parameter, value: Json, spend: Spend): string[] {
	const encode = parameter.allowReserved ? encodeReserved : percentEncode;
	if (parameter.contentType) return [`${percentEncode(parameter.name)}=${encode(inMediaType(parameter.contentType, value))}`];
	const style = parameter.style ?? 'form';
	return spellPieces(
		{ name: parameter.name, style, explode: parameter.explode ?? style === 'form', encode, encodeName: percentEncode, spend },
		value,
	);
}

/** Writes a header's value; null when there is nothing to send. */
export function headerText(parameter: Parameter, value: Json): string | null {
	if (parameter.contentType) return inMediaType(parameter.contentType, value);
	const shape = shapeOf(value);
	if (isEmpty(shape)) return null;
	const { name, explode = false } = parameter;
	return spellSimple({ name, style: 'simple', explode, encode: verbatim, encodeName: verbatim, spend: free }, shape);
}

/** Writes `name=value` pieces, to be joined by `; `. */
export function cookiePieces(parameter: Parameter, value: Json, spend: Spend): string[] {
	if (parameter.contentType) return [`${parameter.name}=${percentEncode(inMediaType(parameter.contentType, value))}`];
	const style = parameter.style ?? 'form';
	const encode = style === 'cookie' ? (text: string): string => cookieText(text, parameter.arg) : percentEncode;
	return spellPieces({ name: parameter.name, style, explode: parameter.explode ?? true, encode, encodeName: verbatim, spend }, value);
}

/** OpenAPI 3.2, style `cookie`: "no percent-encoding or other escaping is applied", so what RFC 6265 §4.1.1 forbids is refused. */
function cookieText(text: string, arg: string): string {
	if (/^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/.test(text)) return text;
	throw invalid(
		`/${arg}`,
		`${arg} must be text that a cookie can hold: visible ASCII characters without quotes, commas, semicolons and backslashes.`,
	);
}

/** Whether a field of a form is written in a style: one of the three settings is enough (OpenAPI 3.1.1 §4.8.15.1.2). */
export const isStyled = ({ style, explode, allowReserved }: Part): boolean => (style ?? explode ?? allowReserved) !== undefined;

/** Writes the `name=value` pieces of one field of a form. */
export function formPieces(name: string, { style = 'form', explode, allowReserved }: Part, value: Json, spend: Spend): string[] {
	const encode = allowReserved ? encodeReserved : percentEncode;
	return spellPieces({ name, style, explode: explode ?? style === 'form', encode, encodeName: percentEncode, spend }, value);
}

/** Returns the names and texts of the parts that one field of a multipart body becomes; nothing is percent-encoded there. */
export function partPairs(name: string, { style = 'form', explode }: Part, value: Json): Pair[] {
	return spellPairs({ name, style, explode: explode ?? style === 'form', encode: verbatim, encodeName: verbatim, spend: free }, value);
}

const spellPieces = (spelling: Spelling, value: Json): string[] => spellPairs(spelling, value).map(joined);
const joined = ([name, text]: Pair): string => `${name}=${text}`;

/** Returns the names and values that query, cookies and forms have for one value. */
function spellPairs(spelling: Spelling, value: Json): Pair[] {
	const { name, style, explode, encode, encodeName } = spelling;
	if (style === 'deepObject') return deepPairs(name, value, spelling);
	const shape = shapeOf(value);
	if (isEmpty(shape)) return [];
	if (shape.kind === 'text') return [[encodeName(name), encode(shape.text)]];
	if (explode) return exploded(shape, encodeName(name), spelling);
	return [[encodeName(name), flat(shape, encode).join(delimiterOf(spelling))]];
}

function delimiterOf({ style, encodeName }: Spelling): string {
	if (style === 'spaceDelimited') return encodeName(' ');
	return style === 'pipeDelimited' ? encodeName('|') : ',';
}

/** Writes style deepObject, which defines one level; deeper ones and lists are written as PHP, Rails, qs and Stripe read them. */
function deepPairs(name: string, value: Json, spelling: Spelling): Pair[] {
	if (value === null) return [];
	if (typeof value !== 'object') return [counted([spelling.encodeName(name), spelling.encode(String(value))], spelling)];
	return Object.entries(value).flatMap(([key, item]) => deepPairs(`${name}[${key}]`, item, spelling));
}

function counted(pair: Pair, { spend }: Pick<Spelling, 'spend'>): Pair {
	spend(pair[0].length + 1 + pair[1].length);
	return pair;
}

function spellPath(spelling: Spelling, shape: Shape): string {
	if (spelling.style === 'label') return spellLabel(spelling, shape);
	if (spelling.style === 'matrix') return spellMatrix(spelling, shape);
	return spellSimple(spelling, shape);
}

function spellSimple(spelling: Spelling, shape: Shape): string {
	if (shape.kind === 'pairs' && spelling.explode) return exploded(shape, '', spelling).map(joined).join(',');
	return flat(shape, spelling.encode).join(',');
}

function spellLabel(spelling: Spelling, shape: Shape): string {
	const { explode, encode } = spelling;
	if (shape.kind === 'pairs' && explode) return `.${exploded(shape, '', spelling).map(joined).join('.')}`;
	return `.${flat(shape, encode).join(explode ? '.' : ',')}`;
}

/** RFC 6570 §3.2.7: an empty value has no equals sign. */
function spellMatrix(spelling: Spelling, shape: Shape): string {
	const { name, explode, encode, encodeName } = spelling;
	const key = encodeName(name);
	const pairs: Pair[] = explode && shape.kind !== 'text' ? exploded(shape, key, spelling) : [[key, flat(shape, encode).join(',')]];
	return pairs.map(([written, text]) => `;${text === '' ? written : joined([written, text])}`).join('');
}

function exploded(shape: Exclude<Shape, { kind: 'text' }>, name: string, spelling: Pick<Spelling, 'encode' | 'spend'>): Pair[] {
	const { encode } = spelling;
	if (shape.kind === 'list') return shape.items.map((item) => counted([name, encode(item)], spelling));
	return shape.pairs.map(([key, text]) => counted([encode(key), encode(text)], spelling));
}

function flat(shape: Shape, encode: Spelling['encode']): string[] {
	if (shape.kind === 'text') return [encode(shape.text)];
	return (shape.kind === 'list' ? shape.items : shape.pairs.flat()).map(encode);
}

/** Reads a value's shape; values nested deeper than the styles define become JSON texts. */
function shapeOf(value: Json): Shape {
	if (Array.isArray(value)) return { kind: 'list', items: value.filter((item) => item !== null).map(plainText) };
	if (value === null || typeof value !== 'object') return { kind: 'text', text: String(value) };
	const pairs = Object.entries(value).filter(([, item]) => item !== null);
	return { kind: 'pairs', pairs: pairs.map(([key, item]) => [key, plainText(item)]) };
}

function isEmpty(shape: Shape): boolean {
	return (shape.kind === 'list' && shape.items.length === 0) || (shape.kind === 'pairs' && shape.pairs.length === 0);
}

/** Writes a value in its media type; JSON in ASCII only, since headers take nothing above U+00FF. */
function inMediaType(contentType: string, value: Json): string {
	if (!/json/i.test(contentType)) return plainText(value);
	return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
