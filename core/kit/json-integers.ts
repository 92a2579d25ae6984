// Integers of a JSON text that exceed a double's precision: mostly identifiers, which would be wrong with other digits (RFC 8259 §6).

import { setImmediate as nextTurn } from 'node:timers/promises';
import { trailingBackslashes } from './json-outline.ts';
import { TimeSlice } from './time-slice.ts';

/** Doubles keep 15 decimal digits exactly. */
const LONG_DIGITS = 16;
/** Excludes digits of a fraction or an exponent. */
const LONG_INTEGER = /(?<![\w.+-])-?\d{16,}(?![\d.eE])/g;
/** Characters read between two looks at the clock. */
const STEP_CHARS = 16_384;

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

/** Replaces each such integer that a double would change by a string, and returns their digits. @param json a valid JSON text */
export async function quoteLongIntegers(json: string): Promise<{ text: string; rounded: ReadonlySet<string> }> {
	const pieces: string[] = [];
	const rounded = new Set<string>();
	const quoteIfRounded = (digits: string): string => {
		if (String(Number(digits)) === digits) return digits;
		rounded.add(digits);
		return `"${digits}"`;
	};
	const slice = new TimeSlice();
	// The caller's parsing has already taken a time slice.
	await nextTurn();
	let at = 0;
	while (at < json.length) {
		if (slice.isOver) await slice.next();
		const next = stringStart(json, at);
		const start = next - at > STEP_CHARS ? valueEnd(json, at + STEP_CHARS, next) : next;
		const between = json.slice(at, start);
		pieces.push(between.length < LONG_DIGITS ? between : between.replace(LONG_INTEGER, quoteIfRounded));
		at = start < next || start === json.length ? start : stringEnd(json, start);
		pieces.push(json.slice(start, at));
	}
	await nextTurn();
	return { text: pieces.join(''), rounded };
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
