// The document of the management API: OpenAPI 3.1, written from the routes themselves, so that it cannot tell of another.

import type { Server } from '@hapi/hapi';
import type { Schema } from 'joi';
import type { Config } from './config.ts';
import type { JsonObject, JsonSchema } from './contracts.ts';
import { ERRORS, type ErrorCode } from './errors.ts';
import { createSchemaWriter, plainSchema, type SchemaWriter } from './openapi-schema.ts';
import type { Operation } from './operation.ts';
import type { Registry } from './registry.ts';

export interface DocumentParts {
	server: Server;
	registry: Registry;
	config: Pick<Config, 'publicUrls'>;
	version: string;
}

/** https://spec.openapis.org/oas/v3.1.1.html */
export function describeApi({ server, registry, config, version }: DocumentParts): JsonObject {
	const configs = configSchemas(registry);
	const writer = createSchemaWriter({
		names: (kind) => namesOf(registry, kind),
		configs: (kind) => Object.keys(configs).filter((name) => name.startsWith(`${kind}.`)),
	});
	const operations = operationsOf(server);
	const paths: Record<string, JsonObject> = {};
	for (const declared of operations) {
		paths[declared.path] = { ...paths[declared.path], [declared.method.toLowerCase()]: describe(declared, writer) };
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
		tags: [...new Set(operations.map(tagOf))].sort().map((name) => ({ name })),
		paths,
		components: {
			schemas: { ...writer.components, ...configs, Error: ERROR, RateLimited: RATE_LIMITED },
			headers: HEADERS,
			parameters: PARAMETERS,
			responses: Object.fromEntries(FAILURES.map((code) => [responseName(code), failure(code)])),
			securitySchemes: {
				bearer: { type: 'http', scheme: 'bearer', description: 'A token of `POST /auth/login`, or an access key (`ak_live_…`).' },
				cookie: { type: 'apiKey', in: 'cookie', name: 'gatehouse_token', description: 'What a browser gets at login.' },
			},
		},
	};
}

/** Those that have a declaration; a test holds that all routes of the management API do. */
export const operationsOf = (server: Server): Operation[] =>
	server
		.table()
		.map(({ settings }) => settings.plugins?.operation)
		.filter((declared) => declared !== undefined);

const INTRODUCTION = [
	'Every answer is `{ success: true, data }` unless its page says otherwise; every failure is `{ success: false, message, error,',
	'statusCode, requestId, details? }`, where `error` is one of a closed table of codes and `details` names what was wrong.',
	'Lists come in pages: send `nextCursor` back as `cursor` until it is null.',
].join(' ');

// ── one operation ──────────────────────────────────────────────────────────────────────────────────────────────────

const tagOf = ({ path }: Operation): string => {
	const [, first = '', , third] = path.split('/');
	return first === 'organizations' && third === 'tools' ? 'tools' : first;
};

const changes = ({ method }: Operation): boolean => method === 'PATCH' || method === 'PUT' || method === 'DELETE';

function describe(declared: Operation, writer: SchemaWriter): JsonObject {
	const { id, summary, description, need, body } = declared;
	const text = [description, need === 'public' ? null : neededFor(need)].filter(Boolean).join('\n\n');
	return {
		operationId: id,
		summary,
		...(text !== '' && { description: text }),
		tags: [tagOf(declared)],
		parameters: parametersOf(declared, writer),
		...(body && { requestBody: { required: isRequired(body), content: json(writer.write(body)) } }),
		responses: { ...failuresOf(declared), ...successOf(declared, writer) },
		security: need === 'public' ? [] : [{ bearer: [] }, { cookie: [] }],
	};
}

const isRequired = (body: Schema): boolean => (body.describe().flags as { presence?: string } | undefined)?.presence === 'required';

const NEEDS: Record<string, string> = {
	self: 'Takes a login, or an access key for the whole account.',
	account: 'Takes a login, or an access key without restrictions.',
	login: 'Takes a login; an access key is refused.',
};

const neededFor = (need: string): string => NEEDS[need] ?? `Takes the permission \`${need}\`.`;

const json = (schema: JsonSchema): JsonObject => ({ 'application/json': { schema } });

