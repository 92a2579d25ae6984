// Numbers of a JSON text that no double holds (RFC 8259 §6): integers beyond its precision, mostly identifiers, which would be wrong with other
// digits; and numbers beyond its range, which would become Infinity.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { trailingBackslashes } from './json-outline.ts';
import { TimeSlice } from './time-slice.ts';

/** Doubles keep 15 decimal digits exactly. */
const LONG_DIGITS = 16;
/** Excludes digits of a fraction or an exponent. */
const LONG_INTEGER = /(?<![\w.+-])-?\d{16,}(?![\d.eE])/g;
/** Characters read between two looks at the clock. */
const STEP_CHARS = 16_384;
/** A text that is nothing but an integer with so many digits. */
const LONG_TEXT = /^-?\d{16,}$/;
/** Names such a number in a sentence about what has it. */
export const UNHELD_NUMBER = 'a number beyond 1.8e308, which no double holds';
/** A number beyond 1.8e308 has such an exponent, or many digits. */
const LARGE_EXPONENT = /[\d.][eE]\+?\d{3}/;

/** Whether a value is a text that may have been an integer which no double holds. */
export const isLongInteger = (value: unknown): value is string => typeof value === 'string' && LONG_TEXT.test(value);

/** Whether a number may be beyond the range of doubles, if none has many digits, as `mayRound` finds them. */
export const hasLargeExponent = (json: string): boolean => LARGE_EXPONENT.test(json);

/** Whether a parsed value has a number that was beyond the range of doubles. */
export function hasInfinity(value: unknown): boolean {
	const open = [value];
	while (open.length > 0) {
		const next = open.pop();
		if (typeof next === 'number' && !Number.isFinite(next)) return true;
		if (next === null || typeof next !== 'object') continue;
		for (const part of Object.values(next)) if (typeof part === 'object' || typeof part === 'number') open.push(part);
	}
	return false;
}

/** Whether a run of so many digits occurs anywhere. Every sixteenth character is checked, since a run of that length contains one. */
export function mayRound(json: string): boolean {
	for (let at = LONG_DIGITS - 1; at < json.length; at += LONG_DIGITS) {
		if (!isDigit(json.charCodeAt(at))) continue;
		let start = at;
		let end = at + 1;
		while (isDigit(json.charCodeAt(start - 1))) start -= 1;
		while (isDigit(json.charCodeAt(end))) end += 1;
		if (end - start >= LONG_DIGITS) return true;
	}
	return false;
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

export interface Quoted {
	text: string;
	/** The digits of the integers that a double would change. */
	rounded: ReadonlySet<string>;
}

/** Replaces each such integer that a double would change by a string, in slices of time. @param json a valid JSON text */
export async function quoteLongIntegers(json: string): Promise<Quoted> {
	const rounded = new Set<string>();
	const pieces: string[] = [];
	const slice = new TimeSlice();
	// The caller's parsing has already taken a time slice.
	await nextTurn();
	for (const piece of quotedPieces(json, rounded)) {
		pieces.push(piece);
		if (slice.isOver) await slice.next();
	}
	await nextTurn();
	return { text: pieces.join(''), rounded };
}

/** Does the same at once. @param json a valid JSON text, as short as a body of a request */
export function quoteLongIntegersAtOnce(json: string): Quoted {
	const rounded = new Set<string>();
	return { text: [...quotedPieces(json, rounded)].join(''), rounded };
}

function* quotedPieces(json: string, rounded: Set<string>): Generator<string> {
	const quoteIfRounded = (digits: string): string => {
		if (String(Number(digits)) === digits) return digits;
		rounded.add(digits);
		return `"${digits}"`;
	};
	let at = 0;
	while (at < json.length) {
		const next = stringStart(json, at);
		const start = next - at > STEP_CHARS ? valueEnd(json, at + STEP_CHARS, next) : next;
		const between = json.slice(at, start);
		yield between.length < LONG_DIGITS ? between : between.replace(LONG_INTEGER, quoteIfRounded);
		at = start < next || start === json.length ? start : stringEnd(json, start);
		yield json.slice(start, at);
	}
}

function stringStart(json: string, from: number): number {
	const quote = json.indexOf('"', from);
	return quote < 0 ? json.length : quote;
}

function stringEnd(json: string, start: number): number {
	let quote = json.indexOf('"', start + 1);
	while (trailingBackslashes(json, start + 1, quote) % 2 === 1) quote = json.indexOf('"', quote + 1);
	return quote + 1;
}

/** Finds a position that does not split a number. */
function valueEnd(json: string, from: number, end: number): number {
	const comma = json.indexOf(',', from);
	return comma < 0 ? end : Math.min(comma, end);
}
