// Adds batches to the request log and to its sums.

import { BUCKETS } from '../../core/store/histogram.ts';
import { clientOf } from '../../core/store/metric-cells.ts';
import type { Analytics, Cell, RequestRow } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { lenient } from '../text.ts';
import { columnText, fromColumns } from './arrays.ts';
import { LOG_COLUMNS, SUM_COLUMNS } from './columns.ts';

const LOGGED = [['organization_id', 'uuid'], ['started_at', 'timestamptz'], ...Object.values(LOG_COLUMNS)] as const;
const SUMMED = Object.values(SUM_COLUMNS).map(([column]) => column);
const names = (columns: readonly (readonly [string, string])[]): string => columns.map(([column]) => column).join(', ');
const typed = (columns: readonly (readonly [string, string])[]): string => columns.map((column) => column.join(' ')).join(', ');

const KEY = 'organization_id, resolution, kind, dimension, bucket, value';
const SUMS_ADDED = SUMMED.map((column) => `${column} = m.${column} + excluded.${column}`).join(', ');
const COUNTS_ADDED = Array.from({ length: BUCKETS }, (_, at) => `m.histogram[${at + 1}] + excluded.histogram[${at + 1}]`).join(', ');

/**
 * Everything or nothing, once: a batch that was written before finds its id, and so no organizations. These are locked, so that none is removed
 * before the statement ends; rows of cells in the same order everywhere, so that replicas do not deadlock.
 */
const ADD = `
WITH batch AS (
	INSERT INTO request_batches (id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id
), known AS (
	SELECT o.id FROM organizations o JOIN batch ON true
	WHERE o.id IN (SELECT value::uuid FROM json_array_elements_text($2::json) AS value) ORDER BY o.id FOR KEY SHARE OF o
), logged AS (
	INSERT INTO request_log (${names(LOGGED)})
	SELECT ${LOGGED.map(([column]) => `r.${column}`).join(', ')}
	FROM ${fromColumns(LOGGED, 4)}
	JOIN known ON known.id = r.organization_id
)
INSERT INTO metrics AS m (${KEY}, ${SUMMED.join(', ')}, histogram, sample)
SELECT ${KEY}, ${SUMMED.join(', ')}, histogram, sample
FROM json_to_recordset($3::json) AS c (organization_id uuid, resolution text, kind text, dimension text, bucket timestamptz, value text,
	${typed(Object.values(SUM_COLUMNS))}, histogram integer[], sample text)
JOIN known ON known.id = c.organization_id
ORDER BY ${KEY}
ON CONFLICT (${KEY}) DO UPDATE SET ${SUMS_ADDED}, histogram = ARRAY[${COUNTS_ADDED}], sample = coalesce(excluded.sample, m.sample)`;

export function createWrites({ ordinary }: Database): Pick<Analytics, 'add'> {
	return {
		async add({ id, rows, cells }) {
			const organizations = [...new Set(cells.map(({ organizationId }) => uuid(organizationId)))];
			const kept = rows.filter(({ isOnlyCounted }) => !isOnlyCounted);
			const bind = [id, JSON.stringify(organizations), JSON.stringify(cells.map(toCell)), ...columnsOf(kept)];
			await ordinary.query(ADD, { bind });
		},
	};
}

const FIELDS = Object.entries(LOG_COLUMNS) as [keyof typeof LOG_COLUMNS, (typeof LOG_COLUMNS)[keyof typeof LOG_COLUMNS]][];

/** Returns an array of each column. */
const columnsOf = (rows: readonly RequestRow[]): string[] => [
	columnText(rows, 'uuid', ({ organizationId }) => organizationId),
	columnText(rows, 'timestamptz', ({ startedAt }) => new Date(startedAt).toISOString()),
	...FIELDS.map(([field, [, type]]) => columnText(rows, type, field === 'client' ? clientOf : (row) => row[field])),
];

function toCell({ organizationId, bucket, value, sample, resolution, kind, dimension, histogram, ...sums }: Cell): object {
	const numbers = Object.entries(SUM_COLUMNS).map(([field, [column]]) => [column, sums[field as keyof typeof SUM_COLUMNS]]);
	return {
		...{ organization_id: uuid(organizationId), resolution, kind, dimension, bucket: new Date(bucket) },
		...{ value: lenient(value), sample: sample && lenient(sample), histogram },
		...Object.fromEntries(numbers),
	};
}
