// Faults of inputs: Joi's, found in bounded time and converted into ours, with a JSON pointer (RFC 6901) and a sentence without the value, which may
// be a secret; those of texts that are no JSON; and the faults that no input may have.

import type { Description, Schema, ValidationErrorItem, ValidationOptions } from 'joi';
import { asGatewayError, type ErrorDetail, GatewayError } from '../contract/errors.ts';
import { UNHELD_NUMBER } from './json-numbers.ts';
import { pointerToken } from './json-pointer.ts';

/** Sentences in place of Joi's that would show the value, or name a rule as programmers do. A pattern's name completes the sentence. */
export const SENTENCES = {
	'string.pattern.name': '{{#label}} must be {{#name}}',
	'string.pattern.base': '{{#label}} must match the pattern {{#regex}}',
	'string.pattern.invert.name': '{{#label}} must not be {{#name}}',
	'string.pattern.invert.base': '{{#label}} must not match the pattern {{#regex}}',
	'string.email': '{{#label}} must be an e-mail address, such as ada@example.com',
	'string.guid': '{{#label}} must be a UUID',
	'string.uriCustomScheme': '{{#label}} must be an absolute URL, such as https://api.example.com',
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
	const told = details.filter(({ path, type }) => type === 'any.only' || !listed.has(path)).map(({ path, message }) => ({ path, message }));
	// Two rules of a field may refuse it in the same words.
	return [...new Map(told.map((detail) => [`${detail.path}\n${detail.message}`, detail])).values()];
}

/** Returns a message of Joi, which calls the whole of what it checks "value", with its name. An item of a list has none. */
const messageOfWhole = (message: string, name: string): string =>
	/^\d*$/.test(name) ? message : message.replace(/^"value"/, () => JSON.stringify(name));

/** An input with more values is told its first fault only: Joi takes some 10 µs for each fault, and overflows its stack with 130,000. */
const MAX_TOLD = 1_000;

/** The result of a validation: the value with its defaults, or the faults. */
export type Validated = { value: unknown; error?: undefined } | { value?: undefined; error: { details: ValidationErrorItem[] } };

/** Validates an input whose size its sender chooses. Joi checks each item of a list before its length, so lengths come first here. */
export function validateInput(schema: Schema, input: unknown, options: ValidationOptions): Validated {
	const lengths = lengthsOf(schema);
	const long = lengths && tooLong(input, lengths, []);
	if (long) return { error: { details: [long] } };
	const first = schema.validate(input, { ...options, abortEarly: true });
	if (!first.error) return { value: first.value };
	const isSmall = countValues(input, MAX_TOLD) <= MAX_TOLD;
	return { error: (isSmall && schema.validate(input, { ...options, abortEarly: false }).error) || first.error };
}

/** The greatest lengths of lists and objects that a schema has, by their places. */
interface Lengths {
	/** Joi's name of the type. */
	type: string;
	most: number;
	/** Those of each item. */
	items: Lengths | null;
	members: Map<string, Lengths>;
	/** Those of each alternative that is not a scalar. */
	either: Lengths[];
}

type Path = (string | number)[];

const known = new WeakMap<Schema, Lengths | null>();

/** Describing a schema takes milliseconds. */
function lengthsOf(schema: Schema): Lengths | null {
	const found = known.get(schema);
	if (found !== undefined) return found;
	const lengths = readLengths(schema.describe());
	known.set(schema, lengths);
	return lengths;
}

/** The types whose values have no parts. */
const SCALARS = new Set(['string', 'number', 'boolean', 'date', 'binary', 'symbol', 'function']);

/** @returns null where no length is bounded */
function readLengths({ type = 'any', rules = [], items = [], keys = {}, matches = [] }: Description): Lengths | null {
	const limit = (rules as { name: string; args?: { limit?: unknown } }[]).find(({ name }) => name === 'max')?.args?.limit;
	const most = typeof limit === 'number' && (type === 'array' || type === 'object') ? limit : Number.POSITIVE_INFINITY;
	const [item, another] = items as Description[];
	const ofItems = item && !another ? readLengths(item) : null;
	const members = new Map<string, Lengths>();
	for (const [name, description] of Object.entries(keys as Record<string, Description>)) {
		const lengths = readLengths(description);
		if (lengths) members.set(name, lengths);
	}
	const schemas = (matches as { schema?: Description }[]).map(({ schema }) => schema);
	const either = schemas.filter((one) => !SCALARS.has(one?.type ?? '')).map((one) => (one ? readLengths(one) : null));
	const isEither = either.length > 0 && either.every((one) => one !== null);
	if (most === Number.POSITIVE_INFINITY && !ofItems && members.size === 0 && !isEither) return null;
	return { type, most, items: ofItems, members, either: isEither ? either : [] };
}

