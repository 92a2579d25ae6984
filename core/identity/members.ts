// Members at gateways (decisions 22–25): whom access keys, logins' tokens and user ids stand for, and what their role lets them
// do there. Looked up once, then remembered until a change of the user is heard.

import { GatewayError } from '../contract/errors.ts';
import type { Caller, Gateway, Scope } from '../contract/nouns.ts';
import { permissionsOf } from '../contract/permissions.ts';
import { ACCESS_KEY_PREFIX, type Claims, hashKey, JWT, MAX_KEY_LENGTH, MAX_TOKEN_LENGTH, type Tokens } from '../secrets/tokens.ts';
import type { Recorder } from '../store/recorder.ts';
import type { Access, AccessKeyRow, MembershipRow, Store } from '../store/store.ts';
import { UserCache } from './user-cache.ts';

/** What a member can do at a gateway: permissions of the same names. */
export const GATEWAY_SCOPES: readonly Scope[] = ['tools:read', 'tools:execute', 'gateway:read'];

export interface MemberParts {
	store: Store;
	tokens: Tokens;
	recorder: Recorder;
}

type Membership = Pick<MembershipRow, 'role' | 'joinedAt'>;

/** Somebody whose credential is live. */
export interface Member {
	userId: string;
	/** By organization. */
	memberships: ReadonlyMap<string, Membership>;
	/** Null with a login's token, and without any credential. */
	key: AccessKeyRow | null;
}

export class Members {
	readonly #parts: MemberParts;
	/** By the secret's hash. */
	readonly #credentials: UserCache<Member>;
	/** By the user's id. */
	readonly #users: UserCache<Member>;

	constructor(parts: MemberParts) {
		this.#parts = parts;
		this.#credentials = new UserCache(parts.store.changes, { keepsNobody: true });
		this.#users = new UserCache(parts.store.changes, { keepsNobody: true });
	}

	/**
	 * Null when it is no such credential, or is ended or revoked. @throws unauthorized for a token that is wrong in itself;
	 * forbidden when it is good, but not here
	 */
	async byCredential(secret: string, gateway: Gateway): Promise<Caller | null> {
		const isKey = secret.startsWith(ACCESS_KEY_PREFIX);
		if (secret.length > (isKey ? MAX_KEY_LENGTH : MAX_TOKEN_LENGTH) || !(isKey || JWT.test(secret))) return null;
		const hash = hashKey(secret);
		const id = hash.toString('latin1');
		// What has expired is looked at anew, and refused there.
		const member = await (this.known(id) ?? (isKey ? this.#lookUpKey(id, hash) : this.byLogin(id, this.#parts.tokens.verify(secret))));
		if (!member) return null;
		const caller = assertMember(callerAt(member, gateway));
		if (member.key) this.#parts.recorder.usedAccessKey(member.userId, member.key.id);
		return caller;
	}

	/** Of a credential that was looked up before. @param id its hash */
	known(id: string): Promise<Member | null> | undefined {
		return this.#credentials.get(id);
	}

	/** Null when the login has ended. @param id the hash of the token that claims this, and was verified */
	byLogin(id: string, { sub, sid, exp }: Claims): Promise<Member | null> {
		const look = async (): Promise<Member | null> => {
			const access = await this.#parts.store.accounts.session(sid, sub);
			return access && memberOf(access, null);
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

	#lookUpKey(id: string, hash: Buffer): Promise<Member | null> {
		const look = async (): Promise<Member | null> => {
			const access = await this.#parts.store.accessKeys.byHash(hash);
			return access && memberOf(access, access.key);
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

const memberOf = ({ user, memberships }: Access, key: AccessKeyRow | null): Member => ({
	userId: user.id,
	memberships: byOrganization(memberships),
	key,
});

const byOrganization = (memberships: readonly MembershipRow[]): Member['memberships'] =>
	new Map(memberships.map(({ organization, role, joinedAt }) => [organization.id, { role, joinedAt }]));

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
