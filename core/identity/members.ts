// Members, at the management API and at gateways (decisions 22–25): the users that access keys, logins' tokens and user ids identify, and
// the permissions of their role at a gateway. They are looked up once, then cached until the user changes.

import { GatewayError } from '../contract/errors.ts';
import type { Caller, Gateway, Scope } from '../contract/nouns.ts';
import { permissionsOf } from '../contract/permissions.ts';
import {
	ACCESS_KEY_PREFIX,
	type Claims,
	hashKey,
	JWT,
	type Login,
	MAX_KEY_LENGTH,
	MAX_TOKEN_LENGTH,
	type Tokens,
} from '../secrets/tokens.ts';
import type { Recorder } from '../store/recorder.ts';
import { STALE_MS } from '../store/staleness.ts';
import type { Access, AccessKeyRow, KeyReach, MembershipRow, OrganizationRef, PersonRow, Store } from '../store/store.ts';
import { OwnerCache } from './owner-cache.ts';

export type GatewayIds = Pick<Gateway, 'organizationId' | 'id'>;

/** The scopes of a member at a gateway: permissions of the same names. */
export const GATEWAY_SCOPES: readonly Scope[] = ['tools:read', 'tools:execute', 'gateway:read'];

export interface MemberParts {
	store: Store;
	tokens: Tokens;
	recorder: Recorder;
}

/** A membership without the organization's name, which changes without a change of the user. */
export interface Membership extends Pick<MembershipRow, 'role' | 'joinedAt'> {
	organization: OrganizationRef;
}

/** A user with their memberships. */
export interface Member {
	userId: string;
	/** By organization, in order of joining. */
	memberships: ReadonlyMap<string, Membership>;
	/** Null with a login's token, and without any credential. */
	key: AccessKeyRow | null;
	/** Null with an access key; absent without any credential. */
	login?: Login | null;
}

/** A member with a live credential. */
export interface Holder extends Member {
	email: string;
	/** First and last. */
	name: string;
	/** Null with an access key. */
	login: Login | null;
}

const BY_USER = { owners: 'user', ownerOf: ({ userId }: Member): string => userId, keepsNobody: true } as const;

export class Members {
	readonly #parts: MemberParts;
	/** By the secret's hash. */
	readonly #credentials: OwnerCache<Holder>;
	/** By the user's id. */
	readonly #users: OwnerCache<Member>;

	constructor(parts: MemberParts) {
		this.#parts = parts;
		this.#credentials = new OwnerCache<Holder>(parts.store.changes, BY_USER);
		this.#users = new OwnerCache<Member>(parts.store.changes, BY_USER);
	}

	/**
	 * Returns the holder of a credential of the management API; null when it was ended or revoked, or is no access key of ours. At most a
	 * second old.
	 * @throws unauthorized for an invalid token; unavailable when changes cannot be read
	 */
	async holder(secret: string): Promise<Holder | null> {
		const news = this.#parts.store.changes.fresh(STALE_MS);
		if (news) await news;
		const isKey = secret.startsWith(ACCESS_KEY_PREFIX);
		if (isKey && secret.length > MAX_KEY_LENGTH) return null;
		const holder = await this.#find(secret, isKey);
		if (holder?.key) this.#parts.recorder.usedAccessKey(holder.userId, holder.key.id);
		return holder;
	}

	/**
	 * Returns the caller at a gateway; null when this is no such credential, or it was ended or revoked. @throws unauthorized for an invalid
	 * token; forbidden when it is valid, but not here
	 */
	async byCredential(secret: string, gateway: Gateway): Promise<Caller | null> {
		const isKey = secret.startsWith(ACCESS_KEY_PREFIX);
		if (secret.length > (isKey ? MAX_KEY_LENGTH : MAX_TOKEN_LENGTH) || !(isKey || JWT.test(secret))) return null;
		const member = await this.#find(secret, isKey);
		if (!member) return null;
		const caller = assertMember(callerAt(member, gateway));
		if (member.key) this.#parts.recorder.usedAccessKey(member.userId, member.key.id);
		return caller;
	}

