// Converts rows of users and memberships to those of the port.

import type { Role } from '../../core/contract/permissions.ts';
import type { Access, MemberRow, MembershipRow, PersonRow, UserRow } from '../../core/store/store.ts';
import { USER } from '../models/account.ts';
import { pick } from '../models/columns.ts';

/** Columns of `users u`, as `PersonColumns`. */
export const PERSON = `u.id AS "userId", u.email, u.first_name AS "firstName", u.last_name AS "lastName", u.created_at AS "registeredAt"`;
/** Columns of `memberships m`, as in `MemberColumns` besides the person's. */
export const MEMBER = 'm.seq, m.role, m.created_at AS "joinedAt"';
/** Columns of `memberships m` and `organizations o`, as `MembershipColumns`. */
export const MEMBERSHIP = `${MEMBER}, o.id AS "organizationId", o.name AS "organizationName", o.slug, o.created_at AS "foundedAt"`;

export interface PersonColumns {
	userId: string;
	email: string;
	firstName: string;
	lastName: string;
	registeredAt: Date;
}

interface RoleColumns {
	seq: string;
	/** The constraint `memberships_role` admits no other values. */
	role: Role;
	joinedAt: Date;
}

export type MemberColumns = PersonColumns & RoleColumns;

export interface MembershipColumns extends RoleColumns {
	organizationId: string;
	organizationName: string;
	slug: string;
	foundedAt: Date;
}

/** One row per membership; a user without any has one row with nulls. */
export type AccessColumns = PersonColumns & (MembershipColumns | Record<keyof MembershipColumns, null>);

export const toPerson = ({ userId, email, firstName, lastName, registeredAt }: PersonColumns): PersonRow => ({
	id: userId,
	email,
	firstName,
	lastName,
	createdAt: registeredAt,
});

export const toUser = (row: UserRow): UserRow => pick(row, USER);

export const toMember = (row: MemberColumns): MemberRow => ({ user: toPerson(row), role: row.role, joinedAt: row.joinedAt });

export const toMembership = ({ organizationId, organizationName, slug, foundedAt, role, joinedAt }: MembershipColumns): MembershipRow => ({
	organization: { id: organizationId, name: organizationName, slug, createdAt: foundedAt },
	role,
	joinedAt,
});

export const toAccess = (first: AccessColumns, rows: AccessColumns[]): Access => ({
	user: toPerson(first),
	memberships: rows.flatMap((row) => (row.organizationId === null ? [] : toMembership(row))),
});
