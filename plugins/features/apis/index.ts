// Connected APIs (specification 4.5): connect, change, remove. Their descriptions and credentials have files of their own.

import type { Request, Server, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type ApiChange,
	type ApiFilter,
	type ApiRow,
	assertPassable,
	body,
	type Core,
	description,
	displayName,
	expectedVersion,
	type Feature,
	filterOf,
	httpUrl,
	icon,
	listQuery,
	type NewApi,
	notFound,
	operation,
	organizationOf,
	PASS_THROUGH,
	page,
	pageOf,
	removal,
	removalQuery,
	showVersion,
	storeOf,
	unknownType,
	words,
} from '../../../core/features.ts';
import { testCredentials } from './credential-test.ts';
import { removeCredentials, storeCredentials } from './credentials.ts';
import { findApi } from './find.ts';
import { followApiImport } from './import-events.ts';
import { cancelApiImport, getApiImport, importApiSchema, listApiImports } from './imports.ts';
import { OUTBOUND } from './outbound.ts';
import { API, API_WITH_CREDENTIALS, presentApi, presentCredential } from './present.ts';
import { generateApiTools, getApiSchema, listApiOperations, listApiSchemas } from './schemas.ts';

const baseUrl = httpUrl
	.max(2000)
	.description('The URL that the API’s paths are appended to. A change of the origin removes the credentials stored for the former one.');
const status = Joi.string()
	.valid('active', 'inactive')
	.description('`inactive`: its tools are in no gateway, whatever their own status says.');
const type = Joi.string().max(64);

const strictOutput = Joi.boolean().description(
	'The API keeps its word: clients are shown the real output schemas of its tools, and an answer that breaks one is a failed call that names ' +
		'the fields. Default false: schemas are shown as documentation, and no answer is refused.',
);

const watch = Joi.string()
	.valid('daily')
	.allow(null)
	.description(
		'`daily`: the document is read again each day as its last import read it, from the same URL with the same options, without a change to the API, ' +
			'and alert rules of the kind `document` tell how it differs; `watchable` tells whether that is possible. Null: it is not.',
	);

/** Fields that are optional both in a new API and in a change. */
const given = { outbound: OUTBOUND.allow(null), passThrough: PASS_THROUGH, strictOutput, icon, watch };

const CREATE = body({
	name: displayName.required(),
	type: type.required().meta({ plugin: 'importer' }).description('The format of the API’s description.'),
	baseUrl: baseUrl.required(),
	description,
	...given,
}).example({ name: 'Pet store', type: 'openapi', baseUrl: 'https://petstore.example.com/v1', description: 'Pets and their owners.' });

const UPDATE = body({ name: displayName, baseUrl, description, status, ...given })
	.min(1)
	.example({ description: 'Pets, owners and visits.', outbound: { maxConcurrent: 5, minTimeMs: 200 } });

export default {
	kind: 'feature',
	api: 1,
	name: 'apis',
	summary: 'Connected external APIs: their descriptions, operations and credentials.',
	config: Joi.object({}),
	segments: ['apis', 'me'],
	register(server: Server, _config, core) {
		server.route([
			listApis(core),
			createApi(core),
			getApi(core),
			updateApi(core),
			deleteApi(core),
			importApiSchema(core),
			listApiImports(core),
			getApiImport(core),
			followApiImport(core),
			cancelApiImport(core),
			generateApiTools(core),
			listApiOperations(core),
			listApiSchemas(core),
			getApiSchema(core),
			storeCredentials(core),
			removeCredentials(core),
			testCredentials(core),
		]);
	},
} satisfies Feature;

const typeFilter = (registry: Core['registry']): Joi.Schema =>
	Joi.string()
		.valid(...registry.list('importer').map(({ name }) => name))
		.description('APIs with a description of this format.');

const listApis = ({ store, registry }: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/apis',
		id: 'listApis',
		summary: 'Lists the connected APIs.',
		need: 'apis:read',
		query: listQuery({ sorts: ['createdAt', 'updatedAt', 'name'], filters: { type: typeFilter(registry), status, q: words } }),
		answer: page('apis', API),
		handler: async (request) => {
			const { items, nextCursor } = await store.apis.list(organizationOf(request).id, pageOf(request), filterOf<ApiFilter>(request));
			return { apis: items.map(presentApi), nextCursor };
		},
	});

const createApi = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/apis',
		id: 'createApi',
		summary: 'Connects an API.',
		need: 'apis:write',
		body: CREATE,
		answer: API,
		status: 201,
		errors: ['egress_refused'],
		idempotent: true,
		versioned: true,
		handler: async (request) => show(request, await connect(request, core)),
	});

const getApi = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/apis/{id}',
		id: 'getApi',
		summary: 'Shows an API, and for which types and schemes credentials are stored.',
		need: 'apis:read',
		answer: API_WITH_CREDENTIALS,
		versioned: true,
		handler: async (request) => {
			const api = await findApi(request, core);
			const { apis } = core.store;
			const [source, stored] = await Promise.all([apis.source(api.organizationId, api.id), apis.credentials(api.organizationId, api.id)]);
			const more = { watchable: typeof source?.repetition === 'string', credentials: stored.map(presentCredential) };
			showVersion(request, api.version);
			return { ...presentApi(api), ...more };
		},
	});

const updateApi = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: '/apis/{id}',
		id: 'updateApi',
		summary: 'Changes the given fields of an API.',
		need: 'apis:write',
		body: UPDATE,
		answer: API,
		errors: ['egress_refused'],
		versioned: true,
		handler: async (request) => show(request, await update(request, core)),
	});

const deleteApi = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/apis/{id}',
		id: 'deleteApi',
		summary: 'Removes an API with its operations and tools.',
		need: 'apis:write',
		query: removalQuery,
		answer: removal('tools', 'assignments', 'operations', 'schemas', 'credentials'),
		errors: ['conflict'],
		versioned: true,
		handler: (request) => remove(request, core),
	});

function show(request: Request, api: ApiRow) {
	showVersion(request, api.version);
	return presentApi(api);
}

async function connect(request: Request, core: Core): Promise<ApiRow> {
	// The body has passed CREATE.
	const api = request.payload as NewApi;
	if (!core.registry.get('importer', api.type)) {
		throw unknownType(
			'importer',
			core.registry.list('importer').map(({ name }) => name),
		);
	}
	assertPassable(api.passThrough ?? [], core.registry.list('auth'));
	await core.egress.check(api.baseUrl, '/baseUrl');
	return storeOf(request, core).apis.create(organizationOf(request).id, api);
}

async function update(request: Request, core: Core): Promise<ApiRow> {
	// The body has passed UPDATE.
	const change = request.payload as ApiChange;
	const { id, organizationId } = await findApi(request, core);
	assertPassable(change.passThrough ?? [], core.registry.list('auth'));
	if (change.baseUrl !== undefined) await core.egress.check(change.baseUrl, '/baseUrl');
	const api = await storeOf(request, core).apis.update(organizationId, id, change, expectedVersion(request));
	if (!api) throw notFound('API');
	return api;
}

async function remove(request: Request, core: Core) {
	const id = String(request.params['id']);
	// The query has passed `removalQuery`.
	const { ifUnused } = request.query as { ifUnused: boolean };
	const removed = await storeOf(request, core).apis.remove(organizationOf(request).id, id, ifUnused, expectedVersion(request));
	if (!removed) throw notFound('API');
	return { id, removed };
}
