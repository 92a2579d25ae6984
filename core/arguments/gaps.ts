// Fills in absent arguments. Tools that users write get the defaults of their schema. Tools made from an API get
// only required members that can have one value: an absent member of a request means "leave it unchanged" there, and a default is
// documentation, never sent.

import type { Json, JsonObject, JsonSchema } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { atFragment } from '../kit/json-pointer.ts';

export type Filling = 'defaults' | 'constants';

/** Limit of references that are followed without a step into the value. */
const MAX_IN_PLACE = 32;

/**
 * Fills gaps in place: members of objects, also in lists and in members that were filled in. Alternatives and conditions are not used,
 * since none of them is chosen before the check; neither are properties that only a pattern names.
 * @returns null when the schema has nothing to fill in
 */
export function gapFiller(schema: JsonSchema, filling: Filling): ((args: JsonObject) => void) | null {
	const text = JSON.stringify(schema);
	const isNeeded = filling === 'defaults' ? text.includes('"default":') : text.includes('"const":') || text.includes('"enum":');
	if (!isNeeded) return null;
	const gapOf = filling === 'defaults' ? defaultOf : constantOf;
	return (args) => fill(args, schema, { root: schema, gapOf }, 0);
}

interface Filler {
	root: JsonSchema;
	gapOf: typeof defaultOf;
}

function fill(value: Json, schema: Json | undefined, filler: Filler, inPlace: number): void {
	if (!isObject(schema) || value === null || typeof value !== 'object' || inPlace > MAX_IN_PLACE) return;
	if (Array.isArray(value)) fillItems(value, schema, filler);
	else fillMembers(value, schema, filler);
	if (typeof schema['$ref'] === 'string') fill(value, atFragment(filler.root, schema['$ref']), filler, inPlace + 1);
	if (Array.isArray(schema['allOf'])) for (const part of schema['allOf']) fill(value, part, filler, inPlace + 1);
}

function fillItems(items: Json[], { prefixItems, items: rest }: JsonObject, filler: Filler): void {
	const first = Array.isArray(prefixItems) ? prefixItems : [];
	if (first.length === 0 && !isObject(rest)) return;
	items.forEach((item, index) => {
		fill(item, first[index] ?? rest, filler, 0);
	});
}

function fillMembers(value: JsonObject, schema: JsonObject, filler: Filler): void {
	const properties = isObject(schema['properties']) ? schema['properties'] : {};
	for (const [name, property] of Object.entries(properties)) {
		if (!isObject(property)) continue;
		if (!Object.hasOwn(value, name)) {
			const gap = filler.gapOf(name, property, schema, filler.root);
			if (gap === undefined) continue;
			// Assignment would treat `__proto__` differently.
			Object.defineProperty(value, name, { value: structuredClone(gap), writable: true, enumerable: true, configurable: true });
		}
		fill(value[name] ?? null, property, filler, 0);
	}
	const others = schema['additionalProperties'];
	if (!isObject(others)) return;
	for (const [name, member] of Object.entries(value)) if (!Object.hasOwn(properties, name)) fill(member, others, filler, 0);
}

/** Returns a property's default; undefined if there is none, like `constantOf`. */
const defaultOf = (_name: string, property: JsonObject, _owner: JsonObject, _root: JsonSchema): Json | undefined => property['default'];

function constantOf(name: string, property: JsonObject, { required }: JsonObject, root: JsonSchema): Json | undefined {
	if (!Array.isArray(required) || !required.includes(name)) return undefined;
	let schema: Json | undefined = property;
	for (let count = 0; isObject(schema) && count < MAX_IN_PLACE; count++) {
		if (schema['const'] !== undefined) return schema['const'];
		const values: Json | undefined = schema['enum'];
		if (Array.isArray(values)) return values.length === 1 ? values[0] : undefined;
		schema = typeof schema['$ref'] === 'string' ? atFragment(root, schema['$ref']) : undefined;
	}
	return undefined;
}
