// Rewrites a JSON Schema into the part of it that strict clients of UTCP read: a manual with one schema that they refuse has no tools.

import { isObject, type Json, type JsonObject, type JsonSchema } from '../../core/index.ts';

const MAX_DEPTH = 64;

/** Keywords by what clients expect as their value; anything else under them is left out. */
const TEXTS = ['title', 'description', 'format', 'pattern'];
const NUMBERS = ['minimum', 'maximum', 'minLength', 'maxLength'];
const LISTS = ['enum', 'examples'];
const SCHEMAS = [
	...['items', 'additionalItems', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'],
	...['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems', 'contentSchema'],
];
const SCHEMA_LISTS = ['prefixItems', 'anyOf', 'oneOf', 'allOf'];
const SCHEMA_MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
/** The only keyword at which clients know true and false. */
const MAY_BE_BOOLEAN = new Set(['additionalProperties']);
/** Names of the schema itself: its references are relative to the document that it becomes a part of. */
const NAMES = new Set(['$schema', '$id', 'id', '$comment', '$vocabulary']);
const TYPES = new Set<unknown>(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);

type Rewrite = (value: Json, depth: number, base: string) => Json | undefined;

const only =
	(isFit: (value: Json) => boolean): Rewrite =>
	(value) =>
		isFit(value) ? value : undefined;
const isText = (value: Json): boolean => typeof value === 'string';
const isList = (value: Json): value is Json[] => Array.isArray(value);

const REWRITES: ReadonlyMap<string, Rewrite> = new Map([
	...TEXTS.map((name): [string, Rewrite] => [name, only(isText)]),
	...NUMBERS.map((name): [string, Rewrite] => [name, only((value) => typeof value === 'number')]),
	...LISTS.map((name): [string, Rewrite] => [name, only(isList)]),
	...SCHEMAS.map((name): [string, Rewrite] => [name, (value, depth, base) => schemaAt(name, value, depth, base)]),
	...SCHEMA_LISTS.map((name): [string, Rewrite] => [name, listOf]),
	...SCHEMA_MAPS.map((name): [string, Rewrite] => [name, mapOf]),
	['type', typeOf],
	['required', (value) => (isList(value) ? value.filter(isText) : undefined)],
	['$ref', (value, _depth, base) => (typeof value === 'string' ? moved(value, base) : undefined)],
]);

/**
 * Returns a copy in which each keyword has a value that clients expect.
 * @param base where the schema's root will be in the document, as a fragment: its references lead there
 */
export const strictSchema = (schema: JsonSchema, base = '#'): JsonSchema => rewritten(schema, 0, base);

function rewritten(schema: Json, depth: number, base: string): JsonObject {
	// Clients take no true and false for schemas.
	if (schema === false) return { not: {} };
	if (!isObject(schema) || depth > MAX_DEPTH) return {};
	const own: JsonObject = {};
	for (const [name, value] of Object.entries(schema)) {
		if (NAMES.has(name)) continue;
		const rewrite = REWRITES.get(name);
		const written = rewrite ? rewrite(value, depth + 1, base) : value;
		if (written !== undefined) own[name] = written;
	}
	return own;
}

function schemaAt(name: string, value: Json, depth: number, base: string): Json {
	if (name === 'items' && isList(value)) return value.map((item) => rewritten(item, depth, base));
	return MAY_BE_BOOLEAN.has(name) && typeof value === 'boolean' ? value : rewritten(value, depth, base);
}

function listOf(value: Json, depth: number, base: string): Json | undefined {
	return isList(value) ? value.map((item) => rewritten(item, depth, base)) : undefined;
}

function mapOf(value: Json, depth: number, base: string): Json | undefined {
	if (!isObject(value)) return undefined;
	return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, rewritten(schema, depth, base)]));
}

function typeOf(value: Json): Json | undefined {
	if (isList(value)) return value.filter((type) => TYPES.has(type));
	return TYPES.has(value) ? value : undefined;
}

/** A reference to a place in the same schema. */
const moved = (reference: string, base: string): string => (reference.startsWith('#') ? base + reference.slice(1) : reference);
