// The API keys of a gateway: shown once, stored as a hash.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	dateTime,
	displayName,
	GATEWAY_KEY_PREFIX,
	hashKey,
	invalid,
	listQuery,
	mintKey,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	requirePermission,
	type Scope,
	storeOf,
} from '../../../core/features.ts';
import { findGateway } from './find.ts';
import { API_KEY, NEW_API_KEY, presentKey } from './present.ts';

const SCOPES: readonly Scope[] = ['tools:read', 'tools:execute', 'gateway:read'];
const DEFAULT_SCOPES: readonly Scope[] = ['tools:read', 'tools:execute'];
/** The number of characters that are shown: enough to recognise a key, too few to guess it. */
const SHOWN_CHARACTERS = GATEWAY_KEY_PREFIX.length + 4;

const GENERATE = body({
	name: displayName.required(),
	scopes: Joi.array()
		.items(Joi.string().valid(...SCOPES))
		.unique()
		.min(1)
		.default([...DEFAULT_SCOPES])
		.description('What the key opens: `tools:read` lists tools, `tools:execute` calls them, `gateway:read` shows the gateway.'),
	expiresAt: dateTime
		.allow(null)
		.description('The time at which the key expires: a date (midnight UTC) or a time with its zone. Null: never.'),
}).example({ name: 'Support bot', scopes: ['tools:read', 'tools:execute'], expiresAt: '2099-12-31T23:59:59Z' });

export const keyRoutes = (core: Core): ServerRoute[] => [generateKey(core), listKeys(core), revokeKey(core)];

const generateKey = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/gateways/{id}/auth/api-keys',
		id: 'generateApiKey',
		summary: 'Creates an API key for a gateway and shows it this once.',
		description: 'The caller needs the permissions that its scopes name.',
		need: 'gateway:write',
		body: GENERATE,
		answer: NEW_API_KEY,
		status: 201,
		handler: (request) => generate(request, core),
	});

const listKeys = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/gateways/{id}/auth/api-keys',
		id: 'listApiKeys',
		summary: 'Lists the API keys of a gateway, including revoked ones.',
		need: 'gateway:read',
		query: listQuery(),
		answer: page('apiKeys', API_KEY),
		handler: async (request) => {
			const { id, organizationId } = await findGateway(request, core);
			const { items, nextCursor } = await core.store.gateways.keys(organizationId, id, pageOf(request));
			return { apiKeys: items.map(presentKey), nextCursor };
		},
	});

const revokeKey = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/gateways/{id}/auth/api-keys/{keyId}',
		id: 'revokeApiKey',
		summary: 'Revokes an API key, on every replica within a second.',
		need: 'gateway:write',
		answer: API_KEY,
		handler: async (request) => {
			const { id, keyId } = request.params as { id: string; keyId: string };
			const row = await storeOf(request, core).gateways.revokeKey(organizationOf(request).id, id, keyId);
			if (!row) throw notFound('API key');
			return presentKey(row);
		},
	});

async function generate(request: Request, core: Core) {
	// The body has passed GENERATE, which converts `expiresAt` to a date.
	const { name, scopes, expiresAt = null } = request.payload as { name: string; scopes: Scope[]; expiresAt?: Date | null };
	if (expiresAt && expiresAt.getTime() <= Date.now()) throw invalid('/expiresAt', '"expiresAt" must be a time in the future');
	// Nobody gives what they do not have, as an access key that is limited to some permissions.
	requirePermission(request, ...scopes);
	const key = mintKey(GATEWAY_KEY_PREFIX);
	const row = await storeOf(request, core).gateways.addKey(organizationOf(request).id, String(request.params['id']), {
		name,
		prefix: key.slice(0, SHOWN_CHARACTERS),
		scopes,
		expiresAt,
		hash: hashKey(key),
	});
	if (!row) throw notFound('Gateway');
	return { ...presentKey(row), key };
}
