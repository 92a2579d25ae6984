// Connected APIs (specification 4.5): connect, import a description, generate tools, store credentials.

import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import {
	type ApiRow,
	body,
	type Core,
	description,
	displayName,
	type Feature,
	needs,
	notFound,
	organizationOf,
	pageOf,
	pageQuery,
	removalQuery,
	storeOf,
	success,
	UNREAD,
	unknownType,
} from '../../../core/index.ts';
import { CREDENTIAL, storeCredential } from './credentials.ts';
import { presentApi, presentCredential, presentOperation, presentSchema } from './present.ts';
import { FILTERS, generateTools, importSchema } from './schemas.ts';

const baseUrl = Joi.string()
	.uri({ scheme: ['http', 'https'] })
	.max(2000);

const CREATE = body({
	name: displayName.required(),
	type: Joi.string().max(64).required(),
	baseUrl: baseUrl.required(),
	description,
});
const UPDATE = body({ name: displayName, baseUrl, description, status: Joi.string().valid('active', 'inactive') }).min(1);

type Creation = Pick<ApiRow, 'name' | 'type' | 'baseUrl'> & { description?: string | null };

export default {
	kind: 'feature',
	name: 'apis',
	summary: 'Connected external APIs: their descriptions, operations and credentials.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		const { store } = core;
		server.route([
			{
				method: 'GET',
				path: '/apis',
				options: { ...needs('apis:read'), validate: { query: pageQuery() } },
				handler: async (request) => {
					const { items, nextCursor } = await store.apis.list(organizationOf(request).id, pageOf(request));
					return success({ apis: items.map(presentApi), nextCursor });
				},
			},
			{
				method: 'POST',
				path: '/apis',
				options: { ...needs('apis:write'), validate: { payload: CREATE } },
				handler: async (request, h) => h.response(success(await connect(request, core))).code(201),
			},
			{
				method: 'GET',
				path: '/apis/{id}',
				options: needs('apis:read'),
				handler: async (request) => {
					const api = await findApi(request, core);
					const credentials = await store.apis.credentials(api.organizationId, api.id);
					return success({ ...presentApi(api), credentials: credentials.map(presentCredential) });
				},
			},
			{
				method: 'PATCH',
				path: '/apis/{id}',
				options: { ...needs('apis:write'), validate: { payload: UPDATE } },
				handler: async (request) => success(await update(request, core)),
			},
			{
				method: 'DELETE',
				path: '/apis/{id}',
				options: { ...needs('apis:write'), validate: { query: removalQuery } },
				handler: async (request) => success(await remove(request, core)),
			},
			{
				method: 'POST',
				path: '/apis/{id}/import-schema',
				options: { ...UNREAD, ...needs('apis:write', { body: 'unread' }), timeout: { server: false } },
				handler: async (request) => success(await importSchema(request, await findApi(request, core), core)),
			},
			{
				method: 'POST',
				path: '/apis/{id}/generate-tools',
				options: { ...needs('apis:write'), validate: { payload: FILTERS } },
				handler: async (request) => success(await generateTools(request, await findApi(request, core), core)),
			},
			{
				method: 'GET',
				path: '/apis/{id}/operations',
				options: { ...needs('apis:read'), validate: { query: pageQuery() } },
				handler: async (request) => {
					const api = await findApi(request, core);
					const { items, nextCursor } = await store.apis.operations(api.organizationId, api.id, pageOf(request));
					return success({ operations: items.map(presentOperation), nextCursor });
				},
			},
			{
				method: 'GET',
				path: '/apis/{id}/schemas',
				options: { ...needs('apis:read'), validate: { query: pageQuery() } },
				handler: async (request) => {
					const api = await findApi(request, core);
					const { items, nextCursor } = await store.apis.schemas(api.organizationId, api.id, pageOf(request));
					return success({ schemas: items.map(presentSchema), nextCursor });
				},
			},
			{
				method: 'POST',
				path: '/apis/{id}/credentials',
				options: { ...needs('apis:write'), validate: { payload: CREDENTIAL } },
				handler: async (request, h) => {
					const row = await storeCredential(request, await findApi(request, core), core);
					return h.response(success(presentCredential(row))).code(201);
				},
			},
		]);
	},
} satisfies Feature;

async function findApi(request: Request, { store }: Core): Promise<ApiRow> {
	const api = await store.apis.get(organizationOf(request).id, String(request.params['id']));
	if (!api) throw notFound('API');
	return api;
}

async function connect(request: Request, core: Core) {
	const { description: text = null, ...api } = request.payload as Creation;
	if (!core.registry.get('importer', api.type)) {
		throw unknownType(
			'importer',
			core.registry.list('importer').map(({ name }) => name),
		);
	}
	await core.egress.check(api.baseUrl);
	return presentApi(await storeOf(request, core).apis.create(organizationOf(request).id, { ...api, description: text }));
}

async function update(request: Request, core: Core) {
	const change = request.payload as Partial<Pick<ApiRow, 'name' | 'baseUrl' | 'description' | 'status'>>;
	const { id, organizationId } = await findApi(request, core);
	if (change.baseUrl !== undefined) await core.egress.check(change.baseUrl);
	const api = await storeOf(request, core).apis.update(organizationId, id, change);
	if (!api) throw notFound('API');
	return presentApi(api);
}

async function remove(request: Request, core: Core) {
	const id = String(request.params['id']);
	const { ifUnused } = request.query as { ifUnused: boolean };
	const removed = await storeOf(request, core).apis.remove(organizationOf(request).id, id, ifUnused);
	if (!removed) throw notFound('API');
	return { id, removed };
}
