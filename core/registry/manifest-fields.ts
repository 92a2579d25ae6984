// The schemas of the members of a manifest: functions, Joi schemas, routes.

import { Router } from '@hapi/call';
import Joi, { type ArraySchema, type CustomHelpers, type CustomValidator, type ObjectSchema, type Schema } from 'joi';
import type { CorsHeaders } from '../contract/cors.ts';
import { ERRORS } from '../contract/errors.ts';
import type { GatewayRoute, ManagementRoute } from '../contract/kinds.ts';
import type { JsonSchemaSource } from './describe.ts';

export const code = Joi.function();
/** The sandbox that an executor lends. */
export const lentSandbox = Joi.object({ language: Joi.string().required(), run: code.required() });
export const positive = Joi.number().integer().min(1);
/** A list of lower-case words. */
export const WORDS = Joi.array()
	.items(Joi.string().pattern(/^[a-z][a-z0-9_.-]*$/))
	.unique();

/** A window of a limit: of a year at most, since Redis does not store longer ones. */
export const limitWindow = Joi.object({ max: positive.required(), seconds: positive.max(31_536_000).required() });

/** A value, or a function that gives one. */
export const choiceOr = (value: Schema): Schema => Joi.any().when(Joi.function(), { otherwise: value });

/** Makes a rule of a function that returns a fault, or null. */
const rule =
	<T>(faultOf: (value: T) => string | null): CustomValidator =>
	(value: T, helpers: CustomHelpers) => {
		const fault = faultOf(value);
		return fault === null ? value : helpers.message({ custom: `{{#label}} ${fault.replaceAll('{', '\\{')}` });
	};

// ── Joi schemas: an outside package may have its own copy of Joi ────────────────────────────────────────────────────────────

const JOI = Symbol.for('@hapi/joi/schema');

/** The version of Joi that made a schema; null if it is none. */
const joiVersion = (value: unknown): string | null =>
	(value as { [JOI]?: { version?: string } } | null | undefined)?.[JOI]?.version ?? null;

/** Finds the fault of a schema by its behaviour: 18.1 is the first version that writes JSON Schema. */
function schemaFault(value: unknown): string | null {
	const version = joiVersion(value);
	if (version === null) return 'must be a schema of Joi, as Joi.object({ … }) makes it';
	const schema = value as ObjectSchema;
	const source = schema['~standard'] as unknown as Partial<JsonSchemaSource> | undefined;
	if (typeof source?.jsonSchema?.input !== 'function') return `must be a schema of Joi 18.1 or later, and is one of Joi ${version}`;
	if (schema.type !== 'object') return `must be Joi.object({ … }), and is Joi.${schema.type}()`;
	return opennessFault(schema) ?? useFault(schema, source as JsonSchemaSource);
}

/** A config that takes fields which it does not name would take a misspelt one. */
function opennessFault(schema: ObjectSchema): string | null {
	// The parts of the schema itself: `describe()` validates what it returns, which takes longer than everything else of a start.
	const { _flags: flags, _preferences: preferences, $_terms: terms } = schema as Schema & { _preferences?: Record<string, unknown> | null };
	const { keys, patterns } = terms as Record<'keys' | 'patterns', unknown>;
	if (flags['unknown'] || preferences?.['allowUnknown'] || preferences?.['stripUnknown'])
		return 'must refuse the fields that it does not name: without .unknown(), allowUnknown and stripUnknown';
	return keys || patterns ? null : 'must name its fields: Joi.object({}) has none, Joi.object() takes any';
}

/** Uses the schema in the two ways in which core does. */
function useFault(schema: ObjectSchema, { jsonSchema }: JsonSchemaSource): string | null {
	try {
		schema.validate({});
	} catch (error) {
		return `cannot be used to validate: ${(error as Error).message}`;
	}
	try {
		jsonSchema.input({ target: 'draft-2020-12' });
		return null;
	} catch (error) {
		return `cannot be written as JSON Schema: ${(error as Error).message}`;
	}
}

export const configSchema = Joi.any().custom(rule(schemaFault));
export const operatorSchema = configSchema;

