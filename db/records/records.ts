// Plugins' own documents.

import { createHash } from 'node:crypto';
import { QueryTypes } from 'sequelize';
import type { PutOptions, StoredRecord } from '../../core/contract/nouns.ts';
import type { FoundRecord, RecordScope, RecordStore, RecordUsage } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { document } from '../imports/batches.ts';
import { startWalk, toPage, uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { byUpdate } from '../sorts.ts';
import { lenient, storable } from '../text.ts';
import { listOf, PRUNE, statementsAt, USAGE } from './statements.ts';

type Row = StoredRecord & { seq: string; watched: boolean };

const LIST = 'records';
/** The limit of a name, which an untrusted client may choose. */
const NAME_LENGTH = 200;

export function createRecords({ ordinary, bulk, once }: Database): RecordStore {
	const read = async (organizationId: string, scope: RecordScope, key: string): Promise<Row | null> => {
		const [row] = await rows<Row>(ordinary, statementsAt(scope.gatewayId).get, [...place(organizationId, scope), key]);
		return row ?? null;
	};
	const removeBy = (sql: string, bind: unknown[]): Promise<number> =>
		once((transaction) => ordinary.query(sql, { bind, type: QueryTypes.BULKDELETE, transaction }));
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
			await once((transaction) => ordinary.query(statementsAt(scope.gatewayId).put, { bind, transaction }));
		},
		async add(organizationId, scope, key, value, options) {
			storable({ key, ...options.tags });
			const bind = [...place(organizationId, scope), key, document(value), ...toColumns(options)];
			const added = await once((transaction) => rows<Pick<Row, 'seq'>>(ordinary, statementsAt(scope.gatewayId).add, bind, transaction));
			return added.length > 0;
		},
		async find(organizationId, scope, tags, page) {
			const walk = startWalk<Row>(LIST, page, { usual: '-createdAt', sorts: { updatedAt: byUpdate } });
			const all = listOf(tags);
			const from = walk.key && page.cursor !== undefined ? walk.key.literal(walk.last.value) : null;
			const sql = statementsAt(scope.gatewayId).find({ walk, hasTags: all.length > 0, from });
			const found = await rows<Row>(ordinary, sql, [...place(organizationId, scope), all, walk.last.seq, page.limit + 1]);
			return toPage(walk, found, page, toRecord);
		},
		async count(organizationId, scope, tags, most) {
			const all = listOf(tags);
			const sql = statementsAt(scope.gatewayId).count(all.length > 0);
			const [counted] = await rows<{ n: number }>(ordinary, sql, [...place(organizationId, scope), all, most]);
			return counted?.n ?? 0;
		},
		drop: (organizationId, scope, tags) => removeBy(statementsAt(scope.gatewayId).drop, [...place(organizationId, scope), listOf(tags)]),
		remove: async (organizationId, scope, key) =>
			(await removeBy(statementsAt(scope.gatewayId).remove, [...place(organizationId, scope), key])) > 0,
		async take(organizationId, scope, key) {
			const bind = [...place(organizationId, scope), key];
			const [row] = await once((transaction) => rows<Row>(ordinary, statementsAt(scope.gatewayId).take, bind, transaction));
			return row ? toRecord(row) : null;
		},
		async update(organizationId, scope, { key, revision, value, sealed = [] }, { tags, ttlMs, audited = false } = {}) {
			if (tags) storable({ ...tags });
			const changed = [document(value), ttlMs ?? null, audited ? 1 : 0, tags ? JSON.stringify(tags) : null, JSON.stringify(sealed)];
			const bind = [...place(organizationId, scope), key, revision, ...changed];
			const sql = statementsAt(scope.gatewayId).update;
			const [, updated] = await once((transaction) => ordinary.query(sql, { bind, type: QueryTypes.UPDATE, transaction }));
			return updated > 0;
		},
		async arrival(organizationId, { gatewayId, plugin }, key) {
			// The function `record_arrival` of migration 0016 writes the same.
			const place = `${organizationId.toLowerCase()} ${gatewayId?.toLowerCase() ?? '-'} ${plugin} ${key}`;
			return `record:new:${createHash('sha256').update(place).digest('hex')}`;
		},
		async usage(organizationId, plugin) {
			const [usage] = await rows<RecordUsage>(ordinary, USAGE, [uuid(organizationId), plugin]);
			return usage ?? { records: 0, bytes: 0 };
		},
		prune: () => bulk.query(PRUNE, { type: QueryTypes.BULKDELETE }),
	};
}

const place = (organizationId: string, { plugin, gatewayId }: RecordScope): unknown[] => [
	uuid(organizationId),
	gatewayId === null ? null : uuid(gatewayId),
	plugin,
];

/** Returns tags, lifetime, the watched flag, the sealed fields, and the names for the audit log, as `put` takes them. */
const toColumns = ({ tags = [], ttlMs, watched = false, sealed = [], audited }: PutOptions): unknown[] => [
	JSON.stringify(tags),
	ttlMs ?? null,
	watched,
	JSON.stringify(sealed),
	audited?.type ?? null,
	audited ? lenient(audited.name.slice(0, NAME_LENGTH)) : null,
];

const toRecord = ({ seq: _seq, watched: _watched, ...record }: Row): StoredRecord => record;

const toFound = (row: Row): FoundRecord => ({ record: toRecord(row), topic: row.watched ? `record:${row.seq}` : null });
