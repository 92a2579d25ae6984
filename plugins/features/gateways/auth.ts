// The authentication methods of a gateway: add, list, remove. Without one, a gateway admits nobody.

import { randomUUID } from 'node:crypto';
import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AuthRow,
	authLocation,
	body,
	type Core,
	checkByPlugin,
	configVersion,
	type JsonObject,
	listQuery,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	parseRange,
	saveContext,
	storeOf,
	type ValidationRules,
} from '../../../core/features.ts';
import { findGateway } from './find.ts';
import { AUTH_METHOD, presentAuth } from './present.ts';

const range = Joi.string().custom((value: string, helpers) => (parseRange(value) ? value : helpers.error('string.range')));
const headerName = Joi.string()
	.pattern(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'a header name')
	.max(100);

const RULES = Joi.object({
	allowedIpRanges: Joi.array()
		.items(range)
		.min(1)
		.max(1000)
		.messages({ 'string.range': '{{#label}} must be an IP address or a CIDR range' })
		.description('Addresses and CIDR ranges; clients elsewhere are refused.'),
	requiredHeaders: Joi.array().items(headerName).min(1).max(50).description('Headers that a request must have.'),
});

const ADD = body({
	type: Joi.string().max(64).required().meta({ plugin: 'auth' }).description('The method.'),
	isRequired: Joi.boolean()
		.default(true)
		.description('If any method is required, only required ones admit callers; the first that does decides.'),
	configuration: Joi.object().unknown().default({}).meta({ pluginConfig: 'auth' }).description('The options of the method.'),
	validationRules: RULES.default({}),
}).example({ type: 'api_key', isRequired: true, validationRules: { allowedIpRanges: ['203.0.113.0/24'] } });

interface AuthBody {
	type: string;
	isRequired: boolean;
	configuration: JsonObject;
	validationRules: ValidationRules;
}

export const authRoutes = (core: Core): ServerRoute[] => [listMethods(core), addMethod(core), removeMethod(core)];

const listMethods = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/gateways/{id}/auth',
		id: 'listAuthMethods',
		summary: 'Lists the authentication methods of a gateway, in order of creation, in which they are tried.',
		need: 'gateway:read',
		query: listQuery(),
		answer: page('authMethods', AUTH_METHOD),
		handler: async (request) => {
			const { id, organizationId } = await findGateway(request, core);
			const { items, nextCursor } = await core.store.gateways.auth(organizationId, id, pageOf(request));
			return { authMethods: items.map((row) => presentAuth(row, core)), nextCursor };
		},
	});

const addMethod = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/gateways/{id}/auth',
		id: 'addAuthMethod',
		summary: 'Adds an authentication method to a gateway.',
		need: 'gateway:write',
		body: ADD,
		answer: AUTH_METHOD,
		status: 201,
		errors: ['upstream_timeout'],
		idempotent: true,
		handler: async (request) => presentAuth(await add(request, core), core),
	});

const removeMethod = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/gateways/{id}/auth/{authId}',
		id: 'removeAuthMethod',
		summary: 'Removes an authentication method; without any, the gateway admits nobody.',
		need: 'gateway:write',
		answer: AUTH_METHOD,
		handler: async (request) => {
			const { id, authId } = request.params as { id: string; authId: string };
			const row = await storeOf(request, core).gateways.removeAuth(organizationOf(request).id, id, authId);
			if (!row) throw notFound('Authentication method');
			return presentAuth(row, core);
		},
	});

async function add(request: Request, core: Core): Promise<AuthRow> {
	const { registry, secrets } = core;
	const { id: organizationId } = organizationOf(request);
	// The body has passed ADD.
	const { configuration, ...method } = request.payload as AuthBody;
	const id = randomUUID();
	const place = authLocation(organizationId, id);
	const location = { ...place, of: `the authentication method "${method.type}"` };
	// A new method has no stored secrets, so that `••••` is refused.
	const whole = registry.restore('auth', method.type, configuration, { stored: {}, at: '/configuration', secrets, location });
	const parsed = registry.parse('auth', method.type, whole, '/configuration');
	const saved = { kind: 'auth', name: method.type, config: parsed } as const;
	await checkByPlugin(registry, saved, saveContext(core, `auth:${method.type}`, organizationId));
	const sealed = registry.seal('auth', method.type, whole, secrets, place);
	const row = await storeOf(request, core).gateways.addAuth(organizationId, String(request.params['id']), id, {
		...method,
		configuration: sealed,
		configVersion: configVersion(registry, 'auth', method.type),
	});
	if (!row) throw notFound('Gateway');
	return row;
}
