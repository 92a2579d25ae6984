// Faults of inputs: Joi's converted into ours, with a JSON pointer (RFC 6901) and a sentence without the value, which may be a secret;
// and the faults that no input may have.

import { asGatewayError, type ErrorDetail, GatewayError } from '../contract/errors.ts';
import { UNHELD_NUMBER } from './json-numbers.ts';
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
	/** Joi's name of the fault. */
	type?: string;
}

/**
 * @param at start of the path: a pointer into the body, or `query`, `path`, `header`
 * @param whole the name of what was checked, in faults of all of it: by default the last step of `at`
 */
export function detailsOf(faults: readonly Fault[], at = '', whole = at.slice(at.lastIndexOf('/') + 1)): ErrorDetail[] {
	const details = faults.map(({ path, message, type }) => ({
		path: at + path.map((step) => `/${pointerToken(String(step), MAX_STEP)}`).join(''),
		message: path.length === 0 ? messageOfWhole(message, whole) : message,
		type,
	}));
	// Joi also tells what else a value is not that is none of those that are listed.
	const listed = new Set(details.filter(({ type }) => type === 'any.only').map(({ path }) => path));
	return details.filter(({ path, type }) => type === 'any.only' || !listed.has(path)).map(({ path, message }) => ({ path, message }));
}

/** Returns a message of Joi, which calls the whole of what it checks "value", with its name. An item of a list has none. */
const messageOfWhole = (message: string, name: string): string =>
	/^\d*$/.test(name) ? message : message.replace(/^"value"/, () => JSON.stringify(name));

/** Builds a 400 that names several fields. Its message is the first one's, and tells how many there are. */
export function invalidAll(details: [ErrorDetail, ...ErrorDetail[]]): GatewayError {
	const [{ message }] = details;
	const several = `${message.replace(/\.$/, '')}. There are ${details.length} faults in all.`;
	return new GatewayError('validation_failed', details.length === 1 ? message : several, { details });
}

/** Deeper JSON is refused: recursive code behind us, such as PostgreSQL's, would overflow its stack. */
export const MAX_DEPTH = 64;

/**
 * Finds what no input may contain: too deep nesting, `__proto__`, NUL (PostgreSQL refuses it), lone surrogates (they would be lost), and
 * numbers beyond a double (they would become null).
 */
export function textFaults(value: unknown): ErrorDetail[] {
	if (!hasFault(value)) return [];
	const faults: ErrorDetail[] = [];
	const stack: { value: unknown; path: string; depth: number }[] = [{ value, path: '', depth: 0 }];
	let seen = 0;
	for (let next = stack.pop(); next !== undefined && faults.length < 5; next = stack.pop()) {
		const { path, depth } = next;
		if (typeof next.value === 'string') {
			const fault = textFault(next.value);
			if (fault) faults.push({ path, message: fault });
			continue;
		}
		if (isInfinite(next.value)) faults.push({ path, message: `is ${UNHELD_NUMBER}.` });
		if (next.value === null || typeof next.value !== 'object') continue;
		if (depth >= MAX_DEPTH) {
			faults.push({ path: path.slice(0, 200), message: `nests deeper than ${MAX_DEPTH} levels.` });
			continue;
		}
		for (const [key, child] of membersOf(next.value)) {
			if (seen++ > MAX_NAMED) break;
			const fault = key === '__proto__' ? 'is not a name that a body may use.' : textFault(key);
			const at = `${path}/${pointerToken(key)}`;
			if (fault) faults.push({ path: at.toWellFormed().replaceAll('\0', '\\u0000'), message: fault });
			stack.push({ value: child, path: at, depth: depth + 1 });
		}
	}
	return faults.length > 0 ? faults : [{ path: '', message: UNNAMED }];
}

/** A fault behind so many values is not named: a path for each of a megabyte's takes half a second. */
const MAX_NAMED = 10_000;
const UNNAMED = `contains U+0000, half of a surrogate pair, the name __proto__ or ${UNHELD_NUMBER}, or nests deeper than ${MAX_DEPTH} levels.`;

function* membersOf(value: object): Generator<[string, unknown]> {
	if (Array.isArray(value)) for (let at = 0; at < value.length; at++) yield [String(at), value[at]];
	else for (const key in value) yield [key, (value as Record<string, unknown>)[key]];
}

/** Tells whether there is any fault, without a path or an object for each value. */
function hasFault(value: unknown): boolean {
	const open: object[] = [];
	const depths: number[] = [];
	let depth = -1;
	const isBad = (child: unknown): boolean => {
		if (typeof child === 'string') return textFault(child) !== null;
		if (child !== null && typeof child === 'object') {
			open.push(child);
			depths.push(depth + 1);
		}
		return isInfinite(child);
	};
	if (isBad(value)) return true;
	for (let next = open.pop(); next !== undefined; next = open.pop()) {
		depth = depths.pop() ?? 0;
		if (depth >= MAX_DEPTH) return true;
		if (Array.isArray(next)) {
			for (let at = 0; at < next.length; at++) if (isBad(next[at])) return true;
		} else {
			for (const key in next) {
				if (key === '__proto__' || textFault(key) !== null || isBad((next as Record<string, unknown>)[key])) return true;
			}
		}
	}
	return false;
}

const isInfinite = (value: unknown): boolean => typeof value === 'number' && !Number.isFinite(value);

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
