// Writes the document of the management API (OpenAPI 3.1) from the routes themselves, so that the two cannot differ.

import type { Server } from '@hapi/hapi';
import type { Schema } from 'joi';
import {
	type Config,
	type Endpoint,
	isOfContext,
	type Json,
	type JsonObject,
	type JsonSchema,
	jsonSchemaOf,
	KIND_NAMES,
	KINDS,
	nodePolicy,
	type Registry,
	TimeSlice,
	takesIfMatch,
} from '../../../core/features.ts';
import { ERROR_SCHEMAS, failureResponses, failuresOf, headersOf, isLimited } from './failures.ts';
import { createSchemaWriter, type SchemaWriter } from './schema.ts';
import { tidy } from './tidy.ts';

export interface DocumentParts {
	server: Server;
	registry: Registry;
	config: Pick<Config, 'publicUrls'>;
	version: string;
	/** Example bodies of answers, by operation id and status. */
	examples?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

/** Checks that the routes can be described together. @throws Error naming two that cannot */
export const assertDescribable = (server: Server): void => assertOneNameEach(declaredRoutes(server));

/** Writes the document (https://spec.openapis.org/oas/v3.1.1.html), in slices between which requests are answered. */
export async function describeApi({ server, registry, config, version, examples = {} }: DocumentParts): Promise<JsonObject> {
	const configs = configSchemas(registry);
	const writer = createSchemaWriter({
		names: (kind) => namesOf(registry, kind),
		configs: (kind) => Object.keys(configs).filter((name) => name.startsWith(`${kind}.`)),
	});
	const routes = declaredRoutes(server);
	const slice = new TimeSlice();
	const paths: Record<string, JsonObject> = {};
	for (const route of routes) {
		if (slice.isOverNow) await slice.next();
		const { path, method } = route.declared;
		paths[path] = { ...paths[path], [method.toLowerCase()]: describe(route, writer, examples[route.declared.id]) };
	}
	return {
		openapi: '3.1.1',
		info: {
			title: 'Gatehouse',
			version,
			summary: 'The management API of Gatehouse.',
			description: INTRODUCTION,
			license: { name: 'MIT', identifier: 'MIT' },
		},
		servers: config.publicUrls.map((url) => ({ url })),
		tags: tagsOf(routes, registry),
		paths,
		components: {
			schemas: { ...tidy({ ...writer.components, ...configs }), ...ERROR_SCHEMAS },
			headers: HEADERS,
			parameters: PARAMETERS,
			responses: failureResponses(routes.map(({ declared }) => declared)),
			securitySchemes: {
				bearer: { type: 'http', scheme: 'bearer', description: 'A token from `POST /auth/login`, or an access key (`ak_live_…`).' },
				cookie: { type: 'apiKey', in: 'cookie', name: 'gatehouse_token', description: 'The cookie that a browser receives at login.' },
				gatewayKey: {
					type: 'apiKey',
					in: 'header',
					name: 'X-API-Key',
					description: 'A key of the gateway (`svc_gw_…`) with the scope that is the permission’s name; also as a Bearer token.',
				},
			},
		},
	};
}

interface DeclaredRoute {
	declared: Endpoint;
	feature: string;
}

/** Returns the routes with a declaration; a test ensures that all routes of the management API have one. */
const declaredRoutes = (server: Server): DeclaredRoute[] =>
	server.table().flatMap(({ settings }) => {
		const { operation: declared, feature } = settings.plugins ?? {};
		return declared && feature !== undefined ? [{ declared, feature }] : [];
	});

/** Returns the features that have operations, each with its summary. */
const tagsOf = (routes: readonly DeclaredRoute[], registry: Registry): JsonObject[] =>
	registry
		.list('feature')
		.filter(({ name }) => routes.some(({ feature }) => feature === name))
		.map(({ name, summary }) => ({ name, description: summary }));

/**
 * Refuses paths that differ only in parameter names, and operations of one id. OpenAPI 3.1.1 §4.8.8.1: "Templated paths with the same
 * hierarchy but different templated names MUST NOT exist as they are identical." @throws Error naming both, and their features
 */
function assertOneNameEach(routes: readonly DeclaredRoute[]): void {
	const byHierarchy = new Map<string, DeclaredRoute>();
	const byId = new Map<string, DeclaredRoute>();
	for (const route of routes) {
		const { path, id } = route.declared;
		const hierarchy = path.replaceAll(/\{[^}]*\}/g, '{}');
		const other = byHierarchy.get(hierarchy) ?? route;
		if (other.declared.path !== path)
			throw new Error(`The routes ${titled(other)} and ${titled(route)} are the same path: their parameters need the same names.`);
		const namesake = byId.get(id);
		if (namesake) throw new Error(`The routes ${titled(namesake)} and ${titled(route)} have the same id, ${id}.`);
		byHierarchy.set(hierarchy, route);
		byId.set(id, route);
	}
}

