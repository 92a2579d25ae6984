// Access keys: long-lived keys of users (specification 5.1 rule 4), shown once, stored as a hash, and valid until revoked.

import type { Request, Server, ServerRoute } from '@hapi/hapi';
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
	listQuery,
	mintKey,
	notFound,
	operation,
	PERMISSIONS,
	type PermissionName,
	page,
	pageOf,
	present,
	shape,
	storeOf,
	timestamp,
	userIdOf,
	uuid,
} from '../../../core/features.ts';

type Scope = { type: 'account' } | { type: 'gateway' | 'agent'; id: string };

interface KeyBody {
	name: string;
	scope: Scope;
	permissions?: PermissionName[];
}

/** The permissions of a key for one gateway that names none: those that the gateway's clients need. */
const GATEWAY_PERMISSIONS: readonly PermissionName[] = ['tools:read', 'tools:execute'];
/** The number of characters that are shown: enough to recognise a key, too few to guess it. */
const SHOWN_CHARACTERS = ACCESS_KEY_PREFIX.length + 4;

const chosen = (names: readonly PermissionName[]): Joi.ArraySchema =>
	Joi.array()
		.items(Joi.string().valid(...names))
		.unique()
		.min(1)
		.description(
			'Limited to those of its owner. When absent: all of them for a key of the account, `tools:read` and `tools:execute` for a key of one gateway.',
		);

const held = (names: readonly PermissionName[]): Joi.ArraySchema =>
	Joi.array()
		.items(Joi.string().valid(...names))
		.allow(null)
		.description('Null: all permissions of its owner.');

const CREATE = body({
	name: displayName.required(),
	scope: Joi.object({
		type: Joi.string().valid('account', 'gateway', 'agent').required(),
		id: Joi.string()
			.max(100)
			// biome-ignore lint/suspicious/noThenProperty: Joi's own word for the branch
			.when('type', { is: 'account', then: Joi.forbidden(), otherwise: Joi.required() })
			.description('Id of the gateway or agent.'),
	})
		.default({ type: 'account' })
		.description('What the key opens: everything that its owner can access, or one gateway or agent.'),
	permissions: chosen(PERMISSIONS),
}).example({
	name: 'Laptop',
	scope: { type: 'account' },
	permissions: ['apis:read', 'tools:read', 'gateway:read'],
});

const fields = {
	id: uuid,
	name: Joi.string(),
	prefix: Joi.string().description('The first characters of the key, to recognise it by.').example('ak_live_Ab3d'),
	scope: shape({
		type: Joi.string().valid('account', 'gateway'),
		id: uuid.optional().description('Id of the gateway; absent for the account.'),
	}),
	permissions: held(PERMISSIONS),
	lastUsedAt: timestamp.allow(null).description('Time of the last use, up to a second late; null: never used.'),
	revokedAt: timestamp.allow(null).description('Null: the key is not revoked.'),
	createdAt: timestamp,
};

const ACCESS_KEY = shape(fields).meta({ schema: 'AccessKey' });

const NEW_ACCESS_KEY = shape({
	...fields,
	key: Joi.string().description('The key itself, shown in this answer only.').example('ak_live_…'),
}).meta({ schema: 'NewAccessKey' });

/** Returns the schema of an answer with the permissions of this service, among which are those of its features. */
const answerWith = (schema: Joi.ObjectSchema, { permissions }: Core): Joi.ObjectSchema =>
	schema.fork('permissions', () => held(permissions.names));

export default {
	kind: 'feature',
	api: 1,
	name: 'access_keys',
	summary: 'Long-lived access keys of a user, for the whole account or one gateway.',
	config: Joi.object({}),
	segments: ['access-keys'],
	register(server: Server, _config, core) {
		server.route([listKeys(core), createKey(core), revokeKey(core)]);
	},
} satisfies Feature;

const listKeys = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/access-keys',
		id: 'listAccessKeys',
		summary: 'Lists the access keys of the user, including revoked ones.',
		need: 'self',
		query: listQuery(),
		answer: page('accessKeys', answerWith(ACCESS_KEY, core)),
		handler: async (request) => {
			const { items, nextCursor } = await core.store.accessKeys.list(userIdOf(request), pageOf(request));
			return { accessKeys: items.map(show), nextCursor };
		},
	});

const createKey = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/access-keys',
		id: 'createAccessKey',
		summary: 'Creates an access key and shows it this once.',
		description: 'The key is accepted wherever a Bearer token is, and is valid until it is revoked.',
		need: 'login',
		body: CREATE.fork('permissions', () => chosen(core.permissions.names)),
		answer: answerWith(NEW_ACCESS_KEY, core),
		status: 201,
		errors: ['not_found'],
		handler: (request) => create(request, core),
	});

const revokeKey = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/access-keys/{keyId}',
		id: 'revokeAccessKey',
		summary: 'Revokes an access key, on every replica within a second.',
		need: 'login',
		answer: answerWith(ACCESS_KEY, core),
		handler: async (request) => {
			const row = await storeOf(request, core).accessKeys.revoke(userIdOf(request), String(request.params['keyId']));
			if (!row) throw notFound('Access key');
			return show(row);
		},
	});

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
	return { ...show(row), key };
}

/** Finds the organization and gateway of a key, in any of the user's organizations. @throws not_found */
async function reachOf(scope: Scope, userId: string, { store }: Core): Promise<KeyReach> {
	if (scope.type === 'account') return { type: 'account' };
	// Agents do not exist yet, so no agent has this id.
	if (scope.type === 'agent') throw notFound('Agent');
	for (const { organization } of await store.accounts.memberships(userId)) {
		const gateway = await store.gateways.get(organization.id, scope.id);
		if (gateway) return { type: 'gateway', id: gateway.id, organizationId: organization.id };
	}
	throw notFound('Gateway');
}

const show = (row: AccessKeyRow) =>
	present(ACCESS_KEY, row, { scope: row.reach.type === 'gateway' ? { type: row.reach.type, id: row.reach.id } : { type: row.reach.type } });