/** Returns the fault of a list or an object that has too many values; null where there is none. */
function tooLong(value: unknown, { type, most, items, members, either }: Lengths, path: Path): ValidationErrorItem | null {
	if (value === null || typeof value !== 'object') return null;
	if (either.length > 0) {
		const fitting = either.filter((one) => one.type === 'alternatives' || one.type === typeOf(value));
		const faults = fitting.map((one) => tooLong(value, one, path));
		return faults.find((fault, _, all) => fault !== null && !all.includes(null)) ?? null;
	}
	if (type !== typeOf(value)) return null;
	if (countValues(value, most, false) > most) return lengthFault(type, most, path);
	if (Array.isArray(value)) return items && firstOf(value.entries(), ([at, item]) => tooLong(item, items, [...path, at]));
	return firstOf(members, ([name, one]) =>
		tooLong(Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : null, one, [...path, name]),
	);
}

const typeOf = (value: object): string => (Array.isArray(value) ? 'array' : 'object');

function firstOf<T>(all: Iterable<T>, faultOf: (one: T) => ValidationErrorItem | null): ValidationErrorItem | null {
	for (const one of all) {
		const fault = faultOf(one);
		if (fault) return fault;
	}
	return null;
}

/** Counts the values inside another until there are more than `most`. @param isDeep counts those inside of them, too */
function countValues(value: unknown, most: number, isDeep = true): number {
	const open = [value];
	let count = 0;
	for (let next = open.pop(); next !== undefined && count <= most; next = open.pop()) {
		if (next === null || typeof next !== 'object') continue;
		for (const [, child] of membersOf(next)) {
			if (++count > most) break;
			if (isDeep) open.push(child);
		}
	}
	return count;
}

/** Tells the fault in the words of Joi. */
function lengthFault(type: string, most: number, path: Path): ValidationErrorItem {
	const label = path.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`)).join('') || 'value';
	const rule =
		type === 'array' ? `contain less than or equal to ${most} items` : `have less than or equal to ${most} key${most === 1 ? '' : 's'}`;
	return { type: `${type}.max`, path, message: `"${label}" must ${rule}` };
}

/** Builds a 400 that names several fields. Its message is the first one's, and tells how many there are. */
export function invalidAll(details: [ErrorDetail, ...ErrorDetail[]]): GatewayError {
	const [{ message }] = details;
	const several = `${message.replace(/\.$/, '')}. There are ${details.length} faults in all.`;
	return new GatewayError('validation_failed', details.length === 1 ? message : several, { details });
}

/** Builds a 400 for a body that JSON.parse refused: the kind of fault and its place, without the text. */
export function notJson(thrown: unknown, text: string): GatewayError {
	const fault = syntaxFault(thrown instanceof Error ? thrown.message : '', text);
	const message = `The body is not JSON: ${fault}.`;
	return new GatewayError('validation_failed', message, { cause: new SyntaxError(fault), details: [{ path: '', message }] });
}

/** V8 quotes a token that it does not expect, and the text around it, which may be a secret, instead of its place. */
const QUOTING = /^Unexpected token .+?, (\.{3})?"(.*)"(\.{3})? is not valid JSON$/su;
/** The characters that it quotes on each side of the place. */
const QUOTED = 10;

/** Returns a message of JSON.parse without the text that it quotes. */
function syntaxFault(message: string, text: string): string {
	if (!message.includes('"')) return message;
	const at = tokenAt(message, text);
	if (at === null) return 'Unexpected token';
	let line = 1;
	for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', end + 1)) line++;
	// At the very start, lastIndexOf would look at the first character.
	const column = at === 0 ? 1 : at - text.lastIndexOf('\n', at - 1);
	return `Unexpected token in JSON at position ${at} (line ${line} column ${column})`;
}

/** Finds the token that a message quotes; null for a text so short that it is quoted whole, and where the quoted text occurs again. */
function tokenAt(message: string, text: string): number | null {
	const [, before, quoted = '', after] = QUOTING.exec(message) ?? [];
	if (!before) return after ? quoted.length - QUOTED : null;
	if (!after) return text.length - quoted.length + QUOTED;
	const start = text.indexOf(quoted);
	return start >= 0 && text.indexOf(quoted, start + 1) < 0 ? start + QUOTED : null;
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
