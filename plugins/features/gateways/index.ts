// Gateways (specification 4.2): the rows that publish tools over one transport. Their parts have files of their own.

import { randomUUID } from 'node:crypto';
import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	description,
	displayName,
	type Feature,
	type GatewayRow,
	gatewayPlace,
	type JsonObject,
	needs,
	notFound,
	type OrganizationRow,
	organizationOf,
	pageOf,
	pageQuery,
	removalQuery,
	storeOf,
	success,
	unknownType,
} from '../../../core/index.ts';
import { assignmentRoutes } from './assignments.ts';
import { authRoutes } from './auth.ts';
import { keyRoutes } from './keys.ts';

/** One segment; the leading slash may be left out. */
const endpoint = Joi.string().pattern(/^\/?[A-Za-z0-9_-]{1,64}$/, 'one path segment of letters, digits, "-" and "_", at most 64');
const configuration = Joi.object().unknown();

const CREATE = body({
	name: displayName.required(),
	type: Joi.string().max(64).required(),
	endpoint: endpoint.required(),
	description,
	configuration: configuration.default({}),
});
const UPDATE = body({
	name: displayName,
	endpoint,
	description,
	configuration,
	status: Joi.string().valid('active', 'inactive'),
}).min(1);

interface GatewayBody {
	name: string;
	type: string;
	endpoint: string;
	description?: string | null;
	configuration: JsonObject;
}

export default {
	kind: 'feature',
	name: 'gateways',
	summary: 'Gateways with their tools, authentication methods and API keys.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		server.route([
			{
				method: 'GET',
				path: '/gateways',
				options: { ...needs('gateway:read'), validate: { query: pageQuery() } },
				handler: async (request) => {
					const organization = organizationOf(request);
					const { items, nextCursor } = await core.store.gateways.list(organization.id, pageOf(request));
					return success({ gateways: items.map((row) => presentGateway(row, organization, core)), nextCursor });
				},
			},
			{
				method: 'POST',
				path: '/gateways',
				options: { ...needs('gateway:write'), validate: { payload: CREATE } },
				handler: async (request, h) => h.response(success(await create(request, core))).code(201),
			},
			{
				method: 'GET',
				path: '/gateways/{id}',
				options: needs('gateway:read'),
				handler: async (request) => success(presentGateway(await findGateway(request, core), organizationOf(request), core)),
			},
			{
				method: 'PATCH',
				path: '/gateways/{id}',
				options: { ...needs('gateway:write'), validate: { payload: UPDATE } },
				handler: async (request) => success(await update(request, core)),
			},
			{
				method: 'DELETE',
				path: '/gateways/{id}',
				options: { ...needs('gateway:write'), validate: { query: removalQuery } },
				handler: async (request) => success(await remove(request, core)),
			},
			...assignmentRoutes(core),
			...authRoutes(core),
			...keyRoutes(core),
		]);
	},
} satisfies Feature;

async function findGateway(request: Request, core: Core): Promise<GatewayRow> {
	const row = await core.store.gateways.get(organizationOf(request).id, String(request.params['id']));
	if (!row) throw notFound('Gateway');
	return row;
}

async function create(request: Request, core: Core) {
	const organization = organizationOf(request);
	const { endpoint: path, description: text = null, ...given } = request.payload as GatewayBody;
	if (!core.registry.get('transport', given.type)) {
		throw unknownType(
			'transport',
			core.registry.list('transport').map(({ name }) => name),
		);
	}
	const id = randomUUID();
	const sealed = sealConfiguration({ organizationId: organization.id, id, type: given.type }, given.configuration, core);
	const gateway = { ...given, endpoint: withSlash(path), description: text, configuration: sealed };
	return presentGateway(await storeOf(request, core).gateways.create(organization.id, id, gateway), organization, core);
}

async function update(request: Request, core: Core) {
	const change = request.payload as Partial<Omit<GatewayBody, 'type'> & { status: string }>;
	const row = await findGateway(request, core);
	const updated = await storeOf(request, core).gateways.update(row.organizationId, row.id, {
		...change,
		...(change.endpoint !== undefined && { endpoint: withSlash(change.endpoint) }),
		...(change.configuration && { configuration: sealConfiguration(row, change.configuration, core) }),
	});
	if (!updated) throw notFound('Gateway');
	return presentGateway(updated, organizationOf(request), core);
}

async function remove(request: Request, core: Core) {
	const id = String(request.params['id']);
	const { ifUnused } = request.query as { ifUnused: boolean };
	const removed = await storeOf(request, core).gateways.remove(organizationOf(request).id, id, ifUnused);
	if (!removed) throw notFound('Gateway');
	return { id, removed };
}

const withSlash = (path: string): string => (path.startsWith('/') ? path : `/${path}`);

function sealConfiguration(
	row: Pick<GatewayRow, 'organizationId' | 'id' | 'type'>,
	given: JsonObject,
	{ registry, secrets }: Core,
): JsonObject {
	registry.parse('transport', row.type, given, '/configuration');
	return registry.seal('transport', row.type, given, secrets, gatewayPlace(row.organizationId, row.id));
}

function presentGateway(row: GatewayRow, organization: OrganizationRow, core: Core) {
	const { id, name, type, endpoint: path, description: text, configuration: stored, status, toolCount, createdAt, updatedAt } = row;
	return {
		id,
		name,
		type,
		endpoint: path,
		description: text,
		configuration: core.registry.redact('transport', type, stored),
		status,
		toolCount,
		url: core.runtime.url(organization.slug, path),
		createdAt,
		updatedAt,
	};
}
