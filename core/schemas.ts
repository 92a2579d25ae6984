// JSON Schema 2020-12 of tools' arguments: compiled once per tool version, defaults filled in, faults named by pointer.

import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { RE2JS } from 're2js';
import { type ErrorDetail, GatewayError, invalid } from './errors.ts';
import type { Json, JsonObject, JsonSchema } from './nouns.ts';

const MAX_DETAILS = 20;
const MAX_SHOWN = 80;

/** Checks and completes arguments in place. @returns what is wrong, empty when nothing is */
export type ArgumentCheck = (args: JsonObject) => ErrorDetail[];

/**
 * Patterns are the attacker's text: RE2 has no backtracking, so none of them can run long.
 * Ajv calls the engine like `RegExp`, and prints `code` only when it writes a module, which we never do.
 */
const linearRegExp = Object.assign((pattern: string) => new LinearRegExp(pattern), { code: 'new RegExp' });

class LinearRegExp {
	readonly #pattern: RE2JS;
	readonly source: string;
	constructor(pattern: string) {
		this.source = pattern;
		this.#pattern = RE2JS.compile(RE2JS.translateRegExp(pattern));
	}
	/** Ajv keeps one engine per text that this gives: without it every pattern would be the first one. */
	toString(): string {
		return `/${this.source}/`;
	}
	test(text: string): boolean {
		return this.#pattern.matcher(text).find();
	}
}

function createAjv(): Ajv2020 {
	const ajv = new Ajv2020({
		strict: false,
		logger: false,
		allErrors: true,
		useDefaults: true,
		verbose: true,
		addUsedSchema: false,
		// A property called `toString` is not the one that every object inherits.
		ownProperties: true,
		// `test` is all that Ajv calls on what the engine returns.
		code: { regExp: linearRegExp as never },
	});
	(addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
	return ajv;
}

/** @throws validation_failed when the schema is no JSON Schema with an object at its root */
export function compileArguments(schema: JsonSchema): ArgumentCheck {
	if (schema.type !== 'object') throw invalid('/parameters/type', 'parameters must be a JSON Schema with "type": "object" at its root.');
	const check = compile(schema, '/parameters');
	return (args) => (check(args) ? [] : describeAll(check.errors ?? []));
}

function compile(schema: JsonSchema, at: string): ValidateFunction {
	try {
		return compiler(schema).compile(schema);
	} catch (cause) {
		const message = cause instanceof Error ? cause.message : String(cause);
		throw new GatewayError('validation_failed', `${at} is not a usable JSON Schema: ${message.slice(0, 300)}`, {
			cause,
			details: [{ path: at, message: message.slice(0, 300) }],
		});
	}
}

const shared = createAjv();

/** A schema with `$id` gets an instance of its own: what one tenant names must not be found by the next. */
function compiler(schema: JsonSchema): Ajv2020 {
	if (JSON.stringify(schema).includes('"$id"')) return createAjv();
	shared.removeSchema(schema);
	return shared;
}

/** Null when RE2 can run it (in linear time), else why not: look-around, back-reference, bad syntax. */
export function patternFault(pattern: string): string | null {
	try {
		new LinearRegExp(pattern);
		return null;
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}

/** One error for a list of faults. */
export function invalidArguments(details: ErrorDetail[]): GatewayError {
	const first = details[0];
	const more = details.length > 1 ? ` (and ${details.length - 1} more)` : '';
	return new GatewayError(
		'validation_failed',
		`Invalid parameters: ${first ? `${first.path || '/'} ${first.message}` : 'unknown fault'}${more}`,
		{ details },
	);
}

function describeAll(errors: ErrorObject[]): ErrorDetail[] {
	return errors.slice(0, MAX_DETAILS).map(describe);
}

function describe(error: ErrorObject): ErrorDetail {
	const at = error.instancePath;
	if (error.keyword === 'required') {
		const name = String(error.params.missingProperty);
		return { path: `${at}/${pointerToken(name)}`, message: 'is required but is missing.' };
	}
	if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
		const name = String(error.params.additionalProperty ?? error.params.unevaluatedProperty);
		return { path: `${at}/${pointerToken(name)}`, message: `is not a known parameter.${known(error)}` };
	}
	return { path: at, message: `${expectation(error)}, got ${shown(error.data)}.` };
}

function known(error: ErrorObject): string {
	const names = Object.keys((error.parentSchema as { properties?: object } | undefined)?.properties ?? {});
	return names.length > 0 && names.length <= 20 ? ` Known: ${names.join(', ')}.` : '';
}

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

const pointerToken = (name: string): string => name.slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1');
