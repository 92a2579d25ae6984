// Checks on JSON: the type of a value, whether it is JSON at all and how large, values that several callers share; and the names in a text
// that is not parsed yet.

import { randomInt } from 'node:crypto';
import type { JsonObject } from '../contract/nouns.ts';

/** Whether a value is a JSON object: neither null nor an array. */
export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Freezes a JSON value with everything in it. Other objects (dates, buffers, instances of classes) stay as they are. */
export function deepFreeze<T>(value: T): T {
	// A frozen value is passed over: the parts of what this function froze are frozen, too.
	if (!isPlain(value) || Object.isFrozen(value)) return value;
	Object.freeze(value);
	for (const part of Object.values(value as object)) if (typeof part === 'object') deepFreeze(part);
	return value;
}

function isPlain(value: unknown): boolean {
	if (typeof value !== 'object' || value === null) return false;
	if (Array.isArray(value)) return true;
	const prototype: unknown = Object.getPrototypeOf(value);
	return prototype === Object.prototype || prototype === null;
}

/** Far below the depth at which JSON.stringify would overflow the stack; a value that contains itself reaches it, too. */
export const MAX_NESTING = 256;
const TOO_DEEP = 'is nested too deeply, or contains itself';

export interface Measured {
	/** The size as JSON, without escapes; counting ends soon after `maxChars`. */
	chars: number;
	/** The end of a sentence that says why the value is not JSON; null if it is. */
	fault: string | null;
	/** The fault is that it nests too deeply, as JSON that is put into JSON again and again does. */
	isTooDeep?: boolean;
}

interface Measure {
	chars: number;
	maxChars: number;
	/** The location of the fault, written from its end. */
	path: string[];
}

/** Measures a value that somebody else's code calls JSON. Absent (undefined) members and dates are allowed, as JSON.stringify allows them. */
export function measureJson(value: unknown, maxChars: number): Measured {
	const measure: Measure = { chars: 0, maxChars, path: [] };
	const fault = value === undefined ? 'is missing' : faultIn(value, measure, 0);
	if (fault === null || measure.chars > maxChars) return { chars: measure.chars, fault: null };
	const { path } = measure;
	return {
		chars: measure.chars,
		isTooDeep: fault === TOO_DEEP,
		fault: path.length > 0 ? `/${path.reverse().join('/').slice(0, 200)} ${fault}` : fault,
	};
}

/**
 * Writes a value as JSON; null where that takes more characters, by an estimate. A value that holds a part many times, which holds another, takes
 * little memory until it is text, and then more than a process has.
 */
export function printWithin(value: unknown, maxChars: number): string | null | undefined {
	const { chars, fault } = measureJson(value, maxChars);
	if (chars > maxChars) return null;
	if (fault === null) return JSON.stringify(value);
	// A fault ends the measuring: what is behind it is counted while it is written.
	let left = maxChars;
	const tooLong = new Error('The text is too long.');
	try {
		return JSON.stringify(value, (_name, part: unknown) => {
			left -= typeof part === 'string' ? part.length + 1 : 1;
			if (left < 0) throw tooLong;
			return part;
		});
	} catch (error) {
		if (error === tooLong) return null;
		throw error;
	}
}

function faultIn(value: unknown, measure: Measure, depth: number): string | null {
	switch (typeof value) {
		case 'string':
			measure.chars += value.length + 2;
			return null;
		case 'number':
			measure.chars += 4;
			return Number.isFinite(value) ? null : `is ${value}, which JSON cannot write`;
		case 'boolean':
		case 'undefined':
			measure.chars += 4;
			return null;
		case 'object':
			measure.chars += 4;
			return value === null ? null : faultInObject(value, measure, depth);
		default:
			return `is a ${typeof value}`;
	}
}

/** Loops over keys and indexes, since this runs for every result of a tool: lists of entries would cost more than everything else. */
function faultInObject(value: object, measure: Measure, depth: number): string | null {
	if (value instanceof Date) return null;
	if (!isPlain(value)) return `is an instance of ${value.constructor?.name ?? 'a class'}`;
	if (depth >= MAX_NESTING) return TOO_DEEP;
	if (Array.isArray(value)) return faultInList(value, measure, depth);
	for (const key in value) {
		measure.chars += key.length + 3;
		const fault = faultIn((value as Record<string, unknown>)[key], measure, depth + 1);
		if (fault !== null) return located(fault, key, measure);
		if (measure.chars > measure.maxChars) return null;
	}
	return null;
}

