// Simplifies JSON Schema: removes what schema writers leave behind and readers of the document cannot handle.

import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json, type JsonSchema } from '../../../core/features.ts';

/** Keywords whose values are data, whatever their members are called. */
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples']);
/** Keywords that already determine the type of a part. */
const TYPING = ['type', '$ref', 'const', 'enum', 'allOf', 'anyOf', 'oneOf', 'not'];
const COMBINED = ['allOf', 'anyOf', 'oneOf'] as const;

/** Simplifies a schema: equal alternatives are merged, a single one is inlined, and each has the type that all share. */
export const tidy = (schema: JsonSchema): JsonSchema => COMBINED.reduce(typed, COMBINED.reduce(withoutRepetition, mapMembers(schema)));

/** Copies the type of the whole to its parts, since generators of clients type each part separately. */
function typed(schema: JsonSchema, keyword: (typeof COMBINED)[number]): JsonSchema {
	const { [keyword]: parts, type } = schema;
	if (!Array.isArray(parts) || type === undefined) return schema;
	return { ...schema, [keyword]: parts.map((part) => (isObject(part) && !TYPING.some((key) => key in part) ? { type, ...part } : part)) };
}

const mapMembers = (schema: JsonSchema): JsonSchema =>
	Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, DATA.has(key) ? value : tidyAny(value)]));

function tidyAny(value: Json): Json {
	if (Array.isArray(value)) return value.map(tidyAny);
	return isObject(value) ? tidy(value) : value;
}

function withoutRepetition(schema: JsonSchema, keyword: (typeof COMBINED)[number]): JsonSchema {
	const { [keyword]: parts, ...rest } = schema;
	if (!Array.isArray(parts)) return schema;
	// Equal alternatives of `oneOf` stay: when one matches, so does the other, and the value is invalid.
	const different =
		keyword === 'oneOf' ? parts : parts.filter((part, at) => at === parts.findIndex((other) => isDeepStrictEqual(part, other)));
	const [only] = different;
	if (different.length !== 1 || !isObject(only)) return { ...schema, [keyword]: different };
	return agree(rest, only) && !isApart(rest, only) ? { ...only, ...rest } : { ...schema, [keyword]: different };
}

/** Tells whether a part must stay separate: generators take alternatives beside properties as alternatives to them, also inside `allOf`. */
const isApart = (whole: JsonSchema, part: JsonSchema): boolean => 'properties' in whole && ('anyOf' in part || 'oneOf' in part);

/** Keywords that depend on each other, so that two schemas with them cannot be merged. */
const DEPENDENT =
	'properties patternProperties additionalProperties unevaluatedProperties prefixItems items unevaluatedItems contains minContains maxContains if then else'.split(
		' ',
	);

/** Tells whether two schemas can be merged. `$ref` may have siblings (JSON Schema 2020-12 §8.2.3.1). */
function agree(one: JsonSchema, other: JsonSchema): boolean {
	const isApart = [one, other].some((schema) => !DEPENDENT.some((key) => key in schema));
	return (
		isApart && Object.entries(other).every(([key, value]) => !(key in one) || key === 'description' || isDeepStrictEqual(one[key], value))
	);
}
