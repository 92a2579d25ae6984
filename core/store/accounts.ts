// The storage port of accounts: users, organizations and their members, invitations, access keys, and the audit log.

import type { JsonObject, OrganizationSettings } from '../contract/nouns.ts';
import type { PermissionName, Role } from '../contract/permissions.ts';
import type { AuditHead } from './audit-chain.ts';
import type { Listed, Page } from './rows.ts';

// ── accounts ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** The part of a user that others may see. */
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

/** The part of an organization that never changes, and so may be cached. */
export type OrganizationRef = Pick<OrganizationRow, 'id' | 'slug'>;

export interface MembershipRow {
	organization: OrganizationRow;
	role: Role;
	joinedAt: Date;
}

/** A user with a live credential, and their current memberships, in order of joining. */
export interface Access {
	user: PersonRow;
	memberships: MembershipRow[];
}

/** Accounts stand above the tenants: these verbs take no organization. */
export interface Accounts {
	/**
	 * Creates a user, their organization and the owner's membership, all or nothing. The organization gets the first free one of `slugs`.
	 * @param user.id chosen by a caller that must know it before, as the actor of this change
	 * @throws conflict when the e-mail address is taken; the comparison ignores case and Unicode’s forms
	 */
	register(
		user: Omit<UserRow, 'id' | 'createdAt'> & { id?: string },
		organization: { name: string; slugs: Iterable<string> },
	): Promise<{ user: UserRow; organization: OrganizationRow }>;
	/** Finds a user by e-mail address, ignoring case and Unicode’s forms. */
	byEmail(email: string): Promise<UserRow | null>;
	byId(userId: string): Promise<UserRow | null>;
	/** Lists memberships in order of joining. */
	memberships(userId: string): Promise<MembershipRow[]>;
	update(userId: string, change: Partial<Pick<UserRow, 'firstName' | 'lastName'>>): Promise<UserRow | null>;
	/** Returns those of `slugs` that organizations have. */
	takenSlugs(slugs: readonly string[]): Promise<string[]>;
	/** Returns the first of `slugs` that no organization has. */
	freeSlug(slugs: Iterable<string>): Promise<string | null>;

	/**
	 * Starts the session of one login; all its tokens carry this id.
	 * @param session.passwordHash the hash that the login was checked against. Returns false, and starts nothing, when the password has
	 * changed since
	 */
	startSession(session: { id: string; userId: string; address: string; userAgent: string | null; passwordHash: string }): Promise<boolean>;
	/** Returns the access of a live session; null when it was ended or pruned, or belongs to another user. */
	session(sessionId: string, userId: string): Promise<Access | null>;
	/** Returns false when the session had already ended. */
	endSession(sessionId: string): Promise<boolean>;
	/**
	 * Replaces the password hash; false when the stored one is no longer `from`. Ends every session but `keep`, and every requested reset, in
	 * the same transaction.
	 */
	changePassword(userId: string, change: { from: string; to: string; keep: string }): Promise<boolean>;

	/** Returns false, and adds nothing, when the user has `most` live resets. */
	addReset(userId: string, reset: { hash: Buffer; expiresAt: Date; most: number }): Promise<boolean>;
	/** Tells whether the reset could be redeemed now. */
	isResetLive(hash: Buffer): Promise<boolean>;
	/**
	 * Sets the password and ends every session and every other reset of the user, in one transaction; null when the reset was already
	 * redeemed or has expired.
	 */
	redeemReset(hash: Buffer, passwordHash: string): Promise<PersonRow | null>;
	/** Removes ended logins and unusable resets. */
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

/** Checks a change against the actor's current role. @throws the error that refuses the change */
export type Permit = (actorRole: Role | null, memberRole: Role) => void;

export interface Organizations {
	/** Lists the user's organizations, in order of joining. */
	list(userId: string, page: Page): Promise<Listed<MembershipRow>>;
	/** Creates an organization whose owner is the user. */
	create(userId: string, organization: { name: string; slugs: Iterable<string> }): Promise<OrganizationRow>;
	get(organizationId: string): Promise<OrganizationRow | null>;
	/** Changes an organization; its slug stays. */
	update(organizationId: string, change: Partial<Pick<OrganizationRow, 'name'> & OrganizationSettings>): Promise<OrganizationRow | null>;
	/** Returns the settings; those of a removed organization allow nothing. */
	settings(organizationId: string): Promise<OrganizationSettings>;
	/**
	 * The account that the organization's quotas count for: the id of the user who created it, also after that user has left or was deleted.
	 * It is the organization's own id when the creator is unknown or the organization is gone. It never changes.
	 */
	account(organizationId: string): Promise<string>;