function faultInList(list: readonly unknown[], measure: Measure, depth: number): string | null {
	for (let index = 0; index < list.length && measure.chars <= measure.maxChars; index++) {
		const fault = faultIn(list[index], measure, depth + 1);
		if (fault !== null) return located(fault, String(index), measure);
	}
	return null;
}

function located(fault: string, key: string, { path }: Measure): string {
	path.push(key);
	return fault;
}

/** The most different names of members in a text that is parsed at once: V8 interns each, and makes a shape for most. */
const MAX_NAMES = 10_000;
/** A shorter text hardly has room for so many. */
const MIN_CHARS = 64 * 1024;
export const MANY_NAMES = `more than ${MAX_NAMES} different names of members`;

/**
 * Whether a text has so many different names that parsing it would block the event loop. Names that are repeated cost next to nothing, and
 * so do strings that are no names. A name spelled with escapes is another one.
 * @param json texts, one a line, may be checked together: a line feed ends a string, since JSON has none in it
 */
export const hasManyNames = (json: string): boolean => json.length >= MIN_CHARS && hasManyColons(json) && new Names(json).areMany();

/** Whether there can be so many names: each is followed by a colon. */
function hasManyColons(json: string): boolean {
	let at = -1;
	for (let count = 0; count <= MAX_NAMES; count++) {
		at = json.indexOf(':', at + 1);
		if (at === -1) return false;
	}
	return true;
}

const [LINE_FEED, SPACE, QUOTE, COLON, BACKSLASH] = [10, 32, 34, 58, 92];
/** Places for names, of which a third is used at most. */
const SLOTS = 32_768;
/** Steps past places that are taken: a hundred times as many as usual. More would be names that were made to meet. */
const MAX_STEPS = 50 * MAX_NAMES;
/** The hash of nothing: a secret, so that nobody makes such names. */
const SEED = randomInt(2 ** 31);
const FACTOR = 0x01_00_01_93;

/** The different names in a text, in a table of where each begins: a set of strings would take longer than parsing. */
class Names {
	readonly #json: string;
	readonly #starts = new Int32Array(SLOTS);
	#count = 0;
	#steps = 0;

	constructor(json: string) {
		this.#json = json;
	}

	areMany(): boolean {
		const json = this.#json;
		for (let start = json.indexOf('"') + 1; start > 0 && this.#count <= MAX_NAMES && this.#steps <= MAX_STEPS; ) {
			let hash = SEED;
			let at = start;
			for (let code = json.charCodeAt(at); code !== QUOTE && code !== LINE_FEED && at < json.length; code = json.charCodeAt(++at)) {
				if (code === BACKSLASH && json.charCodeAt(at + 1) !== LINE_FEED) at++;
				hash = Math.imul(hash ^ code, FACTOR);
			}
			const end = at++;
			while (json.charCodeAt(at) <= SPACE) at++;
			if (json.charCodeAt(at) === COLON) this.#add(start, end, hash);
			start = json.indexOf('"', at) + 1;
		}
		return this.#count > MAX_NAMES || this.#steps > MAX_STEPS;
	}

	#add(start: number, end: number, hash: number): void {
		for (let slot = (hash ^ (hash >>> 15)) & (SLOTS - 1); ; slot = (slot + 1) % SLOTS) {
			const other = this.#starts[slot] ?? 0;
			if (other > 0 && this.#isSame(other, start, end)) return;
			if (other === 0) {
				this.#starts[slot] = start;
				this.#count++;
				return;
			}
			this.#steps++;
		}
	}

	/** Whether the name at `other` is the one from `start` to the quote at `end`. */
	#isSame(other: number, start: number, end: number): boolean {
		const distance = start - other;
		for (let at = start; at <= end; at++) if (this.#json.charCodeAt(at) !== this.#json.charCodeAt(at - distance)) return false;
		return true;
	}
}
