// Users' own long-lived keys (specification 5.1 rule 4): shown once, stored as a hash, revoked when they end.

import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import {
	ACCESS_KEY_PREFIX,
	type AccessKeyRow,
	body,
	type Core,
	displayName,
	type Feature,
	hashKey,
	type KeyReach,
	mintKey,
	needs,
	notFound,
	PERMISSIONS,
	type Permission,
	pageOf,
	pageQuery,
	storeOf,
	success,
	userIdOf,
} from '../../../core/index.ts';

type Scope = { type: 'account' } | { type: 'gateway' | 'agent'; id: string };

interface KeyBody {
	name: string;
	scope: Scope;
	permissions?: Permission[];
}

/** Of a key for one gateway that asks for none: what its clients need. */
const GATEWAY_PERMISSIONS: readonly Permission[] = ['tools:read', 'tools:execute'];
/** Enough of a key to recognise it by, too little to guess it from. */
const SHOWN_CHARACTERS = ACCESS_KEY_PREFIX.length + 4;

const CREATE = body({
	name: displayName.required(),
	scope: Joi.object({
		type: Joi.string().valid('account', 'gateway', 'agent').required(),
		// biome-ignore lint/suspicious/noThenProperty: Joi's own word for the branch
		id: Joi.string().max(100).when('type', { is: 'account', then: Joi.forbidden(), otherwise: Joi.required() }),
	}).default({ type: 'account' }),
	permissions: Joi.array()
		.items(Joi.string().valid(...PERMISSIONS))
		.unique()
		.min(1),
});

export default {
	kind: 'feature',
	name: 'access_keys',
	summary: 'Long-lived access keys of a user, for the whole account or one gateway.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		server.route([
			{
				method: 'GET',
				path: '/access-keys',
				options: { ...needs('self'), validate: { query: pageQuery() } },
				handler: async (request) => {
					const { items, nextCursor } = await core.store.accessKeys.list(userIdOf(request), pageOf(request));
					return success({ accessKeys: items.map(present), nextCursor });
				},
			},
			{
				method: 'POST',
				path: '/access-keys',
				options: { ...needs('login'), validate: { payload: CREATE } },
				handler: async (request, h) => h.response(success(await create(request, core))).code(201),
			},
			{
				method: 'DELETE',
				path: '/access-keys/{keyId}',
				options: needs('login'),
				handler: async (request) => {
					const row = await storeOf(request, core).accessKeys.revoke(userIdOf(request), String(request.params['keyId']));
					if (!row) throw notFound('Access key');
					return success(present(row));
				},
			},
		]);
	},
} satisfies Feature;

async function create(request: Request, core: Core) {
	// The body has passed CREATE.
	const { name, scope, permissions } = request.payload as KeyBody;
	const userId = userIdOf(request);
	const reach = await reachOf(scope, userId, core);
	const key = mintKey(ACCESS_KEY_PREFIX);
	const row = await storeOf(request, core).accessKeys.create(userId, {
		name,
		prefix: key.slice(0, SHOWN_CHARACTERS),
		reach,
		permissions: permissions ?? (reach.type === 'account' ? null : [...GATEWAY_PERMISSIONS]),
		hash: hashKey(key),
	});
	if (!row) throw notFound('Gateway');
	return { ...present(row), key };
}

/** In whichever of the user's organizations it is. @throws not_found */
async function reachOf(scope: Scope, userId: string, { store }: Core): Promise<KeyReach> {
	if (scope.type === 'account') return { type: 'account' };
	// There are no agents yet, so none has this id.
	if (scope.type === 'agent') throw notFound('Agent');
	for (const { organization } of await store.accounts.memberships(userId)) {
		const gateway = await store.gateways.get(organization.id, scope.id);
		if (gateway) return { type: 'gateway', id: gateway.id, organizationId: organization.id };
	}
	throw notFound('Gateway');
}

const present = ({ id, name, prefix, reach, permissions, lastUsedAt, revokedAt, createdAt }: AccessKeyRow) => ({
	id,
	name,
	prefix,
	scope: reach.type === 'gateway' ? { type: reach.type, id: reach.id } : { type: reach.type },
	permissions,
	lastUsedAt,
	revokedAt,
	createdAt,
});
