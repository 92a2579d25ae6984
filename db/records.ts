// Plugins' own documents. An expired one does not exist, whether it was pruned yet or not; the database's clock decides.

import { QueryTypes } from 'sequelize';
import type { PutOptions, StoredRecord } from '../core/contract/nouns.ts';
import type { FoundRecord, RecordScope, RecordStore } from '../core/store/store.ts';
import type { Database } from './connection.ts';
import { document } from './imports/batches.ts';
import { startWalk, toPage, uuid, type Walk } from './pages.ts';
import { rows } from './rows.ts';
import { lenient, storable } from './text.ts';

type Row = StoredRecord & { seq: string; watched: boolean };

const LIST = 'records';
/** The limit of a name, which an untrusted client may choose. */
const NAME_LENGTH = 200;

const COLUMNS = `seq, watched, key, value, tags, revision, created_at AS "createdAt", expires_at AS "expiresAt", taken_at AS "takenAt",
	now() AS "readAt"`;
const LIVE = '(expires_at IS NULL OR expires_at > now())';
const IN_SCOPE = 'organization_id = $1 AND gateway_id = $2 AND plugin = $3';
const ONE = `${IN_SCOPE} AND key = $4 AND ${LIVE}`;

const GET = `SELECT ${COLUMNS} FROM records WHERE ${ONE}`;
// A new document under an old key replaces everything but its position in the order, unless the old one had expired: then it is a new
// record.
const PUT = `
INSERT INTO records AS r (organization_id, gateway_id, plugin, key, value, tags, expires_at, watched, audit_type, audit_name)
VALUES ($1, $2, $3, $4, $5::json, ARRAY(SELECT json_array_elements_text($6::json)), now() + $7::float8 * interval '1 millisecond',
	$8, $9, $10)
ON CONFLICT (organization_id, gateway_id, plugin, key) DO UPDATE SET
	value = excluded.value, tags = excluded.tags, expires_at = excluded.expires_at, taken_at = NULL, revision = r.revision + 1,
	watched = excluded.watched, audit_type = excluded.audit_type, audit_name = excluded.audit_name,
	id = CASE WHEN r.expires_at <= now() THEN excluded.id ELSE r.id END,
	created_at = CASE WHEN r.expires_at <= now() THEN excluded.created_at ELSE r.created_at END`;
const ADD = `${PUT} WHERE r.expires_at <= now() RETURNING seq`;
const find = ({ beyond, direction }: Walk<Row>): string => `
SELECT ${COLUMNS} FROM records WHERE ${IN_SCOPE} AND tags @> ARRAY[$4::text] AND ${LIVE} AND seq ${beyond} $5 ORDER BY seq ${direction} LIMIT $6`;
const DROP = `DELETE FROM records WHERE ${IN_SCOPE} AND tags @> ARRAY[$4::text] AND ${LIVE}`;
const TAKE = `UPDATE records SET taken_at = now(), revision = revision + 1 WHERE ${ONE} AND taken_at IS NULL RETURNING ${COLUMNS}`;
const UPDATE = `
UPDATE records SET value = $6::json, revision = revision + 1, expires_at = coalesce(now() + $7::float8 * interval '1 millisecond', expires_at),
	audit_told = audit_told + $8::integer
WHERE ${ONE} AND revision = $5`;
const PRUNE = 'DELETE FROM records WHERE expires_at <= now()';

export function createRecords({ ordinary, bulk, once }: Database): RecordStore {
	const read = async (organizationId: string, scope: RecordScope, key: string): Promise<Row | null> => {
		const [row] = await rows<Row>(ordinary, GET, [...place(organizationId, scope), key]);
		return row ?? null;
	};
	return {
		async get(organizationId, scope, key) {
			const row = await read(organizationId, scope, key);
			return row && toRecord(row);
		},
		async look(organizationId, scope, key) {
			const row = await read(organizationId, scope, key);
			return row && toFound(row);
		},
		async put(organizationId, scope, key, value, options) {
			storable({ key, ...options.tags });
			const bind = [...place(organizationId, scope), key, document(value), ...toColumns(options)];
			await once((transaction) => ordinary.query(PUT, { bind, transaction }));
		},
		async add(organizationId, scope, key, value, options) {
			storable({ key, ...options.tags });
			const bind = [...place(organizationId, scope), key, document(value), ...toColumns(options)];
			const added = await once((transaction) => rows<Pick<Row, 'seq'>>(ordinary, ADD, bind, transaction));
			return added.length > 0;
		},
		async find(organizationId, scope, tag, page) {
			const walk = startWalk<Row>(LIST, page, { usual: '-createdAt' });
			const found = await rows<Row>(ordinary, find(walk), [...place(organizationId, scope), tag, walk.last.seq, page.limit + 1]);
			return toPage(walk, found, page, toRecord);
		},
		drop(organizationId, scope, tag) {
			const bind = [...place(organizationId, scope), tag];
			return once((transaction) => ordinary.query(DROP, { bind, type: QueryTypes.BULKDELETE, transaction }));
		},
		async take(organizationId, scope, key) {
			const bind = [...place(organizationId, scope), key];
			const [row] = await once((transaction) => rows<Row>(ordinary, TAKE, bind, transaction));
			return row ? toRecord(row) : null;
		},
		async update(organizationId, scope, { key, revision, value }, { ttlMs, audited = false } = {}) {
			const bind = [...place(organizationId, scope), key, revision, document(value), ttlMs ?? null, audited ? 1 : 0];
			const [, updated] = await once((transaction) => ordinary.query(UPDATE, { bind, type: QueryTypes.UPDATE, transaction }));
			return updated > 0;
		},
		prune: () => bulk.query(PRUNE, { type: QueryTypes.BULKDELETE }),
	};
}

const place = (organizationId: string, { plugin, gatewayId }: RecordScope): unknown[] => [uuid(organizationId), uuid(gatewayId), plugin];

/** Returns tags, lifetime, the watched flag, and the names for the audit log, as PUT takes them. */
const toColumns = ({ tags = [], ttlMs, watched = false, audited }: PutOptions): unknown[] => [
	JSON.stringify(tags),
	ttlMs ?? null,
	watched,
	audited?.type ?? null,
	audited ? lenient(audited.name.slice(0, NAME_LENGTH)) : null,
];

const toRecord = ({ seq: _seq, watched: _watched, ...record }: Row): StoredRecord => record;

const toFound = (row: Row): FoundRecord => ({ record: toRecord(row), topic: row.watched ? `record:${row.seq}` : null });