/** A schema that becomes part of one of ours needs our version of Joi, in any copy. */
const answerSchema = Joi.any().custom(
	rule((value) => {
		const version = joiVersion(value);
		if (version === Joi.version) return null;
		return `must be a schema of Joi ${Joi.version}${version === null ? '' : `, and is one of Joi ${version}`}`;
	}),
);

// ── headers of browsers ──────────────────────────────────────────────────────────────────────────────────────────────

/** Headers that browsers write, that carry their credentials, or that core allows by itself. */
const NOT_DECLARED = /^(?:cookie2?|set-cookie2?|authorization|host|origin|referer|(?:proxy|sec|access-control)-.*)$/i;

const headerNames = Joi.array()
	.items(
		Joi.string()
			// Without the characters of a wildcard.
			.pattern(/^[A-Za-z][A-Za-z0-9-]{0,99}$/)
			.custom(rule((name: string) => (NOT_DECLARED.test(name) ? 'must be another header: this one is not for plugins to declare' : null))),
	)
	.unique((one: string, other: string) => one.toLowerCase() === other.toLowerCase())
	.max(50);

export const corsHeaders = Joi.object({ send: headerNames, read: headerNames } satisfies Record<keyof CorsHeaders, Schema>);

// ── routes of a gateway ──────────────────────────────────────────────────────────────────────────────────────────────

/** The methods of gateways' routes. */
export const ROUTE_METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const satisfies GatewayRoute['method'][];

function pathFault(path: string): string | null {
	if (!path.startsWith('/')) return 'must begin with /';
	if (path !== '/' && path.endsWith('/')) return 'must not end with /: a request with a trailing slash is for the path without it';
	return clash('GET', path) === null ? null : 'must be a path such as /items/{id}, each parameter once';
}

type RouteKey = Pick<GatewayRoute, 'method' | 'path'>;

/** Returns why a router does not take these places together, or null. */
function clash(method: string, ...paths: string[]): string | null {
	const router = new Router({ isCaseSensitive: true });
	try {
		for (const path of paths) router.add({ method: method.toLowerCase(), path });
		return null;
	} catch (error) {
		return (error as Error).message;
	}
}

/** Whether one gateway cannot have both places. */
export const isSamePlace = (one: RouteKey, other: RouteKey): boolean =>
	one.method === other.method && clash(one.method, one.path, other.path) !== null;

/** Finds the first two of a list that are the same. */
function twinsFault<T>(list: readonly T[], isSame: (one: T, other: T) => boolean, name: (one: T) => string): string | null {
	for (const [at, one] of list.entries()) {
		const twin = list.slice(0, at).findIndex((other) => isSame(other, one));
		if (twin >= 0) return `must differ: [${at}] has the same place as [${twin}], ${name(one)}`;
	}
	return null;
}

const routeFields = {
	method: Joi.valid(...ROUTE_METHODS).required(),
	path: Joi.string().custom(rule(pathFault)).required(),
	public: Joi.boolean(),
	body: Joi.valid('json', 'form', 'raw'),
	maxBytes: positive,
	encodings: Joi.array().items(Joi.valid('gzip')).min(1).unique(),
	lists: Joi.boolean(),
	atOrganization: Joi.boolean(),
	limit: limitWindow,
	issuesCredentials: Joi.boolean(),
	handler: code.required(),
} satisfies Record<keyof GatewayRoute, Schema>;

