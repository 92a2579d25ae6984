// Integers of a JSON text that no double holds: identifiers, most of the time, that would lead elsewhere with other digits (RFC 8259 §6).

import { setImmediate as nextTurn } from 'node:timers/promises';
import { trailingBackslashes } from './json-outline.ts';
import { TimeSlice } from './time-slice.ts';

/** Doubles have 15 decimal digits for sure. */
const LONG_DIGITS = 16;
/** Not of a fraction or an exponent. */
const LONG_INTEGER = /(?<![\w.+-])-?\d{16,}(?![\d.eE])/g;
/** Read between two looks at the clock. */
const STEP_CHARS = 16_384;

/** Whether so many digits stand in a row, anywhere. Looks at every sixteenth character: what is long enough has one of these. */
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

/** The same with each as a string of its digits, where a double would give other ones, and which these are. @param json that parses */
export async function quoteLongIntegers(json: string): Promise<{ text: string; rounded: ReadonlySet<string> }> {
	const pieces: string[] = [];
	const rounded = new Set<string>();
	const quoteIfRounded = (digits: string): string => {
		if (String(Number(digits)) === digits) return digits;
		rounded.add(digits);
		return `"${digits}"`;
	};
	const slice = new TimeSlice();
	// Parsing it has had its turn.
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

/** Where no number is divided. */
function valueEnd(json: string, from: number, end: number): number {
	const comma = json.indexOf(',', from);
	return comma < 0 ? end : Math.min(comma, end);
}
