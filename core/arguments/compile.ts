// Compiles JSON Schema 2020-12 of tools' arguments; the check fills in missing values and names faults by JSON pointer.

import { Ajv2020, type ErrorObject, type FuncKeywordDefinition, str, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type ErrorDetail, GatewayError, invalid } from '../contract/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../contract/nouns.ts';
import { isLongInteger } from '../kit/json-numbers.ts';
import { atPointer, pointerToken } from '../kit/json-pointer.ts';
import { type Filling, gapFiller } from './gaps.ts';
import { parseTexts } from './json-texts.ts';
import { knownNames } from './known-names.ts';
import { LinearRegExp } from './linear-regexp.ts';
import { isMultiple } from './multiples.ts';
import { dropNulls, restoreNulls } from './nulls.ts';

const MAX_DETAILS = 20;
const MAX_SHOWN = 80;
/** Longer texts are not valid date-times: ajv-formats splits a text at each blank. */
const MAX_DATE_TIME_CHARS = 100;
const MAX_REGEX_CHARS = 10_000;

/** How the schema of arguments is read. */
export interface Reading {
	filling: Filling;
	/** Whether `format` is checked. Otherwise it is an annotation, as it is by default in JSON Schema (2020-12, Validation §7.2.1). */
	assertsFormats: boolean;
}

/** The reading of schemas that users write. */
export const WRITTEN: Reading = { filling: 'defaults', assertsFormats: true };

/** Checks and completes arguments in place. @returns the faults, empty if there are none */
export type ArgumentCheck = (args: JsonObject) => ErrorDetail[];

/** Compiled once; it checks every schema against the meta-schema, and stores none of them. */
let grammar: Ajv2020 | null = null;

/**
 * Compiles with a new Ajv instance for each schema: an instance keeps whatever it compiled, with patterns and values, as long as it lives,
 * and a schema that one tenant names by `$id` must not be found by another.
 * @throws validation_failed when the schema is not a JSON Schema with an object at its root, naming the pointer under `/parameters`
 */
export const compileArguments = (schema: JsonSchema, reading: Reading = WRITTEN): ArgumentCheck => compileSchema(schema, reading).check;

/** Compiles a schema; `fills` says whether the check may fill anything in. */
export function compileSchema(schema: JsonSchema, { filling, assertsFormats }: Reading): { check: ArgumentCheck; fills: boolean } {
	if (schema['type'] !== 'object') throw invalid('/parameters/type', 'parameters must be a JSON Schema with "type": "object" at its root.');
	const accepts = compile(schema, '/parameters', assertsFormats);
	const fill = gapFiller(schema, filling);
	const errorsIn = (args: JsonObject): ErrorObject[] => {
		fill?.(args);
		if (accepts(args)) return [];
		const { errors } = accepts;
		// The function would keep the errors, and with them the values of the arguments.
		accepts.errors = null;
		return errors ?? [];
	};
	const check: ArgumentCheck = (args) => {
		let errors = errorsIn(args);
		if (errors.length > 0 && parseTexts(args, errors)) errors = errorsIn(args);
		const dropped = errors.length > 0 ? dropNulls(args, errors) : [];
		if (dropped.length > 0) errors = restoreNulls(args, dropped, errors, errorsIn(args));
		return describeAll(errors, args, schema);
	};
	return { check, fills: fill !== null };
}

/** Checks any data; empty if it fits. */
export type OutputCheck = (data: Json) => ErrorDetail[];

/** Compiles an output schema, by which nothing is filled in or mended. @throws validation_failed when it is not a usable JSON Schema */
export function compileOutput(schema: JsonSchema): OutputCheck {
	const accepts = compile(schema, '/outputSchema', true);
	return (data) => {
		if (accepts(data)) return [];
		const { errors } = accepts;
		accepts.errors = null;
		return (errors ?? []).slice(0, MAX_DETAILS).map((error) => describeOutput(error, data));
	};
}

function describeOutput(error: ErrorObject, data: Json): ErrorDetail {
	const { keyword, params, instancePath: at } = error;
	const unknown = params['additionalProperty'] ?? params['unevaluatedProperty'];
	if (keyword === 'required') return { path: `${at}/${pointerToken(String(params['missingProperty']))}`, message: 'is missing.' };
	if (unknown !== undefined) return { path: `${at}/${pointerToken(String(unknown))}`, message: 'is not in the schema.' };
	return { path: at, message: describeValue(error, data) };
}

function compile(schema: JsonSchema, at: string, assertsFormats: boolean): ValidateFunction {
	try {
		grammar ??= new Ajv2020({ strict: false, logger: false });
		if (!grammar.validateSchema(schema)) throw misspelt(grammar.errors?.[0], at);
		return createAjv(JSON.stringify(schema), assertsFormats).compile(schema);
	} catch (cause) {
		if (cause instanceof GatewayError) throw cause;
		const message = cause instanceof RangeError ? 'it nests or lists too much.' : cause instanceof Error ? cause.message : String(cause);
		throw unusable(at, message, cause);
	}
}

const misspelt = (error: ErrorObject | undefined, at: string): GatewayError =>
	unusable(`${at}${error?.instancePath.slice(0, 500) ?? ''}`, `it ${error?.message ?? 'does not match its own schema'}.`, error);

