// What auth plugins let members see and remove of what they keep for a gateway: their routes as operations of ours.

import type { Request, ServerRoute } from '@hapi/hapi';
import {
	type AuthMethod,
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

async function handle(request: Request, plugin: AuthMethod, { list, handler }: ManagementRoute, core: Core) {
	const gateway = await describeGateway(await findGateway(request, core), organizationOf(request).id, core);
	const { records } = storeOf(request, core);
	const context = core.runtime.contextAt({ plugin: `auth:${plugin.name}`, gateway, records, signal: clientSignal(request) });
	// hapi has put the gateway's id beside the route's own parameters, all of them text.
	const { id: _id, ...params } = request.params as Record<string, string>;
	const answer = await handler({ gateway, params, page: list === undefined ? {} : inOrder(request) }, context);
	return list === undefined ? answer : { [list]: answer['items'], nextCursor: answer['nextCursor'] };
}

/** Lists of the API are in order of creation, and records of their own accord are not. */
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
