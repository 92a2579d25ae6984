// Measures every question of analytics over a request log of so many lines in 90 days, and the sums of 300 tools. `node test/bench/analytics.ts`
// makes 200,000 lines, in half a minute; `node test/bench/analytics.ts 10000000` as many as a busy organization has, in a quarter of an hour.

import { BUCKETS } from '../../core/store/histogram.ts';
import type { Dimension, MetricRange, RequestFilter } from '../../core/store/store.ts';
import { SUM_COLUMNS } from '../../db/analytics/columns.ts';
import { administer } from '../helpers/postgres.ts';
import { batchOf, requestRow } from '../helpers/requests.ts';
import { addTenant } from '../helpers/samples.ts';
import { testStore } from '../helpers/store.ts';

const LINES = Number(process.argv[2] ?? 200_000);
const [DAYS, ROUNDS, GOAL_MS] = [90, 40, 100] as const;
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const VALUES: Partial<Record<Dimension, number>> = { '': 1, gateway: 50, tool: 300, provider: 5, key: 300, client: 60, error: 100 };

const store = await testStore();
const { organizationId } = await addTenant(store);
const { analytics } = store;
const id = (group: number, n: string): string => `('00000000-0000-4000-8000-${group}' || lpad((${n})::text, 7, '0'))::uuid`;
const toolId = '00000000-0000-4000-8000-200000000007';
const now = Date.now();

const strays = Array.from({ length: DAYS }, (_, day) => requestRow({ organizationId, startedAt: now - day * DAY_MS }));
await analytics.add({ ...batchOf(strays), cells: [{ ...noSums(), organizationId }] });
await analytics.prepare();
const run = (sql: string): Promise<unknown> => administer(store.database, sql);

const PART = 500_000;
for (let made = 0; made < LINES; made += PART) {
	const to = Math.min(made + PART, LINES);
	await run(`
INSERT INTO request_log (organization_id, kind, request_id, gateway_id, tool_id, key_id, caller, client, outcome, duration_ms, started_at)
SELECT '${organizationId}', CASE n % 2 WHEN 0 THEN 'gateway' ELSE 'tool' END, 'request-' || n, ${id(10000, 'n % 50')},
	CASE n % 2 WHEN 0 THEN NULL ELSE ${id(20000, 'n % 300')} END, ${id(30000, 'n % 300')}, 'key:' || n % 300, 'client' || n % 60,
	CASE n % 40 WHEN 0 THEN 'upstream_timeout' ELSE 'success' END, n % 1000, now() - random() * interval '${DAYS - 1} days'
FROM generate_series(${made + 1}, ${to}) AS n`);
}

const sums = Object.values(SUM_COLUMNS).map(([column]) => column);
const histogram = `ARRAY[${Array.from({ length: BUCKETS }, (_, at) => `(n * ${at + 1}) % 50`).join(', ')}]`;
const RESOLUTIONS = [
	['live', '5 seconds', '1 hour'],
	['minute', '1 minute', '6 hours'],
	['hour', '1 hour', '14 days'],
	['day', '1 day', `${DAYS} days`],
] as const;
for (const [resolution, step, length] of RESOLUTIONS)
	for (const [dimension, values] of Object.entries(VALUES)) {
		const isFewer = resolution === 'live' && dimension !== '';
		// Nobody calls every tool in every minute.
		const some = resolution === 'minute' ? Math.min(values, 60) : values;
		if (!isFewer)
			await run(`
INSERT INTO metrics (organization_id, resolution, kind, dimension, bucket, value, ${sums.join(', ')}, histogram, sample)
SELECT '${organizationId}', '${resolution}', 'tool', '${dimension}', bucket,
	${dimension === '' ? `''` : dimension === 'error' ? `'code' || n || ' x'` : id(20000, 'n')}::text, ${sums.map(() => '1 + n % 50').join(', ')}, ${histogram}, 'request-1'
FROM generate_series(date_trunc('${resolution === 'live' ? 'minute' : resolution}', now()) - interval '${length}', now(), interval '${step}') AS bucket,
	generate_series(0, ${some - 1}) AS n ON CONFLICT DO NOTHING`);
	}
