// Credentials of connected APIs: one per security scheme, and one per type without a scheme.

import type { Attributes } from 'sequelize';
import { invalid } from '../core/contract/errors.ts';
import type { CredentialRow, Credentials } from '../core/store/store.ts';
import type { Database } from './connection.ts';
import { unlessOrphan } from './errors.ts';
import { type ApiCredential, CREDENTIAL } from './models/api.ts';
import { pick } from './models/columns.ts';
import type { Models } from './models/index.ts';
import { uuid } from './pages.ts';
import { rows } from './rows.ts';
import { storable } from './text.ts';

/** Credentials per API: all are read with each gateway that has a tool of it. */
const MAX_CREDENTIALS = 50;

// Stored one at a time, so that concurrent requests neither exceed the limit nor give one scheme two types.
const LOCK = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';
const PUT = `
WITH former AS (
	DELETE FROM api_credentials WHERE organization_id = $1 AND api_id = $2 AND type <> $3 AND scheme = $4::text AND scheme <> '' RETURNING type
), stored AS (
	SELECT type, scheme FROM api_credentials WHERE organization_id = $1 AND api_id = $2
)
INSERT INTO api_credentials (organization_id, api_id, type, scheme, origin, secret, place)
SELECT $1, $2, $3, $4, $5, $6, $7::json
WHERE (SELECT count(*) FROM stored) - (SELECT count(*) FROM former) < $8 OR ($3, $4) IN (SELECT type, scheme FROM stored)
ON CONFLICT (organization_id, api_id, type, scheme) DO UPDATE
SET origin = excluded.origin, secret = excluded.secret, place = excluded.place
RETURNING api_id AS "apiId", type, nullif(scheme, '') AS scheme, origin, secret, place, updated_at AS "updatedAt"`;

export const createCredentials = (database: Database, { ApiCredential }: Models): Credentials => ({
	async credentials(organizationId, apiId) {
		const found = await ApiCredential.findAll({ where: ofApi(organizationId, apiId), order: ['type', 'scheme'], raw: true });
		return found.map(toCredential);
	},
	putCredential: (organizationId, { apiId, type, scheme = null, origin, secret, place = null }) =>
		unlessOrphan(async () => {
			const key = { ...ofApi(organizationId, apiId), type, ...storable({ scheme: scheme ?? '' }) };
			const written = [...Object.values(key), origin, secret, place && JSON.stringify(place), MAX_CREDENTIALS];
			return database.write(async (transaction) => {
				await rows(database.ordinary, LOCK, [`credentials ${key.apiId}`], transaction);
				const [put] = await rows<CredentialRow>(database.ordinary, PUT, written, transaction);
				if (!put) throw invalid('/scheme', `An API keeps up to ${MAX_CREDENTIALS} credentials: remove one of them first.`);
				return put;
			});
		}),
	async dropCredential(organizationId, { apiId, type, scheme }) {
		const where = { ...ofApi(organizationId, apiId), type, scheme: scheme ?? '' };
		return (await database.write((transaction) => ApiCredential.destroy({ where, transaction }))) > 0;
	},
});

const ofApi = (organizationId: string, apiId: string): { organizationId: string; apiId: string } => ({
	organizationId: uuid(organizationId),
	apiId: uuid(apiId),
});

export const toCredential = (row: Attributes<ApiCredential>): CredentialRow => ({
	...pick(row, CREDENTIAL),
	scheme: row.scheme === '' ? null : row.scheme,
});