	members(organizationId: string, page: Page): Promise<Listed<MemberRow>>;
	/**
	 * Sets a new role, or removes the member with null. Changes of an organization's members are serialized; `permit` sees the roles as they
	 * are then. Null when there is no such member. @throws conflict when no owner would be left
	 */
	changeMember(
		organizationId: string,
		userId: string,
		change: { role: Role | null; by: string; permit: Permit },
	): Promise<MemberRow | null>;

	/** Lists the invitations that can still be accepted. */
	invitations(organizationId: string, page: Page): Promise<Listed<InvitationRow>>;
	/** Creates an invitation, which replaces a pending one for the same address. @throws conflict when the address belongs to a member */
	invite(
		organizationId: string,
		invitation: Pick<InvitationRow, 'email' | 'role' | 'invitedBy' | 'expiresAt'> & { hash: Buffer },
	): Promise<InvitationRow>;
	/** Revokes an invitation; null when no such one could still be accepted. */
	revokeInvitation(organizationId: string, id: string): Promise<InvitationRow | null>;
	/** Finds an invitation that can still be accepted, with the sender's current role (null: none). */
	invitationByHash(hash: Buffer): Promise<{ invitation: InvitationRow; organization: OrganizationRow; inviterRole: Role | null } | null>;
	/** Accepts an invitation; null when it was already accepted. @throws conflict when the user is a member already; the invitation stays */
	accept(hash: Buffer, userId: string): Promise<MembershipRow | null>;
}

// ── access keys ────────────────────────────────────────────────────────────────────────────────────────────────────

/** The reach of a key: everything that its owner can reach, or one resource. */
export type KeyReach = { type: 'account' } | { type: 'gateway' | 'agent'; id: string; organizationId: string };

export interface AccessKeyRow {
	id: string;
	userId: string;
	name: string;
	/** The first characters of the key, by which people recognise it. */
	prefix: string;
	reach: KeyReach;
	/** Null grants all permissions of the owner. */
	permissions: PermissionName[] | null;
	lastUsedAt: Date | null;
	revokedAt: Date | null;
	createdAt: Date;
}

/** Access keys belong to users, not to organizations. */
export interface AccessKeys {
	list(userId: string, page: Page): Promise<Listed<AccessKeyRow>>;
	/** Creates a key; null when the resource to reach is gone. @param key.hash SHA-256 of the key */
	create(
		userId: string,
		key: Pick<AccessKeyRow, 'name' | 'prefix' | 'reach' | 'permissions'> & { hash: Buffer },
	): Promise<AccessKeyRow | null>;
	/** Revokes a key; null when there is no such key, or it is already revoked. */
	revoke(userId: string, id: string): Promise<AccessKeyRow | null>;
	/**
	 * Finds a live key; null when it is unknown or revoked. A key for one resource comes with the membership of that resource's organization
	 * only.
	 */
	byHash(hash: Buffer): Promise<(Access & { key: AccessKeyRow }) | null>;
	/** Finds a live key of a user, as `byHash` does. */
	byId(userId: string, id: string): Promise<(Access & { key: AccessKeyRow }) | null>;
	/** Sets `lastUsedAt`, never to an earlier time. */
	touch(uses: { userId: string; keyId: string; at: Date }[]): Promise<void>;
}

// ── the audit log ──────────────────────────────────────────────────────────────────────────────────────────────────

/** The user who changes something, and the address of the request. */
export interface Actor {
	userId: string;
	email: string;
	/** The id of the access key that was used instead of a login. */
	accessKeyId: string | null;
	address: string;
	userAgent: string | null;
	requestId: string;
}

export interface AuditRow {
	id: string;
	at: Date;
	/** Null when the service itself made the change. */
	actor: Actor | null;
	action: 'create' | 'update' | 'delete';
	/** Such as `gateway`, `tool`, `api`, `member`. */
	resourceType: string;
	resourceId: string;
	/** The name at the time of the change. */
	resourceName: string | null;
	/** By field: `{ from, to }`, or `{ keys }` / `{ changed }` when values may hold secrets or fill pages. */
	changes: JsonObject;
	/** Its link in the hash chain of the log, which it gets about a minute later. */
	link: AuditHead | null;
}

export interface AuditFilter {
	resourceType?: string;
	resourceId?: string;
	actorId?: string;
	action?: string;
	since?: Date;
	until?: Date;
}

/** The audit log, written by the database itself in the transaction of the change. */
export interface Audit {
	/** Adds an entry for a resource that the database does not know, in the name of the actor. */
	add(organizationId: string, entry: Omit<AuditRow, 'id' | 'at' | 'actor' | 'link'>): Promise<void>;
	/** Lists the newest entries first. */
	list(organizationId: string, page: Page, filter?: AuditFilter): Promise<Listed<AuditRow>>;
}
