// Converts between JSON and the texts of XML Schema's built-in types (Part 2, §3), without losing digits.

import { escapeXml, invalid, type Json, xmlDecimal, xmlScalar } from '../../../core/index.ts';
import { type Names, writeName } from './names.ts';
import { endsStep, type Steps } from './steps.ts';

const INTEGERS = new Set(['byte', 'short', 'int', 'unsignedByte', 'unsignedShort', 'unsignedInt']);
const FLOATS = new Set(['float', 'double']);
const MOMENTS = new Set(['dateTime', 'time']);
/** The dates and times of JSON Schema's formats: RFC 3339 and slightly more. */
const MOMENT = /^(?:(\d{4}-\d\d-\d\d)[Tt\s])?(\d\d:\d\d:\d\d(?:\.\d+)?)(?:([Zz])|([+-]\d\d):?(\d\d)?)?$/;
/** Types of qualified names (§3.2.18, §3.2.19), whose prefixes are resolved where they stand. */
const NAMES = new Set(['QName', 'NOTATION']);
/** Types in which white space is significant. */
const VERBATIM = new Set(['string', 'anySimpleType', 'anyType']);

export const isNameType = (type: string): boolean => NAMES.has(baseOf(type));
export const isListType = (type: string): boolean => type.endsWith('*');
const baseOf = (type: string): string => type.replace(/^xs:|\*$/g, '');

/** Characters that are escaped at once: 1 ms if each needs it. */
const PIECE_CHARS = 16 * 1024;
/** A longer text is a step of its own. */
const SHORT_CHARS = 1024;

interface Around {
	names: Names;
	escaped?: (text: string) => string;
}

/** Writes a value, escaped. @param at JSON pointer of the value in the arguments. @throws validation_failed */
export function* writeText(type: string, value: Json, at: string, { names, escaped = escapeXml }: Around): Steps<string> {
	const text = isListType(type) ? yield* writeList(baseOf(type), value, at, names) : writeScalar(baseOf(type), value, at, names);
	if (text.length <= SHORT_CHARS) return escaped(text);
	let written = '';
	for (let from = 0; from < text.length; from += PIECE_CHARS) {
		yield;
		written += escaped(text.slice(from, from + PIECE_CHARS));
	}
	return written;
}

function* writeList(base: string, value: Json, at: string, names: Names): Steps<string> {
	let written = '';
	for (const [index, item] of (Array.isArray(value) ? value : [value]).entries()) {
		if (endsStep(index)) yield;
		const text = listItem(writeScalar(base, item, `${at}/${index}`, names), `${at}/${index}`);
		written += index === 0 ? text : ` ${text}`;
	}
	return written;
}

/** Checks the item of a list, whose items are separated by white space. */
function listItem(text: string, at: string): string {
	if (text === '' || /\s/.test(text)) throw invalid(at, `${at} must be text without white space: it is one item of a list.`);
	return text;
}

function writeScalar(base: string, value: Json, at: string, names: Names): string {
	if (NAMES.has(base)) return writeName(value, at, names);
	if (typeof value === 'number') return writeNumber(base, value, at);
	return xmlScalar(typeof value === 'string' && MOMENTS.has(base) ? writeMoment(value) : value, at);
}

/** Writes a capital T and Z, and zones with a colon and minutes (Part 2, §3.2.7). Text that is not a date or time is kept. */
function writeMoment(text: string): string {
	const [, date, time, utc, hours, minutes = '00'] = MOMENT.exec(text) ?? [];
	if (time === undefined) return text;
	const zone = utc === undefined ? hours && `${hours}:${minutes}` : 'Z';
	return `${date === undefined ? '' : `${date}T`}${time}${zone ?? ''}`;
}

const writeNumber = (base: string, value: number, at: string): string => (FLOATS.has(base) ? String(value) : xmlDecimal(value, at));

/**
 * Reads a text, or one item of a list: a number only if a double holds all values of the type; an empty number is null; text that is not of the
 * type is kept.
 */
export function readText(type: string, text: string): Json {
	const base = baseOf(type);
	if (VERBATIM.has(base)) return text;
	const trimmed = text.trim();
	if (base === 'boolean') return readBoolean(trimmed);
	const isInteger = INTEGERS.has(base);
	if (!isInteger && !FLOATS.has(base)) return trimmed;
	if (trimmed === '') return null;
	const number = Number(trimmed);
	const isExact = isInteger
		? /^[+-]?[0-9]+$/.test(trimmed) && Number.isSafeInteger(number)
		: /^[-+.0-9eE]+$/.test(trimmed) && Number.isFinite(number);
	return isExact ? number : trimmed;
}

function readBoolean(text: string): Json {
	if (text === '') return null;
	if (text === 'true' || text === '1') return true;
	return text === 'false' || text === '0' ? false : text;
}
