// JSON Schema said once: what writers of schemas leave behind, which readers of the document would trip over.

import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject, JsonSchema } from './nouns.ts';

/** What lies under these is data, whatever its members are called. */
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples']);
const COMBINED = ['allOf', 'anyOf', 'oneOf'] as const;

/** The same schema, with no alternative told twice, and none that stands alone. */
export const tidy = (schema: JsonSchema): JsonSchema => COMBINED.reduce(withoutRepetition, mapMembers(schema));

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
	return agree(rest, only) ? { ...only, ...rest } : { ...schema, [keyword]: different };
}

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

const isObject = (value: unknown): value is JsonObject => value !== null && typeof value === 'object' && !Array.isArray(value);
