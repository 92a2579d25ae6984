// Moves the members of a request's body beside the other arguments: callers send `x` for `body.x`, and the executor gets `body.x`.

import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Flattened, Json, JsonObject, JsonSchema } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { atFragment, pointerToken } from '../kit/json-pointer.ts';

/** Keywords of a schema whose members can be moved; any other one describes the object as a whole and could not be expressed elsewhere. */
const MOVABLE = new Set([
	'type',
	'properties',
	'required',
	'additionalProperties',
	'title',
	'description',
	'examples',
	'example',
	'deprecated',
]);
/** Argument names that every client accepts. */
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const MAX_HOPS = 32;
/** Limit of members times required ones: beyond it the schema does not say which members of an optional body are required together. */
const MAX_DEPENDENCIES = 400;

/** Flattens parameters; null when the members of the body cannot be moved, such as when two arguments have the same name. */
export function flatten(parameters: JsonSchema, argument: string): { parameters: JsonSchema; flattened: Flattened } | null {
	const { properties, required, ...root } = parameters;
	if (!isObject(properties)) return null;
	const { [argument]: body, ...others } = properties;
	const object = movable(body, parameters);
	if (!object) return null;
	const members = isObject(object['properties']) ? object['properties'] : {};
	const names = Object.keys(members);
	if (names.length === 0 || names.some((name) => !NAME.test(name) || name === '__proto__' || Object.hasOwn(others, name))) return null;
	const needed = listOf(required);
	const isRequired = needed.includes(argument);
	const own = listOf(object['required']).filter((name) => Object.hasOwn(members, name));
	const all = [...needed.filter((name) => name !== argument), ...(isRequired ? own : [])];
	const together = isRequired || own.length * names.length > MAX_DEPENDENCIES ? [] : own;
	return {
		parameters: {
			...root,
			properties: { ...others, ...members },
			...(all.length > 0 && { required: all }),
			...(together.length > 0 && { dependentRequired: Object.fromEntries(names.map((name) => [name, together])) }),
			additionalProperties: object['additionalProperties'] ?? true,
		},
		flattened: { argument, others: Object.keys(others), isRequired },
	};
}

/** Returns the arguments as the executor takes them. */
export function nest(args: JsonObject, { argument, others, isRequired }: Flattened): JsonObject {
	const entries = Object.entries(args);
	const members = entries.filter(([name]) => !others.includes(name));
	const nested = Object.fromEntries(entries.filter(([name]) => others.includes(name)));
	return members.length > 0 || isRequired ? { ...nested, [argument]: Object.fromEntries(members) } : nested;
}

/** Rewrites the executor's faults in members of the body to faults of flat arguments. @returns any other error unchanged */
export function flatFault(error: unknown, { argument }: Flattened): unknown {
	const known = asGatewayError(error);
	if (known?.code !== 'validation_failed') return error;
	const place = `/${pointerToken(argument)}/`;
	const flat = (text: string): string => (text.startsWith(place) ? text.slice(place.length - 1) : text);
	const details = known.details.map(({ path, message }) => ({ path: flat(path), message: flat(message) }));
	return new GatewayError(known.code, flat(known.message), { details, cause: known });
}

/** Returns the schema that the body's reference leads to, if it describes nothing but members. */
function movable(body: Json | undefined, root: JsonSchema): JsonObject | null {
	let schema: Json | undefined = body;
	for (let hops = 0; isObject(schema) && hops < MAX_HOPS; hops++) {
		const { $ref, description: _words, ...rest }: JsonObject = schema;
		if (typeof $ref !== 'string') break;
		if (Object.keys(rest).length > 0) return null;
		schema = atFragment(root, $ref);
	}
	if (!isObject(schema) || schema['type'] !== 'object') return null;
	return Object.keys(schema).every((keyword) => MOVABLE.has(keyword)) ? schema : null;
}

const listOf = (value: Json | undefined): string[] =>
	Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
