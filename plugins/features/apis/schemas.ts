// What imports left: the descriptions, their operations, and the tools that are generated from them.

import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	BODIES,
	body,
	type Core,
	count,
	filterOf,
	type GenerationRequest,
	listQuery,
	notFound,
	OPERATION_FILTERS,
	type OperationFilter,
	operation,
	page,
	pageOf,
	shape,
	storeOf,
	words,
} from '../../../core/features.ts';
import { findApi } from './find.ts';
import { LISTED_SCHEMA, OPERATION, presentOperation, presentSchema, SCHEMA } from './present.ts';

/** All optional: `{}` makes a tool of every operation, up to 2,000. */
const GENERATION = body({ ...OPERATION_FILTERS, bodies: BODIES }).example({ tags: ['pets'], methods: ['GET', 'POST'], deprecated: false });

export const GENERATED = shape({ created: count, updated: count, unchanged: count, total: count }).meta({ schema: 'GeneratedTools' });

export const generateApiTools = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/apis/{id}/generate-tools',
		id: 'generateApiTools',
		summary: 'Makes a tool of each operation, or brings it up to date.',
		description:
			'`{}` takes every operation, up to 2,000; filters leave all others alone. Doing it twice changes nothing. What users wrote ' +
			'themselves of name and description stays.',
		need: 'apis:write',
		body: GENERATION,
		bodyIs: 'optional',
		answer: GENERATED,
		errors: ['conflict'],
		idempotent: true,
		handler: async (request) => {
			const api = await findApi(request, core);
			// The body has passed GENERATION.
			return core.imports.generateTools(storeOf(request, core), api, request.payload as GenerationRequest);
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
		description:
			'In numbers: the single operations of `report` and `changes` are shown with each of them, at `/apis/{id}/schemas/{schemaId}`.',
		need: 'apis:read',
		query: listQuery(),
		answer: page('schemas', LISTED_SCHEMA),
		handler: async (request) => {
			const api = await findApi(request, core);
			const { items, nextCursor } = await core.store.apis.schemas(api.organizationId, api.id, pageOf(request));
			return { schemas: items.map(presentSchema), nextCursor };
		},
	});

export const getApiSchema = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/apis/{id}/schemas/{schemaId}',
		id: 'getApiSchema',
		summary: 'Shows a description that was imported, with what became of each operation.',
		need: 'apis:read',
		answer: SCHEMA,
		handler: async (request) => {
			const api = await findApi(request, core);
			const schema = await core.store.apis.schema(api.organizationId, api.id, String(request.params['schemaId']));
			if (!schema) throw notFound('Schema');
			return presentSchema(schema);
		},
	});

/** The filters as a query carries them: a value is a list of one, and everything is text. */
function inQuery() {
	const { tags, methods, paths, operationIds } = OPERATION_FILTERS;
	const lists = { tags: tags.single(), methods: methods.single(), paths: paths.single(), operationIds: operationIds.single() };
	return { ...lists, deprecated: Joi.boolean().description('Only deprecated operations (true), or none of them (false).') };
}
