// Clients whose ids carry their registration (RFC 7591, appendix A.5.2), encrypted: at an address over all organizations, where anybody may
// register and there is no organization that could keep a client before a member has allowed it.

import { type Call, isObject, type JsonObject } from '../../../../core/index.ts';
import { OAuthFault } from '../faults.ts';
import { mintId } from '../secrets.ts';
import type { Client } from './clients.ts';

/** Ids are part of URLs, which servers and proxies bound. */
const MAX_ID_LENGTH = 4000;
/** An id is good as long as the key that it is encrypted with: it opens nothing by itself. */
const LASTING_MS = 100 * 365 * 24 * 60 * 60 * 1000;

/** Returns the client under an id that carries it. @throws invalid_client_metadata */
export function carried(client: Client, { seals }: Pick<Call, 'seals'>): Client {
	const { id: _minted, isDocument: _no, ...registration } = client;
	// It is JSON: a key set holds strings and lists of strings.
	const id = seals.seal({ ...registration, nonce: mintId() } as unknown as JsonObject, LASTING_MS);
	if (id.length > MAX_ID_LENGTH)
		throw new OAuthFault(
			'invalid_client_metadata',
			'the metadata are too long for this address: name fewer redirect URIs, or use jwks_uri',
		);
	return { ...client, id };
}

/** Reads the client of such an id; null for any other text. */
export function uncarried(id: string, { seals }: Pick<Call, 'seals'>): Client | null {
	const registration = id.length <= MAX_ID_LENGTH ? seals.unseal(id) : null;
	if (!isObject(registration)) return null;
	const { nonce: _nonce, ...client } = registration as unknown as Client & { nonce: string };
	return { ...client, id, isDocument: false };
}
