// The authentication methods of a gateway: add, list, remove. Without one, a gateway admits nobody.

import { randomUUID } from 'node:crypto';
import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AuthRow,
	authPlace,
	body,
	type Core,
	type JsonObject,
	needs,
	notFound,
	organizationOf,
	parseRange,
	storeOf,
	success,
	type ValidationRules,
} from '../../../core/index.ts';

const range = Joi.string().custom((value: string, helpers) => (parseRange(value) ? value : helpers.error('string.range')));
const headerName = Joi.string()
	.pattern(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'a header name')
	.max(100);

const ADD = body({
	type: Joi.string().max(64).required(),
	isRequired: Joi.boolean().default(true),
	configuration: Joi.object().unknown().default({}),
	validationRules: Joi.object({
		allowedIpRanges: Joi.array()
			.items(range)
			.min(1)
			.max(1000)
			.messages({ 'string.range': '{{#label}} must be an IP address or a CIDR range' }),
		requiredHeaders: Joi.array().items(headerName).min(1).max(50),
	}).default({}),
});

interface AuthBody {
	type: string;
	isRequired: boolean;
	configuration: JsonObject;
	validationRules: ValidationRules;
}

export function authRoutes(core: Core): ServerRoute[] {
	const { gateways } = core.store;
	return [
		{
			method: 'GET',
			path: '/gateways/{id}/auth',
			options: needs('gateway:read'),
			handler: async (request) => {
				const { id: organizationId } = organizationOf(request);
				const id = String(request.params['id']);
				if (!(await gateways.get(organizationId, id))) throw notFound('Gateway');
				const rows = await gateways.auth(organizationId, id);
				return success({ authMethods: rows.map((row) => presentAuth(row, core)), nextCursor: null });
			},
		},
		{
			method: 'POST',
			path: '/gateways/{id}/auth',
			options: { ...needs('gateway:write'), validate: { payload: ADD } },
			handler: async (request, h) => h.response(success(presentAuth(await addAuth(request, core), core))).code(201),
		},
		{
			method: 'DELETE',
			path: '/gateways/{id}/auth/{authId}',
			options: needs('gateway:write'),
			handler: async (request) => {
				const { id, authId } = request.params as { id: string; authId: string };
				const row = await storeOf(request, core).gateways.removeAuth(organizationOf(request).id, id, authId);
				if (!row) throw notFound('Authentication method');
				return success(presentAuth(row, core));
			},
		},
	];
}

async function addAuth(request: Request, core: Core): Promise<AuthRow> {
	const { registry, secrets } = core;
	const { id: organizationId } = organizationOf(request);
	const { configuration, ...method } = request.payload as AuthBody;
	registry.parse('auth', method.type, configuration, '/configuration');
	const id = randomUUID();
	const sealed = registry.seal('auth', method.type, configuration, secrets, authPlace(organizationId, id));
	const row = await storeOf(request, core).gateways.addAuth(organizationId, String(request.params['id']), id, {
		...method,
		configuration: sealed,
	});
	if (!row) throw notFound('Gateway');
	return row;
}

const presentAuth = (row: AuthRow, { registry }: Core) => ({
	id: row.id,
	type: row.type,
	isRequired: row.isRequired,
	configuration: registry.redact('auth', row.type, row.configuration),
	validationRules: row.validationRules,
	createdAt: row.createdAt,
});