const titled = ({ declared: { path }, feature }: DeclaredRoute): string => `${path} (feature:${feature})`;

const INTRODUCTION = [
	'Every answer is `{ success: true, data }` unless the operation says otherwise; every failure is `{ success: false, message, error,',
	'statusCode, requestId, details? }`, where `error` is one of a closed table of codes and `details` names what was wrong.',
	'Lists come in pages: send `nextCursor` back as `cursor` until it is null.',
	'`minLength` and `maxLength` of what is sent count UTF-16 code units, as JavaScript does: a character beyond U+FFFF, such as most emoji, counts as two.',
].join(' ');

// ── Operations ─────────────────────────────────────────────────────────────────────────────────────────────────────

function describe({ declared, feature }: DeclaredRoute, writer: SchemaWriter, examples?: Examples): JsonObject {
	const { id, summary, description, need, gatewayKeys, body, bodyIs } = declared;
	const text = [description, neededFor(need)].filter(Boolean).join('\n\n');
	return {
		operationId: id,
		summary,
		description: text,
		tags: [feature],
		parameters: parametersOf(declared, writer),
		...(body && {
			requestBody: { required: bodyIs !== 'optional' && isRequired(body), content: { [JSON_TYPE]: { schema: writer.write(body) } } },
		}),
		responses: { ...failuresOf(declared), ...successOf(declared, writer, examples) },
		security: need === 'public' ? [] : [{ bearer: [] }, { cookie: [] }, ...(gatewayKeys ? [{ gatewayKey: [] }] : [])],
	};
}

const isRequired = (body: Schema): boolean => body.$_getFlag('presence') === 'required';

const NEEDS: Record<string, string> = {
	public: 'Requires no credential.',
	self: 'Requires a login or an access key for the whole account.',
	account: 'Requires a login or an access key without restrictions.',
	login: 'Requires a login; access keys are refused.',
};

const neededFor = (need: string): string => NEEDS[need] ?? `Requires the permission \`${need}\`.`;

const JSON_TYPE = 'application/json';
const exampleOf = (example: Json | undefined): JsonObject => (example === undefined ? {} : { example });

