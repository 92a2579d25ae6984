// Finds where the values of a long JSON text begin and end, without parsing it: in slices, so that the event loop is never blocked for
// long.

import { TimeSlice } from './time-slice.ts';

/** Smaller values are found by reading them again: an outline is far smaller than its text. */
const LARGE_CHARS = 1024;
/** Characters read between two looks at the clock. */
const STEP_CHARS = 4096;

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

interface Large {
	/** Offset after its closing bracket or quote. */
	end: number;
	/** Number of items or members. */
	count: number;
}

export interface Outline {
	text: string;
	/** Offset of the text's only value. */
	start: number;
	end: number;
	/** Levels of nesting. */
	depth: number;
	/** Long lists, objects and strings, by their start. */
	large: ReadonlyMap<number, Large>;
}

/** A value in the text: `start` is the offset of its first character, `end` the offset after its last. */
export interface JsonSpan {
	start: number;
	end: number;
}

export interface Member extends JsonSpan {
	/** The literal of the name, with quotes. */
	key: string;
}

/**
 * Returns null when brackets or quotes do not match, down to `maxDepth`. The text between them is not checked: a caller that keeps a part
 * of the text parses it.
 * @param maxDepth levels below this one are not outlined
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
	/** Start, number of commas and closing code of each open container, by level. */
	readonly #starts: Int32Array;
	readonly #commas: Int32Array;
	readonly #closers: Uint8Array;
	/** Start of the string being read; negative outside of strings. */
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

	/** Reads up to the next quote, which may or may not end the string. */
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

/** Returns the number of items or members. */
export function sizeOf(outline: Outline, start: number): number {
	const known = outline.large.get(start);
	if (known) return known.count;
	const parts = outline.text[start] === '[' ? itemsOf(outline, start) : membersOf(outline, start);
	return Iterator.from(parts).reduce((count) => count + 1, 0);
}

/** Yields the items of an array, in order. @param start offset of the array @throws SyntaxError */
export function* itemsOf(outline: Outline, start: number): Generator<JsonSpan> {
	const { text } = outline;
	for (let at = skipSpace(text, start + 1); text.charCodeAt(at) !== CLOSE_LIST; ) {
		const end = valueEnd(outline, at);
		yield { start: at, end };
		at = next(text, end, CLOSE_LIST);
		if (at < 0) return;
	}
}

/**
 * Yields the members of an object, in order; duplicate names are yielded each time. @param start offset of the object @throws SyntaxError
 */
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

/** Returns the offset after the comma; negative at the end of the container. */
function next(text: string, at: number, closer: number): number {
	const behind = skipSpace(text, at);
	const code = text.charCodeAt(behind);
	if (code === COMMA) return skipSpace(text, behind + 1);
	if (code === closer) return -1;
	throw new SyntaxError('A value of a JSON text is followed by neither a comma nor the end of its container.');
}

function valueEnd({ text, large }: Outline, start: number): number {
	const known = large.get(start);
	if (known) return known.end;
	const code = text.charCodeAt(start);
	if (code === QUOTE) return stringEnd(text, start);
	if (code === OPEN_LIST || code === OPEN_OBJECT) return shortContainerEnd(text, start);
	let at = start;
	while (at < text.length && !endsScalar(text.charCodeAt(at))) at += 1;
	// If there is no value, the offset advances by one, so that a text that is not JSON is read to its end.
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

/** Returns the offset after the closing quote; negative when there is none. */
function stringEnd(text: string, start: number): number {
	for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
		if (trailingBackslashes(text, start + 1, at) % 2 === 0) return at + 1;
	}
	return -1;
}

/** Counts the backslashes right before `at`. */
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