const organizationFault = ({ atOrganization, method, path, public: isPublic }: GatewayRoute): string | null =>
	!atOrganization || (isPublic === true && method === 'GET' && /^\/\.well-known\/[^{]+$/.test(path))
		? null
		: 'must be a public GET of a path below /.well-known/, without parameters, to have atOrganization';

export const gatewayRoutes: ArraySchema = Joi.array()
	.items(Joi.object(routeFields).custom(rule(organizationFault)))
	.custom(rule((routes: GatewayRoute[]) => twinsFault(routes, isSamePlace, ({ method, path }) => `${method} ${path}`)));

// ── routes of the management API ─────────────────────────────────────────────────────────────────────────────────────

/** The form of an operationId, which clients generated from the document use as a name. */
const WORD = /^[a-z][A-Za-z0-9]{0,63}$/;
/** The first segment is fixed, so that no plugin takes all that is below a gateway. */
const MANAGEMENT_PATH = /^\/[a-z0-9-]+(\/([a-z0-9-]+|\{[a-z][A-Za-z0-9]*\}))*$/;
/** Parameters of the gateway's own path. */
const TAKEN_PARAMETERS = ['id', 'orgId'];

function parametersFault(path: string): string | null {
	const parameters = [...TAKEN_PARAMETERS, ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)];
	return new Set(parameters).size < parameters.length ? `must not repeat a parameter, nor have ${TAKEN_PARAMETERS.join(' or ')}` : null;
}

/** A member that routes of other methods do not have. */
const onlyFor = (schema: Schema, ...methods: ManagementRoute['method'][]): Schema =>
	schema.when('method', {
		is: Joi.valid(...methods),
		otherwise: Joi.forbidden().messages({ 'any.unknown': `{{#label}} is for ${methods.join(' and ')} alone` }),
	});

/** Parameters of every list. */
const OF_PAGES = ['limit', 'cursor', 'sort'];

function pageFault(schema: ObjectSchema): string | null {
	const taken = OF_PAGES.filter((name) => Object.hasOwn(schema.describe()['keys'] ?? {}, name));
	return taken.length === 0 ? null : `must not name ${taken.join(', ')}: lists have ${OF_PAGES.join(', ')} by themselves`;
}

/** URLs are logged by proxies and kept by browsers. */
const openQuery = (schema: ObjectSchema): string | null =>
	hasSecret(schema) ? 'must not take a secret: URLs are logged and kept; take it in a body' : null;

/** Answers under an Idempotency-Key are kept for a day, in clear. */
const keptFault = ({ idempotent, answer }: ManagementRoute): string | null =>
	idempotent && hasSecret(answer) ? 'must not be idempotent with a secret in its answer, which would be kept for a day' : null;

/** Whether a schema marks a secret anywhere. */
function hasSecret(schema: Schema): boolean {
	const isMarked = (part: unknown): boolean =>
		typeof part === 'object' &&
		part !== null &&
		(Object.hasOwn(part, 'secret') || Object.hasOwn(part, 'secretMembers') || Object.values(part).some(isMarked));
	const metasOf = (part: unknown): unknown[] =>
		typeof part !== 'object' || part === null
			? []
			: Object.entries(part).flatMap(([name, value]) => (name === 'metas' ? [value] : metasOf(value)));
	return metasOf(schema.describe()).some(isMarked);
}

/** An object schema that refuses what it does not name, and becomes part of ours. */
const ownSchema = configSchema.concat(answerSchema);

const managementFields = {
	method: Joi.valid(...ROUTE_METHODS).required(),
	path: Joi.string().pattern(MANAGEMENT_PATH).custom(rule(parametersFault)).required(),
	id: Joi.string().pattern(WORD).required(),
	summary: Joi.string().required(),
	list: Joi.string()
		.pattern(WORD)
		.invalid('nextCursor')
		.when('method', {
			is: 'GET',
			otherwise: Joi.forbidden().messages({ 'any.unknown': '{{#label}} is for GET alone: it names the records' }),
		}),
	query: ownSchema.custom(rule(pageFault)).custom(rule(openQuery)),
	body: onlyFor(ownSchema, 'POST', 'PUT'),
	answer: answerSchema.required(),
	status: onlyFor(Joi.valid(200), 'POST'),
	errors: Joi.array()
		.items(Joi.valid(...Object.keys(ERRORS)))
		.unique(),
	idempotent: onlyFor(Joi.valid(true), 'POST'),
	versioned: Joi.valid(true).when('list', { is: Joi.forbidden(), otherwise: Joi.forbidden() }),
	handler: code.required(),
} satisfies Record<keyof ManagementRoute, Schema>;

export const managementRoutes = Joi.array().items(Joi.object(managementFields).custom(rule(keptFault)));
