// Faults of inputs: Joi's converted into ours, with a JSON pointer (RFC 6901) and a sentence without the value, which may be a secret;
// and the faults that no input may have.

import { asGatewayError, type ErrorDetail } from '../contract/errors.ts';
import { pointerToken } from './json-pointer.ts';

/** Sentences for the faults in whose text Joi would show the value. A pattern's name completes the sentence. */
export const SENTENCES = {
	'string.pattern.name': '{{#label}} must be {{#name}}',
	'string.pattern.base': '{{#label}} must match the pattern {{#regex}}',
	'string.pattern.invert.name': '{{#label}} must not be {{#name}}',
	'string.pattern.invert.base': '{{#label}} must not match the pattern {{#regex}}',
} as const;

/** Longer member names are cut. */
const MAX_STEP = 200;

interface Fault {
	path: readonly (string | number)[];
	message: string;
}

/** @param at start of the path: a pointer into the body, or `query`, `path`, `header` */
export const detailsOf = (faults: readonly Fault[], at = ''): ErrorDetail[] =>
	faults.map(({ path, message }) => ({ path: at + path.map((step) => `/${pointerToken(String(step), MAX_STEP)}`).join(''), message }));

/** Deeper JSON is refused: recursive code behind us, such as PostgreSQL's, would overflow its stack. */
export const MAX_DEPTH = 64;

/** Finds what no input may contain: too deep nesting, `__proto__`, NUL (PostgreSQL refuses it), lone surrogates (they would be lost). */
export function textFaults(value: unknown): ErrorDetail[] {
	const faults: ErrorDetail[] = [];
	const stack: { value: unknown; path: string; depth: number }[] = [{ value, path: '', depth: 0 }];
	for (let next = stack.pop(); next !== undefined && faults.length < 5; next = stack.pop()) {
		const { path, depth } = next;
		if (typeof next.value === 'string') {
			const fault = textFault(next.value);
			if (fault) faults.push({ path, message: fault });
			continue;
		}
		if (next.value === null || typeof next.value !== 'object') continue;
		if (depth >= MAX_DEPTH) {
			faults.push({ path: path.slice(0, 200), message: `nests deeper than ${MAX_DEPTH} levels.` });
			continue;
		}
		for (const [key, child] of Object.entries(next.value)) {
			const fault = key === '__proto__' ? 'is not a name that a body may use.' : textFault(key);
			const at = `${path}/${pointerToken(key)}`;
			if (fault) faults.push({ path: at.toWellFormed().replaceAll('\0', '\\u0000'), message: fault });
			stack.push({ value: child, path: at, depth: depth + 1 });
		}
	}
	return faults;
}

function textFault(text: string): string | null {
	if (text.includes('\0')) return 'contains the character U+0000, which cannot be stored.';
	return text.isWellFormed() ? null : 'contains half of a surrogate pair, which is not a character.';
}

/** Returns the faults with which a check refuses an input; empty when it passes. @throws what is no fault of the input */
export async function faultsIn(check: Promise<unknown> | undefined): Promise<ErrorDetail[]> {
	try {
		await check;
		return [];
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (error?.status !== 400 || error.details.length === 0) throw thrown;
		return error.details;
	}
}
