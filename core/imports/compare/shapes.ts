// Normalizes one schema so that two of them can be compared keyword by keyword: references are followed, wrappers opened.

import type { Json, JsonObject } from '../../contract/nouns.ts';
import { isObject } from '../../kit/json.ts';
import { definitionOf, definitionsOf } from './meaning.ts';

/** Keywords for readers only. `default` is among them, since nobody fills it in. */
const WORDS = new Set(['title', 'description', 'default', 'examples', 'example', '$comment', 'externalDocs', 'deprecated']);
const IGNORED = new Set(['$defs', '$schema', '$id', '$anchor']);
export const COMBINED = ['allOf', 'anyOf', 'oneOf'] as const;
const MAX_REFERENCES = 32;

/** The description of a schema that replaces a larger one: it accepts anything, or anything of its type. */
export const LEFT_OUT = 'Too large to be shown here.';
/** The wording of a former release. */
const LEFT_OUT_BEFORE = 'Anything: this definition was left out, the schema would have become too large.';

export const isLeftOut = ({ description }: JsonObject): boolean => description === LEFT_OUT || description === LEFT_OUT_BEFORE;

export const isWords = (keyword: string): boolean => WORDS.has(keyword) || keyword.startsWith('x-');

export const constraintsOf = (schema: JsonObject): string[] => Object.keys(schema).filter((key) => !isWords(key) && !IGNORED.has(key));

const wordsOf = (schema: JsonObject): JsonObject => Object.fromEntries(Object.entries(schema).filter(([key]) => isWords(key)));

/** @returns a reader of the schemas below `root`; it returns the same object for the same part, so that circles can be detected */
export function shapesOf(root: JsonObject): (schema: Json | undefined) => JsonObject {
	const known = new Map<object, JsonObject>();
	return (schema) => {
		if (!isObject(schema)) return schema === false ? { not: {} } : {};
		const found = known.get(schema) ?? open(schema, root);
		known.set(schema, found);
		return found;
	};
}

function open(schema: JsonObject, root: JsonObject): JsonObject {
	let current = schema;
	for (let count = 0; count < MAX_REFERENCES; count++) {
		const next = followed(current, root) ?? unwrapped(current);
		if (next === null) return current;
		current = next;
	}
	return current;
}

/** Follows a reference; null when the schema is none, or when it leads nowhere. */
function followed(schema: JsonObject, root: JsonObject): JsonObject | null {
	const name = definitionOf(schema['$ref']);
	const definitions = definitionsOf(root);
	const target = name !== null && Object.hasOwn(definitions, name) ? definitions[name] : null;
	if (!isObject(target)) return null;
	const { $ref, ...rest } = schema;
	if (Object.keys(rest).length === 0) return target;
	if (constraintsOf(rest).length === 0) return { ...target, ...rest };
	return { allOf: [target, rest] };
}

/** Opens a schema whose only constraint is a single member: `{ allOf: [one] }`. */
function unwrapped(schema: JsonObject): JsonObject | null {
	const [only, ...others] = constraintsOf(schema);
	const members = COMBINED.some((key) => key === only) ? schema[only ?? ''] : null;
	if (others.length > 0 || !Array.isArray(members) || members.length !== 1 || !isObject(members[0])) return null;
	return { ...members[0], ...wordsOf(schema) };
}

/** When only one of two schemas consists of alternatives, brings the other one into that form too. */
export function aligned(before: JsonObject, after: JsonObject): [before: JsonObject, after: JsonObject] {
	for (const key of ['anyOf', 'oneOf'] as const) {
		if (isOnly(key, before) && !Object.hasOwn(after, key)) return [before, asAlternatives(key, after)];
		if (isOnly(key, after) && !Object.hasOwn(before, key)) return [asAlternatives(key, before), after];
	}
	return [before, after];
}

const isOnly = (key: string, schema: JsonObject): boolean => Object.hasOwn(schema, key) && constraintsOf(schema).length === 1;

/** Turns a list of types into one alternative each. */
function asAlternatives(key: 'anyOf' | 'oneOf', schema: JsonObject): JsonObject {
	const constraints = Object.fromEntries(constraintsOf(schema).map((name) => [name, schema[name] ?? null]));
	const { type, ...rest } = constraints;
	const isPlain = Array.isArray(type) && rest['enum'] === undefined && rest['const'] === undefined;
	const members = isPlain ? type.map((one): JsonObject => (one === 'null' ? { type: one } : { ...rest, type: one })) : [constraints];
	return { ...wordsOf(schema), [key]: members };
}
