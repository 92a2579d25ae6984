// API keys of a gateway: shown once, stored as a hash.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	displayName,
	GATEWAY_KEY_PREFIX,
	hashKey,
	invalid,
	type KeyRow,
	mintKey,
	needs,
	notFound,
	organizationOf,
	pageOf,
	pageQuery,
	type Scope,
	storeOf,
	success,
} from '../../../core/index.ts';

const SCOPES: readonly Scope[] = ['tools:read', 'tools:execute', 'gateway:read'];
const DEFAULT_SCOPES: readonly Scope[] = ['tools:read', 'tools:execute'];
/** Enough of a key to recognise it by, too little to guess it from. */
const SHOWN_CHARACTERS = GATEWAY_KEY_PREFIX.length + 4;

const GENERATE = body({
	name: displayName.required(),
	scopes: Joi.array()
		.items(Joi.string().valid(...SCOPES))
		.unique()
		.min(1)
		.default([...DEFAULT_SCOPES]),
	expiresAt: Joi.string().isoDate().allow(null),
});

export function keyRoutes(core: Core): ServerRoute[] {
	const { gateways } = core.store;
	return [
		{
			method: 'POST',
			path: '/gateways/{id}/auth/api-keys',
			options: { ...needs('gateway:write'), validate: { payload: GENERATE } },
			handler: async (request, h) => h.response(success(await generate(request, core))).code(201),
		},
		{
			method: 'GET',
			path: '/gateways/{id}/auth/api-keys',
			options: { ...needs('gateway:read'), validate: { query: pageQuery() } },
			handler: async (request) => {
				const { id: organizationId } = organizationOf(request);
				const id = String(request.params['id']);
				if (!(await gateways.get(organizationId, id))) throw notFound('Gateway');
				const { items, nextCursor } = await gateways.keys(organizationId, id, pageOf(request));
				return success({ apiKeys: items.map(presentKey), nextCursor });
			},
		},
		{
			method: 'DELETE',
			path: '/gateways/{id}/auth/api-keys/{keyId}',
			options: needs('gateway:write'),
			handler: async (request) => {
				const { id, keyId } = request.params as { id: string; keyId: string };
				const row = await storeOf(request, core).gateways.revokeKey(organizationOf(request).id, id, keyId);
				if (!row) throw notFound('API key');
				return success(presentKey(row));
			},
		},
	];
}

async function generate(request: Request, core: Core) {
	const { name, scopes, expiresAt = null } = request.payload as { name: string; scopes: Scope[]; expiresAt?: string | null };
	const expires = expiresAt === null ? null : new Date(expiresAt);
	if (expires && expires.getTime() <= Date.now()) throw invalid('/expiresAt', '"expiresAt" must be a time in the future');
	const key = mintKey(GATEWAY_KEY_PREFIX);
	const row = await storeOf(request, core).gateways.addKey(organizationOf(request).id, String(request.params['id']), {
		name,
		prefix: key.slice(0, SHOWN_CHARACTERS),
		scopes,
		expiresAt: expires,
		hash: hashKey(key),
	});
	if (!row) throw notFound('Gateway');
	return { ...presentKey(row), key };
}

const presentKey = ({ id, name, prefix, scopes, expiresAt, lastUsedAt, revokedAt, createdAt }: KeyRow) => ({
	id,
	name,
	prefix,
	scopes,
	expiresAt,
	lastUsedAt,
	revokedAt,
	createdAt,
});
