// Tells whether OpenAI's constrained decoding takes a JSON Schema: with others it refuses the whole request.

import type { Json, JsonSchema } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';

/** Places of a schema that hold schemas. */
const ONE = ['items'];
const LISTS = ['anyOf'];
const MAPS = ['properties', '$defs', 'definitions'];
/** Keywords that constrained decoding does not know. */
const UNKNOWN = [
	'allOf',
	'oneOf',
	'not',
	'if',
	'patternProperties',
	'prefixItems',
	'dependentRequired',
	'dependentSchemas',
	'unevaluatedProperties',
];
const MAX_DEPTH = 10;

/** Every object lists its members, requires all of them, and takes no others. */
export const isStrictSchema = (schema: JsonSchema): boolean => isStrict(schema, 0);

function isStrict(schema: Json | undefined, depth: number): boolean {
	if (!isObject(schema) || depth > MAX_DEPTH || UNKNOWN.some((keyword) => Object.hasOwn(schema, keyword))) return false;
	const { type, properties, required, additionalProperties } = schema;
	if (type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined) {
		if (!isObject(properties) || additionalProperties !== false || !Array.isArray(required)) return false;
		if (!Object.keys(properties).every((name) => required.includes(name))) return false;
	}
	const inner = [
		...ONE.flatMap((keyword) => (Object.hasOwn(schema, keyword) ? [schema[keyword]] : [])),
		...LISTS.flatMap((keyword) => (Array.isArray(schema[keyword]) ? (schema[keyword] as Json[]) : [])),
		...MAPS.flatMap((keyword) => (isObject(schema[keyword]) ? Object.values(schema[keyword]) : [])),
	];
	return inner.every((one) => isStrict(one, depth + 1));
}
