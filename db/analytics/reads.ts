// Reads the sums: each question is answered from the cells of one resolution, and never from the log.

import { BUCKETS } from '../../core/store/histogram.ts';
import type { Analytics, MetricRange, SumOrder, Sums } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { SUM_COLUMNS } from './columns.ts';

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

const top = (resolution: string, by: SumOrder, prefix: string): string => `
WITH busiest AS MATERIALIZED (${busiest(resolution, by, prefix)})
SELECT m.value, ${TOTAL}, ${COUNTS}, max(m.bucket) AS last,
	(array_agg(m.sample ORDER BY m.bucket DESC) FILTER (WHERE m.sample IS NOT NULL))[1] AS sample
FROM metrics m JOIN busiest USING (value) WHERE ${IN_RANGE} AND m.resolution = '${resolution}'
GROUP BY m.value ORDER BY sum(m.${ORDERS[by]}) DESC, m.value`;

const spread = (resolution: string): string => `
WITH busiest AS MATERIALIZED (${busiest(resolution, 'cost')})
SELECT m.bucket, m.value, ${PLAIN}, m.histogram
FROM metrics m JOIN busiest USING (value) WHERE ${IN_RANGE} AND m.resolution = '${resolution}'
ORDER BY m.bucket, m.value`;

export function createReads({ ordinary }: Database): Pick<Analytics, 'series' | 'top' | 'spread'> {
	const bound = (organizationId: string, { kind, since, until }: MetricRange, ...of: unknown[]): unknown[] => [
		...[uuid(organizationId), kind, since, until],
		...of,
	];
	return {
		series: (organizationId, range, { dimension, value }) =>
			rows<Sums & { bucket: Date }>(ordinary, series(range.resolution), bound(organizationId, range, dimension, value)),
		top: (organizationId, range, { dimension, limit, by, prefix }) =>
			rows<Sums & { value: string; sample: string | null; last: Date }>(
				ordinary,
				top(range.resolution, by, prefix === undefined ? '' : 'AND starts_with(m.value, $7)'),
				bound(organizationId, range, dimension, limit, ...(prefix === undefined ? [] : [prefix])),
			),
		spread: (organizationId, range, { dimension, limit }) =>
			rows<Sums & { bucket: Date; value: string }>(ordinary, spread(range.resolution), bound(organizationId, range, dimension, limit)),
	};
}
