// Whom one of Gatehouse's own credentials stands for at a gateway (specification 5.2; decisions 23–25): a key of the gateway,
// or an access key or a login's token of a member. Looked up once, then remembered until a change of it is heard.

import type { Caller, Gateway, Identity, Scope } from './contracts.ts';
import { GatewayError } from './errors.ts';
import type { MountedGateway } from './mount.ts';
import { permissionsOf, type Role } from './permissions.ts';
import type { Recorder } from './recorder.ts';
import type { Access, AccessKeyRow, Store } from './store.ts';
import { ACCESS_KEY_PREFIX, GATEWAY_KEY_PREFIX, hashKey, type Tokens } from './tokens.ts';

export interface Identities {
	/** What plugins at this gateway ask. */
	at(mounted: MountedGateway): Identity;
	close(): void;
}

export interface IdentityParts {
	store: Store;
	tokens: Tokens;
	recorder: Recorder;
}

/** Of each gateway. */
const GATEWAY_KEYS_KEPT = 10_000;
/** Access keys and tokens, of all gateways; the longest unused go first. */
const MEMBERS_KEPT = 10_000;
const MAX_KEY_LENGTH = 128;
const MAX_TOKEN_LENGTH = 4096;
/** Three parts in base64url; the last one is empty in a token that nobody signed, which is no token of ours. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** What a member can do at a gateway: permissions of the same names. */
const GATEWAY_SCOPES: readonly Scope[] = ['tools:read', 'tools:execute', 'gateway:read'];

export function createIdentities(parts: IdentityParts): Identities {
	const members = new MemberCache(parts);
	return {
		at: (mounted) => ({
			credential: (secret) =>
				secret.startsWith(GATEWAY_KEY_PREFIX) ? gatewayKey(secret, mounted, parts) : members.caller(secret, mounted.gateway),
		}),
		close: () => members.close(),
	};
}

// ── keys of the gateway, remembered with it ────────────────────────────────────────────────────────────────────────

type KnownKey = { caller: Caller; expiresAt: number } | null;

async function gatewayKey(secret: string, mounted: MountedGateway, { store }: IdentityParts): Promise<Caller | null> {
	if (secret.length > MAX_KEY_LENGTH) return null;
	const hash = hashKey(secret);
	const id = hash.toString('latin1');
	const known = mounted.keys.get(id) ?? (mounted.keys.has(id) ? null : await lookUpKey(mounted, hash, store));
	remember(mounted, id, known);
	return known && known.expiresAt > Date.now() ? known.caller : null;
}

function remember({ keys }: MountedGateway, id: string, known: KnownKey): void {
	if (keys.has(id)) return;
	keys.set(id, known);
	if (keys.size > GATEWAY_KEYS_KEPT) keys.delete(keys.keys().next().value ?? id);
}

async function lookUpKey({ gateway }: MountedGateway, hash: Buffer, store: Store): Promise<KnownKey> {
	const row = await store.gateways.keyByHash(gateway.organizationId, gateway.id, hash);
	if (!row || row.revokedAt !== null) return null;
	const caller: Caller = { method: 'key', subject: `key:${row.id}`, keyId: row.id, scopes: row.scopes };
	return { caller, expiresAt: row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY };
}

// ── access keys and tokens of members, remembered for all gateways ─────────────────────────────────────────────────

/** Somebody whose credential is live. */
interface Member {
	userId: string;
	/** By organization. */
	roles: ReadonlyMap<string, Role>;
	/** Null with a login's token. */
	key: AccessKeyRow | null;
}

interface Entry {
	/** Null while it is looked up, and when nobody was found. */
	userId: string | null;
	expiresAtMs: number;
	member: Promise<Member | null>;
}

class MemberCache {
	readonly #parts: IdentityParts;
	/** By the secret's hash, the longest unused first. */
	readonly #entries = new Map<string, Entry>();
	readonly #unsubscribe: () => void;

