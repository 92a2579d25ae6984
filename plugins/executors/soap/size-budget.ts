// Bounds the length of a message: a list of small values repeats the name of its element at each of them, and names can be long.

import { invalid } from '../../../core/index.ts';

/** Most characters of the header and body of one message, eight times those of the longest arguments. */
const MAX_CHARS = 8 * 1024 * 1024;

export interface SizeBudget {
	/** Counts a text of the message. @param at JSON pointer of its value. @returns the text. @throws validation_failed */
	spend(text: string, at: string): string;
}

export function createSizeBudget(): SizeBudget {
	let left = MAX_CHARS;
	return {
		spend(text, at) {
			left -= text.length;
			if (left < 0) throw invalid(at, `${at || '/'} makes the message too long: it can have at most ${MAX_CHARS} characters.`);
			return text;
		},
	};
}
