// Reads the sums: each question is answered from the cells of one resolution, and never from the log.

import { BUCKETS } from '../../core/store/histogram.ts';
import { OTHERS } from '../../core/store/metric-cells.ts';
import type { Analytics, Dimension, MetricRange, SumOrder, Sums } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { SUM_COLUMNS } from './columns.ts';

type Top = Awaited<ReturnType<Analytics['top']>>[number];
type SizeOfField = Pick<Top, 'value' | 'calls' | 'bytesOut' | 'last'>;

const PLAIN = Object.entries(SUM_COLUMNS)
	.map(([field, [column]]) => `m.${column}::float AS "${field}"`)
	.join(', ');
const TOTAL = Object.entries(SUM_COLUMNS)
	.map(([field, [column]]) => `sum(m.${column})::float AS "${field}"`)
	.join(', ');
const COUNTS = `ARRAY[${Array.from({ length: BUCKETS }, (_, at) => `sum(m.histogram[${at + 1}])::float`).join(', ')}] AS histogram`;

/** Cells are kept in a table for each resolution, so it is a part of the statement. */
const IN_RANGE = `m.organization_id = $1 AND m.kind = $2 AND m.bucket >= $3 AND m.bucket < $4 AND m.dimension = $5`;

const series = (resolution: string): string => `
SELECT m.bucket, ${PLAIN}, m.histogram FROM metrics m
WHERE ${IN_RANGE} AND m.resolution = '${resolution}' AND m.value = $6 ORDER BY m.bucket`;

const ORDERS: Record<SumOrder, string> = { calls: 'calls', cost: 'cost', outputTokens: 'output_tokens', bytesOut: 'bytes_out' };

const busiest = (resolution: string, by: SumOrder, prefix = ''): string => `
SELECT m.value FROM metrics m WHERE ${IN_RANGE} AND m.resolution = '${resolution}' ${prefix}
GROUP BY m.value ORDER BY sum(m.${ORDERS[by]}) DESC, m.value LIMIT $6`;

/** The histogram of a value, and the last of its samples, each for the dimensions of which an answer shows it: both cost more than all other sums. */
const histogramOf = (dimension: Dimension): string => (dimension === 'error' ? 'ARRAY[]::float[] AS histogram' : COUNTS);
const sampleOf = (dimension: Dimension): string =>
	dimension === 'error' ? '(array_agg(m.sample ORDER BY m.bucket DESC) FILTER (WHERE m.sample IS NOT NULL))[1]' : 'NULL';

const top = (resolution: string, dimension: Dimension, by: SumOrder, prefix: string): string => `
WITH busiest AS MATERIALIZED (${busiest(resolution, by, prefix)})
SELECT m.value, ${TOTAL}, ${histogramOf(dimension)}, max(m.bucket) AS last, ${sampleOf(dimension)} AS sample
FROM metrics m JOIN busiest USING (value) WHERE ${IN_RANGE} AND m.resolution = '${resolution}'
GROUP BY m.value ORDER BY sum(m.${ORDERS[by]}) DESC, m.value`;

/** Fields are many, and their cells have calls and characters alone: one look at each cell finds the largest with their sums. */
const fields = (resolution: string, by: SumOrder, prefix: string): string => `
SELECT m.value, sum(m.calls)::float AS calls, sum(m.bytes_out)::float AS "bytesOut", max(m.bucket) AS last
FROM metrics m WHERE ${IN_RANGE} AND m.resolution = '${resolution}' ${prefix}
GROUP BY m.value ORDER BY sum(m.${ORDERS[by]}) DESC, m.value LIMIT $6`;

/** The sums that the cells of fields do not have. */
const NOT_OF_FIELDS = {
	...{ failed: 0, lost: 0, durationMs: 0, upstreamMs: 0, waitingMs: 0, bytesIn: 0, inputTokens: 0, outputTokens: 0 },
	...{ cachedTokens: 0, costMicroUsd: 0, unpriced: 0, sample: null },
} satisfies Omit<Top, keyof SizeOfField | 'histogram'>;

const spread = (resolution: string): string => `
WITH busiest AS MATERIALIZED (${busiest(resolution, 'cost')})
SELECT m.bucket, coalesce(b.value, '${OTHERS}') AS value, ${TOTAL}
FROM metrics m LEFT JOIN busiest b ON b.value = m.value WHERE ${IN_RANGE} AND m.resolution = '${resolution}'
GROUP BY 1, 2 ORDER BY 1, 2`;

export function createReads({ ordinary }: Database): Pick<Analytics, 'series' | 'top' | 'spread'> {
	const bound = (organizationId: string, { kind, since, until }: MetricRange, ...of: unknown[]): unknown[] => [
		...[uuid(organizationId), kind, since, until],
		...of,
	];
	return {
		series: (organizationId, range, { dimension, value }) =>
			rows<Sums & { bucket: Date }>(ordinary, series(range.resolution), bound(organizationId, range, dimension, value)),
		async top(organizationId, range, { dimension, limit, by, prefix }) {
			const begins = prefix === undefined ? '' : 'AND starts_with(m.value, $7)';
			const bind = bound(organizationId, range, dimension, limit, ...(prefix === undefined ? [] : [prefix]));
			if (dimension !== 'field') return rows<Top>(ordinary, top(range.resolution, dimension, by, begins), bind);
			const found = await rows<SizeOfField>(ordinary, fields(range.resolution, by, begins), bind);
			return found.map((field) => ({ ...NOT_OF_FIELDS, ...field, histogram: [] }));
		},
		spread: (organizationId, range, { dimension, limit }) =>
			rows<Omit<Sums, 'histogram'> & { bucket: Date; value: string }>(
				ordinary,
				spread(range.resolution),
				bound(organizationId, range, dimension, limit),
			),
	};
}
