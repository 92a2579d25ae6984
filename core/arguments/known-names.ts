// The names that a schema allows at a position of the arguments, for callers who sent an unknown one.

import type { Json, JsonObject, JsonSchema } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { atFragment, tokensOf } from '../kit/json-pointer.ts';

/** More schemas would give a list that nobody reads. */
const MAX_SCHEMAS = 100;
const LISTS = ['allOf', 'anyOf', 'oneOf'] as const;

/**
 * Returns known names. @param pointer of an object in the arguments. @returns the properties of those schemas that allow no others there
 */
export function knownNames(root: JsonSchema, pointer: string): string[] {
	let schemas = applying([root], root);
	for (const token of tokensOf(pointer))
		schemas = applying(
			schemas.flatMap((schema) => inside(schema, token)),
			root,
		);
	const closed = schemas.filter((schema) => schema['additionalProperties'] === false || schema['unevaluatedProperties'] === false);
	return [...new Set(closed.flatMap(({ properties }) => (isObject(properties) ? Object.keys(properties) : [])))];
}

/** Returns these schemas, and those that they apply to the same value. */
function applying(schemas: readonly Json[], root: JsonSchema): JsonObject[] {
	const all = new Set(schemas.filter(isObject));
	for (const schema of all) {
		if (all.size > MAX_SCHEMAS) break;
		const { $ref } = schema;
		const target = typeof $ref === 'string' ? atFragment(root, $ref) : undefined;
		const listed = LISTS.flatMap((keyword) => (Array.isArray(schema[keyword]) ? schema[keyword] : []));
		for (const child of [target, ...listed]) if (isObject(child)) all.add(child);
	}
	return [...all].slice(0, MAX_SCHEMAS);
}

function inside({ properties, additionalProperties, prefixItems, items }: JsonObject, token: string): Json[] {
	const named = isObject(properties) && Object.hasOwn(properties, token) ? properties[token] : undefined;
	const placed = Array.isArray(prefixItems) ? prefixItems[Number(token)] : undefined;
	return [named ?? additionalProperties, placed ?? items].filter((schema) => schema !== undefined);
}
