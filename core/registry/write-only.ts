// Marks the secrets of a config in its JSON Schema as `writeOnly`, and leaves out the values that the schema names for them. Joi writes
// the schema; what is secret travels through it as the start of a description.

import { randomUUID } from 'node:crypto';
import type { Schema } from 'joi';
import type { Json, JsonSchema } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import type { JsonSchemaSource } from './describe.ts';

/** The keywords that show values. */
const VALUES: ReadonlySet<string> = new Set(['default', 'examples', 'example', 'enum', 'const']);

/** The keywords whose members are schemas by names of their own. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs']);

/** Writes the schema of a config as JSON Schema. */
export function configSchema(schema: Schema): JsonSchema {
	const tag = `${randomUUID()} `;
	// `add` checked that the interface exists.
	const source = tagged(schema, tag)['~standard'] as unknown as JsonSchemaSource;
	return untagged(source.jsonSchema.input({ target: 'draft-2020-12' }), tag) as JsonSchema;
}

/** Returns the schema with the tag before the description of every secret in it. */
function tagged(schema: Schema, tag: string): Schema {
	// Joi's types call `each` a flag; it is a function that returns the replacement.
	const each = ((item: Schema) => tagged(item, tag)) as unknown as boolean;
	const inner = schema.$_modify({ each, ref: false }) as Schema | undefined;
	const whole = inner?.$_mutateRebuild() ?? schema;
	return isMarked(whole) ? whole.description(`${tag}${String(whole._flags['description'] ?? '')}`) : whole;
}

interface Test {
	then?: Schema;
	otherwise?: Schema;
	switch?: Test[];
}

/** Whether a schema, or what a condition adds to it, is marked as secret. */
function isMarked({ $_terms: terms }: Schema): boolean {
	const { metas, whens } = terms as { metas?: ({ secret?: unknown } | null)[] | null; whens?: Test[] | null };
	if (metas?.some((meta) => meta?.secret === true)) return true;
	const tests = (whens ?? []).flatMap((one) => [one, ...(one.switch ?? [])]);
	return tests.flatMap(({ then, otherwise }) => [then, otherwise]).some((one) => one !== undefined && isMarked(one));
}

/** Replaces the tag by `writeOnly`. @param isInside whether the schema is a part of a secret */
function untagged(schema: Json, tag: string, isInside = false): Json {
	if (Array.isArray(schema)) {
		// Joi writes a value that is allowed beside a type as an alternative to it.
		const hasSecret = schema.some((one) => isTagged(one, tag));
		return schema.map((one) => untagged(one, tag, isInside || (hasSecret && isValues(one))));
	}
	if (!isObject(schema)) return schema;
	const isSecret = isTagged(schema, tag);
	const below = isInside || isSecret;
	const members = Object.entries(schema).filter(([name]) => !below || !VALUES.has(name));
	const shown = Object.fromEntries(
		members.map(([name, value]): [string, Json] => {
			if (VALUES.has(name) || !isObject(value) || !NAMED.has(name)) return [name, VALUES.has(name) ? value : untagged(value, tag, below)];
			return [name, Object.fromEntries(Object.entries(value).map(([key, one]) => [key, untagged(one, tag, below)]))];
		}),
	);
	if (!isSecret) return shown;
	const { description, ...rest } = shown;
	const text = String(description).slice(tag.length);
	return { ...rest, ...(text !== '' && { description: text }), writeOnly: true };
}

const isTagged = (schema: Json, tag: string): boolean => isObject(schema) && String(schema['description'] ?? '').startsWith(tag);

const isValues = (schema: Json): boolean => isObject(schema) && Object.keys(schema).every((name) => name === 'enum');
