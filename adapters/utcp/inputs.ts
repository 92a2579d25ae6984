// The arguments of a tool as a manual describes them: side by side where a query carries them without loss, else as the body.

import { isObject, type Json, type JsonObject, type JsonSchema } from '../../core/index.ts';
import { strictSchema } from './strict-schema.ts';

/** The argument that clients send as the body of the request. */
export const BODY = 'body';
/** The parameter of a query in which methods take a credential, so no tool gets it. */
export const CREDENTIAL = 'api_key';

const PLAIN = new Set<unknown>(['string', 'number', 'integer']);
/** Keywords by which the arguments depend on more than their own schemas. */
const COMPOUND = ['$ref', 'anyOf', 'oneOf', 'allOf', 'not', 'if', 'patternProperties', 'dependentSchemas', 'dependentRequired'];
/**
 * Keywords by which arguments may have any name, also those that a query keeps for something else. A tool whose schema says nothing of others is
 * called with those that it names.
 */
const OPEN = ['additionalProperties', 'unevaluatedProperties'];

export function inputsOf(parameters: JsonSchema): JsonSchema {
	if (isFlat(parameters)) return strictSchema(parameters);
	const { required } = parameters;
	const isNeeded = Array.isArray(required) && required.length > 0;
	const body = strictSchema(parameters, `#/properties/${BODY}`);
	return { type: 'object', properties: { [BODY]: body }, ...(isNeeded && { required: [BODY] }) };
}

/** Whether a query carries all arguments as they are: clients write everything there as text, and drop null and empty lists. */
function isFlat(parameters: JsonSchema): boolean {
	if (COMPOUND.some((name) => Object.hasOwn(parameters, name)) || OPEN.some((name) => (parameters[name] ?? false) !== false)) return false;
	const { properties = {} } = parameters;
	if (!isObject(properties) || Object.hasOwn(properties, BODY) || Object.hasOwn(properties, CREDENTIAL)) return false;
	return Object.values(properties).every((schema) => isPlain(schema) || (isFilled(schema) && isPlain(schema.items)));
}

const isPlain = (schema: Json | undefined): boolean =>
	isObject(schema) && PLAIN.has(schema.type) && !COMPOUND.some((name) => Object.hasOwn(schema, name));

/** A list that is never empty. */
const isFilled = (schema: Json): schema is JsonObject =>
	isObject(schema) && schema.type === 'array' && !('prefixItems' in schema) && Number(schema.minItems) >= 1;
