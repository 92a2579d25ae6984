// Gateways (specification 4.2): rows that publish tools over one transport. Their parts have files of their own.

import { randomUUID } from 'node:crypto';
import type { Request, Server, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	configVersion,
	currentConfig,
	description,
	displayName,
	expectedVersion,
	type Feature,
	filterOf,
	type GatewayChange,
	type GatewayFilter,
	type GatewayRow,
	gatewayLocation,
	icon,
	type JsonObject,
	listQuery,
	type NewGateway,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	removal,
	removalQuery,
	showVersion,
	storeOf,
	unknownType,
	updateRenewed,
	words,
} from '../../../core/features.ts';
import { assignmentRoutes } from './assignments.ts';
import { authRoutes } from './auth.ts';
import { explainCall } from './explain.ts';
import { findGateway } from './find.ts';
import { keyRoutes } from './keys.ts';
import { managementRoutes } from './management.ts';
import { givenPayloadLog } from './payload-log.ts';
import { GATEWAY, GATEWAY_WITH_TOKENS, presentGateway, storedGateway } from './present.ts';
import { BYTES, maxResultBytes } from './result-fields.ts';

const type = Joi.string().max(64).meta({ plugin: 'transport' }).description('The transport of the gateway.');
const status = Joi.string().valid('active', 'inactive').description('`inactive`: clients get a 404.');
const endpoint = Joi.string()
	.pattern(/^\/?[A-Za-z0-9_-]{1,64}$/, 'one path segment of letters, digits, "-" and "_", at most 64')
	.description('Its path below the organization’s: one segment, unique in the organization regardless of case.');
const configuration = Joi.object().unknown().meta({ pluginConfig: 'transport' }).description('The options of the transport.');

/** Fields that are optional both in a new gateway and in a change. */
const given = {
	description,
	configuration,
	maxResultBytes: maxResultBytes.description(`${BYTES} Null: no limit.`),
	icon,
	payloadLog: givenPayloadLog,
};

const CREATE = body({
	name: displayName.required(),
	type: type.required(),
	endpoint: endpoint.required(),
	...given,
	configuration: configuration.default({}),
}).example({ name: 'Support', type: 'mcp', endpoint: '/support', description: 'What the support desk may do.' });

const UPDATE = body({ name: displayName, endpoint, ...given, status })
	.min(1)
	.example({ name: 'Support desk', status: 'inactive' });

export default {
	kind: 'feature',
	api: 1,
	name: 'gateways',
	summary: 'Gateways with their tools, authentication methods and API keys.',
	config: Joi.object({}),
	segments: ['gateways', 'organizations'],
	register(server: Server, _config, core) {
		server.route([
			listGateways(core),
			createGateway(core),
			getGateway(core),
			updateGateway(core),
			deleteGateway(core),
			...assignmentRoutes(core),
			...authRoutes(core),
			...keyRoutes(core),
			...managementRoutes(core),
			explainCall(core),
		]);
	},
} satisfies Feature;

/** Gateways of another type do not exist, so a misspelt one must not be an empty list. */
const typeFilter = ({ registry }: Core): Joi.Schema =>
	Joi.string()
		.valid(...registry.list('transport').map(({ name }) => name))
		.description('Gateways of this transport.');

const listGateways = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/gateways',
		id: 'listGateways',
		summary: 'Lists the gateways of the organization.',
		need: 'gateway:read',
		query: listQuery({ sorts: ['createdAt', 'updatedAt', 'name'], filters: { type: typeFilter(core), status, q: words } }),
		answer: page('gateways', GATEWAY),
		handler: async (request) => {
			const organization = organizationOf(request);
			const filter = filterOf<GatewayFilter>(request);
			const { items, nextCursor } = await core.store.gateways.list(organization.id, pageOf(request), filter);
			return { gateways: items.map((row) => presentGateway(row, organization, core)), nextCursor };
		},
	});

const createGateway = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/gateways',
		id: 'createGateway',
		summary: 'Creates a gateway, which admits nobody until it has an authentication method.',
		need: 'gateway:write',
		body: CREATE,
		answer: GATEWAY,
		status: 201,
		errors: ['conflict'],
		idempotent: true,
		versioned: true,
		handler: async (request) => show(request, await create(request, core), core),
	});

const getGateway = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/gateways/{id}',
		id: 'getGateway',
		summary: 'Shows a gateway.',
		need: 'gateway:read',
		gatewayKeys: true,
		answer: GATEWAY_WITH_TOKENS,
		errors: ['upstream_timeout'],
		versioned: true,
		handler: async (request) => {
			const row = await findGateway(request, core);
			return { ...show(request, row, core), tokens: await tokensOf(request, row, core) };
		},
	});

