// Keys of a gateway (`svc_gw_…`): looked up once and cached with the gateway, until any of its keys changes.

import type { Caller, Gateway } from '../contract/nouns.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import { hashId, MAX_KEY_LENGTH } from '../secrets/tokens.ts';
import type { Store } from '../store/store.ts';

/** Cached keys per gateway. */
const KEYS_KEPT = 10_000;

type KnownKey = { caller: Caller; expiresAt: number } | null;

export interface KeyedGateway {
	gateway: Gateway;
	/** Callers by the hash of their key; a null result is cached, too. */
	keys: BoundedMap<string, KnownKey>;
}

export const noKeysYet = (): KeyedGateway['keys'] => new BoundedMap(KEYS_KEPT);

/** Returns the caller of a key; null when the key is unknown to this gateway, revoked or expired. */
export async function gatewayKey(secret: string, mounted: KeyedGateway, store: Store): Promise<Caller | null> {
	// Without a gateway, no key of one is good.
	if (secret.length > MAX_KEY_LENGTH || mounted.gateway.id === '') return null;
	const id = hashId(secret);
	const known = mounted.keys.get(id) ?? (mounted.keys.has(id) ? null : await lookUp(mounted, Buffer.from(id, 'latin1'), store));
	if (!mounted.keys.has(id)) mounted.keys.set(id, known);
	return known && known.expiresAt > Date.now() ? known.caller : null;
}

async function lookUp({ gateway }: KeyedGateway, hash: Buffer, store: Store): Promise<KnownKey> {
	const row = await store.gateways.keyByHash(gateway.organizationId, gateway.id, hash);
	if (!row || row.revokedAt !== null) return null;
	const caller: Caller = { method: 'key', subject: `key:${row.id}`, keyId: row.id, scopes: row.scopes };
	if (row.expiresAt) caller.expiresAt = row.expiresAt;
	return { caller, expiresAt: row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY };
}
