// The parts of a value that its JSON Schema does not allow to omit: used when a too long answer is cut, so that the rest still fits it.

import type { Json, JsonObject, JsonSchema } from '../contract/nouns.ts';
import { isObject } from './json.ts';
import { atFragment } from './json-pointer.ts';

/** All schemas that may apply to one value: alternatives count as if all applied, so that the rest fits whichever does. */
export interface Rules {
	root: JsonSchema | null;
	schemas: readonly JsonObject[];
}

/** More schemas for one value cannot be decided quickly. */
const MAX_SCHEMAS = 64;

/** A value with one of these keywords may no longer match when it is shortened. */
const FREEZES = ['enum', 'const', 'not', 'if', '$dynamicRef', 'dependentSchemas', 'unevaluatedItems', 'unevaluatedProperties'];
const FREEZES_TEXT = [...FREEZES, 'pattern', 'format', 'contentEncoding', 'contentMediaType'];
const FREEZES_LIST = [...FREEZES, 'contains'];
const FREEZES_OBJECT = [...FREEZES, 'dependentRequired', 'minProperties'];

export const rulesOf = (schema: JsonSchema | null): Rules => ({ root: schema, schemas: schema ? expand(schema, [schema]) : [] });

/** Returns the minimum length of a string; infinite when it must stay unchanged. */
export const leastText = ({ schemas }: Rules): number => least(schemas, FREEZES_TEXT, 'minLength');

/** Returns the minimum number of items. */
export const leastItems = ({ schemas }: Rules): number => least(schemas, FREEZES_LIST, 'minItems');

/** Whether an object may have only these members. */
export const isEnough = ({ schemas }: Rules, names: ReadonlySet<string>): boolean =>
	schemas.every(
		(schema) =>
			!FREEZES_OBJECT.some((keyword) => Object.hasOwn(schema, keyword)) &&
			listOf(schema['required']).every((name) => names.has(String(name))),
	);

function least(schemas: readonly JsonObject[], freezing: readonly string[], keyword: string): number {
	let most = 0;
	for (const schema of schemas) {
		if (freezing.some((name) => Object.hasOwn(schema, name))) return Number.POSITIVE_INFINITY;
		const given = schema[keyword];
		if (typeof given === 'number') most = Math.max(most, given);
	}
	return most;
}

export function rulesOfMember({ root, schemas }: Rules, name: string): Rules {
	const found = schemas.flatMap((schema) => {
		const { properties, patternProperties, additionalProperties } = schema;
		if (isObject(properties) && Object.hasOwn(properties, name)) return [properties[name]];
		// The name may match any of the patterns, so all of them count.
		return [...Object.values(isObject(patternProperties) ? patternProperties : {}), additionalProperties];
	});
	return { root, schemas: root ? expand(root, found) : [] };
}

export function rulesOfItem({ root, schemas }: Rules, index: number): Rules {
	const found = schemas.map(({ prefixItems, items }) => listOf(prefixItems)[index] ?? items);
	return { root, schemas: root ? expand(root, found) : [] };
}

/** Adds the schemas that each one references or is composed of. An unresolved reference adds nothing. */
function expand(root: JsonSchema, found: readonly (Json | undefined)[]): JsonObject[] {
	const seen = new Set<JsonObject>();
	const open = [...found];
	while (open.length > 0 && seen.size < MAX_SCHEMAS) {
		const schema = open.pop();
		if (!isObject(schema) || seen.has(schema)) continue;
		seen.add(schema);
		const { $ref, allOf, anyOf, oneOf } = schema;
		open.push(...listOf(allOf), ...listOf(anyOf), ...listOf(oneOf));
		if (typeof $ref === 'string') open.push(atFragment(root, $ref));
	}
	// There are too many schemas to decide: nothing may be omitted.
	return open.length > 0 ? [{ not: {} }] : [...seen];
}

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
