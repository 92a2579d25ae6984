// Merges the staged operations with the stored ones: matches, compares and writes them. Large results are read through cursors, a few rows
// at a time.

import { QueryTypes } from 'sequelize';
import type { BodyLayout } from '../../core/contract/nouns.ts';
import type { ImportChanges, ImportReader, OperationContent, OperationRow } from '../../core/store/store.ts';
import { rows } from '../rows.ts';
import { writeDrafts } from './drafts.ts';
import { COLUMNS, type Import } from './staging.ts';

export interface Merged {
	added: number;
	changed: number;
	unchanged: number;
	removed: number;
	/** Null without a reader. */
	changes: ImportChanges | null;
}

const OF_API = 'o.organization_id = $1 AND o.api_id = $2';

const MATCH_BY_KEY = `UPDATE staged_operations s SET id = o.id FROM operations o WHERE ${OF_API} AND o.key = s.key`;

// Matches only those left over by the keys on both sides; of operations with the same operationId, the first matches the first.
const MATCH_BY_OPERATION_ID = `
UPDATE staged_operations s SET id = stored.id
FROM (
	SELECT DISTINCT ON (o.operation_id) o.id, o.operation_id FROM operations o
	WHERE ${OF_API} AND NOT EXISTS (SELECT FROM staged_operations t WHERE t.id = o.id)
	ORDER BY o.operation_id, o.status, o.seq
) stored JOIN (
	SELECT DISTINCT ON (operation_id) seq, operation_id FROM staged_operations WHERE id IS NULL ORDER BY operation_id, seq
) fresh USING (operation_id)
WHERE s.seq = fresh.seq`;

// Compares the stored text: the order of keys counts here, and so does whitespace.
const MARK_CHANGED = `
UPDATE staged_operations s SET change = CASE o.status WHEN 'removed' THEN 'restored' ELSE 'changed' END
FROM operations o
WHERE ${OF_API} AND o.id = s.id AND (
	o.key, o.operation_id, o.title, o.description, o.method, o.path, o.tags, o.deprecated, o.parameters::text, o.whole_hash, o.output_schema::text,
	o.answer_cut, o.definition::text, o.outcome, o.reasons::text, o.status
) IS DISTINCT FROM (
	s.key, s.operation_id, s.title, s.description, s.method, s.path, s.tags, s.deprecated, s.parameters::text, s.whole_hash, s.output_schema::text,
	s.answer_cut, s.definition::text, s.outcome, s.reasons::text, 'active'
)`;

const UNSEEN = `
SELECT o.key, o.name FROM operations o
WHERE ${OF_API} AND o.status = 'active' AND NOT EXISTS (SELECT FROM staged_operations s WHERE s.id = o.id)
ORDER BY o.seq LIMIT $3`;

const NEW = 'SELECT key, name FROM staged_operations WHERE id IS NULL ORDER BY seq LIMIT $1';

/** Longer ones would not be compared anyway. */
const MAX_COMPARED_CHARS = 256 * 1024;

const content = (
	source: string,
): string => `json_build_object('operationId', ${source}.operation_id, 'title', ${source}.title, 'description', ${source}.description,
	'method', ${source}.method, 'path', ${source}.path, 'tags', ${source}.tags, 'deprecated', ${source}.deprecated,
	'parameters', ${source}.parameters, 'whole', CASE WHEN length(${source}.whole_parameters::text) <= ${MAX_COMPARED_CHARS} THEN ${source}.whole_parameters END,
	'outputSchema', ${source}.output_schema, 'answerCut', ${source}.answer_cut, 'definition', ${source}.definition,
	'outcome', ${source}.outcome, 'reasons', ${source}.reasons)`;

const DIFFERING = `
SELECT s.key, o.name, s.change = 'restored' AS "isRestored", ${content('o')} AS before, ${content('s')} AS after
FROM staged_operations s JOIN operations o ON o.id = s.id
WHERE ${OF_API} AND s.change IS NOT NULL ORDER BY s.seq`;

// The name stays: tools and clients know the operation by it.
const UPDATE_MATCHED = `
UPDATE operations o SET
	key = s.key, operation_id = s.operation_id, title = s.title, description = s.description, method = s.method, path = s.path, tags = s.tags,
	deprecated = s.deprecated, parameters = s.parameters, whole_parameters = s.whole_parameters, whole_hash = s.whole_hash,
	output_schema = s.output_schema, answer_cut = s.answer_cut, definition = s.definition,
	outcome = s.outcome, reasons = s.reasons, status = 'active'
FROM staged_operations s
WHERE ${OF_API} AND o.id = s.id AND s.change IS NOT NULL`;

const REMOVE_UNSEEN = `
UPDATE operations o SET status = 'removed'
WHERE ${OF_API} AND o.status = 'active' AND NOT EXISTS (SELECT FROM staged_operations s WHERE s.id = o.id)`;

const INSERT_NEW = `
INSERT INTO operations (organization_id, api_id, ${COLUMNS})
SELECT $1, $2, ${COLUMNS} FROM staged_operations WHERE id IS NULL ORDER BY seq`;

const FOLLOW_WITH_TOOLS = `
UPDATE tools t SET removed = (o.status = 'removed') FROM operations o
WHERE ${OF_API} AND t.organization_id = $1 AND t.operation_id = o.id AND t.removed <> (o.status = 'removed')`;