function parametersOf(declared: Endpoint, writer: SchemaWriter): JsonObject[] {
	const inPath = [...declared.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
		name,
		in: 'path',
		required: true,
		schema: { type: 'string' },
	}));
	const query = declared.query ? writer.write(declared.query) : {};
	const needed = (query.required ?? []) as string[];
	const inQuery = Object.entries((query.properties ?? {}) as Record<string, JsonObject>).map(([name, { description, ...schema }]) => ({
		name,
		in: 'query',
		required: needed.includes(name),
		...(description !== undefined && { description }),
		...(schema.type === 'array' && { explode: true }),
		schema,
	}));
	const shared = [
		isOfContext(declared) && 'Organization',
		isConditional(declared) && 'IfNoneMatch',
		takesIfMatch(declared) && 'IfMatch',
		declared.idempotent && 'IdempotencyKey',
	].filter((name) => typeof name === 'string');
	return [...inPath, ...inQuery, ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

const SUCCESS = { type: 'boolean', const: true };
const SUCCEEDED = { 200: 'Success', 201: 'Created', 202: 'Accepted' } as const;

/** Tells whether a 304 is possible: hapi answers it wherever an `ETag` is sent. */
const isConditional = ({ versioned, method }: Endpoint): boolean => Boolean(versioned) && method === 'GET';

type Examples = Readonly<Record<string, Json>>;

function successOf(declared: Endpoint, writer: SchemaWriter, examples: Examples = {}): JsonObject {
	const { method, answer, bare, produces, status = 200, alsoAnswers = {}, versioned } = declared;
	const data = writer.write(answer);
	const schema = bare ? data : { type: 'object', properties: { success: SUCCESS, data }, required: ['success', 'data'] };
	const headers = headersOf(isLimited(declared), ...(versioned && method !== 'DELETE' ? ['ETag'] : []));
	const types = [produces ?? JSON_TYPE].flat();
	// An example is an answer to the usual request.
	const content = (code: string): JsonObject =>
		Object.fromEntries(types.map((type, at) => [type, { schema, ...(at === 0 && exampleOf(examples[code])) }]));
	const told: [code: string, when: string][] = [[String(status), SUCCEEDED[status]], ...Object.entries(alsoAnswers)];
	const answers: JsonObject = Object.fromEntries(
		told.map(([code, when]) => [code, { description: when, headers, ...(code !== '204' && { content: content(code) }) }]),
	);
	if (isConditional(declared)) answers['304'] = { description: 'Not modified', headers };
	if (!declared.accepted) return answers;
	const later = {
		type: 'object',
		properties: { success: SUCCESS, data: writer.write(declared.accepted) },
		required: ['success', 'data'],
	};
	return {
		...answers,
		202: {
			description: 'Accepted, not completed yet',
			headers: { ...headers, ...headersOf(false, 'Location', 'Retry-After') },
			content: { [JSON_TYPE]: { schema: later, ...exampleOf(examples['202']) } },
		},
	};
}

// ── Components ─────────────────────────────────────────────────────────────────────────────────────────────────────

const header = (description: string, type = 'integer'): JsonObject => ({ description, schema: { type } });

const HEADERS: JsonObject = {
	ETag: header('Stands for this answer; send it back as `If-None-Match`, or for its version as `If-Match`.', 'string'),
	'X-Request-Id': header('Identifies the request in the service’s logs. A client may choose it.', 'string'),
	'X-RateLimit-Limit': header('Requests allowed in the window.'),
	'X-RateLimit-Remaining': header('Requests left in the window.'),
	'X-RateLimit-Reset': header('End of the window: Unix time in seconds.'),
	'Retry-After': header('Seconds to wait before the next request.'),
	Location: header('Where the result can be read.', 'string'),
};

const inHeader = (name: string, description: string): JsonObject => ({
	name,
	in: 'header',
	required: false,
	description,
	schema: { type: 'string' },
});

const PARAMETERS: JsonObject = {
	Organization: inHeader('X-Organization-Id', 'Id of the organization; required for members of several.'),
	IfMatch: inHeader(
		'If-Match',
		'An `ETag`, or several: the change is made only if the resource has a version of one of them, else 412. What changes by itself, such as counters, ' +
			'is part of no version.',
	),
	IfNoneMatch: inHeader('If-None-Match', 'An `ETag`: the answer is sent only if it has changed since, else 304.'),
	IdempotencyKey: inHeader(
		'Idempotency-Key',
		'Any text of up to 255 visible ASCII characters: a repetition within 24 hours gets the same answer, with ' +
			'`Idempotency-Replayed: true`, and changes nothing.',
	),
};

// ── Plugins ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Writes a component for the configuration of every plugin that rows name, such as `transport.mcp`. */
function configSchemas(registry: Registry): Record<string, JsonSchema> {
	const kinds: readonly string[] = KIND_NAMES.filter((kind) => KINDS[kind].inRows);
	return Object.fromEntries(
		registry
			.describe()
			.filter(({ kind }) => kinds.includes(kind))
			.map(({ kind, name, summary, config }) => [
				`${kind}.${name}`,
				{ title: `${kind} ${name}`, description: summary, ...(kind === 'node' ? withPolicy(config) : config) },
			]),
	);
}

/** Adds the field that every node has beside its config. */
function withPolicy(config: JsonSchema): JsonSchema {
	// Joi writes "the defaults of all members" as a symbol.
	const { default: _, ...policy } = jsonSchemaOf(nodePolicy);
	return { ...config, properties: { ...(config['properties'] as object), policy } };
}

function namesOf(registry: Registry, kind: string): string[] {
	return registry
		.describe()
		.filter((plugin) => plugin.kind === kind && plugin.creatable)
		.map(({ name }) => name);
}
