// Access keys: long-lived keys of users (specification 5.1 rule 4), shown once, stored as a hash, and valid until revoked.

import type { Request, Server, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AccessKeyRow,
	body,
	type Core,
	displayName,
	type Feature,
	listQuery,
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
import { POLLS } from './device/programs.ts';
import { deviceRoutes } from './device/routes.ts';
import { chosen, mint, reachOf, type Scope, scope } from './minting.ts';

interface KeyBody {
	name: string;
	scope: Scope;
	permissions?: PermissionName[];
}

const held = (names: readonly PermissionName[]): Joi.ArraySchema =>
	Joi.array()
		.items(Joi.string().valid(...names))
		.allow(null)
		.description('Null: all permissions of its owner.');

const CREATE = body({
	name: displayName.required(),
	scope,
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
		type: Joi.string().valid('account', 'gateway', 'agent'),
		id: uuid.optional().description('Id of the gateway or agent; absent for the account.'),
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
	summary: 'Long-lived access keys of a user, for the whole account, one gateway or one agent.',
	config: Joi.object({}),
	segments: ['access-keys', 'device'],
	limits: { [POLLS]: { max: 120, seconds: 60 } },
	register(server: Server, _config, core) {
		server.route([listKeys(core), createKey(core), revokeKey(core), ...deviceRoutes(core)]);
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
	const { row, key } = await mint(storeOf(request, core), userId, { name, reach, permissions: permissions ?? null });
	return { ...show(row), key };
}

const show = (row: AccessKeyRow) =>
	present(ACCESS_KEY, row, { scope: row.reach.type === 'account' ? { type: row.reach.type } : { type: row.reach.type, id: row.reach.id } });
