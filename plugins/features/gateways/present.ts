// Shows gateways and what belongs to them: each shape beside the function that fills it. Secrets are never shown.

import Joi from 'joi';
import {
	type AssignmentRow,
	type AuthRow,
	type Core,
	count,
	type GatewayRow,
	jsonObject,
	type KeyRow,
	type OrganizationRef,
	present,
	type StoredConfig,
	shape,
	shownConfig,
	type ToolRow,
	text,
	timestamp,
	uuid,
} from '../../../core/features.ts';
import { shownPayloadLog } from './payload-log.ts';

const gateway = {
	id: uuid,
	name: Joi.string(),
	type: Joi.string().description('The transport of the gateway.'),
	endpoint: Joi.string().description('Its path below the organization’s, with the leading slash.').example('/support'),
	description: text.allow(null),
	configuration: jsonObject.description(
		'The options of the transport, as they were given. Secrets are left out; in lists and maps they are shown as `••••`.',
	),
	maxResultBytes: count.allow(null).description('The most bytes of a tool’s result; longer ones are cut. Null: no limit.'),
	icon: text.allow(null).description('An image for clients; null: none.'),
	payloadLog: shownPayloadLog,
	status: Joi.string().valid('active', 'inactive').description('`inactive`: clients get a 404.'),
	toolCount: count.description('Number of assigned tools.'),
	url: Joi.string().uri().description('The URL for clients.'),
	createdAt: timestamp,
	updatedAt: timestamp,
};

export const GATEWAY = shape(gateway).meta({ schema: 'Gateway' });

export const GATEWAY_WITH_TOKENS = shape({
	...gateway,
	tokens: Joi.object()
		.pattern(Joi.string(), count)
		.allow(null)
		.description(
			'Estimated tokens of the lists that clients get, by exposure: `full`, `search` and `code` for mcp. A quarter of the characters of their JSON. ' +
				'Null where the transport estimates nothing, the gateway is inactive, or the caller may not read tools.',
		),
}).meta({ schema: 'GatewayWithTokens' });

export const storedGateway = (row: GatewayRow): StoredConfig => ({
	kind: 'transport',
	name: row.type,
	config: row.configuration,
	version: row.configVersion,
});

export const presentGateway = (row: GatewayRow, organization: OrganizationRef, { registry, secrets, runtime }: Core) =>
	present(GATEWAY, row, {
		configuration: shownConfig(registry, storedGateway(row), secrets),
		url: runtime.url(organization.slug, row.endpoint),
	});

const assignment = {
	gatewayToolId: uuid.description('Id of the tool in this gateway.'),
	toolId: uuid,
	name: Joi.string().description('The tool’s name in this gateway.'),
	rateLimit: Joi.number()
		.integer()
		.min(1)
		.allow(null)
		.description('Calls per minute that each caller may make of it through this gateway; null for no limit of its own.'),
	maxResultBytes: count.allow(null).description('The most bytes of its result through this gateway; null: as the gateway says.'),
	confirm: Joi.string()
		.valid('destructive', 'always')
		.allow(null)
		.description('The calls that run only when the client’s user confirms them; null: none.'),
	createdAt: timestamp.description('Time of the assignment.'),
};

export const ASSIGNMENT = shape(assignment).meta({ schema: 'Assignment' });

export const REMOVED_ASSIGNMENT = shape({ id: uuid.description('The same as `gatewayToolId`.'), ...assignment }).meta({
	schema: 'RemovedAssignment',
});

export const presentAssignment = (row: AssignmentRow) => present(ASSIGNMENT, row, { gatewayToolId: row.id });

const tool = {
	description: text.description('As models read it.'),
	type: Joi.string().description('The executor of the tool; `api`: an operation of an API.'),
	parameters: jsonObject.description('JSON Schema (2020-12) of the arguments.'),
	status: Joi.string()
		.valid('active', 'inactive', 'removed')
		.description('Clients of the gateway see active tools only, and tools of an API only while the API is active.'),
};

export const GATEWAY_TOOL = shape({ ...assignment, ...tool }).meta({ schema: 'GatewayTool' });

/** Shows an assigned tool, with the gateway's own description where there is one. */
export const presentGatewayTool = (row: AssignmentRow, its: ToolRow) =>
	present(GATEWAY_TOOL, its, { ...presentAssignment(row), description: row.description ?? its.description });

export const AVAILABLE_TOOL = shape({ id: uuid, name: Joi.string(), ...tool }).meta({ schema: 'AvailableTool' });

export const presentAvailable = (row: ToolRow) => present(AVAILABLE_TOOL, row);

export const AUTH_METHOD = shape({
	id: uuid,
	type: Joi.string().description('The method.'),
	isRequired: Joi.boolean().description('If any method is required, only required ones admit callers.'),
	configuration: jsonObject.description(
		'The options of the method, as they were given. Secrets are left out; in lists and maps they are shown as `••••`.',
	),
	validationRules: shape({
		allowedIpRanges: Joi.array().items(Joi.string()).optional().description('Addresses and CIDR ranges; clients elsewhere are refused.'),
		requiredHeaders: Joi.array().items(Joi.string()).optional().description('Headers that a request must have.'),
	}),
	createdAt: timestamp,
}).meta({ schema: 'AuthMethod' });

export function presentAuth(row: AuthRow, { registry, secrets }: Core) {
	const stored = { kind: 'auth', name: row.type, config: row.configuration, version: row.configVersion } as const;
	return present(AUTH_METHOD, row, { configuration: shownConfig(registry, stored, secrets) });
}

const key = {
	id: uuid,
	name: Joi.string(),
	prefix: Joi.string().description('The first characters of the key, to recognise it by.').example('svc_gw_Ab3d'),
	scopes: Joi.array()
		.items(Joi.string().valid('tools:read', 'tools:execute', 'gateway:read'))
		.description('What the key opens.'),
	expiresAt: timestamp.allow(null).description('Null: the key does not expire.'),
	lastUsedAt: timestamp.allow(null).description('Time of the last use, up to a second late; null: never used.'),
	revokedAt: timestamp.allow(null).description('Null: the key is not revoked.'),
	createdAt: timestamp,
};

export const API_KEY = shape(key).meta({ schema: 'ApiKey' });

export const NEW_API_KEY = shape({
	...key,
	key: Joi.string().description('The key itself, shown in this answer only.').example('svc_gw_…'),
}).meta({ schema: 'NewApiKey' });

export const presentKey = (row: KeyRow) => present(API_KEY, row);
