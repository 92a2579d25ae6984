// Serves the management routes that auth plugins declare, as operations of this API: members see, change and remove what the plugins keep for a gateway.

import type { Request, ServerRoute } from '@hapi/hapi';
import type { ObjectSchema } from 'joi';
import {
	type AuthMethod,
	askManagement,
	type Core,
	clientSignal,
	expectedVersion,
	filterOf,
	type Gateway,
	type GatewayRow,
	type JsonObject,
	listQuery,
	type ManagementRequest,
	type ManagementRoute,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	showsRevision,
	showVersion,
	storeOf,
} from '../../../core/features.ts';
import { findGateway } from './find.ts';

export const managementRoutes = (core: Core): ServerRoute[] =>
	core.registry.list('auth').flatMap((plugin) => (plugin.management ?? []).flatMap((route) => mounted(plugin, route, core)));

/** Mounts a route for each gateway; that of a method that admits to all gateways at once, for the organization as well. */
function mounted(plugin: AuthMethod, route: ManagementRoute, core: Core): ServerRoute[] {
	const own = mount(plugin, route, { path: `/gateways/{id}${route.path}`, id: route.id, summary: route.summary, core });
	if (!plugin.universal) return [own];
	const summary = `${route.summary.replace(/\.$/, '')}: of the address over all gateways.`;
	return [own, mount(plugin, route, { path: `/organizations/{orgId}${route.path}`, id: `${route.id}OfOrganization`, summary, core })];
}

interface Mounting {
	path: string;
	id: string;
	summary: string;
	core: Core;
}

function mount(plugin: AuthMethod, route: ManagementRoute, { path, id, summary, core }: Mounting): ServerRoute {
	const { method, list, body, answer, errors, idempotent, versioned } = route;
	const query = queryOf(route);
	return operation({
		method,
		path,
		id,
		summary,
		need: method === 'GET' ? 'gateway:read' : 'gateway:write',
		...(query && { query }),
		...(body && { body: strictly(body) }),
		answer: list === undefined ? answer : page(list, answer),
		status: route.status ?? (method === 'POST' ? 201 : 200),
		...(errors && { errors }),
		...(idempotent && { idempotent }),
		...(versioned && { versioned }),
		...(method === 'POST' && takesRevision(route) && { conditional: true as const }),
		handler: (request) => handle(request, plugin, route, core),
	});
}

function queryOf({ list, query }: ManagementRoute): ObjectSchema | undefined {
	if (list === undefined) return query;
	return query ? listQuery().concat(query) : listQuery();
}

/** A body with the rules of every other one. */
const strictly = (schema: ObjectSchema): ObjectSchema =>
	schema.required().prefs({ convert: false }).label('body').messages({ 'object.unknown': '{{#label}} is not a field of this body' });

async function handle(request: Request, { name }: AuthMethod, route: ManagementRoute, core: Core) {
	const { id: organizationId } = organizationOf(request);
	const isOfGateway = request.params['id'] !== undefined;
	const gateway = isOfGateway ? await describeGateway(await findGateway(request, core), organizationId, core) : null;
	const { records } = storeOf(request, core);
	const plugin = `auth:${name}`;
	request.plugins.servedBy = { plugin, ...(gateway && { gateway: gateway.organizationSlug + gateway.endpoint }) };
	const context = core.runtime.contextAt({ plugin, organizationId, gateway, records, signal: clientSignal(request) });
	// A method that has no gateway there knows that it may have none.
	const input = { ...(gateway && { gateway }), ...inputOf(request, route) } as ManagementRequest;
	const answer = await askManagement(plugin, route, input, context);
	if (!showsRevision(route)) return answer;
	// It was checked with the answer.
	const { data, revision } = answer as { data: JsonObject; revision: number };
	showVersion(request, revision);
	return data;
}

/** A POST that is no action creates something, which has no revision yet. */
const takesRevision = ({ method, versioned, status }: ManagementRoute): boolean =>
	versioned === true && method !== 'GET' && (method !== 'POST' || status === 200);

function inputOf(request: Request, route: ManagementRoute): Omit<ManagementRequest, 'gateway'> {
	const { list, query, body } = route;
	// hapi puts the id of the gateway or organization beside the route's own parameters, which are all strings.
	const { id: _id, orgId: _orgId, ...params } = request.params as Record<string, string>;
	return {
		params,
		page: list === undefined ? {} : inOrder(request),
		// Both have passed the schemas of the route.
		query: query ? filterOf<JsonObject>(request) : {},
		body: body ? (request.payload as JsonObject) : null,
		revision: (takesRevision(route) ? expectedVersion(request) : undefined) ?? null,
	};
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
