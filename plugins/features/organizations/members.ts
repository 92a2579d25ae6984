// The members of an organization: list, change a role, remove, leave.

import type { Request, ServerRoute } from '@hapi/hapi';
import {
	actorOf,
	body,
	type Core,
	GatewayError,
	listQuery,
	notFound,
	operation,
	organizationOf,
	type Permit,
	page,
	pageOf,
	permissionsOf,
	permissionToGrant,
	type Role,
	requirePermission,
	storeOf,
} from '../../../core/features.ts';
import { MEMBER, presentMember, role } from './present.ts';

const CHANGE = body({ role: role.required() }).example({ role: 'admin' });

export const memberRoutes = (core: Core): ServerRoute[] => [listMembers(core), changeRole(core), removeMember(core)];

const listMembers = ({ store }: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/organizations/{orgId}/members',
		id: 'listMembers',
		summary: 'Lists the members of an organization, in order of joining.',
		need: 'members:read',
		query: listQuery(),
		answer: page('members', MEMBER),
		handler: async (request) => {
			const { items, nextCursor } = await store.organizations.members(organizationOf(request).id, pageOf(request));
			return { members: items.map(presentMember), nextCursor };
		},
	});

const changeRole = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: '/organizations/{orgId}/members/{userId}',
		id: 'changeMemberRole',
		summary: 'Gives a member another role; an organization keeps an owner.',
		need: 'members:write',
		body: CHANGE,
		answer: MEMBER,
		errors: ['conflict'],
		handler: (request) => {
			// The body has passed CHANGE.
			const { role: wanted } = request.payload as { role: Role };
			return change(request, wanted, core);
		},
	});

const removeMember = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/organizations/{orgId}/members/{userId}',
		id: 'removeMember',
		summary: 'Removes a member from an organization, or leaves it.',
		description: 'Removing somebody else takes the permission `members:write`.',
		// Anybody may leave, so the route itself asks for no more than being a member.
		need: 'organization:read',
		answer: MEMBER,
		errors: ['conflict'],
		handler: (request) => {
			if (!isLeaving(request)) requirePermission(request, 'members:write');
			return change(request, null, core);
		},
	});

/** @param wanted null removes */
async function change(request: Request, wanted: Role | null, core: Core) {
	const { userId: by } = actorOf(request);
	const { organizations } = storeOf(request, core);
	const asked = { role: wanted, by, permit: permitOf(request, wanted) };
	const member = await organizations.changeMember(organizationOf(request).id, String(request.params['userId']), asked);
	if (!member) throw notFound('Member');
	return presentMember(member);
}

/** Oneself, with a login: a key takes its owner out of nothing that it may not administer. */
function isLeaving(request: Request): boolean {
	const { userId, accessKeyId } = actorOf(request);
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