const unusable = (at: string, why: string, cause: unknown): GatewayError => {
	const message = `${at} is not a usable JSON Schema: ${why.slice(0, 300)}`;
	return new GatewayError('validation_failed', message, { cause, details: [{ path: at, message }] });
};

/** Ajv divides doubles: 0.07 is no multiple of 0.01 to it, and its option takes any tolerance for small numbers and none for large ones. */
const MULTIPLE_OF: FuncKeywordDefinition = {
	keyword: 'multipleOf',
	type: 'number',
	schemaType: 'number',
	compile: (divisor: number) => (value: number) => isMultiple(value, divisor),
	error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
};

function createAjv(text: string, assertsFormats: boolean): Ajv2020 {
	const patterns = new Map<string, LinearRegExp>();
	// Patterns are attacker-controlled. Ajv calls the engine like `RegExp`, and prints `code` only when it writes a module, which is never
	// done.
	const regExp = Object.assign(
		(pattern: string) => {
			const known = patterns.get(pattern) ?? new LinearRegExp(pattern);
			patterns.set(pattern, known);
			return known;
		},
		{ code: 'new RegExp' },
	);
	const ajv = new Ajv2020({
		strict: false,
		logger: false,
		allErrors: true,
		validateSchema: false,
		// Only schemas that reference the meta-schema need it.
		meta: text.includes('json-schema.org'),
		// A property called `toString` is not the inherited one.
		ownProperties: true,
		// A schema that is inlined for each reference would be compiled for each one.
		inlineRefs: false,
		validateFormats: assertsFormats,
		// `test` is all that Ajv calls on the engine's result. Optimizing the code takes longer than running it unoptimized.
		code: { regExp: regExp as never, optimize: false },
	});
	if (text.includes('multipleOf')) ajv.removeKeyword('multipleOf').addKeyword(MULTIPLE_OF);
	if (!assertsFormats) return ajv;
	(addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
	return boundFormats(ajv);
}

/** Replaces the formats whose checks take more than linear time, or much time, for a long text. */
function boundFormats(ajv: Ajv2020): Ajv2020 {
	for (const name of ['date-time', 'iso-date-time']) {
		const format = ajv.formats[name] as { validate: (text: string) => boolean };
		ajv.addFormat(name, { ...format, validate: (text: string) => text.length <= MAX_DATE_TIME_CHARS && format.validate(text) });
	}
	ajv.addFormat('url', (text) => /^(?:https?|ftp):\/\//i.test(text) && URL.canParse(text));
	ajv.addFormat('regex', (text) => text.length <= MAX_REGEX_CHARS && isRegExp(text));
	return ajv;
}

/** Whether a text is a pattern of ECMA-262, as JSON Schema requires; `\Z` is not. */
function isRegExp(text: string): boolean {
	try {
		return !/[^\\]\\Z/.test(text) && new RegExp(text, 'u') !== null;
	} catch {
		return false;
	}
}

/** Combines a list of faults in one error. */
export function invalidArguments(details: ErrorDetail[]): GatewayError {
	const first = details[0];
	const more = details.length > 1 ? ` (and ${details.length - 1} more)` : '';
	return new GatewayError(
		'validation_failed',
		`Invalid parameters: ${first ? `${first.path || '/'} ${first.message}` : 'unknown fault'}${more}`,
		{ details },
	);
}

function describeAll(errors: ErrorObject[], args: JsonObject, schema: JsonSchema): ErrorDetail[] {
	return errors.slice(0, MAX_DETAILS).map((error) => describe(error, args, schema));
}

function describe(error: ErrorObject, args: JsonObject, schema: JsonSchema): ErrorDetail {
	const at = error.instancePath;
	if (error.keyword === 'required') {
		const name = String(error.params.missingProperty);
		return { path: `${at}/${pointerToken(name)}`, message: 'is required but is missing.' };
	}
	if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
		const name = String(error.params.additionalProperty ?? error.params.unevaluatedProperty);
		return { path: `${at}/${pointerToken(name)}`, message: `is not a known parameter.${known(knownNames(schema, at))}` };
	}
	return { path: at, message: describeValue(error, args) };
}

function describeValue(error: ErrorObject, data: Json): string {
	// For an invalid property name, the pointer is that of its object.
	const value = error.propertyName ?? atPointer(data, error.instancePath);
	const why = error.keyword === 'type' && isLongInteger(value) ? ': a number with more digits than a double holds is read as a text' : '';
	return `${expectation(error)}, got ${shown(value)}${why}.`;
}

const known = (names: string[]): string => (names.length > 0 && names.length <= 20 ? ` Known: ${names.join(', ')}.` : '');

function expectation(error: ErrorObject): string {
	if (error.keyword === 'enum') return `must be one of ${JSON.stringify(error.params.allowedValues).slice(0, 200)}`;
	if (error.keyword === 'const') return `must be ${JSON.stringify(error.params.allowedValue).slice(0, 200)}`;
	return error.message ?? `must satisfy "${error.keyword}"`;
}

function shown(value: unknown): string {
	const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
	if (type === 'null') return type;
	if (type === 'array') return `an array of ${(value as unknown[]).length}`;
	if (type === 'object') return 'an object';
	return `${type} ${JSON.stringify(value as Json).slice(0, MAX_SHOWN)}`;
}