await run('VACUUM ANALYZE');

function noSums() {
	const numbers = Object.fromEntries(Object.keys(SUM_COLUMNS).map((name) => [name, 0])) as Record<keyof typeof SUM_COLUMNS, number>;
	return {
		...numbers,
		...{ resolution: 'day' as const, kind: 'agent' as const, dimension: '' as const, value: '', bucket: 0, sample: null },
		histogram: new Array<number>(BUCKETS).fill(0),
	};
}

const range = (resolution: MetricRange['resolution'], ms: number): MetricRange => ({
	...{ resolution, kind: 'tool' as const, since: new Date(now - ms), until: new Date(now + DAY_MS) },
});
const top = (dimension: Dimension, of: MetricRange, limit = 20) => analytics.top(organizationId, of, { dimension, limit, by: 'calls' });
const list = (filter: RequestFilter) => analytics.requests(organizationId, filter, { limit: 100 });

const QUESTIONS: Record<string, () => Promise<unknown>> = {
	'overview of 90 days': () =>
		Promise.all([1, 2, 3, 4].map(() => analytics.series(organizationId, range('day', DAYS * DAY_MS), { dimension: '', value: '' }))),
	'series of 14 days by hour': () => analytics.series(organizationId, range('hour', 14 * DAY_MS), { dimension: 'tool', value: toolId }),
	'series of 6 hours by minute': () => analytics.series(organizationId, range('minute', 6 * HOUR_MS), { dimension: '', value: '' }),
	live: () => Promise.all([1, 2, 3, 4].map(() => analytics.series(organizationId, range('live', 300_000), { dimension: '', value: '' }))),
	'20 tools of 90 days': () => top('tool', range('day', DAYS * DAY_MS)),
	'50 tools of 90 days': () => top('tool', range('day', DAYS * DAY_MS), 50),
	'20 tools of 3 days by hour': () => top('tool', range('hour', 3 * DAY_MS)),
	'20 tools of an hour by minute': () => top('tool', range('minute', HOUR_MS)),
	'20 callers of 90 days': () => top('key', range('day', DAYS * DAY_MS)),
	'20 errors of 90 days': () => top('error', range('day', DAYS * DAY_MS)),
	'costs of 90 days': () => analytics.spread(organizationId, range('day', DAYS * DAY_MS), { dimension: 'provider', limit: 50 }),
	log: () => list({}),
	'log of a tool': () => list({ toolId }),
	'log of failures': () => list({ failed: true }),
	'log of a request': () => list({ requestId: 'request-77' }),
	'log of a caller': () => list({ keyId: '00000000-0000-4000-8000-300000000009' }),
	'log of nobody': () => list({ client: 'nobody' }),
	'log of a day a month ago': () => list({ since: new Date(now - 31 * DAY_MS), until: new Date(now - 30 * DAY_MS), kind: 'gateway' }),
};

const share = (times: number[], part: number): string =>
	(times.toSorted((a, b) => a - b)[Math.ceil(times.length * part) - 1] ?? 0).toFixed(1);
let isOver = false;
console.log(`${LINES} lines, ${ROUNDS} rounds, goal ${GOAL_MS} ms at p95`);
console.log('| question | p50 ms | p95 ms |\n|---|---|---|');
for (const [name, ask] of Object.entries(QUESTIONS)) {
	const times: number[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		const startedMs = performance.now();
		await ask();
		times.push(performance.now() - startedMs);
	}
	isOver ||= Number(share(times, 0.95)) > GOAL_MS;
	console.log(`| ${name} | ${share(times, 0.5)} | ${share(times, 0.95)} |`);
}
await store.close();
if (isOver) process.exitCode = 1;
