// The source of an API's latest import, kept sealed with its options, and read again in the same way.

import { GatewayError } from '../contract/errors.ts';
import type { SecretLocation, Secrets } from '../secrets/envelopes.ts';
import type { ApiRow, ImportChanges, KeptSource } from '../store/store.ts';
import type { Writing } from './tool-generation.ts';
import type { ImportResult } from './worker-messages.ts';

/** The URL and the options may hold secrets, whether or not the importer marks any. */
const locationOf = ({ organizationId, id }: ApiRow): SecretLocation => ({ organizationId, table: 'api_sources', row: id });

export function keptSource(secrets: Pick<Secrets, 'seal'>, api: ApiRow, { repetition, digest }: ImportResult): KeptSource {
	return { repetition: repetition === null ? null : secrets.seal(repetition, locationOf(api)), digest };
}

/** The body of the request, and the digest of the document that it read; null where that says nothing. */
export interface Repetition {
	body: Buffer;
	digest: string | null;
}

/**
 * Compares the source of the latest import with what that has stored; once more when another import came meanwhile, whose source may be another.
 * @returns null where there is none: nothing was imported, or the description was sent
 * @throws conflict when it is not known how the source was read, secret_unreadable, and as `compare` does
 */
export async function readAgain(
	{ apis }: Pick<Writing, 'apis'>,
	secrets: Pick<Secrets, 'open'>,
	api: ApiRow,
	compare: (repetition: Repetition) => Promise<ImportChanges | null>,
): Promise<ImportChanges | null> {
	for (;;) {
		const source = await apis.source(api.organizationId, api.id);
		if (!source || (source.repetition === null && source.sourceUrl === null)) return null;
		if (source.repetition === null) throw new GatewayError('conflict', 'It is not known how the description was read: import it again.');
		const body = secrets.open(source.repetition, locationOf(api), `The source of the API "${api.name}"`);
		const changes = await compare({ body: Buffer.from(body), digest: source.digest });
		if ((await apis.source(api.organizationId, api.id))?.id === source.id) return changes;
	}
}
