// How gateways and what belongs to them are shown: a shape and what fills it, side by side. Secrets never are.

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
	shape,
	type ToolRow,
	text,
	timestamp,
	uuid,
} from '../../../core/features.ts';

export const GATEWAY = shape({
	id: uuid,
	name: Joi.string(),
	type: Joi.string().description('The transport that it speaks.'),
	endpoint: Joi.string().description('Its path below the organization’s, with the leading slash.').example('/support'),
	description: text.allow(null),
	configuration: jsonObject.description('Of the transport, as it was given. Secrets are left out.'),
	status: Joi.string().valid('active', 'inactive').description('`inactive`: to its clients it is not there.'),
	toolCount: count.description('Tools that are assigned to it.'),
	url: Joi.string().uri().description('Where clients find it.'),
	createdAt: timestamp,
	updatedAt: timestamp,
}).meta({ schema: 'Gateway' });

export const presentGateway = (row: GatewayRow, organization: OrganizationRef, { registry, runtime }: Core) =>
	present(GATEWAY, row, {
		configuration: registry.redact('transport', row.type, row.configuration),
		url: runtime.url(organization.slug, row.endpoint),
	});

const assignment = {
	gatewayToolId: uuid.description('Of the tool in this gateway.'),
	toolId: uuid,
	name: Joi.string().description('As the gateway exposes the tool.'),
	rateLimit: Joi.number()
		.integer()
		.min(1)
		.allow(null)
		.description('Calls per minute that each caller may make of it through this gateway; null for no limit of its own.'),
	createdAt: timestamp.description('When it was assigned.'),
};

export const ASSIGNMENT = shape(assignment).meta({ schema: 'Assignment' });

export const REMOVED_ASSIGNMENT = shape({ id: uuid.description('Of the tool in this gateway, again.'), ...assignment }).meta({
	schema: 'RemovedAssignment',
});

export const presentAssignment = (row: AssignmentRow) => present(ASSIGNMENT, row, { gatewayToolId: row.id });

const tool = {
	description: text.description('As models read it.'),
	type: Joi.string().description('What runs the tool; `api`: made of an operation of an API.'),
	parameters: jsonObject.description('JSON Schema (2020-12) of the arguments.'),
	status: Joi.string()
		.valid('active', 'inactive', 'removed')
		.description('Only an active one is shown to clients of the gateway, and one of an API only while that is active.'),
};

export const GATEWAY_TOOL = shape({ ...assignment, ...tool }).meta({ schema: 'GatewayTool' });

/** With the gateway's own description where it has one. */
export const presentGatewayTool = (row: AssignmentRow, its: ToolRow) =>
	present(GATEWAY_TOOL, its, { ...presentAssignment(row), description: row.description ?? its.description });

export const AVAILABLE_TOOL = shape({ id: uuid, name: Joi.string(), ...tool }).meta({ schema: 'AvailableTool' });

export const presentAvailable = (row: ToolRow) => present(AVAILABLE_TOOL, row);

export const AUTH_METHOD = shape({
	id: uuid,
	type: Joi.string().description('The method.'),
	isRequired: Joi.boolean().description('Where there are required methods, they alone admit anybody.'),
	configuration: jsonObject.description('Of the method, as it was given. Secrets are left out.'),
	validationRules: shape({
		allowedIpRanges: Joi.array().items(Joi.string()).optional().description('Addresses and CIDR ranges; clients elsewhere are refused.'),
		requiredHeaders: Joi.array().items(Joi.string()).optional().description('Headers that a request must have.'),
	}),
	createdAt: timestamp,
}).meta({ schema: 'AuthMethod' });

export const presentAuth = (row: AuthRow, { registry }: Core) =>
	present(AUTH_METHOD, row, { configuration: registry.redact('auth', row.type, row.configuration) });

const key = {
	id: uuid,
	name: Joi.string(),
	prefix: Joi.string().description('How the key begins, to recognise it by.').example('svc_gw_Ab3d'),
	scopes: Joi.array()
		.items(Joi.string().valid('tools:read', 'tools:execute', 'gateway:read'))
		.description('What it opens.'),
	expiresAt: timestamp.allow(null).description('Null: never.'),
	lastUsedAt: timestamp.allow(null).description('Of the last use, up to a second late; null: never used.'),
	revokedAt: timestamp.allow(null).description('Null: it is not.'),
	createdAt: timestamp,
};

export const API_KEY = shape(key).meta({ schema: 'ApiKey' });

export const NEW_API_KEY = shape({
	...key,
	key: Joi.string().description('The key itself, in this answer and never again.').example('svc_gw_…'),
}).meta({ schema: 'NewApiKey' });

export const presentKey = (row: KeyRow) => present(API_KEY, row);
