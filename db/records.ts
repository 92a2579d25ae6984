// Plugins' own documents. What has expired is not there, whether it was pruned yet or not; the database's clock decides.

import { QueryTypes, type Sequelize } from 'sequelize';
import type { StoredRecord } from '../core/contracts.ts';
import type { RecordScope, RecordStore } from '../core/store.ts';
import { document } from './batches.ts';
import { startWalk, toPage, uuid, type Walk } from './pages.ts';
import { storable } from './text.ts';

type Row = StoredRecord & { seq: string };

const LIST = 'records';

const COLUMNS = `seq, key, value, tags, revision, created_at AS "createdAt", expires_at AS "expiresAt", taken_at AS "takenAt"`;
const LIVE = '(expires_at IS NULL OR expires_at > now())';
const IN_SCOPE = 'organization_id = $1 AND gateway_id = $2 AND plugin = $3';
const ONE = `${IN_SCOPE} AND key = $4 AND ${LIVE}`;

const GET = `SELECT ${COLUMNS} FROM records WHERE ${ONE}`;
// A new document under an old key is new in all but its place in the order, unless the old one had expired.
const PUT = `
INSERT INTO records AS r (organization_id, gateway_id, plugin, key, value, tags, expires_at)
VALUES ($1, $2, $3, $4, $5::json, ARRAY(SELECT json_array_elements_text($6::json)), $7)
ON CONFLICT (organization_id, gateway_id, plugin, key) DO UPDATE SET
	value = excluded.value, tags = excluded.tags, expires_at = excluded.expires_at, taken_at = NULL, revision = r.revision + 1,
	created_at = CASE WHEN r.expires_at <= now() THEN excluded.created_at ELSE r.created_at END`;
const find = ({ beyond, direction }: Walk<Row>): string => `
SELECT ${COLUMNS} FROM records WHERE ${IN_SCOPE} AND tags @> ARRAY[$4::text] AND ${LIVE} AND seq ${beyond} $5 ORDER BY seq ${direction} LIMIT $6`;
const DROP = `DELETE FROM records WHERE ${IN_SCOPE} AND tags @> ARRAY[$4::text]`;
const TAKE = `UPDATE records SET taken_at = now(), revision = revision + 1 WHERE ${ONE} AND taken_at IS NULL RETURNING ${COLUMNS}`;
const UPDATE = `UPDATE records SET value = $6::json, revision = revision + 1 WHERE ${ONE} AND revision = $5`;
const PRUNE = 'DELETE FROM records WHERE expires_at <= now()';

export function createRecords({ ordinary, bulk }: { ordinary: Sequelize; bulk: Sequelize }): RecordStore {
	const place = (organizationId: string, { plugin, gatewayId }: RecordScope) => [uuid(organizationId), uuid(gatewayId), plugin];
	const select = (sql: string, bind: unknown[]): Promise<Row[]> => ordinary.query<Row>(sql, { bind, type: QueryTypes.SELECT });
	const one = async (sql: string, bind: unknown[]): Promise<StoredRecord | null> => {
		const [row] = await select(sql, bind);
		return row ? toRecord(row) : null;
	};
	return {
		get: (organizationId, scope, key) => one(GET, [...place(organizationId, scope), key]),
		async put(organizationId, scope, key, value, { tags, expiresAt }) {
			storable({ key, ...tags });
			const bind = [...place(organizationId, scope), key, document(value), JSON.stringify(tags), expiresAt];
			await ordinary.query(PUT, { bind });
		},
		async find(organizationId, scope, tag, page) {
			const walk = startWalk<Row>(LIST, page, { usual: '-createdAt' });
			const rows = await select(find(walk), [...place(organizationId, scope), tag, walk.last.seq, page.limit + 1]);
			return toPage(walk, rows, page, toRecord);
		},
		drop: (organizationId, scope, tag) =>
			ordinary.query(DROP, { bind: [...place(organizationId, scope), tag], type: QueryTypes.BULKDELETE }),
		take: (organizationId, scope, key) => one(TAKE, [...place(organizationId, scope), key]),
		async update(organizationId, scope, key, revision, value) {
			const bind = [...place(organizationId, scope), key, revision, document(value)];
			const [, updated] = await ordinary.query(UPDATE, { bind, type: QueryTypes.UPDATE });
			return updated > 0;
		},
		prune: () => bulk.query(PRUNE, { type: QueryTypes.BULKDELETE }),
	};
}

const toRecord = ({ seq: _seq, ...record }: Row): StoredRecord => record;
