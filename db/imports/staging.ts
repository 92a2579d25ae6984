// Collects the operations of an import in a temporary table, since they can be matched with the stored ones only when all are known.

import type { Sequelize, Transaction } from 'sequelize';

/** An import that is under way. */
export interface Import {
	organizationId: string;
	apiId: string;
	sequelize: Sequelize;
	transaction: Transaction;
}

// `id` and `change` are determined at the end: the matching stored operation, and whether the import has `changed` or `restored` it.
const STAGE = `
CREATE TEMP TABLE staged_operations (
	seq bigint GENERATED ALWAYS AS IDENTITY,
	id uuid,
	key text,
	operation_id text,
	name text,
	title text,
	description text,
	method text,
	path text,
	tags text[],
	deprecated boolean,
	parameters json,
	whole_parameters json,
	whole_hash text,
	output_schema json,
	answer_cut boolean,
	definition json,
	outcome text,
	reasons json,
	change text
) ON COMMIT DROP`;

export const COLUMNS =
	'key, operation_id, name, title, description, method, path, tags, deprecated, parameters, whole_parameters, whole_hash, output_schema, ' +
	'answer_cut, definition, outcome, reasons';

// The documents keep the very text in which they arrive, which `json` stores unchanged. The hash is that of the whole schema as it is stored.
const ADD = `
INSERT INTO staged_operations (${COLUMNS})
SELECT key, "operationId", name, title, description, method, path, tags, deprecated, parameters, whole,
	left(encode(sha256(convert_to(whole::text, 'UTF8')), 'hex'), 16), "outputSchema", coalesce("answerCut", false), definition, outcome, reasons
FROM json_to_recordset($1::json) AS batch (
	key text, "operationId" text, name text, title text, description text, method text, path text, tags text[], deprecated boolean,
	parameters json, whole json, "outputSchema" json, "answerCut" boolean, definition json, outcome text, reasons json
)
WHERE outcome <> 'skipped'`;

export async function openStage({ sequelize, transaction }: Import): Promise<void> {
	await sequelize.query(STAGE, { transaction });
}

/** @param operations a list as JSON, which the server takes apart: here it is not even read */
export async function stage({ sequelize, transaction }: Import, operations: Uint8Array): Promise<void> {
	await sequelize.query(ADD, { bind: [operations], transaction });
}
