// Collects the operations of an import in a temporary table, since they can be matched with the stored ones only when all are known.

import { createHash } from 'node:crypto';
import type { Sequelize, Transaction } from 'sequelize';
import type { Operation } from '../../core/contract/nouns.ts';
import { text } from '../text.ts';
import { batches, document } from './batches.ts';

/** An import that is under way. */
export interface Import {
	organizationId: string;
	apiId: string;
	sequelize: Sequelize;
	transaction: Transaction;
}

const HASH_CHARS = 16;

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

const ADD = `
INSERT INTO staged_operations (${COLUMNS})
SELECT key, operation_id, name, title, description, method, path, tags, deprecated,
	parameters::json, whole_parameters::json, whole_hash, output_schema::json, answer_cut, definition::json, outcome, reasons::json
FROM json_to_recordset($1::json) AS batch (
	key text, operation_id text, name text, title text, description text, method text, path text, tags text[], deprecated boolean,
	parameters text, whole_parameters text, whole_hash text, output_schema text, answer_cut boolean, definition text, outcome text,
	reasons text
)`;

export async function openStage({ sequelize, transaction }: Import): Promise<void> {
	await sequelize.query(STAGE, { transaction });
}

export async function stage(current: Import, operations: Operation[]): Promise<void> {
	for (const batch of batches(operations)) await add(current, batch);
}

async function add({ sequelize, transaction }: Import, operations: Operation[]): Promise<void> {
	const rows = operations
		.filter(({ outcome }) => outcome !== 'skipped')
		.map((operation) => ({
			...wholeOf(operation),
			key: text(operation.key),
			operation_id: operation.operationId === null ? null : text(operation.operationId),
			name: text(operation.name),
			title: operation.title == null ? null : text(operation.title),
			description: text(operation.description),
			method: text(operation.method),
			path: text(operation.path),
			tags: operation.tags.map(text),
			deprecated: operation.deprecated,
			parameters: document(operation.parameters),
			output_schema: operation.outputSchema && document(operation.outputSchema),
			answer_cut: operation.answerCut ?? false,
			definition: document(operation.definition),
			outcome: operation.outcome,
			reasons: document(operation.reasons),
		}));
	await sequelize.query(ADD, { bind: [JSON.stringify(rows)], transaction });
}

function wholeOf({ whole }: Operation): { whole_parameters: string | null; whole_hash: string | null } {
	if (!whole) return { whole_parameters: null, whole_hash: null };
	const written = document(whole);
	return { whole_parameters: written, whole_hash: createHash('sha256').update(written).digest('hex').slice(0, HASH_CHARS) };
}
