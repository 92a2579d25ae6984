// Members, at the management API and at gateways (decisions 22–25): whom access keys, logins' tokens and user ids stand for, and what
// their role lets them do at a gateway. Looked up once, then remembered until a change of the user is heard.

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
import type { Access, AccessKeyRow, MembershipRow, OrganizationRef, Store } from '../store/store.ts';
import { UserCache } from './user-cache.ts';

/** What a member can do at a gateway: permissions of the same names. */
export const GATEWAY_SCOPES: readonly Scope[] = ['tools:read', 'tools:execute', 'gateway:read'];

export interface MemberParts {
	store: Store;
	tokens: Tokens;
	recorder: Recorder;
}

/** The organization's name is left out: it changes without a change of the user. */
export interface Membership extends Pick<MembershipRow, 'role' | 'joinedAt'> {
	organization: OrganizationRef;
}

/** Somebody who belongs to organizations. */
export interface Member {
	userId: string;
	/** By organization, in order of joining. */
	memberships: ReadonlyMap<string, Membership>;
	/** Null with a login's token, and without any credential. */
	key: AccessKeyRow | null;
}

/** Somebody whose credential is live. */
export interface Holder extends Member {
	email: string;
	/** Null with an access key. */
	login: Login | null;
}

export class Members {
	readonly #parts: MemberParts;
	/** By the secret's hash. */
	readonly #credentials: UserCache<Holder>;
	/** By the user's id. */
	readonly #users: UserCache<Member>;

	constructor(parts: MemberParts) {
		this.#parts = parts;
		this.#credentials = new UserCache(parts.store.changes, { keepsNobody: true });
		this.#users = new UserCache(parts.store.changes, { keepsNobody: true });
	}

	/**
	 * Whoever it stands for, at the management API; null when it is ended or revoked, or no access key of ours. Not older than a second.
	 * @throws unauthorized for a token that is wrong in itself; unavailable when nobody can tell what was changed
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
	 * Null when it is no such credential, or is ended or revoked. @throws unauthorized for a token that is wrong in itself;
	 * forbidden when it is good, but not here
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

	/** Of a credential that was looked up before. @param id its hash */
	known(id: string): Promise<Holder | null> | undefined {
		return this.#credentials.get(id);
	}

	/** Null when the login has ended. @param id the hash of the token that claims this, and was verified */
	byLogin(id: string, { sub, sid, auth_time: at, exp }: Claims): Promise<Holder | null> {
		const look = async (): Promise<Holder | null> => {
			const access = await this.#parts.store.accounts.session(sid, sub);
			const login = { sessionId: sid, userId: sub, at: new Date(at * 1000) };
			return access && holderOf(access, { login, key: null });
		};
		return this.#credentials.add(id, { expiresAtMs: exp * 1000, look });
	}

	/** Without any credential. Null when they are no member of the gateway's organization, or are gone. */
	async byId(userId: string, gateway: Gateway): Promise<Caller | null> {
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
		// What has expired is looked at anew, and refused there.
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
		return this.#users.add(userId, { userId, look });
	}
}

const holderOf = ({ user, memberships }: Access, credential: Pick<Holder, 'login' | 'key'>): Holder => ({
	userId: user.id,
	email: user.email,
	memberships: byOrganization(memberships),
	...credential,
});

const byOrganization = (memberships: readonly MembershipRow[]): Member['memberships'] =>
	new Map(memberships.map(({ organization: { id, slug }, role, joinedAt }) => [id, { organization: { id, slug }, role, joinedAt }]));

/** What the role has now, and no more than the key was given; null where they may not be at all. */
export function callerAt({ userId, memberships, key }: Member, gateway: Gateway): Caller | null {
	const membership = memberships.get(gateway.organizationId);
	if (!membership || (key?.reach.type === 'gateway' && key.reach.id !== gateway.id)) return null;
	const held = permissionsOf(membership.role);
	const scopes = GATEWAY_SCOPES.filter((scope) => held.includes(scope) && (key?.permissions?.includes(scope) ?? true));
	return { method: key ? 'key' : 'login', subject: `user:${userId}`, userId, memberSince: membership.joinedAt, scopes };
}

/** Of a credential that is good. @throws forbidden (decisions, 22) */
export function assertMember(caller: Caller | null): Caller {
	if (!caller) throw new GatewayError('forbidden', 'The credential is good, but not for this gateway.');
	return caller;
}
