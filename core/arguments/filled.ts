// Arguments that a stored credential of the API supplies: models are not shown them, callers need not send them, and values that a
// caller sends are dropped.

import type { Json, JsonObject, JsonSchema } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';

/** Returns the schema without these arguments. */
export function withoutFilled(schema: JsonSchema, filled: readonly string[]): JsonSchema {
	const { properties, required } = schema;
	if (filled.length === 0 || !isObject(properties)) return schema;
	const needed = Array.isArray(required) ? required.filter((name) => typeof name !== 'string' || !filled.includes(name)) : [];
	return Object.fromEntries(
		Object.entries(schema).flatMap(([keyword, value]): [string, Json][] => {
			if (keyword === 'properties') return [[keyword, dropFilled(properties, filled)]];
			if (keyword !== 'required') return [[keyword, value]];
			return needed.length > 0 ? [[keyword, needed]] : [];
		}),
	);
}

/** Returns the arguments without these. */
export const dropFilled = (args: JsonObject, filled: readonly string[]): JsonObject =>
	filled.some((name) => Object.hasOwn(args, name))
		? Object.fromEntries(Object.entries(args).filter(([name]) => !filled.includes(name)))
		: args;
