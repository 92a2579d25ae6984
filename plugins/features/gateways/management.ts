// Serves the management routes that auth plugins declare, as operations of this API: members see and remove what the plugins keep for a gateway.

import type { Request, ServerRoute } from '@hapi/hapi';
import {
	type AuthMethod,
	askManagement,
	type Core,
	clientSignal,
	type Gateway,
	type GatewayRow,
	listQuery,
	type ManagementRequest,
	type ManagementRoute,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	storeOf,
} from '../../../core/features.ts';
import { findGateway } from './find.ts';

export const managementRoutes = (core: Core): ServerRoute[] =>
	core.registry.list('auth').flatMap((plugin) => (plugin.management ?? []).map((route) => mount(plugin, route, core)));

function mount(plugin: AuthMethod, route: ManagementRoute, core: Core): ServerRoute {
	const { method, path, id, summary, list, answer } = route;
	return operation({
		method,
		path: `/gateways/{id}${path}`,
		id,
		summary,
		need: method === 'GET' ? 'gateway:read' : 'gateway:write',
		...(list !== undefined && { query: listQuery() }),
		answer: list === undefined ? answer : page(list, answer),
		handler: (request) => handle(request, plugin, route, core),
	});
}

async function handle(request: Request, { name }: AuthMethod, route: ManagementRoute, core: Core) {
	const gateway = await describeGateway(await findGateway(request, core), organizationOf(request).id, core);
	const { records } = storeOf(request, core);
	const plugin = `auth:${name}`;
	request.plugins.servedBy = { plugin, gateway: gateway.organizationSlug + gateway.endpoint };
	const context = core.runtime.contextAt({ plugin, gateway, records, signal: clientSignal(request) });
	// hapi puts the gateway's id beside the route's own parameters, which are all strings.
	const { id: _id, ...params } = request.params as Record<string, string>;
	return askManagement(plugin, route, { gateway, params, page: route.list === undefined ? {} : inOrder(request) }, context);
}

/** Sorts by creation, as all lists of the API do; records have no order of their own. */
const inOrder = (request: Request): ManagementRequest['page'] => ({ sort: 'createdAt', ...pageOf(request) });

async function describeGateway(row: GatewayRow, organizationId: string, { store, runtime }: Core): Promise<Gateway> {
	const organization = await store.organizations.get(organizationId);
	if (!organization) throw notFound('Gateway');
	const { id, name, type, endpoint, description, status } = row;
	return {
		id,
		organizationId: organization.id,
		organizationSlug: organization.slug,
		organizationName: organization.name,
		name,
		type,
		endpoint,
		description,
		status,
		url: runtime.url(organization.slug, endpoint),
	};
}