function parametersOf(declared: Operation, writer: SchemaWriter): JsonObject[] {
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
		declared.versioned && changes(declared) && 'IfMatch',
		declared.idempotent && 'IdempotencyKey',
	].filter((name) => typeof name === 'string');
	return [...inPath, ...inQuery, ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

const isOfContext = ({ need, path }: Operation): boolean => need.includes(':') && !path.includes('{orgId}');

function successOf(declared: Operation, writer: SchemaWriter): JsonObject {
	const { method, answer, bare, produces, status = 200, alsoAnswers = {}, versioned, path } = declared;
	const data = writer.write(answer);
	const schema = bare ? data : { type: 'object', properties: { success: { const: true }, data }, required: ['success', 'data'] };
	const names = [
		...(versioned && method !== 'DELETE' ? ['ETag'] : []),
		...(path.startsWith('/health') ? [] : LIMIT_HEADERS),
		'X-Request-Id',
	];
	const headers = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
	const content = produces ? { [produces]: { schema } } : json(schema);
	const told: [string, string][] = [[String(status), status === 201 ? 'Made.' : 'Done.'], ...Object.entries(alsoAnswers)];
	return Object.fromEntries(told.map(([code, when]) => [code, { description: when, headers, content }]));
}

// ── what can go wrong ──────────────────────────────────────────────────────────────────────────────────────────────

/** Anything may meet these. */
const ALWAYS: readonly ErrorCode[] = ['validation_failed', 'internal', 'unavailable'];

function codesOf(declared: Operation): ErrorCode[] {
	const { need, path, body, method, versioned, idempotent, errors = [] } = declared;
	const codes = new Set<ErrorCode>([...ALWAYS, ...errors]);
	const add = (isSo: boolean, ...more: ErrorCode[]): void => {
		if (isSo) for (const code of more) codes.add(code);
	};
	add(!path.startsWith('/health'), 'rate_limited');
	add(need !== 'public', 'unauthorized', 'forbidden', 'insufficient_scope');
	add(isOfContext(declared), 'no_organization');
	add(path.includes('{'), 'not_found');
	add(Boolean(body) || method !== 'GET', 'payload_too_large', 'unsupported_media_type');
	add(Boolean(versioned) && changes(declared), 'precondition_failed');
	add(Boolean(idempotent), 'conflict', 'idempotency_key_reused');
	return [...codes];
}

/** One response a status: the codes that share it are told apart by `error`. */
function failuresOf(declared: Operation): JsonObject {
	const byStatus = new Map<number, ErrorCode>();
	for (const code of codesOf(declared)) if (!byStatus.has(ERRORS[code])) byStatus.set(ERRORS[code], code);
	return Object.fromEntries(
		[...byStatus.entries()].sort().map(([status, code]) => [status, { $ref: `#/components/responses/${responseName(code)}` }]),
	);
}

const FAILURES = [...new Map(Object.entries(ERRORS).map(([code, status]) => [status, code as ErrorCode])).values()];

const responseName = (code: ErrorCode): string => `Error${ERRORS[code]}`;

function failure(code: ErrorCode): JsonObject {
	const status = ERRORS[code];
	const codes = Object.entries(ERRORS)
		.filter(([, other]) => other === status)
		.map(([name]) => name.toUpperCase());
	const isLimit = status === ERRORS.rate_limited;
	const example = isLimit
		? { success: false, message: 'Too many requests: retry after 12 seconds.', error: 'RATE_LIMITED', statusCode: status }
		: {
				success: false,
				message: 'A sentence for a person.',
				error: codes[0] ?? '',
				statusCode: status,
				requestId: '0b9f5c1e-6f1a-4c0e-9f0e-2f6f7c1d1a11',
			};
	return {
		description: codes.map((name) => `\`${name}\``).join(', '),
		...(isLimit && { headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } }),
		content: {
			'application/json': {
				schema: { $ref: `#/components/schemas/${isLimit ? 'RateLimited' : 'Error'}` },
				examples: { [codes[0] ?? 'error']: { value: example } },
			},
		},
	};
}

const ERROR_SHAPE = {
	success: { const: false },
	message: { type: 'string', description: 'A sentence for a person.' },
	error: { type: 'string', enum: Object.keys(ERRORS).map((code) => code.toUpperCase()) },
	statusCode: { type: 'integer' },
};

const ERROR: JsonSchema = {
	type: 'object',
	properties: {
		...ERROR_SHAPE,
		requestId: { type: 'string' },
		details: {
			type: 'array',
			items: {
				type: 'object',
				properties: {
					path: { type: 'string', description: 'A JSON pointer into the body, or `query/name`, `header/name`, `path/name`.' },
					message: { type: 'string' },
				},
				required: ['path', 'message'],
				additionalProperties: false,
			},
		},
	},
	required: ['success', 'message', 'error', 'statusCode', 'requestId'],
	additionalProperties: false,
};

/** Specification 7: four fields. */
const RATE_LIMITED: JsonSchema = {
	type: 'object',
	properties: { ...ERROR_SHAPE, error: { const: 'RATE_LIMITED' } },
	required: Object.keys(ERROR_SHAPE),
	additionalProperties: false,
};

// ── what operations share ──────────────────────────────────────────────────────────────────────────────────────────

const LIMIT_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

const header = (description: string, type = 'integer'): JsonObject => ({ description, schema: { type } });

const HEADERS: JsonObject = {
	ETag: header('The version of what is shown; send it back as `If-Match`.', 'string'),
	'X-Request-Id': header('Names the request in our logs. A client may choose it.', 'string'),
	'X-RateLimit-Limit': header('Requests in the window.'),
	'X-RateLimit-Remaining': header('Requests that are left in it.'),
	'X-RateLimit-Reset': header('When it ends: Unix time, seconds.'),
	'Retry-After': header('Seconds to wait.'),
};

const inHeader = (name: string, description: string): JsonObject => ({
	name,
	in: 'header',
	required: false,
	description,
	schema: { type: 'string' },
});

const PARAMETERS: JsonObject = {
	Organization: inHeader('X-Organization-Id', 'Which organization is meant; needed by members of several.'),
	IfMatch: inHeader('If-Match', 'An `ETag`: only if nothing changed since, else 412.'),
	IdempotencyKey: inHeader(
		'Idempotency-Key',
		'Any text of yours, up to 255 characters: a repetition within 24 hours gets the same answer and does nothing again.',
	),
};

// ── plugins ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `transport.mcp`: the configuration of every plugin that rows name. */
function configSchemas(registry: Registry): Record<string, JsonSchema> {
	const kinds = ['auth', 'transport', 'importer', 'executor'] as const;
	return Object.fromEntries(
		kinds.flatMap((kind) =>
			registry
				.list(kind)
				.map(({ name, summary, config }) => [
					`${kind}.${name}`,
					{ title: `${kind} ${name}`, description: summary, ...plainSchema(config) },
				]),
		),
	);
}

function namesOf(registry: Registry, kind: string): string[] {
	return registry
		.describe()
		.filter((plugin) => plugin.kind === kind && plugin.creatable)
		.map(({ name }) => name);
}
