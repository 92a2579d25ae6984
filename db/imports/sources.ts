// The source of an API's latest description: kept with each import, for those who read it again.

import type { Sequelize } from 'sequelize';
import type { KeptSource, SchemaRow } from '../../core/store/store.ts';
import { rows } from '../rows.ts';
import type { Import } from './staging.ts';

const KEEP = `
INSERT INTO api_sources (organization_id, api_id, schema_id, repetition, digest) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (organization_id, api_id) DO UPDATE SET schema_id = $3, repetition = $4, digest = $5`;

// The source of another schema is that of an import before: a replica of a release that keeps none may have imported since.
const READ = `
SELECT s.id, s.source_url AS "sourceUrl", a.repetition, a.digest FROM api_schemas s
LEFT JOIN api_sources a ON a.organization_id = s.organization_id AND a.api_id = s.api_id AND a.schema_id = s.id
WHERE s.organization_id = $1 AND s.api_id = $2 ORDER BY s.seq DESC LIMIT 1`;

/** Runs in the transaction of the import. A description that was sent leaves nothing of the source before. */
export async function keepSource(
	{ sequelize, transaction, organizationId, apiId }: Import,
	schemaId: string,
	{ repetition, digest }: KeptSource,
): Promise<void> {
	await sequelize.query(KEEP, { bind: [organizationId, apiId, schemaId, repetition, digest], transaction });
}

/** Returns the source of the API's latest schema; null when it has none. */
export async function readSource(
	sequelize: Sequelize,
	{ organizationId, apiId }: Pick<Import, 'organizationId' | 'apiId'>,
): Promise<(Pick<SchemaRow, 'id' | 'sourceUrl'> & KeptSource) | null> {
	const [found] = await rows<Pick<SchemaRow, 'id' | 'sourceUrl'> & KeptSource>(sequelize, READ, [organizationId, apiId]);
	return found ?? null;
}
