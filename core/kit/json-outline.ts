// Where the values of a long JSON text begin and end, without parsing it: in slices, so that the event loop is never held for long.

import { TimeSlice } from './time-slice.ts';

/** Smaller values are found again by reading them: an outline is far smaller than its text. */
const LARGE_CHARS = 1024;
/** Read between two looks at the clock. */
const STEP_CHARS = 4096;

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

interface Large {
	/** Behind its closing bracket or quote. */
	end: number;
	/** Of items or members. */
	count: number;
}

export interface Outline {
	text: string;
	/** Of the only value. */
	start: number;
	end: number;
	/** Levels of nesting. */
	depth: number;
	/** The long lists, objects and strings, by where they begin. */
	large: ReadonlyMap<number, Large>;
}

/** A value among others: `start` is its first character, `end` behind its last. */
export interface Place {
	start: number;
	end: number;
}

export interface Member extends Place {
	/** The name's literal, quotes included. */
	key: string;
}

/**
 * Null when brackets or quotes do not match, as far as `maxDepth`. What stands between them is not looked at: whoever keeps a part of the
 * text parses that.
 * @param maxDepth below which nothing will be asked for
 */
export async function outlineJson(text: string, maxDepth: number): Promise<Outline | null> {
	const scan = new Scan(text, maxDepth + 1);
	const slice = new TimeSlice();
	while (scan.readUntil(Math.min(text.length, scan.at + STEP_CHARS))) if (slice.isOver) await slice.next();
	return scan.outline();
}

class Scan {
	at = 0;
	readonly #text: string;
	readonly #large = new Map<number, Large>();
	readonly #maxDepth: number;
	/** Of the open containers, by level: where they begin, the commas in them, and the code that closes them. */
	readonly #starts: Int32Array;
	readonly #commas: Int32Array;
	readonly #closers: Uint8Array;
	/** Where the string begins that is being read; negative outside of strings. */
	#string = -1;
	#level = 0;
	#depth = 0;
	#isBroken = false;

	constructor(text: string, maxDepth: number) {
		this.#text = text;
		this.#maxDepth = maxDepth;
		this.#starts = new Int32Array(maxDepth + 1);
		this.#commas = new Int32Array(maxDepth + 1);
		this.#closers = new Uint8Array(maxDepth + 1);
	}

