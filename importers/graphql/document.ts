// Reads a schema from SDL or an introspection result. Text that is no GraphQL schema is refused here; later faults
// belong to single operations.

import { buildClientSchema, type GraphQLSchema, type IntrospectionQuery, isObjectType } from 'graphql';
import { cleanText, GatewayError, isObject, type Json, type Log } from '../../core/index.ts';
import { buildFromSdl } from './sdl.ts';

export interface Description {
	schema: GraphQLSchema;
	format: 'graphql sdl' | 'graphql introspection';
}

/** Five times the size of the largest public schemas. */
const MAX_CHARS = 32 * 1024 * 1024;
/** Types of real schemas are wrapped three times; every walk over a result is safe with this many levels. */
const MAX_DEPTH = 100;

/** @throws schema_invalid naming line and column, or the format that the document has instead */
export function readDescription(source: string, log: Log): Description {
	const text = source.replace(/^\ufeff/, '');
	if (text.length > MAX_CHARS) throw refused(`The schema is longer than ${MAX_CHARS} characters.`);
	const isJson = /^\s*[{[]/.test(text) && !/^\s*\{\s*[A-Za-z_#]/.test(text);
	const description: Description = isJson
		? { schema: buildFromJson(text), format: 'graphql introspection' }
		: { schema: buildFromSdl(text, log), format: 'graphql sdl' };
	checkRoots(description.schema);
	return description;
}

function buildFromJson(text: string): GraphQLSchema {
	const root = parseJson(text);
	const result = isObject(root) && isObject(root['data']) ? root['data'] : root;
	if (!isObject(result) || !isObject(result['__schema'])) throw refused(withoutSchema(root));
	checkDepth(result);
	try {
		// `buildClientSchema` reports whatever the shape lacks.
		return buildClientSchema(result as unknown as IntrospectionQuery, { assumeValid: true });
	} catch (cause) {
		throw refused(`The introspection result cannot be read: ${faultOf(cause)}`, '/__schema');
	}
}

function parseJson(text: string): Json {
	try {
		return JSON.parse(text) as Json;
	} catch (cause) {
		throw refused(`Neither JSON nor SDL: ${faultOf(cause)}`);
	}
}

/** A server that refuses introspection says so in `errors`. */
function withoutSchema(root: Json): string {
	const errors = isObject(root) && Array.isArray(root['errors']) ? root['errors'] : [];
	const [first] = errors;
	const said =
		isObject(first) && typeof first['message'] === 'string' ? `: the server says ${JSON.stringify(cleanText(first['message'], 200))}` : '';
	return `The document is no introspection result, it has no "__schema"${said}.`;
}

/** The check does not recurse, since the documents that it refuses would overflow the stack. */
function checkDepth(root: Json): void {
	const open: { value: Json; depth: number }[] = [{ value: root, depth: 0 }];
	for (let next = open.pop(); next !== undefined; next = open.pop()) {
		const { value, depth } = next;
		if (value === null || typeof value !== 'object') continue;
		if (depth > MAX_DEPTH) throw refused(`The introspection result is nested deeper than ${MAX_DEPTH} levels.`);
		for (const child of Object.values(value)) {
			if (typeof child === 'object' && child !== null) open.push({ value: child, depth: depth + 1 });
		}
	}
}

function checkRoots(schema: GraphQLSchema): void {
	const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].filter((root) => root != null);
	if (roots.length === 0) throw refused('The schema has no query type: there is nothing to call.');
	const odd = roots.find((root) => !isObjectType(root));
	if (odd) throw refused(`The schema’s root type ${cleanText(String(odd), 100)} is no object type.`);
}

/** The message of a library's error, shortened and without terminal control characters. */
export function faultOf(error: unknown): string {
	if (error instanceof RangeError) return 'it is nested too deeply.';
	return cleanText(error instanceof Error ? error.message : String(error), 300);
}

export function refused(message: string, path = ''): GatewayError {
	return new GatewayError('schema_invalid', message, { details: [{ path, message }] });
}
