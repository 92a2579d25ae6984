// The members of an organization: list, change a role, remove, leave.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	GatewayError,
	needs,
	notFound,
	organizationOf,
	type Permit,
	pageOf,
	pageQuery,
	permissionsOf,
	permissionToGrant,
	ROLES,
	type Role,
	requirePermission,
	storeOf,
	success,
} from '../../../core/index.ts';
import { presentMember } from './present.ts';

export const role = Joi.string().valid(...ROLES);

const CHANGE = body({ role: role.required() });

export function memberRoutes(core: Core): ServerRoute[] {
	const inPath = { organization: 'path' } as const;
	return [
		{
			method: 'GET',
			path: '/organizations/{orgId}/members',
			options: { ...needs('members:read', inPath), validate: { query: pageQuery() } },
			handler: async (request) => {
				const { items, nextCursor } = await core.store.organizations.members(organizationOf(request).id, pageOf(request));
				return success({ members: items.map(presentMember), nextCursor });
			},
		},
		{
			method: 'PATCH',
			path: '/organizations/{orgId}/members/{userId}',
			options: { ...needs('members:write', inPath), validate: { payload: CHANGE } },
			handler: async (request) => {
				// The body has passed CHANGE.
				const { role: wanted } = request.payload as { role: Role };
				return success(await change(request, wanted, core));
			},
		},
		{
			// Anybody may leave, so the route itself asks for no more than being a member.
			method: 'DELETE',
			path: '/organizations/{orgId}/members/{userId}',
			options: needs('organization:read', inPath),
			handler: async (request) => {
				if (!isLeaving(request)) requirePermission(request, 'members:write');
				return success(await change(request, null, core));
			},
		},
	];
}

/** @param wanted null removes */
async function change(request: Request, wanted: Role | null, core: Core) {
	const { userId: by } = request.auth.credentials.actor;
	const { organizations } = storeOf(request, core);
	const asked = { role: wanted, by, permit: permitOf(request, wanted) };
	const member = await organizations.changeMember(organizationOf(request).id, String(request.params['userId']), asked);
	if (!member) throw notFound('Member');
	return presentMember(member);
}

/** Oneself, with a login: a key takes its owner out of nothing that it may not administer. */
function isLeaving(request: Request): boolean {
	const { userId, accessKeyId } = request.auth.credentials.actor;
	return request.method === 'delete' && accessKeyId === null && String(request.params['userId']).toLowerCase() === userId;
}

/** Roles may have changed since the route let the actor in, so it is decided by those that the transaction sees. */
function permitOf(request: Request, wanted: Role | null): Permit {
	const { permissions } = request.auth.credentials;
	return (actorRole, memberRole) => {
		// Removed a moment ago: to them there is no such organization any more.
		if (actorRole === null) throw notFound('Organization');
		if (isLeaving(request)) return;
		// And no more than the key was given, if it is one.
		const held = permissionsOf(actorRole).filter((permission) => permissions.has(permission));
		const roles = wanted === null ? [memberRole] : [memberRole, wanted];
		const missing = (['members:write', ...roles.map(permissionToGrant)] as const).find((permission) => !held.includes(permission));
		if (missing) throw new GatewayError('forbidden', `This takes the permission ${missing}.`);
	};
}
