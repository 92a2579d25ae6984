// Tells whether a schema accepts its own default. Nearly all defaults are plain values of plain schemas, which need no compiled check.

import { compileArguments, type Json, type JsonObject } from '../../core/index.ts';

/** @returns false also for schemas with references, whose defaults are left to the server */
export function acceptsOwnDefault(schema: JsonObject, written = JSON.stringify(schema)): boolean {
	if (written.includes('"$ref"')) return false;
	const { default: value = null, ...rest } = schema;
	if (fitsPlainly(value, rest)) return true;
	const check = compileArguments({ type: 'object', properties: { value: rest } });
	return check({ value: structuredClone(value) }).length === 0;
}

type Test = (value: Json, given: Json | undefined) => boolean;

/** Tells whether a value is of a type. */
export const isType: Test = (value, type) => {
	if (type === 'integer') return Number.isInteger(value);
	if (type === 'null' || type === 'array') return type === 'null' ? value === null : Array.isArray(value);
	return typeof value === type && value !== null && !Array.isArray(value);
};
const whenNumber =
	(test: (value: number, bound: number) => boolean): Test =>
	(value, bound) =>
		typeof value !== 'number' || test(value, Number(bound));
/** The length of a text counts code points. */
const whenSized =
	(isSized: (value: Json) => value is string | Json[], test: (size: number, bound: number) => boolean): Test =>
	(value, bound) =>
		!isSized(value) || test([...value].length, Number(bound));
const isText = (value: Json): value is string => typeof value === 'string';
const isList = (value: Json): value is Json[] => Array.isArray(value);
const always: Test = () => true;

/** The keywords that need no compiled check, each with a test that is false in doubt. */
const TESTS: Readonly<Record<string, Test>> = {
	type: (value, types) => (Array.isArray(types) ? types : [types]).some((type) => isType(value, type)),
	enum: (value, values) => Array.isArray(values) && values.some((one) => one === value),
	const: (value, one) => value === one,
	minimum: whenNumber((value, bound) => value >= bound),
	maximum: whenNumber((value, bound) => value <= bound),
	exclusiveMinimum: whenNumber((value, bound) => value > bound),
	exclusiveMaximum: whenNumber((value, bound) => value < bound),
	minLength: whenSized(isText, (size, bound) => size >= bound),
	maxLength: whenSized(isText, (size, bound) => size <= bound),
	minItems: whenSized(isList, (size, bound) => size >= bound),
	maxItems: whenSized(isList, (size, bound) => size <= bound),
	pattern: (value) => !isText(value),
	format: (value) => !isText(value) && typeof value !== 'number',
	items: (value, schema) => !isList(value) || value.every((item) => isObjectSchema(schema) && fitsPlainly(item, schema)),
	...Object.fromEntries(
		['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'].map((name) => [name, always]),
	),
};

const isObjectSchema = (schema: Json | undefined): schema is JsonObject =>
	typeof schema === 'object' && schema !== null && !Array.isArray(schema);

/** Whether a value certainly fits; false in doubt, so for all objects, whose members might be filled in. */
function fitsPlainly(value: Json, schema: JsonObject): boolean {
	if (isObjectSchema(value)) return false;
	return Object.entries(schema).every(([keyword, given]) => Object.hasOwn(TESTS, keyword) && TESTS[keyword]?.(value, given) === true);
}