	/** Returns the cached holder of a credential. @param id its hash */
	known(id: string): Promise<Holder | null> | undefined {
		return this.#credentials.get(id);
	}

	/** Returns the holder of a login; null when it has ended. @param id the hash of the verified token with these claims */
	byLogin(id: string, { sub, sid, auth_time: at, exp }: Claims): Promise<Holder | null> {
		const look = async (): Promise<Holder | null> => {
			const access = await this.#parts.store.accounts.session(sid, sub);
			const login = { sessionId: sid, userId: sub, at: new Date(at * 1000) };
			return access && holderOf(access, { login, key: null });
		};
		return this.#credentials.add(id, { expiresAtMs: exp * 1000, look });
	}

	/**
	 * Returns the caller of a user id, without any credential; null when they do not exist, or are no member of the gateway's organization.
	 */
	async byId(userId: string, gateway: GatewayIds): Promise<Caller | null> {
		const member = await (this.#users.get(userId) ?? this.#lookUpUser(userId));
		return member && callerAt(member, gateway);
	}

	close(): void {
		this.#credentials.close();
		this.#users.close();
	}

	#find(secret: string, isKey: boolean): Promise<Holder | null> {
		const hash = hashKey(secret);
		const id = hash.toString('latin1');
		// An expired token is verified again, and refused there.
		return this.known(id) ?? (isKey ? this.#lookUpKey(id, hash) : this.byLogin(id, this.#parts.tokens.verify(secret)));
	}

	#lookUpKey(id: string, hash: Buffer): Promise<Holder | null> {
		const look = async (): Promise<Holder | null> => {
			const access = await this.#parts.store.accessKeys.byHash(hash);
			return access && holderOf(access, { login: null, key: access.key });
		};
		return this.#credentials.add(id, { look });
	}

	#lookUpUser(userId: string): Promise<Member | null> {
		const look = async (): Promise<Member> => {
			const memberships = await this.#parts.store.accounts.memberships(userId);
			return { userId, memberships: byOrganization(memberships), key: null };
		};
		return this.#users.add(userId, { ownerId: userId, look });
	}
}

export const holderOf = ({ user, memberships }: Access, credential: Pick<Holder, 'login' | 'key'>): Holder => ({
	userId: user.id,
	email: user.email,
	name: fullName(user),
	memberships: byOrganization(memberships),
	...credential,
});

export const fullName = ({ firstName, lastName }: Pick<PersonRow, 'firstName' | 'lastName'>): string => `${firstName} ${lastName}`.trim();

const byOrganization = (memberships: readonly MembershipRow[]): Member['memberships'] =>
	new Map(memberships.map(({ organization: { id, slug }, role, joinedAt }) => [id, { organization: { id, slug }, role, joinedAt }]));

/** Tells whether a key may be used at a gateway: one for an agent is for no gateway. */
const isFor = (reach: KeyReach, gatewayId: string): boolean =>
	reach.type === 'account' || (reach.type === 'gateway' && reach.id === gatewayId);

/** Returns the caller with the permissions that the role has now, limited to those of the key; null for somebody who is no member here. */
export function callerAt({ userId, memberships, key, login }: Member, gateway: GatewayIds): Caller | null {
	const membership = memberships.get(gateway.organizationId);
	if (!membership || (key && !isFor(key.reach, gateway.id))) return null;
	const held = permissionsOf(membership.role);
	const scopes = GATEWAY_SCOPES.filter((scope) => held.includes(scope) && (key?.permissions?.includes(scope) ?? true));
	const caller: Caller = { method: key ? 'key' : 'login', subject: `user:${userId}`, userId, memberSince: membership.joinedAt, scopes };
	if (key) caller.credential = `access:${key.id}`;
	else if (login) caller.credential = `login:${login.sessionId}`;
	return caller;
}

/** Refuses a valid credential of somebody who is no member here. @throws forbidden (decisions, 22) */
export function assertMember(caller: Caller | null): Caller {
	if (!caller) throw new GatewayError('forbidden', 'The credential is valid, but not for this gateway.');
	return caller;
}
