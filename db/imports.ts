// Writing an imported schema: operations are staged as they come and meet the stored ones at the end, when all are known.
// Everything happens in one transaction on a connection of its own.

import { type Attributes, QueryTypes, type Sequelize, type Transaction } from 'sequelize';
import type { Operation } from '../core/contracts.ts';
import type { ImportWriter, SchemaRow } from '../core/store.ts';
import { batches, document } from './batches.ts';
import type { Database } from './connection.ts';
import { guard } from './errors.ts';
import type { ApiSchema } from './models/api.ts';
import type { Models } from './models/index.ts';
import { text } from './text.ts';

interface OfApi {
	organizationId: string;
	apiId: string;
}

interface Import extends OfApi {
	sequelize: Sequelize;
	transaction: Transaction;
}

const STAGE = `
CREATE TEMP TABLE staged_operations (
	seq bigint GENERATED ALWAYS AS IDENTITY,
	id uuid,
	key text,
	operation_id text,
	name text,
	description text,
	method text,
	path text,
	tags text[],
	deprecated boolean,
	parameters json,
	output_schema json,
	definition json,
	outcome text,
	reasons json
) ON COMMIT DROP`;

const COLUMNS =
	'key, operation_id, name, description, method, path, tags, deprecated, parameters, output_schema, definition, outcome, reasons';

const ADD = `
INSERT INTO staged_operations (${COLUMNS})
SELECT key, operation_id, name, description, method, path, tags, deprecated,
	parameters::json, output_schema::json, definition::json, outcome, reasons::json
FROM json_to_recordset($1::json) AS batch (
	key text, operation_id text, name text, description text, method text, path text, tags text[], deprecated boolean,
	parameters text, output_schema text, definition text, outcome text, reasons text
)`;

const OF_API = 'o.organization_id = $1 AND o.api_id = $2';

const MATCH_BY_KEY = `UPDATE staged_operations s SET id = o.id FROM operations o WHERE ${OF_API} AND o.key = s.key`;

// Only among what the keys left over on both sides; should an operationId occur twice, the first meets the first.
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

// The name stays: tools and clients know the operation by it.
const UPDATE_MATCHED = `
UPDATE operations o SET
	key = s.key, operation_id = s.operation_id, description = s.description, method = s.method, path = s.path, tags = s.tags,
	deprecated = s.deprecated, parameters = s.parameters, output_schema = s.output_schema, definition = s.definition,
	outcome = s.outcome, reasons = s.reasons, status = 'active'
FROM staged_operations s
WHERE ${OF_API} AND o.id = s.id AND (
	o.key, o.operation_id, o.description, o.method, o.path, o.tags, o.deprecated, o.parameters::text, o.output_schema::text,
	o.definition::text, o.outcome, o.reasons::text, o.status
) IS DISTINCT FROM (
	s.key, s.operation_id, s.description, s.method, s.path, s.tags, s.deprecated, s.parameters::text, s.output_schema::text,
	s.definition::text, s.outcome, s.reasons::text, 'active'
)`;

const REMOVE_UNSEEN = `
UPDATE operations o SET status = 'removed'
WHERE ${OF_API} AND o.status = 'active' AND NOT EXISTS (SELECT FROM staged_operations s WHERE s.id = o.id)`;

const INSERT_NEW = `
INSERT INTO operations (organization_id, api_id, ${COLUMNS})
SELECT $1, $2, ${COLUMNS} FROM staged_operations WHERE id IS NULL ORDER BY seq`;

const FOLLOW_WITH_TOOLS = `
UPDATE tools t SET removed = (o.status = 'removed') FROM operations o
WHERE ${OF_API} AND t.organization_id = $1 AND t.operation_id = o.id AND t.removed <> (o.status = 'removed')`;

