// Checks the progress that code reports, in the sandbox thread, so that the main thread receives only few and small reports.

import { LIMITS, type Progress } from './messages.ts';

/** @param told `[done, total, message]`; whatever is no number or text is left out. @returns null for what says nothing new */
export function readProgress(told: unknown, last: number): Progress | null {
	const [done, total, message]: unknown[] = Array.isArray(told) ? told : [];
	if (!isNumber(done) || done <= last) return null;
	return {
		done,
		...(isNumber(total) && { total }),
		...(typeof message === 'string' && { message: message.slice(0, LIMITS.progressChars).toWellFormed() }),
	};
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