/** The changed operations of which a tool exists, in their new state. */
const WITH_TOOLS = `
SELECT o.id, o.organization_id AS "organizationId", o.api_id AS "apiId", o.key, o.operation_id AS "operationId", o.name, o.title, o.description,
	o.method, o.path, o.tags, o.deprecated, o.parameters, o.whole_hash AS "wholeHash", o.output_schema AS "outputSchema",
	o.answer_cut AS "answerCut", o.definition, o.outcome, o.reasons, o.status, o.created_at AS "createdAt", o.updated_at AS "updatedAt",
	t.bodies
FROM staged_operations s JOIN operations o ON o.id = s.id JOIN tools t ON t.organization_id = o.organization_id AND t.operation_id = o.id
WHERE ${OF_API} AND s.change IS NOT NULL ORDER BY s.seq`;

// The planner does not know that organization and API depend on each other: it expects one operation where there are 11,000, and would read
// all staged rows for each of them.
const WITHOUT_LOOPS = 'SET LOCAL enable_nestloop = off';

/** The number of added or removed operations that the reader gets. */
const MAX_TOLD = 2_000;
/** An operation has up to 1 MiB, and each row of a comparison two. */
const ROWS_COMPARED = 10;
const ROWS_DRAFTED = 50;

type Differing = { key: string; name: string; isRestored: boolean; before: OperationContent; after: OperationContent };

export async function merge(current: Import, reader: ImportReader | null): Promise<Merged> {
	const { sequelize, transaction, organizationId, apiId } = current;
	const of = [organizationId, apiId];
	const write = async (sql: string): Promise<number> => {
		const [, affected] = await sequelize.query(sql, { bind: of, type: QueryTypes.UPDATE, transaction });
		return affected;
	};
	await sequelize.query(WITHOUT_LOOPS, { transaction });
	await sequelize.query('ANALYZE staged_operations', { transaction });
	const isFirst = !(await hasOperations(current));
	const matched = (await write(MATCH_BY_KEY)) + (await write(MATCH_BY_OPERATION_ID));
	const changed = await write(MARK_CHANGED);
	await sequelize.query('ANALYZE staged_operations (id, change)', { transaction });
	if (reader) await tell(current, reader, isFirst);
	await write(UPDATE_MATCHED);
	const removed = await write(REMOVE_UNSEEN);
	const [, added] = await sequelize.query(INSERT_NEW, { bind: of, type: QueryTypes.INSERT, transaction });
	await write(FOLLOW_WITH_TOOLS);
	const toolsUpdated = reader ? await updateTools(current, reader) : 0;
	const changes = reader?.finish({ operations: matched + added, added, removed, isFirst, toolsUpdated }) ?? null;
	return { added, changed, unchanged: matched - changed, removed, changes };
}

async function hasOperations({ sequelize, transaction, organizationId, apiId }: Import): Promise<boolean> {
	return (await rows(sequelize, `SELECT FROM operations o WHERE ${OF_API} LIMIT 1`, [organizationId, apiId], transaction)).length > 0;
}

/** Passes the changes to the reader before anything is written: afterwards the former state is gone. */
async function tell(current: Import, reader: ImportReader, isFirst: boolean): Promise<void> {
	if (isFirst) return;
	const { sequelize, transaction, organizationId, apiId } = current;
	const removed = await rows<{ key: string; name: string }>(sequelize, UNSEEN, [organizationId, apiId, MAX_TOLD], transaction);
	for (const operation of removed) reader.moved('removed', operation);
	const added = await rows<{ key: string; name: string }>(sequelize, NEW, [MAX_TOLD], transaction);
	for (const operation of added) reader.moved('added', operation);
	await declare(current, 'differing', DIFFERING);
	for await (const batch of fetchAll<Differing>(current, 'differing', ROWS_COMPARED))
		for (const operation of batch) await reader.differs(operation);
}

/** Updates the tools of changed operations, since a tool must not call an operation in a way that the API no longer has. */
async function updateTools(current: Import, reader: ImportReader): Promise<number> {
	let updated = 0;
	await declare(current, 'with_tools', WITH_TOOLS);
	await current.sequelize.query('SET LOCAL enable_nestloop TO DEFAULT', { transaction: current.transaction });
	for await (const batch of fetchAll<OperationRow & { bodies: BodyLayout }>(current, 'with_tools', ROWS_DRAFTED)) {
		const drafts = batch.map(({ bodies, ...operation }) => ({ operationId: operation.id, tool: reader.draft(operation, bodies) }));
		updated += (await writeDrafts(current.sequelize, current, drafts, { transaction: current.transaction })).updated;
	}
	return updated;
}

/** Declares a cursor over a statement about the API; it shows the rows as they are now. */
async function declare({ sequelize, transaction, organizationId, apiId }: Import, cursor: string, sql: string): Promise<void> {
	await sequelize.query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`, { bind: [organizationId, apiId], transaction });
}

async function* fetchAll<R extends object>({ sequelize, transaction }: Import, cursor: string, size: number): AsyncGenerator<R[]> {
	for (;;) {
		const batch = await rows<R>(sequelize, `FETCH ${size} FROM ${cursor}`, [], transaction);
		if (batch.length === 0) break;
		yield batch;
	}
	await sequelize.query(`CLOSE ${cursor}`, { transaction });
}
