// Lists the imported descriptions and operations, and generates tools from them.

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

/** The body; all fields are optional: `{}` makes a tool of every operation, up to 2,000. */
const GENERATION = body({ ...OPERATION_FILTERS, bodies: BODIES }).example({ tags: ['pets'], methods: ['GET', 'POST'], deprecated: false });

export const GENERATED = shape({ created: count, updated: count, unchanged: count, total: count }).meta({ schema: 'GeneratedTools' });

export const generateApiTools = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/apis/{id}/generate-tools',
		id: 'generateApiTools',
		summary: 'Creates or updates a tool for each operation.',
		description:
			'`{}` selects every operation, up to 2,000; operations outside the filters are left alone. Repeating it changes nothing. Names and ' +
			'descriptions that users wrote are kept.',
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
		summary: 'Lists the imported operations.',
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
		summary: 'Lists the imported descriptions with the counts of their reports and changes.',
		description: 'The operations of `report` and `changes` are shown at `/apis/{id}/schemas/{schemaId}`.',
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
		summary: 'Shows an imported description with the outcome of each operation.',
		need: 'apis:read',
		answer: SCHEMA,
		handler: async (request) => {
			const api = await findApi(request, core);
			const schema = await core.store.apis.schema(api.organizationId, api.id, String(request.params['schemaId']));
			if (!schema) throw notFound('Schema');
			return presentSchema(schema);
		},
	});

/** Converts the filters to query parameters: one value counts as a list, and every value is text. */
function inQuery() {
	const { tags, methods, paths, operationIds } = OPERATION_FILTERS;
	const lists = { tags: tags.single(), methods: methods.single(), paths: paths.single(), operationIds: operationIds.single() };
	return { ...lists, deprecated: Joi.boolean().description('Only deprecated operations (true), or none of them (false).') };
}