/** Their number tells about tools, so whoever may not read these is shown none. */
async function tokensOf(request: Request, { endpoint }: GatewayRow, { runtime }: Core): Promise<Record<string, number> | null> {
	const { permissions } = request.auth.credentials;
	return permissions.has('tools:read') ? runtime.tokens(organizationOf(request).slug, endpoint) : null;
}

const updateGateway = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: '/gateways/{id}',
		id: 'updateGateway',
		summary: 'Changes the given fields of a gateway.',
		need: 'gateway:write',
		body: UPDATE,
		answer: GATEWAY,
		errors: ['conflict'],
		versioned: true,
		handler: async (request) => show(request, await update(request, core), core),
	});

const deleteGateway = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/gateways/{id}',
		id: 'deleteGateway',
		summary: 'Removes a gateway with its assignments, authentication methods and API keys.',
		need: 'gateway:write',
		query: removalQuery,
		answer: removal('assignments', 'skills', 'authMethods', 'apiKeys', 'records'),
		errors: ['conflict'],
		versioned: true,
		handler: (request) => remove(request, core),
	});

function show(request: Request, row: GatewayRow, core: Core) {
	showVersion(request, row.version);
	return presentGateway(row, organizationOf(request), core);
}

async function create(request: Request, core: Core): Promise<GatewayRow> {
	const organization = organizationOf(request);
	// The body has passed CREATE.
	const given = request.payload as NewGateway;
	if (!core.registry.get('transport', given.type)) {
		throw unknownType(
			'transport',
			core.registry.list('transport').map(({ name }) => name),
		);
	}
	const id = randomUUID();
	const sealed = sealConfiguration({ organizationId: organization.id, id, type: given.type, name: given.name }, given.configuration, core);
	const gateway = { ...given, endpoint: withSlash(given.endpoint), ...sealed };
	return storeOf(request, core).gateways.create(organization.id, id, gateway);
}

async function update(request: Request, core: Core): Promise<GatewayRow> {
	// The body has passed UPDATE.
	const change = request.payload as GatewayChange;
	const row = await findGateway(request, core);
	const values = {
		...change,
		...(change.endpoint !== undefined && { endpoint: withSlash(change.endpoint) }),
		...(change.configuration && sealConfiguration(row, change.configuration, core, currentConfig(core.registry, storedGateway(row)))),
	};
	const renewed = change.configuration ? null : renewedColumns(row, core);
	const versions = { version: row.version, expected: expectedVersion(request) };
	const updated = await updateRenewed<GatewayChange, GatewayRow | null>(values, renewed, versions, (columns, ifVersion) =>
		storeOf(request, core).gateways.update(row.organizationId, row.id, columns, ifVersion),
	);
	if (!updated) throw notFound('Gateway');
	return updated;
}

async function remove(request: Request, core: Core) {
	const id = String(request.params['id']);
	// The query has passed `removalQuery`.
	const { ifUnused } = request.query as { ifUnused: boolean };
	const removed = await storeOf(request, core).gateways.remove(organizationOf(request).id, id, ifUnused, expectedVersion(request));
	if (!removed) throw notFound('Gateway');
	return { id, removed };
}

const withSlash = (path: string): string => (path.startsWith('/') ? path : `/${path}`);

/** Checks a configuration, in which `••••` means the stored secret, and seals it. @throws validation_failed, secret_unreadable */
function sealConfiguration(
	row: Pick<GatewayRow, 'organizationId' | 'id' | 'type' | 'name'>,
	given: JsonObject,
	{ registry, secrets }: Core,
	stored: JsonObject = {},
): Pick<GatewayRow, 'configuration' | 'configVersion'> {
	const place = gatewayLocation(row.organizationId, row.id);
	const location = { ...place, of: 'this gateway' };
	const whole = registry.restore('transport', row.type, given, { stored, at: '/configuration', secrets, location });
	registry.parse('transport', row.type, whole, '/configuration');
	const configuration = registry.seal('transport', row.type, whole, secrets, place);
	return { configuration, configVersion: configVersion(registry, 'transport', row.type) };
}

/** Returns the configuration in its transport's version; null when it has that already, or does not fit. */
function renewedColumns(row: GatewayRow, { registry }: Core): Pick<GatewayRow, 'configuration' | 'configVersion'> | null {
	const configuration = currentConfig(registry, storedGateway(row));
	return configuration === row.configuration ? null : { configuration, configVersion: configVersion(registry, 'transport', row.type) };
}