	/** @returns whether there is more to read */
	readUntil(limit: number): boolean {
		while (this.at < limit && !this.#isBroken) this.#step(this.#text.charCodeAt(this.at));
		return this.at < this.#text.length && !this.#isBroken;
	}

	outline(): Outline | null {
		if (this.#isBroken || this.#level > 0 || this.#string >= 0) return null;
		const start = skipSpace(this.#text, 0);
		const end = this.#text.trimEnd().length;
		const outline = { text: this.#text, start, end, depth: this.#depth, large: this.#large };
		return start < end && valueEnd(outline, start) === end ? outline : null;
	}

	#step(code: number): void {
		if (this.#string >= 0) {
			this.#readString(this.#string);
			return;
		}
		if (code === QUOTE) this.#string = this.at;
		if (code === COMMA && this.#level <= this.#maxDepth) this.#commas[this.#level] = (this.#commas[this.#level] ?? 0) + 1;
		if (code === OPEN_LIST) this.#open(CLOSE_LIST);
		if (code === OPEN_OBJECT) this.#open(CLOSE_OBJECT);
		if (code === CLOSE_LIST || code === CLOSE_OBJECT) this.#close(code);
		this.at += 1;
	}

	/** As far as the next quote, which ends it or not. */
	#readString(start: number): void {
		const quote = this.#text.indexOf('"', this.at);
		this.#isBroken = quote < 0;
		this.at = quote + 1;
		if (trailingBackslashes(this.#text, start + 1, quote) % 2 === 1) return;
		this.#string = -1;
		if (this.at - start >= LARGE_CHARS) this.#large.set(start, { end: this.at, count: 0 });
	}

	#open(closer: number): void {
		this.#level += 1;
		this.#depth = Math.max(this.#depth, this.#level);
		if (this.#level > this.#maxDepth) return;
		this.#starts[this.#level] = this.at;
		this.#commas[this.#level] = 0;
		this.#closers[this.#level] = closer;
	}

	#close(code: number): void {
		const level = this.#level;
		this.#level -= 1;
		if (level > this.#maxDepth) return;
		const start = this.#starts[level] ?? 0;
		this.#isBroken = level === 0 || this.#closers[level] !== code;
		const end = this.at + 1;
		if (end - start >= LARGE_CHARS) this.#large.set(start, { end, count: (this.#commas[level] ?? 0) + 1 });
	}
}

/** How many items or members. */
export function sizeOf(outline: Outline, start: number): number {
	const known = outline.large.get(start);
	if (known) return known.count;
	const parts = outline.text[start] === '[' ? itemsOf(outline, start) : membersOf(outline, start);
	return Iterator.from(parts).reduce((count) => count + 1, 0);
}

/** Of an array, in order. @param start where it begins @throws SyntaxError */
export function* itemsOf(outline: Outline, start: number): Generator<Place> {
	const { text } = outline;
	for (let at = skipSpace(text, start + 1); text.charCodeAt(at) !== CLOSE_LIST; ) {
		const end = valueEnd(outline, at);
		yield { start: at, end };
		at = next(text, end, CLOSE_LIST);
		if (at < 0) return;
	}
}

/** Of an object, in order; a name that comes twice comes twice. @param start where it begins @throws SyntaxError */
export function* membersOf(outline: Outline, start: number): Generator<Member> {
	const { text } = outline;
	for (let at = skipSpace(text, start + 1); text.charCodeAt(at) === QUOTE; ) {
		const keyEnd = stringEnd(text, at);
		const colon = skipSpace(text, keyEnd);
		const begin = skipSpace(text, colon + 1);
		const end = valueEnd(outline, begin);
		yield { key: text.slice(at, keyEnd), start: begin, end };
		at = next(text, end, CLOSE_OBJECT);
		if (at < 0) return;
	}
}

/** Behind the comma; negative where the container ends. */
function next(text: string, at: number, closer: number): number {
	const behind = skipSpace(text, at);
	const code = text.charCodeAt(behind);
	if (code === COMMA) return skipSpace(text, behind + 1);
	if (code === closer) return -1;
	throw new SyntaxError('A value of a JSON text is followed by neither a comma nor the end of what it is in.');
}

function valueEnd({ text, large }: Outline, start: number): number {
	const known = large.get(start);
	if (known) return known.end;
	const code = text.charCodeAt(start);
	if (code === QUOTE) return stringEnd(text, start);
	if (code === OPEN_LIST || code === OPEN_OBJECT) return shortContainerEnd(text, start);
	let at = start;
	while (at < text.length && !endsScalar(text.charCodeAt(at))) at += 1;
	// Where no value is: one step, so that a text that is no JSON is read to its end as well.
	return Math.max(at, start + 1);
}

function shortContainerEnd(text: string, start: number): number {
	let depth = 0;
	for (let at = start; at < text.length; ) {
		const code = text.charCodeAt(at);
		if (code === OPEN_LIST || code === OPEN_OBJECT) depth += 1;
		if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1;
		at = code === QUOTE ? stringEnd(text, at) : at + 1;
		if (depth === 0) return at;
	}
	return text.length;
}

/** Behind the closing quote; negative when there is none. */
function stringEnd(text: string, start: number): number {
	for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
		if (trailingBackslashes(text, start + 1, at) % 2 === 0) return at + 1;
	}
	return -1;
}

/** How many stand right before `at`. */
export function trailingBackslashes(text: string, from: number, at: number): number {
	let first = at;
	while (first > from && text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
	return at - first;
}

function skipSpace(text: string, from: number): number {
	let at = from;
	while (isSpace(text.charCodeAt(at))) at += 1;
	return at;
}

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9;
const endsScalar = (code: number): boolean => code === COMMA || code === CLOSE_LIST || code === CLOSE_OBJECT || isSpace(code);
