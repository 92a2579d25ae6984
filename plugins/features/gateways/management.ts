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
	core.registry.list('auth').flatMap((plugin) => (plugin.management ?? []).map((route) => mount(plugin, route, core)));

function mount(plugin: AuthMethod, route: ManagementRoute, core: Core): ServerRoute {
	const { method, path, id, summary, list, body, answer, errors, idempotent, versioned } = route;
	const query = queryOf(route);
	return operation({
		method,
		path: `/gateways/{id}${path}`,
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
	const gateway = await describeGateway(await findGateway(request, core), organizationOf(request).id, core);
	const { records } = storeOf(request, core);
	const plugin = `auth:${name}`;
	request.plugins.servedBy = { plugin, gateway: gateway.organizationSlug + gateway.endpoint };
	const context = core.runtime.contextAt({ plugin, gateway, records, signal: clientSignal(request) });
	const answer = await askManagement(plugin, route, { gateway, ...inputOf(request, route) }, context);
	if (!showsRevision(route)) return answer;
	// It was checked with the answer.
	const { data, revision } = answer as { data: JsonObject; revision: number };
	showVersion(request, revision);
	return data;
}

function inputOf(request: Request, { list, query, body, versioned }: ManagementRoute): Omit<ManagementRequest, 'gateway'> {
	// hapi puts the gateway's id beside the route's own parameters, which are all strings.
	const { id: _id, ...params } = request.params as Record<string, string>;
	return {
		params,
		page: list === undefined ? {} : inOrder(request),
		// Both have passed the schemas of the route.
		query: query ? filterOf<JsonObject>(request) : {},
		body: body ? (request.payload as JsonObject) : null,
		revision: (versioned ? expectedVersion(request) : undefined) ?? null,
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
