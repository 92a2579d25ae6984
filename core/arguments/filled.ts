// Arguments that are none as long as a stored credential of the API goes in their place: models are not shown them, nobody is asked for them,
// and who sends one sends it in vain.

import type { Json, JsonObject, JsonSchema } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';

/** The schema without these arguments. */
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

/** The arguments without these. */
export const dropFilled = (args: JsonObject, filled: readonly string[]): JsonObject =>
	filled.some((name) => Object.hasOwn(args, name))
		? Object.fromEntries(Object.entries(args).filter(([name]) => !filled.includes(name)))
		: args;
