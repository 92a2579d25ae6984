// Checks ENCRYPTION_KEY at the start: with a wrong one the service would run, and fail on each secret that it opens.

import type { Secrets } from './secrets/envelopes.ts';
import type { Store } from './store/store.ts';

const LOCATION = { organizationId: '', table: 'installation', row: 'encryption_key' };
const PROOF = 'gatehouse';

/** Checks the key. @throws Error when the database's secrets were sealed with another key */
export async function checkEncryptionKey(store: Pick<Store, 'keep'>, secrets: Secrets): Promise<void> {
	const proof = await store.keep(LOCATION.row, secrets.seal(PROOF, LOCATION));
	try {
		secrets.open(proof, LOCATION, 'The proof of ENCRYPTION_KEY');
	} catch (cause) {
		throw new Error('ENCRYPTION_KEY is not the key with which the secrets of this database were sealed.', { cause });
	}
}
