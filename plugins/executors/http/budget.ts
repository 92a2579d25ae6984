// The characters of a request, of which templates and styles may make many times those of the arguments.

import { invalid } from '../../../core/index.ts';

/** The most of a URL and of headers, as far as arguments make them: servers take far less. */
export const MAX_HEAD_CHARS = 1024 * 1024;
/** The most of a body that repeats names or arguments. */
export const MAX_BODY_CHARS = 4 * 1024 * 1024;

/** Hears of characters before they are joined with others. @throws validation_failed when there are too many */
export type Spend = (chars: number) => void;

export function budgetOf(what: string, most: number): Spend {
	let left = most;
	return (chars) => {
		left -= chars;
		if (left < 0) throw invalid('', `The arguments make ${what} of more than ${most} characters.`);
	};
}
