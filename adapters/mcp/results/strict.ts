// Output schemas as they are, for tools whose results core checks (`strictOutput`).

import { isObject, type Json, type JsonObject, type JsonSchema } from '../../../core/index.ts';

/** The member of a result that is no object: `structuredContent` is one in every revision before 2026-07-28. */
const WRAPPED = 'result';

/** Whether data that fits the schema is wrapped in an object, so that the schema that is shown has one at its root. */
export const isWrapped = (schema: JsonSchema): boolean => schema.type !== 'object';

export function strictSchema(schema: JsonSchema): JsonSchema {
	if (!isWrapped(schema)) return schema;
	const { $schema, $defs, ...inner } = schema;
	return {
		...($schema !== undefined && { $schema }),
		type: 'object',
		// A reference to the root would now mean the wrapping.
		properties: { [WRAPPED]: refersToRoot(schema) ? {} : inner },
		required: [WRAPPED],
		...($defs !== undefined && !refersToRoot(schema) && { $defs }),
	};
}

export const strictData = (data: Json, schema: JsonSchema): JsonObject =>
	isWrapped(schema) || !isObject(data) ? { [WRAPPED]: data } : data;

/** Whether a reference leads anywhere but into `$defs`. */
const refersToRoot = (schema: Json): boolean => /"\$ref":"(?!#\/\$defs\/)/.test(JSON.stringify(schema));