	constructor(parts: IdentityParts) {
		this.#parts = parts;
		this.#unsubscribe = parts.store.changes.subscribe((topics) => this.#drop(new Set(topics)));
	}

	/**
	 * Null when it is no such credential, or is ended or revoked. @throws unauthorized for a token that is wrong in itself;
	 * forbidden when it is good, but not here
	 */
	async caller(secret: string, gateway: Gateway): Promise<Caller | null> {
		const isKey = secret.startsWith(ACCESS_KEY_PREFIX);
		if (secret.length > (isKey ? MAX_KEY_LENGTH : MAX_TOKEN_LENGTH) || !(isKey || JWT.test(secret))) return null;
		const member = await this.#find(secret, isKey);
		const caller = member && callerAt(member, gateway);
		if (caller && member.key) this.#parts.recorder.usedAccessKey(member.userId, member.key.id);
		return caller;
	}

	close(): void {
		this.#unsubscribe();
		this.#entries.clear();
	}

	#find(secret: string, isKey: boolean): Promise<Member | null> {
		const hash = hashKey(secret);
		const id = hash.toString('latin1');
		const known = this.#entries.get(id);
		this.#entries.delete(id);
		// What has expired is looked at anew, and refused there.
		const entry = known && known.expiresAtMs > Date.now() ? known : isKey ? this.#lookUpKey(hash) : this.#lookUpToken(secret);
		this.#entries.set(id, entry);
		if (entry !== known) {
			entry.member.catch(() => this.#entries.get(id) === entry && this.#entries.delete(id));
			if (this.#entries.size > MEMBERS_KEPT) this.#entries.delete(this.#entries.keys().next().value ?? id);
		}
		return entry.member;
	}

	#lookUpKey(hash: Buffer): Entry {
		const found = this.#parts.store.accessKeys.byHash(hash);
		return entryOf(
			found.then((access) => access && memberOf(access, access.key)),
			Number.POSITIVE_INFINITY,
		);
	}

	#lookUpToken(token: string): Entry {
		const { sub, sid, exp } = this.#parts.tokens.verify(token);
		const found = this.#parts.store.accounts.session(sid, sub);
		return entryOf(
			found.then((access) => access && memberOf(access, null)),
			exp * 1000,
		);
	}

	/**
	 * What is still being looked up may have been read before the change, and may be anybody's: those who wait for it get it,
	 * those who come after the change was heard do not.
	 */
	#drop(topics: ReadonlySet<string>): void {
		const all = topics.has('*');
		if (!all && ![...topics].some((topic) => topic.startsWith('user:'))) return;
		for (const [id, { userId }] of this.#entries) {
			if (all || userId === null || topics.has(`user:${userId}`)) this.#entries.delete(id);
		}
	}
}

function entryOf(looked: Promise<Member | null>, expiresAtMs: number): Entry {
	const entry: Entry = {
		userId: null,
		expiresAtMs,
		member: looked.then((member) => {
			entry.userId = member?.userId ?? null;
			return member;
		}),
	};
	return entry;
}

const memberOf = ({ user, memberships }: Access, key: AccessKeyRow | null): Member => ({
	userId: user.id,
	roles: new Map(memberships.map(({ organization, role }) => [organization.id, role])),
	key,
});

/** What the role has now, and no more than the key was given. @throws forbidden (decisions, 22) */
function callerAt({ userId, roles, key }: Member, gateway: Gateway): Caller {
	const role = roles.get(gateway.organizationId);
	if (!role || (key?.reach.type === 'gateway' && key.reach.id !== gateway.id)) {
		throw new GatewayError('forbidden', 'The credential is good, but not for this gateway.');
	}
	const held = permissionsOf(role);
	const scopes = GATEWAY_SCOPES.filter((scope) => held.includes(scope) && (key?.permissions?.includes(scope) ?? true));
	return { method: key ? 'key' : 'login', subject: `user:${userId}`, userId, scopes };
}
