// Tools of an API's operations: made, brought up to date, or left alone.

import type { Sequelize, Transaction } from 'sequelize';
import type { OperationDraft } from '../../core/store/store.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { text } from '../text.ts';
import { batches, document } from './batches.ts';

export interface Written {
	created: number;
	updated: number;
	unchanged: number;
}

// The imported name stays as it was first, and users' own layer is not touched.
const WRITE = `
WITH draft AS (
	SELECT o.id AS operation_id, o.seq, d.executor, d.name, d.description, d.parameters::json, d.output_schema::json,
		d.annotations::json, d.execution_config::json, d.whole_hash, d.bodies, d.flattened::json,
		d.fillable::json
	FROM json_to_recordset($3::json) AS d (
		operation_id uuid, as_of timestamptz, executor text, name text, description text, parameters text, output_schema text, annotations text,
		execution_config text, whole_hash text, bodies text, flattened text, fillable text
	)
	JOIN operations o ON o.organization_id = $1 AND o.api_id = $2 AND o.id = d.operation_id AND o.status = 'active'
		AND (d.as_of IS NULL OR o.updated_at = d.as_of)
), written AS (
	INSERT INTO tools (organization_id, api_id, operation_id, type, executor, imported_name, imported_description, parameters,
		output_schema, annotations, execution_config, whole_hash, bodies, flattened, fillable)
	SELECT $1, $2, operation_id, 'api', executor, name, description, parameters, output_schema, annotations, execution_config, whole_hash,
		bodies, flattened, fillable
	FROM draft ORDER BY seq
	ON CONFLICT ON CONSTRAINT tools_operation DO UPDATE SET
		executor = excluded.executor, imported_description = excluded.imported_description, parameters = excluded.parameters,
		output_schema = excluded.output_schema, annotations = excluded.annotations, execution_config = excluded.execution_config,
		whole_hash = excluded.whole_hash, bodies = excluded.bodies, flattened = excluded.flattened, fillable = excluded.fillable
	WHERE (tools.executor, tools.imported_description, tools.parameters::text, tools.output_schema::text, tools.annotations::text,
		tools.execution_config::text, tools.whole_hash, tools.bodies, tools.flattened::text, tools.fillable::text)
	IS DISTINCT FROM (excluded.executor, excluded.imported_description, excluded.parameters::text, excluded.output_schema::text,
		excluded.annotations::text, excluded.execution_config::text, excluded.whole_hash, excluded.bodies, excluded.flattened::text,
		excluded.fillable::text)
	RETURNING id, xmax = 0 AS is_new
)
SELECT (SELECT count(*) FROM draft)::int AS total, (count(*) FILTER (WHERE is_new))::int AS created,
	(count(*) FILTER (WHERE NOT is_new))::int + (
		SELECT count(*) FROM draft d JOIN tools t ON t.organization_id = $1 AND t.operation_id = d.operation_id
		WHERE t.updated_at >= $4::timestamptz AND t.created_at < $4::timestamptz AND NOT EXISTS (SELECT FROM written w WHERE w.id = t.id)
	)::int AS updated
FROM written`;

/**
 * Writes one tool per operation that is still there, under the lock of the API.
 * @param since tools that were changed since then count as updated
 */
export async function writeDrafts(
	bulk: Sequelize,
	of: { organizationId: string; apiId: string },
	drafts: OperationDraft[],
	{ transaction, since }: { transaction: Transaction; since?: Date | undefined },
): Promise<Written> {
	const sum: Written = { created: 0, updated: 0, unchanged: 0 };
	for (const batch of batches(drafts)) {
		const bind = [of.organizationId, of.apiId, JSON.stringify(batch.map(toDraftRow)), since?.toISOString() ?? null];
		for (const { total, created, updated } of await rows<{ total: number; created: number; updated: number }>(
			bulk,
			WRITE,
			bind,
			transaction,
		)) {
			sum.created += created;
			sum.updated += updated;
			sum.unchanged += total - created - updated;
		}
	}
	return sum;
}

const toDraftRow = ({ operationId, asOf, tool }: OperationDraft): object => ({
	operation_id: uuid(operationId),
	as_of: asOf ?? null,
	executor: text(tool.executor),
	name: text(tool.name),
	description: text(tool.description),
	parameters: document(tool.parameters),
	output_schema: tool.outputSchema && document(tool.outputSchema),
	annotations: document(tool.annotations),
	execution_config: document(tool.executionConfig),
	whole_hash: tool.wholeHash,
	bodies: tool.bodies,
	flattened: tool.flattened && document(tool.flattened),
	fillable: tool.fillable && document(tool.fillable),
});
