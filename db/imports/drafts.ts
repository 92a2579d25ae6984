// Writes the tools of an API's operations: creates or updates them, or leaves them alone.

import type { Sequelize, Transaction } from 'sequelize';
import type { ApiToolDraft, OperationDraft } from '../../core/store/store.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { text } from '../text.ts';
import { batches } from './batches.ts';

export interface Written {
	created: number;
	updated: number;
	unchanged: number;
}

/** The fields that a tool takes from its draft, without its texts, and the types of their columns. */
const FIELDS: Readonly<Record<keyof Omit<ApiToolDraft, 'name' | 'description'>, 'text' | 'json' | 'integer'>> = {
	executor: 'text',
	parameters: 'json',
	outputSchema: 'json',
	annotations: 'json',
	executionConfig: 'json',
	configVersion: 'integer',
	wholeHash: 'text',
	bodies: 'text',
	flattened: 'json',
	fillable: 'json',
};

const columnOf = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

// The keys of a record are those of its type.
const COLUMNS = (Object.keys(FIELDS) as (keyof typeof FIELDS)[]).map((field) => ({ field, column: columnOf(field), type: FIELDS[field] }));
const NAMES = COLUMNS.map(({ column }) => column).join(', ');
const each = (write: (column: string, type: string) => string): string => COLUMNS.map(({ column, type }) => write(column, type)).join(', ');
/** A document that a draft does not have is that of its operation, in the very same text. */
const OWN: ReadonlySet<string> = new Set(['parameters', 'output_schema']);
const drafted = (column: string, type: string): string =>
	OWN.has(column)
		? `CASE WHEN '${column}' = ANY (d.own) THEN o.${column} ELSE d.${column}::${type} END AS ${column}`
		: `d.${column}::${type}`;
/** Documents as texts, since JSON cannot be compared. */
const contentOf = (table: string): string => `${table}.imported_description, ${each((column) => `${table}.${column}::text`)}`;

// The imported name stays as it was at first, and the users' own texts are not changed.
const WRITE = `
WITH draft AS (
	SELECT o.id AS operation_id, o.seq, d.name, d.description, ${each(drafted)}
	FROM json_to_recordset($3::json) AS d (
		operation_id uuid, as_of timestamptz, own text[], name text, description text, ${each((column) => `${column} text`)}
	)
	JOIN operations o ON o.organization_id = $1 AND o.api_id = $2 AND o.id = d.operation_id AND o.status = 'active'
		AND (d.as_of IS NULL OR o.updated_at = d.as_of)
), written AS (
	INSERT INTO tools (organization_id, api_id, operation_id, type, imported_name, imported_description, ${NAMES})
	SELECT $1, $2, operation_id, 'api', name, description, ${NAMES}
	FROM draft ORDER BY seq
	ON CONFLICT ON CONSTRAINT tools_operation DO UPDATE SET
		imported_description = excluded.imported_description, ${each((column) => `${column} = excluded.${column}`)}
	WHERE (${contentOf('tools')}) IS DISTINCT FROM (${contentOf('excluded')})
	RETURNING id, xmax = 0 AS is_new
)
SELECT (SELECT count(*) FROM draft)::int AS total, (count(*) FILTER (WHERE is_new))::int AS created,
	(count(*) FILTER (WHERE NOT is_new))::int + (
		SELECT count(*) FROM draft d JOIN tools t ON t.organization_id = $1 AND t.operation_id = d.operation_id
		WHERE t.updated_at >= $4::timestamptz AND t.created_at < $4::timestamptz AND NOT EXISTS (SELECT FROM written w WHERE w.id = t.id)
	)::int AS updated
FROM written`;

/**
 * Writes one tool per operation that still exists, under the lock of the API.
 * @param since tools that were changed after this time count as updated
 */
export async function writeDrafts(
	bulk: Sequelize,
	of: { organizationId: string; apiId: string },
	drafts: OperationDraft[],
	{ transaction, since }: { transaction: Transaction; since?: Date | undefined },
): Promise<Written> {
	const sum: Written = { created: 0, updated: 0, unchanged: 0 };
	for (const batch of batches(drafts)) {
		const bind = [of.organizationId, of.apiId, textOf(batch), since?.toISOString() ?? null];
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

/** Escapes that the server refuses to take apart: those of NUL, and of half a surrogate pair. */
const UNREADABLE = /\\u(?:0000|d[89a-f])/;

/** Writes drafts as JSON, with their documents as they are: a column of text gets the very text of a member that is an object or a list. */
function textOf(batch: OperationDraft[]): string {
	const rows = batch.map(toDraftRow);
	const written = JSON.stringify(rows);
	return UNREADABLE.test(written) ? JSON.stringify(rows.map(withTexts)) : written;
}

const toDraftRow = ({ operationId, asOf, tool }: OperationDraft): Record<string, unknown> => ({
	operation_id: uuid(operationId),
	as_of: asOf ?? null,
	own: COLUMNS.filter(({ field }) => tool[field] === undefined).map(({ column }) => column),
	name: text(tool.name),
	description: text(tool.description),
	...Object.fromEntries(COLUMNS.map(({ field, column }) => [column, stored(tool[field] ?? null)])),
});

const stored = (value: object | string | number | null): object | string | number | null =>
	typeof value === 'string' ? text(value) : value;

/** Writes the documents of a row as texts, which may hold what the server cannot read. */
const withTexts = (row: Record<string, unknown>): object => ({
	...row,
	...Object.fromEntries(
		COLUMNS.flatMap(({ column, type }) => (type === 'json' && row[column] !== null ? [[column, JSON.stringify(row[column])]] : [])),
	),
});
