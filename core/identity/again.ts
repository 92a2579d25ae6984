// Finds a caller again whom this core admitted earlier, as their credential and their role are now: for work that outlives the request.

import type { Caller } from '../contract/nouns.ts';
import type { Store } from '../store/store.ts';
import { callerAt, type GatewayIds, holderOf, type Members } from './members.ts';
import { passwordVersion } from './password-cache.ts';

export interface AgainAt {
	/** Without an id, all of the organization, which no key of one gateway reaches. */
	gateway: GatewayIds;
}

export interface AgainParts {
	store: Store;
	members: Members;
}

/** The names of credentials: `access:<id of the key>`, `login:<id of the session>`, `password:<version>`. */
const NAMED = /^(access|login|password):(.+)$/;

/** Whether core's own rows hold the credential of the caller, rather than records of the method that admitted them. */
export const isOwnCredential = ({ keyId, credential }: Caller): boolean =>
	keyId !== undefined || (credential !== undefined && NAMED.test(credential));

/** Returns the caller as they are now; null when the credential was revoked or has ended, or cannot be found again. */
export async function callerAgain(caller: Caller, mounted: AgainAt, parts: AgainParts): Promise<Caller | null> {
	await parts.store.changes.fresh(0);
	if (caller.keyId !== undefined) return keyAgain(caller.keyId, mounted, parts.store);
	return memberAgain(caller, mounted.gateway, parts);
}

/** Returns a member by the credential that they named, or by themselves; null for a key of a gateway, which is no member. */
export async function memberAgain(caller: Caller, place: GatewayIds, parts: AgainParts): Promise<Caller | null> {
	const { userId, keyId, credential, memberSince } = caller;
	const now = userId === undefined || keyId !== undefined ? null : await memberBy({ userId, credential }, place, parts);
	// Whoever was removed and joined again has to begin anew.
	if (!now || now.memberSince?.getTime() !== memberSince?.getTime()) return null;
	return credential === undefined ? now : { ...now, credential };
}

async function keyAgain(keyId: string, { gateway }: AgainAt, store: Store): Promise<Caller | null> {
	const row = await store.gateways.key(gateway.organizationId, gateway.id, keyId);
	if (!row || row.revokedAt !== null || (row.expiresAt !== null && row.expiresAt.getTime() <= Date.now())) return null;
	const { id, scopes, expiresAt } = row;
	return { method: 'key', subject: `key:${id}`, keyId: id, scopes, ...(expiresAt && { expiresAt }) };
}

async function memberBy(
	{ userId, credential }: { userId: string; credential: string | undefined },
	place: GatewayIds,
	{ store, members }: AgainParts,
): Promise<Caller | null> {
	if (credential === undefined) return members.byId(userId, place);
	const [, kind, name = ''] = NAMED.exec(credential) ?? [];
	if (kind === 'access') {
		const access = await store.accessKeys.byId(userId, name);
		return access && callerAt(holderOf(access, { login: null, key: access.key }), place);
	}
	if (kind === 'login') {
		const access = await store.accounts.session(name, userId);
		return access && callerAt(holderOf(access, { login: null, key: null }), place);
	}
	if (kind !== 'password') return null;
	const user = await store.accounts.byId(userId);
	return user && passwordVersion(user.passwordHash) === name ? members.byId(userId, place) : null;
}
