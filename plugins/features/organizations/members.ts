// The members of an organization: list, change a role, remove, leave.

import type { Request, ServerRoute } from '@hapi/hapi';
import {
	actorOf,
	body,
	type Core,
	listQuery,
	notFound,
	operation,
	organizationOf,
	type Permit,
	page,
	pageOf,
	permissionToGrant,
	type Role,
	requireOf,
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
		summary: 'Changes the role of a member; the last owner stays one.',
		description: 'The caller needs every permission that the member gains.',
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
		description: 'Removing another member requires the permission `members:write`.',
		// Any member may leave, so the route itself requires nothing more.
		need: 'organization:read',
		answer: MEMBER,
		errors: ['conflict'],
		handler: (request) => {
			if (!isLeaving(request)) requirePermission(request, 'members:write');
			return change(request, null, core);
		},
	});

/** Changes the role of a member. @param wanted null removes the member */
async function change(request: Request, wanted: Role | null, core: Core) {
	const { userId: by } = actorOf(request);
	const { organizations } = storeOf(request, core);
	const asked = { role: wanted, by, permit: permitOf(request, wanted, core) };
	const member = await organizations.changeMember(organizationOf(request).id, String(request.params['userId']), asked);
	if (!member) throw notFound('Member');
	return presentMember(member);
}

/** Tells whether users remove themselves, with a login: a key may not remove its owner unless it may administer members. */
function isLeaving(request: Request): boolean {
	const { userId, accessKeyId } = actorOf(request);
	return request.method === 'delete' && accessKeyId === null && String(request.params['userId']).toLowerCase() === userId;
}

/** Decides in the transaction, since roles may have changed after the route admitted the actor. */
function permitOf(request: Request, wanted: Role | null, { permissions: all }: Core): Permit {
	const { permissions } = request.auth.credentials;
	return (actorRole, memberRole) => {
		// The actor was removed meanwhile, so for them the organization does not exist.
		if (actorRole === null) throw notFound('Organization');
		if (isLeaving(request)) return;
		// An access key is also limited to its own permissions.
		const held = new Set(all.of(actorRole).filter((permission) => permissions.has(permission)));
		const roles = wanted === null ? [memberRole] : [memberRole, wanted];
		const before = all.of(memberRole);
		const gained = wanted === null ? [] : all.of(wanted).filter((permission) => !before.includes(permission));
		requireOf(request, ['members:write', ...roles.map(permissionToGrant), ...gained], held);
	};
}
