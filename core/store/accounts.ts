// The storage port of accounts: users, organizations and their members, invitations, access keys, and the audit log.

import type { JsonObject, OrganizationSettings } from '../contract/nouns.ts';
import type { Permission, Role } from '../contract/permissions.ts';
import type { Listed, Page } from './rows.ts';

// ── accounts ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** What others may know of a user. */
export interface PersonRow {
	id: string;
	email: string;
	firstName: string;
	lastName: string;
	createdAt: Date;
}

export interface UserRow extends PersonRow {
	passwordHash: string;
}

export interface OrganizationRow {
	id: string;
	name: string;
	slug: string;
	createdAt: Date;
}

/** What stays of an organization whatever is changed about it, and so may be remembered. */
export type OrganizationRef = Pick<OrganizationRow, 'id' | 'slug'>;

export interface MembershipRow {
	organization: OrganizationRow;
	role: Role;
	joinedAt: Date;
}

/** A user whose credential was found to be live, and where they belong now. In order of joining. */
export interface Access {
	user: PersonRow;
	memberships: MembershipRow[];
}

/** Above the tenants: verbs that take no organization. */
export interface Accounts {
	/**
	 * User, organization and the owner's membership, all or nothing. The first free one of `slugs` is taken.
	 * @param user.id minted by a caller that must name it before, as the actor of this
	 * @throws conflict when the e-mail address is taken, without regard to case
	 */
	register(
		user: Omit<UserRow, 'id' | 'createdAt'> & { id?: string },
		organization: { name: string; slugs: Iterable<string> },
	): Promise<{ user: UserRow; organization: OrganizationRow }>;
	/** Without regard to case. */
	byEmail(email: string): Promise<UserRow | null>;
	byId(userId: string): Promise<UserRow | null>;
	/** In order of joining. */
	memberships(userId: string): Promise<MembershipRow[]>;
	update(userId: string, change: Partial<Pick<UserRow, 'firstName' | 'lastName'>>): Promise<UserRow | null>;
	/** The first of `slugs` that no organization has. */
	freeSlug(slugs: Iterable<string>): Promise<string | null>;

	/**
	 * One login: every token of it carries this id.
	 * @param session.passwordHash that the login was checked against. False, and nothing begins, when it is another by now
	 */
	startSession(session: { id: string; userId: string; address: string; userAgent: string | null; passwordHash: string }): Promise<boolean>;
	/** Null when the login was ended, was pruned, or is of another user. */
	session(sessionId: string, userId: string): Promise<Access | null>;
	/** False when it had ended already. */
	endSession(sessionId: string): Promise<boolean>;
	/**
	 * Compare and set: false when the stored hash is no longer `from`. Ends every session but `keep`, and every reset that
	 * was asked for, in the same transaction.
	 */
	changePassword(userId: string, change: { from: string; to: string; keep: string }): Promise<boolean>;

	/** False, and nothing is added, when the user has `most` live ones. */
	addReset(userId: string, reset: { hash: Buffer; expiresAt: Date; most: number }): Promise<boolean>;
	/** Whether the reset could be redeemed now. */
	isResetLive(hash: Buffer): Promise<boolean>;
	/**
	 * Sets the password and ends every session and every other reset of the user, in one transaction; null for the second
	 * taker, and when it has expired.
	 */
	redeemReset(hash: Buffer, passwordHash: string): Promise<PersonRow | null>;
	/** Removes logins and resets that nothing can use any more. */
	prune(sessionsOlderThan: Date): Promise<number>;
}

// ── organizations and their people ─────────────────────────────────────────────────────────────────────────────────

export interface MemberRow {
	user: PersonRow;
	role: Role;
	joinedAt: Date;
}

export interface InvitationRow {
	id: string;
	organizationId: string;
	email: string;
	role: Role;
	invitedBy: string;
	createdAt: Date;
	expiresAt: Date;
}

/** @throws whatever it throws when the actor's role, as it is now, does not allow it */
export type Permit = (actorRole: Role | null, memberRole: Role) => void;

