// How organizations and their people are shown. Tokens never are.

import type { InvitationRow, MemberRow, MembershipRow, OrganizationRow, Role } from '../../../core/index.ts';

/** @param role of the user who asks */
export const presentOrganization = ({ id, name, slug, createdAt }: OrganizationRow, role: Role | null) => ({
	id,
	name,
	slug,
	role,
	createdAt,
});

export const presentMembership = ({ organization, role, joinedAt }: MembershipRow) => ({
	...presentOrganization(organization, role),
	joinedAt,
});

export const presentMember = ({ user: { id, email, firstName, lastName }, role, joinedAt }: MemberRow) => ({
	userId: id,
	email,
	firstName,
	lastName,
	role,
	joinedAt,
});

export const presentInvitation = ({ id, email, role, invitedBy, createdAt, expiresAt }: InvitationRow) => ({
	id,
	email,
	role,
	invitedBy,
	createdAt,
	expiresAt,
});
