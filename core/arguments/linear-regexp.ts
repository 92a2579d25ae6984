// Patterns of schemas on RE2, which does not backtrack: they are untrusted text, and none of them can run long.

import { RE2JS } from 're2js';
import { patternStates } from './pattern-states.ts';

/** An estimate before a pattern is compiled may be so many times the instructions that it has then. */
const ESTIMATED = 5;

const TOO_LARGE = 'its repetitions make it too large';

export class LinearRegExp {
	readonly #pattern: RE2JS;
	readonly source: string;

	/** Compiles a pattern. @throws RE2JSSyntaxException for look-ahead, back-references, bad syntax */
	constructor(pattern: string) {
		this.source = pattern;
		this.#pattern = RE2JS.compile(RE2JS.translateRegExp(pattern));
	}

	/** Ajv caches one engine per string that this returns: without it, all patterns would share the first one. */
	toString(): string {
		return `/${this.source}/`;
	}

	/** The number of instructions, by which the time grows that a text takes. */
	get size(): number {
		return this.#pattern.programSize();
	}

	/** Returns the text with `instead` for each match. */
	replaceAll(text: string, instead: string): string {
		return this.#pattern.matcher(text).replaceAll(instead);
	}

	/** Runs without RE2's DFA, which would keep up to 8 MB for each pattern. */
	test(text: string): boolean {
		return this.#pattern.matcher(text).find();
	}
}

/**
 * Returns null when RE2 can run the pattern (in linear time), else the reason: look-ahead, back-reference, bad syntax, more instructions than
 * may be.
 */
export function patternFault(pattern: string, maxSize = Number.POSITIVE_INFINITY): string | null {
	if (patternStates(pattern) > ESTIMATED * maxSize) return TOO_LARGE;
	try {
		return new LinearRegExp(pattern).size > maxSize ? TOO_LARGE : null;
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}