export interface Organizations {
	/** Those of the user, in order of joining. */
	list(userId: string, page: Page): Promise<Listed<MembershipRow>>;
	/** The user becomes its owner. */
	create(userId: string, organization: { name: string; slugs: Iterable<string> }): Promise<OrganizationRow>;
	get(organizationId: string): Promise<OrganizationRow | null>;
	/** The slug stays. */
	update(organizationId: string, change: Partial<Pick<OrganizationRow, 'name'> & OrganizationSettings>): Promise<OrganizationRow | null>;
	/** Of an organization that is gone: nothing is allowed. */
	settings(organizationId: string): Promise<OrganizationSettings>;
	/**
	 * The account for which its shares of scarce things count: the id of the user who created it, also when that user has left or is gone.
	 * It is the organization's own id where the creator is not known, and when the organization is gone. It never changes.
	 */
	account(organizationId: string): Promise<string>;

	members(organizationId: string, page: Page): Promise<Listed<MemberRow>>;
	/**
	 * A new role, or removal with null. One change of an organization's people at a time; `permit` sees the roles as they
	 * are then. Null when there is no such member. @throws conflict when it would leave no owner
	 */
	changeMember(
		organizationId: string,
		userId: string,
		change: { role: Role | null; by: string; permit: Permit },
	): Promise<MemberRow | null>;

	/** Those that can still be accepted. */
	invitations(organizationId: string, page: Page): Promise<Listed<InvitationRow>>;
	/** Replaces one that waits for the same address. @throws conflict when the address belongs to a member */
	invite(
		organizationId: string,
		invitation: Pick<InvitationRow, 'email' | 'role' | 'invitedBy' | 'expiresAt'> & { hash: Buffer },
	): Promise<InvitationRow>;
	/** Null when there is none that could still be accepted. */
	revokeInvitation(organizationId: string, id: string): Promise<InvitationRow | null>;
	/** One that can still be accepted, with the role that its sender has now (null: none). */
	invitationByHash(hash: Buffer): Promise<{ invitation: InvitationRow; organization: OrganizationRow; inviterRole: Role | null } | null>;
	/** Null for the second taker. @throws conflict when the user is a member already; the invitation stays */
	accept(hash: Buffer, userId: string): Promise<MembershipRow | null>;
}

// ── access keys ────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a key opens: all that its owner can reach, or one thing. */
export type KeyReach = { type: 'account' } | { type: 'gateway'; id: string; organizationId: string };

export interface AccessKeyRow {
	id: string;
	userId: string;
	name: string;
	/** First characters of the key, to recognise it by. */
	prefix: string;
	reach: KeyReach;
	/** Null: whatever its owner may do. */
	permissions: Permission[] | null;
	lastUsedAt: Date | null;
	revokedAt: Date | null;
	createdAt: Date;
}

/** They belong to users, not to organizations. */
export interface AccessKeys {
	list(userId: string, page: Page): Promise<Listed<AccessKeyRow>>;
	/** Null when what it shall reach is gone. @param key.hash SHA-256 of the key */
	create(
		userId: string,
		key: Pick<AccessKeyRow, 'name' | 'prefix' | 'reach' | 'permissions'> & { hash: Buffer },
	): Promise<AccessKeyRow | null>;
	/** Null when there is none, or it is revoked already. */
	revoke(userId: string, id: string): Promise<AccessKeyRow | null>;
	/** Null when it is unknown or revoked. A key for one thing brings only the membership that the thing belongs to. */
	byHash(hash: Buffer): Promise<(Access & { key: AccessKeyRow }) | null>;
	/** `lastUsedAt`, never moved back. */
	touch(uses: { userId: string; keyId: string; at: Date }[]): Promise<void>;
}

// ── the audit log ──────────────────────────────────────────────────────────────────────────────────────────────────

/** Who changes something, and from where. */
export interface Actor {
	userId: string;
	email: string;
	/** Of the key that was used in place of a login. */
	accessKeyId: string | null;
	address: string;
	userAgent: string | null;
	requestId: string;
}

export interface AuditRow {
	id: string;
	at: Date;
	/** Null: the service itself. */
	actor: Actor | null;
	action: 'create' | 'update' | 'delete';
	/** `gateway`, `tool`, `api`, `member`… */
	resourceType: string;
	resourceId: string;
	/** As it was called then. */
	resourceName: string | null;
	/** By field: `{ from, to }`, or `{ keys }` / `{ changed }` where values may hold secrets or fill pages. */
	changes: JsonObject;
}

export interface AuditFilter {
	resourceType?: string;
	resourceId?: string;
	actorId?: string;
	action?: string;
	since?: Date;
	until?: Date;
}

/** Written by the database itself, in the transaction of the change. */
export interface Audit {
	/** Newest first. */
	list(organizationId: string, page: Page, filter?: AuditFilter): Promise<Listed<AuditRow>>;
}
