// The arguments of a call, however a client sends them: in the query, as the body, wrapped in the body, or as a form.

import {
	asGatewayError,
	type Call,
	GatewayError,
	type Incoming,
	invalid,
	isJsonType,
	isObject,
	type Json,
	type JsonObject,
	type JsonSchema,
	mediaTypeOf,
	parseFormBody,
	parseJson,
} from '../../core/index.ts';
import { BODY, CREDENTIAL } from './inputs.ts';
import { readQuery } from './query.ts';

/** Members that hold all arguments, where the tool has no argument of that name. */
const WRAPPERS = ['arguments', BODY];
const FORM = 'application/x-www-form-urlencoded';

type Pairs = readonly (readonly [string, string])[];

/** @throws validation_failed naming what cannot be read, unsupported_media_type */
export async function readArguments(request: Incoming, name: string, call: Call): Promise<JsonObject> {
	const { json, form } = bodyOf(request);
	refuseUnasked(request, call);
	const pairs = [...pairsOf(request, call), ...form];
	if (pairs.length === 0 && !isWrapped(json)) return json;
	const schema = await parametersOf(name, call);
	const isOwn = (member: string): boolean => isObject(schema.properties) && Object.hasOwn(schema.properties, member);
	const given = checked(readQuery(pairs, withWrappers(schema, isOwn), schema));
	// The body wins where something is given twice.
	return { ...unwrapped(given, isOwn), ...unwrapped(json, isOwn) };
}

/** A client in TypeScript that puts all into the query sends an empty form, and `curl -d` calls everything a form. */
function bodyOf({ body, headers }: Incoming): { json: JsonObject; form: Pairs } {
	const bytes = Buffer.isBuffer(body) ? body : null;
	const type = headers['content-type'] ?? '';
	if (bytes === null || bytes.length === 0) return { json: {}, form: [] };
	const isForm = mediaTypeOf(type) === FORM;
	if (isForm && !/^\s*\{/.test(bytes.toString('latin1', 0, 100))) return { json: {}, form: [...parseFormBody(bytes)] };
	if (!isForm && type !== '' && !isJsonType(type))
		throw new GatewayError('unsupported_media_type', `Content-Type must be application/json or ${FORM}.`);
	// It was just parsed.
	const json = parseJson(bytes) as Json;
	if (!isObject(json)) throw invalid('', 'The body must be an object: the arguments of the tool.');
	return { json, form: [] };
}

/**
 * A page of another site may have a browser send forms, and requests without a body, with the password that the browser remembers or none at all;
 * JSON it may send only after a preflight.
 */
function refuseUnasked({ origin, headers }: Incoming, { caller }: Call): void {
	const isForeign = origin.value !== null && !origin.trusted;
	const isUnasked = caller?.subject === 'anonymous' || /^basic\s/i.test(headers.authorization ?? '');
	if (isForeign && isUnasked && mediaTypeOf(headers['content-type'] ?? '') !== 'application/json')
		throw new GatewayError('unsupported_media_type', 'A page of another site must send application/json.');
}

/** The parameters of the query, without credentials. */
function pairsOf({ query, target }: Incoming, call: Call): Pairs {
	if (!target.includes('?')) return [];
	const keys = call.admission().flatMap(({ scheme }) => (scheme?.type === 'apiKey' && scheme.in === 'query' ? [scheme.name] : []));
	return [...query].filter(([name]) => name !== CREDENTIAL && !keys.includes(name));
}

const isWrapped = (json: JsonObject): boolean => WRAPPERS.some((wrapper) => Object.hasOwn(json, wrapper));

/** Returns the parameters of a tool; those of one that is not there are refused with it. */
async function parametersOf(name: string, call: Call): Promise<JsonSchema> {
	const tools = await call.published().catch((thrown: unknown) => {
		// At an address over several gateways, a caller may run what they cannot list.
		if (asGatewayError(thrown)?.code === 'insufficient_scope') return [];
		throw thrown;
	});
	return tools.find((tool) => tool.name === name)?.parameters ?? {};
}

/** The schema of the query: all arguments may be below a wrapper, too. */
function withWrappers(schema: JsonSchema, isOwn: (member: string) => boolean): JsonSchema {
	const wrappers = WRAPPERS.filter((wrapper) => !isOwn(wrapper)).map((wrapper) => [wrapper, { type: 'object', ...schema }]);
	return { ...schema, properties: { ...(isObject(schema.properties) && schema.properties), ...Object.fromEntries(wrappers) } };
}

/** Text in a query has no more of what cannot be kept than a body. @throws validation_failed */
const checked = (args: JsonObject): JsonObject => parseJson(Buffer.from(JSON.stringify(args))) as JsonObject;

function unwrapped(given: JsonObject, isOwn: (member: string) => boolean): JsonObject {
	const [member, ...others] = Object.keys(given);
	if (member === undefined || others.length > 0 || !WRAPPERS.includes(member) || isOwn(member)) return given;
	const inner = given[member];
	if (inner === null) return {};
	return isObject(inner) ? inner : given;
}
