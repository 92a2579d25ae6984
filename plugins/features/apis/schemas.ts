// Importing a description, what it held, and generating tools from its operations. The body of an import may be large: it
// is taken raw and parsed in core's worker.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type ApiRow,
	body,
	type Core,
	clientSignal,
	count,
	filterOf,
	GatewayError,
	IMPORT_BODY,
	listQuery,
	OPERATION_FILTERS,
	type OperationFilter,
	operation,
	page,
	pageOf,
	readBody,
	shape,
	storeOf,
	words,
} from '../../../core/index.ts';
import { findApi } from './find.ts';
import { IMPORT_REPORT, OPERATION, presentOperation, presentSchema, SCHEMA } from './present.ts';

const IMPORT_BYTES = 64 * 1024 * 1024;

/** All optional: `{}` makes a tool of every operation, up to 2,000. */
const FILTERS = body(OPERATION_FILTERS).example({ tags: ['pets'], methods: ['GET', 'POST'], deprecated: false });

const GENERATED = shape({ created: count, updated: count, unchanged: count, total: count }).meta({ schema: 'GeneratedTools' });

export const importApiSchema = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/apis/{id}/import-schema',
		id: 'importApiSchema',
		summary: 'Imports the API’s description, from a URL or as text.',
		description:
			'At most 64 MiB. All or nothing; importing the same again changes nothing. Operations that the description no longer has are ' +
			'kept as `removed`, and so are their tools. The filters choose which operations become tools, with `generateTools`.',
		need: 'apis:write',
		body: IMPORT_BODY,
		bodyIs: 'unread',
		answer: shape({
			schema: SCHEMA,
			report: IMPORT_REPORT,
			changes: shape({ added: count, changed: count, unchanged: count, removed: count }).description('Of operations.'),
			tools: GENERATED.optional(),
		}),
		errors: ['schema_invalid', 'egress_refused'],
		slow: true,
		handler: async (request) => importSchema(request, await findApi(request, core), core),
	});

export const generateApiTools = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/apis/{id}/generate-tools',
		id: 'generateApiTools',
		summary: 'Makes a tool of each operation, or brings it up to date.',
		description: '`{}` takes every operation, up to 2,000. Doing it twice changes nothing.',
		need: 'apis:write',
		body: FILTERS,
		answer: GENERATED,
		idempotent: true,
		handler: async (request) => {
			const api = await findApi(request, core);
			// The body has passed FILTERS.
			return core.imports.generateTools(storeOf(request, core), api, request.payload as OperationFilter);
		},
	});

export const listApiOperations = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/apis/{id}/operations',
		id: 'listApiOperations',
		summary: 'Lists the operations that were imported.',
		need: 'apis:read',
		query: listQuery({ filters: { ...inQuery(), q: words } }),
		answer: page('operations', OPERATION),
		handler: async (request) => {
			const api = await findApi(request, core);
			const filter = filterOf<OperationFilter>(request);
			const { items, nextCursor } = await core.store.apis.operations(api.organizationId, api.id, pageOf(request), filter);
			return { operations: items.map(presentOperation), nextCursor };
		},
	});

export const listApiSchemas = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/apis/{id}/schemas',
		id: 'listApiSchemas',
		summary: 'Lists the descriptions that were imported, with what became of them.',
		need: 'apis:read',
		query: listQuery(),
		answer: page('schemas', SCHEMA),
		handler: async (request) => {
			const api = await findApi(request, core);
			const { items, nextCursor } = await core.store.apis.schemas(api.organizationId, api.id, pageOf(request));
			return { schemas: items.map(presentSchema), nextCursor };
		},
	});

/** The filters as a query carries them: a value is a list of one, and everything is text. */
function inQuery() {
	const { tags, methods, paths, operationIds } = OPERATION_FILTERS;
	const lists = { tags: tags.single(), methods: methods.single(), paths: paths.single(), operationIds: operationIds.single() };
	return { ...lists, deprecated: Joi.boolean().description('Only deprecated operations (true), or none of them (false).') };
}

async function importSchema(request: Request, api: ApiRow, core: Core) {
	const type = request.raw.req.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
	if (type !== 'application/json') throw new GatewayError('unsupported_media_type', 'Content-Type must be application/json.');
	const content = await readBody(request.raw.req, IMPORT_BYTES);
	const writing = storeOf(request, core);
	const imported = await core.imports.importSchema(writing, api, content ?? Buffer.alloc(0), clientSignal(request));
	const { schema, changes, request: asked } = imported;
	const tools = asked.generateTools ? await core.imports.generateTools(writing, api, asked.filter) : null;
	return { schema: presentSchema(schema), report: schema.report, changes, ...(tools && { tools }) };
}
