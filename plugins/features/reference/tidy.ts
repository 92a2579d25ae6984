// JSON Schema said once: what writers of schemas leave behind, which readers of the document would trip over.

import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json, type JsonSchema } from '../../../core/features.ts';

/** What lies under these is data, whatever its members are called. */
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples']);
/** What says, in a part, which type it is of. */
const TYPING = ['type', '$ref', 'const', 'enum', 'allOf', 'anyOf', 'oneOf', 'not'];
const COMBINED = ['allOf', 'anyOf', 'oneOf'] as const;

/** The same schema, with no alternative told twice, none that stands alone, and each of the type that all are of. */
export const tidy = (schema: JsonSchema): JsonSchema => COMBINED.reduce(typed, COMBINED.reduce(withoutRepetition, mapMembers(schema)));

/** What is true of the whole is true of its parts, and generators of clients type each part for itself. */
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
	// Of two equal alternatives of `oneOf` neither is ever the only one: that must stay.
	const different =
		keyword === 'oneOf' ? parts : parts.filter((part, at) => at === parts.findIndex((other) => isDeepStrictEqual(part, other)));
	const [only] = different;
	if (different.length !== 1 || !isObject(only)) return { ...schema, [keyword]: different };
	return agree(rest, only) && !isApart(rest, only) ? { ...only, ...rest } : { ...schema, [keyword]: different };
}

/** Generators of clients take alternatives beside properties for others than those properties, and in `allOf` for what is true as well. */
const isApart = (whole: JsonSchema, part: JsonSchema): boolean => 'properties' in whole && ('anyOf' in part || 'oneOf' in part);

/** What these say depends on each other, so that they cannot be put together. */
const DEPENDENT =
	'properties patternProperties additionalProperties unevaluatedProperties prefixItems items unevaluatedItems contains minContains maxContains if then else'.split(
		' ',
	);

/** Both can be said in one. `$ref` may have siblings (JSON Schema 2020-12 §8.2.3.1). */
function agree(one: JsonSchema, other: JsonSchema): boolean {
	const isApart = [one, other].some((schema) => !DEPENDENT.some((key) => key in schema));
	return (
		isApart && Object.entries(other).every(([key, value]) => !(key in one) || key === 'description' || isDeepStrictEqual(one[key], value))
	);
}
