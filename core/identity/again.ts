// Finds a caller again whom this core admitted earlier, as their credential and their role are now: for work that outlives the request.

import type { Caller } from '../contract/nouns.ts';
import type { Store } from '../store/store.ts';
import type { KeyedGateway } from './gateway-keys.ts';
import { callerAt, holderOf, type Members } from './members.ts';
import { passwordVersion } from './password-cache.ts';

export interface AgainParts {
	store: Store;
	members: Members;
}

/** The names of credentials: `access:<id of the key>`, `login:<id of the session>`, `password:<version>`. */
const NAMED = /^(access|login|password):(.+)$/;

/** Returns the caller as they are now; null when the credential was revoked or has ended, or cannot be found again. */
export async function callerAgain(caller: Caller, mounted: KeyedGateway, parts: AgainParts): Promise<Caller | null> {
	await parts.store.changes.fresh(0);
	if (caller.keyId !== undefined) return keyAgain(caller.keyId, mounted, parts.store);
	const { userId } = caller;
	const now = userId === undefined ? null : await memberAgain({ userId, credential: caller.credential }, mounted, parts);
	// Whoever was removed and joined again has to begin anew.
	if (!now || now.memberSince?.getTime() !== caller.memberSince?.getTime()) return null;
	return caller.credential === undefined ? now : { ...now, credential: caller.credential };
}

async function keyAgain(keyId: string, { gateway }: KeyedGateway, store: Store): Promise<Caller | null> {
	const row = await store.gateways.key(gateway.organizationId, gateway.id, keyId);
	if (!row || row.revokedAt !== null || (row.expiresAt !== null && row.expiresAt.getTime() <= Date.now())) return null;
	const { id, scopes, expiresAt } = row;
	return { method: 'key', subject: `key:${id}`, keyId: id, scopes, ...(expiresAt && { expiresAt }) };
}

async function memberAgain(
	{ userId, credential }: { userId: string; credential: string | undefined },
	{ gateway }: KeyedGateway,
	{ store, members }: AgainParts,
): Promise<Caller | null> {
	if (credential === undefined) return members.byId(userId, gateway);
	const [, kind, name = ''] = NAMED.exec(credential) ?? [];
	if (kind === 'access') {
		const access = await store.accessKeys.byId(userId, name);
		return access && callerAt(holderOf(access, { login: null, key: access.key }), gateway);
	}
	if (kind === 'login') {
		const access = await store.accounts.session(name, userId);
		return access && callerAt(holderOf(access, { login: null, key: null }), gateway);
	}
	if (kind !== 'password') return null;
	const user = await store.accounts.byId(userId);
	return user && passwordVersion(user.passwordHash) === name ? members.byId(userId, gateway) : null;
}