/** One import, or one generation of tools, of an API at a time; the others wait. Held until the transaction ends. */
export async function lockApi(sequelize: Sequelize, apiId: string, transaction: Transaction): Promise<void> {
	await sequelize.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', { bind: [`api ${apiId}`], transaction });
}

/** @returns null when there is no such API */
export async function beginImport(database: Database, models: Models, ofApi: OfApi): Promise<ImportWriter | null> {
	const sequelize = database.bulk;
	const transaction = await database.begin();
	try {
		await lockApi(sequelize, ofApi.apiId, transaction);
		const api = await models.Api.findOne({ where: { organizationId: ofApi.organizationId, id: ofApi.apiId }, transaction, raw: true });
		if (!api) {
			await transaction.rollback();
			return null;
		}
		await sequelize.query(STAGE, { transaction });
	} catch (error) {
		await transaction.rollback();
		throw error;
	}
	return createWriter({ sequelize, transaction, ...ofApi }, models);
}

function createWriter(current: Import, { ApiSchema }: Models): ImportWriter {
	const { transaction, organizationId, apiId } = current;
	let isOpen = true;
	const abort = async (): Promise<void> => {
		if (!isOpen) return;
		isOpen = false;
		await transaction.rollback();
	};
	return guard<ImportWriter>({
		async operations(batch) {
			for (const part of batches(batch)) await stage(current, part);
		},
		async commit(schema) {
			try {
				const counts = await merge(current);
				const { format, title, version, servers, sourceUrl, sizeBytes, sha256, report } = schema;
				const row = await ApiSchema.create(
					{ organizationId, apiId, format, title, version, servers, sourceUrl, sizeBytes, sha256, report },
					{ transaction },
				);
				isOpen = false;
				await transaction.commit();
				return { schema: toSchema(row), ...counts };
			} catch (error) {
				await abort();
				throw error;
			}
		},
		abort,
	});
}

async function stage({ sequelize, transaction }: Import, operations: Operation[]): Promise<void> {
	const rows = operations
		.filter(({ outcome }) => outcome !== 'skipped')
		.map((operation) => ({
			key: text(operation.key),
			operation_id: operation.operationId === null ? null : text(operation.operationId),
			name: text(operation.name),
			description: text(operation.description),
			method: text(operation.method),
			path: text(operation.path),
			tags: operation.tags.map(text),
			deprecated: operation.deprecated,
			parameters: document(operation.parameters),
			output_schema: operation.outputSchema && document(operation.outputSchema),
			definition: document(operation.definition),
			outcome: operation.outcome,
			reasons: document(operation.reasons),
		}));
	await sequelize.query(ADD, { bind: [JSON.stringify(rows)], transaction });
}

async function merge({ sequelize, transaction, organizationId, apiId }: Import) {
	const bind = [organizationId, apiId];
	const write = async (sql: string): Promise<number> => {
		const [, affected] = await sequelize.query(sql, { bind, type: QueryTypes.UPDATE, transaction });
		return affected;
	};
	await sequelize.query('ANALYZE staged_operations', { transaction });
	const matched = (await write(MATCH_BY_KEY)) + (await write(MATCH_BY_OPERATION_ID));
	const changed = await write(UPDATE_MATCHED);
	const removed = await write(REMOVE_UNSEEN);
	const [, added] = await sequelize.query(INSERT_NEW, { bind, type: QueryTypes.INSERT, transaction });
	await write(FOLLOW_WITH_TOOLS);
	return { added, changed, unchanged: matched - changed, removed };
}

export const toSchema = (row: Attributes<ApiSchema>): SchemaRow => ({
	id: row.id,
	organizationId: row.organizationId,
	apiId: row.apiId,
	format: row.format,
	title: row.title,
	version: row.version,
	servers: row.servers,
	sourceUrl: row.sourceUrl,
	sizeBytes: row.sizeBytes,
	sha256: row.sha256,
	report: row.report,
	createdAt: row.createdAt,
	updatedAt: row.updatedAt,
});
