// The request log and its sums on PostgreSQL: what is added is found, once, by its organization alone, and by an index.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import type { MetricRange, RequestFilter, RequestRow, Store } from '../../core/store/store.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { batchOf, NOW, requestRow } from '../../test/helpers/requests.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

const range = (change: Partial<MetricRange> = {}): MetricRange => ({
	resolution: 'day',
	kind: 'gateway',
	since: new Date(Date.now() - 3 * DAY_MS),
	until: new Date(Date.now() + DAY_MS),
	...change,
});

async function clientOf({ database: { host, port, username: user, password, name } }: TestStore): Promise<pg.Client> {
	const client = new pg.Client({ host, port, user, password, database: name });
	await client.connect();
	return client;
}

/** Returns the sums of all calls of a day. */
const totalOf = async (store: Store, organizationId: string, change: Partial<MetricRange> = {}) =>
	(await store.analytics.series(organizationId, range(change), { dimension: '', value: '' })).reduce(
		(sum, { calls, failed, durationMs, bytesOut }) => ({
			...{ calls: sum.calls + calls, failed: sum.failed + failed },
			...{ durationMs: sum.durationMs + durationMs, bytesOut: sum.bytesOut + bytesOut },
		}),
		{ calls: 0, failed: 0, durationMs: 0, bytesOut: 0 },
	);

test('lines and sums of several replicas at once agree, by count and by sum', async () => {
	await using other = await openReplica(store);
	const { organizationId } = await addTenant(store);
	const write = async (replica: Store): Promise<void> => {
		for (let n = 0; n < 10; n++) {
			const rows = Array.from({ length: 200 }, (_, at) =>
				requestRow({ organizationId, durationMs: at, outcome: at % 10 === 0 ? 'internal' : 'success', gatewayId: randomUUID() }),
			);
			await replica.analytics.add(batchOf(rows));
		}
	};
	await Promise.all([write(store), write(other), write(store), write(other)]);
	const [calls, durationMs] = [8000, 40 * ((199 * 200) / 2)];
	for (const replica of [store, other])
		assert.deepEqual(await totalOf(replica, organizationId), { calls, failed: 800, durationMs, bytesOut: 200 * calls });
	const client = await clientOf(store);
	const { rows } = await client.query('SELECT count(*)::int AS calls, sum(duration_ms) AS "durationMs" FROM request_log');
	await client.end();
	assert.deepEqual(rows, [{ calls, durationMs }]);
});

test('a batch that is written again changes nothing', async () => {
	const { organizationId } = await addTenant(store);
	const batch = batchOf([requestRow({ organizationId }), requestRow({ organizationId })]);
	await Promise.all([store.analytics.add(batch), store.analytics.add(batch)]);
	await store.analytics.add(batch);
	assert.equal((await totalOf(store, organizationId)).calls, 2);
	assert.equal((await store.analytics.requests(organizationId, {}, { limit: 10 })).items.length, 2);
});

test('an organization finds its own lines and sums, and nobody else’s; lines of none are left out', async () => {
	const [mine, theirs] = [await addTenant(store), await addTenant(store)];
	const rows = [
		requestRow({ organizationId: mine.organizationId }),
		requestRow({ organizationId: randomUUID() }),
		requestRow({ organizationId: 'x' }),
	];
	await store.analytics.add(batchOf(rows));
	assert.equal((await totalOf(store, mine.organizationId)).calls, 1);
	const gatewayId = rows[0]?.gatewayId ?? '';
	for (const organizationId of [theirs.organizationId, '', 'x', "' OR 1=1 --"]) {
		assert.equal((await totalOf(store, organizationId)).calls, 0);
		assert.deepEqual(await store.analytics.top(organizationId, range(), { dimension: 'gateway', limit: 10, by: 'calls' }), []);
		assert.deepEqual(await store.analytics.spread(organizationId, range(), { dimension: 'gateway', limit: 10 }), []);
		assert.deepEqual(await store.analytics.requests(organizationId, { gatewayId, requestId: 'request-1' }, { limit: 10 }), {
			items: [],
			nextCursor: null,
		});
	}
});

test('a line that is only counted is in the sums, and not in the log', async () => {
	const { organizationId } = await addTenant(store);
	const refused = requestRow({ organizationId, outcome: 'rate_limited', isOnlyCounted: true });
	await store.analytics.add(batchOf([refused, refused, requestRow({ organizationId })]));
	assert.deepEqual(await totalOf(store, organizationId), { calls: 3, failed: 2, durationMs: 30, bytesOut: 600 });
	assert.equal((await store.analytics.requests(organizationId, {}, { limit: 10 })).items.length, 1);
	const [error] = await store.analytics.top(organizationId, range(), { dimension: 'error', limit: 10, by: 'calls' });
	assert.deepEqual([error?.calls, error?.sample], [2, null]);
});

test('text that cannot be stored costs no line', async () => {
	const { organizationId } = await addTenant(store);
	await store.analytics.add(batchOf([requestRow({ organizationId, userAgent: 'a\0b\ud800/1', caller: '\0' })]));
	const { items } = await store.analytics.requests(organizationId, {}, { limit: 10 });
	assert.deepEqual([items[0]?.userAgent, items[0]?.caller], ['ab\ufffd/1', '']);
});

test('the log is listed newest first, each line once, under every filter', async () => {
	const { organizationId } = await addTenant(store);
	const [tool, gateway] = [randomUUID(), randomUUID()];
	const rows = Array.from({ length: 60 }, (_, n) =>
		requestRow({
			...{ organizationId, requestId: `r${n}`, startedAt: NOW - Math.floor(n / 3) * 1000, gatewayId: n % 2 ? gateway : null },
			...{ toolId: n % 5 ? null : tool, outcome: n % 4 ? 'success' : 'internal', kind: n % 5 ? ('gateway' as const) : ('tool' as const) },
		}),
	);
	await store.analytics.add(batchOf(rows));
	const walk = async (filter: RequestFilter, limit: number): Promise<string[]> => {
		const all: string[] = [];
		for (let cursor: string | null | undefined; cursor !== null; ) {
			const { items, nextCursor } = await store.analytics.requests(organizationId, filter, { limit, ...(cursor && { cursor }) });
			assert.ok(items.length <= limit);
			all.push(...items.map(({ requestId }) => requestId ?? ''));
			cursor = nextCursor;
		}
		return all.toSorted();
	};
	const filters: [RequestFilter, (row: RequestRow) => boolean][] = [
		[{}, () => true],
		[{ toolId: tool }, (row) => row.toolId === tool],
		[{ gatewayId: gateway }, (row) => row.gatewayId === gateway],
		[{ failed: true }, (row) => row.outcome !== 'success'],
		[{ failed: false, kind: 'tool' }, (row) => row.outcome === 'success' && row.kind === 'tool'],
		[{ outcome: 'internal', client: 'curl' }, (row) => row.outcome === 'internal'],
		[{ requestId: 'r7' }, (row) => row.requestId === 'r7'],
		[{ since: new Date(NOW - 5000), until: new Date(NOW - 1000) }, (row) => row.startedAt >= NOW - 5000 && row.startedAt < NOW - 1000],
		[{ keyId: 'x' }, () => false],
	];
	for (const [filter, matches] of filters) {
		const expected = rows.filter(matches).map(({ requestId }) => requestId ?? '');
		for (const limit of [1, 7, 100])
			assert.deepEqual(await walk(filter, limit), expected.toSorted(), `${JSON.stringify(filter)} by ${limit}`);
	}
	const { items } = await store.analytics.requests(organizationId, {}, { limit: 100 });
	const times = items.map(({ startedAt }) => startedAt.getTime());
	assert.deepEqual(
		times,
		times.toSorted((a, b) => b - a),
	);
	for (const cursor of ['', 'x', Buffer.from('requests 2026-99-01T00:00:00.000000Z 1').toString('base64url')])
		await assert.rejects(store.analytics.requests(organizationId, {}, { limit: 1, cursor }), { code: 'validation_failed' });
});

test('a page looks at so many lines and no more, and the next one goes on after them', async () => {
	const { organizationId } = await addTenant(store);
	const rows = Array.from({ length: 12_000 }, (_, n) =>
		requestRow({ organizationId, startedAt: NOW - n, client: '', ...(n === 11_000 && { userAgent: 'rare/1' }) } as Partial<RequestRow>),
	);
	await store.analytics.add(batchOf(rows));
	let pages = 0;
	let found = 0;
	for (let cursor: string | null | undefined; cursor !== null; pages++) {
		const { items, nextCursor } = await store.analytics.requests(
			organizationId,
			{ client: 'rare' },
			{ limit: 10, ...(cursor && { cursor }) },
		);
		found += items.length;
		cursor = nextCursor;
	}
	assert.deepEqual([found, pages], [1, 3]);
});

test('sums are spread over the values with the most cost, and all others are there together', async () => {
	const { organizationId } = await addTenant(store);
	const ids = Array.from({ length: 4 }, () => randomUUID());
	const rows = ids.flatMap((providerId, at) =>
		[0, 1].map((day) =>
			requestRow({ organizationId, kind: 'model', providerId, costMicroUsd: 10 ** (3 - at), startedAt: NOW - day * DAY_MS }),
		),
	);
	await store.analytics.add(batchOf(rows));
	const found = await store.analytics.spread(organizationId, range({ kind: 'model' }), { dimension: 'provider', limit: 2 });
	const ofDay = [
		[ids[0], 1, 1000],
		[ids[1], 1, 100],
		['*', 2, 11],
	].toSorted();
	assert.deepEqual(found.map(({ value, calls, costMicroUsd }) => [value, calls, costMicroUsd]).toSorted(), [...ofDay, ...ofDay].toSorted());
});

test('partitions are made ahead, strays are moved into theirs, and old days are dropped whole', async () => {
	// It looks at whole tables.
	await using store = await testStore();
	const { organizationId } = await addTenant(store);
	const days = [-200, -100, 0, 20].map((day) => requestRow({ organizationId, startedAt: NOW + day * DAY_MS }));
	await store.analytics.add(batchOf(days));
	const names = async (): Promise<string[]> => {
		const client = await clientOf(store);
		const { rows } = await client.query(`SELECT tableoid::regclass::text AS name FROM request_log ORDER BY started_at`);
		await client.end();
		return rows.map(({ name }) => name);
	};
	assert.equal((await names()).filter((name) => name === 'request_log_default').length, 3);
	assert.equal(await store.analytics.prepare(), 3);
	assert.equal(await store.analytics.prepare(), 0);
	assert.ok(!(await names()).includes('request_log_default'));
	assert.equal((await store.analytics.requests(organizationId, {}, { limit: 10 })).items.length, 4);
	// Sums of seconds and minutes that nobody can ask for any more.
	assert.deepEqual(await store.analytics.prune(null), { days: 0, sums: 10 });
	assert.equal((await names()).length, 4, 'nothing is dropped without a limit');
	const { days: dropped } = await store.analytics.prune(new Date(NOW - 90 * DAY_MS));
	assert.equal(dropped, 2);
	assert.equal((await names()).length, 2);
	assert.equal((await totalOf(store, organizationId)).calls, 1);
	const all = await store.analytics.series(organizationId, range({ since: new Date(0), until: new Date(NOW + 30 * DAY_MS) }), {
		dimension: '',
		value: '',
	});
	assert.equal(all.length, 2);
	await store.analytics.prune(new Date(NOW + 1));
	for (const resolution of ['hour', 'day'] as const)
		assert.equal((await totalOf(store, organizationId, { resolution })).calls, 1, `the ${resolution} that has not passed is kept`);
});

test('two replicas prepare at once, and the days of a month ahead are there', async () => {
	await using other = await openReplica(store);
	await administer(store.database, 'DROP TABLE request_log_default', 'CREATE TABLE request_log_default PARTITION OF request_log DEFAULT');
	assert.deepEqual(await Promise.all([store.analytics.prepare(), other.analytics.prepare()]), [0, 0]);
});

/** Runs the statements of `ask` with their plans. @returns the plans */
async function plansOf(store: TestStore, ask: (store: Store) => Promise<unknown>, explain = 'EXPLAIN'): Promise<string[]> {
	const { Sequelize } = await import('sequelize');
	const query = Sequelize.prototype.query;
	const plans: string[] = [];
	Sequelize.prototype.query = async function (this: InstanceType<typeof Sequelize>, sql: string, options: object) {
		if (/FROM (?:metrics|request_log|\(SELECT)/.test(sql)) {
			const explained = (await query.call(this, `${explain} ${sql}`, options)) as unknown as { 'QUERY PLAN': string }[];
			plans.push(explained.map((row) => row['QUERY PLAN']).join('\n'));
		}
		return query.call(this, sql, options);
	} as typeof query;
	const replica = await openReplica(store);
	try {
		await ask(replica);
	} finally {
		Sequelize.prototype.query = query;
		await replica.close();
	}
	return plans;
}

test('questions are answered by an index: sums never touch the log, and the log is never read whole', async () => {
	const { organizationId } = await addTenant(store);
	const other = await addTenant(store);
	// All are of one day: the few lines of another one would be read as they are.
	const today = NOW - (NOW % (24 * HOUR_MS));
	for (let n = 0; n < 10; n++) {
		const rows = Array.from({ length: 1000 }, (_, at) =>
			requestRow({
				...{ organizationId: at % 10 ? other.organizationId : organizationId, startedAt: today + at * 1000, toolId: randomUUID() },
				...{ requestId: randomUUID(), outcome: at % 50 ? 'success' : 'internal' },
			}),
		);
		await store.analytics.add(batchOf(rows));
	}
	await store.analytics.prepare();
	await administer(store.database, 'ANALYZE');
	const sums = await plansOf(store, async ({ analytics }) => {
		for (const resolution of ['live', 'minute', 'hour', 'day'] as const) {
			await analytics.series(organizationId, range({ resolution }), { dimension: 'tool', value: randomUUID() });
			await analytics.top(organizationId, range({ resolution }), { dimension: 'client', limit: 10, by: 'calls' });
			await analytics.spread(organizationId, range({ resolution }), { dimension: 'provider', limit: 10 });
		}
	});
	assert.equal(sums.length, 12);
	for (const plan of sums) assert.ok(!plan.includes('request_log') && !plan.includes('Seq Scan'), plan);
	const log = await plansOf(store, async ({ analytics }) => {
		for (const filter of [
			{},
			{ toolId: randomUUID() },
			{ requestId: 'x' },
			{ failed: true },
			{ client: 'x' },
			{ since: new Date(NOW - HOUR_MS) },
		])
			await analytics.requests(organizationId, filter, { limit: 100 });
	});
	assert.ok(log.length >= 6);
	// A table without lines is read as it is.
	for (const plan of log) assert.ok(!/Seq Scan on request_log_\S+ \S+ +\(cost=\S+ rows=(?:[2-9]|\d\d)/.test(plan), plan);
});

test('fields are summed by what their cells have, and histograms and samples only where an answer shows them', async () => {
	const { organizationId } = await addTenant(store);
	const [gatewayId, toolId] = [randomUUID(), randomUUID()];
	const of = `${gatewayId} ${toolId}`;
	const answer = {
		tokens: 40,
		fields: [
			['/a', 100],
			['/b', 300],
		],
	} as const;
	const line = { organizationId, gatewayId, toolId, kind: 'tool' as const, startedAt: NOW - (NOW % DAY_MS), answer };
	await store.analytics.add(batchOf([requestRow(line), requestRow({ ...line, outcome: 'internal' })]));
	const ofTool = range({ kind: 'tool' });
	const fields = { dimension: 'field', by: 'bytesOut', limit: 10, prefix: `${gatewayId} ` } as const;
	const found = await store.analytics.top(organizationId, ofTool, fields);
	assert.deepEqual(
		found.map(({ value, calls, bytesOut, outputTokens, sample, last }) => [value, calls, bytesOut, outputTokens, sample, last.getTime()]),
		[
			[`${of} /b`, 2, 600, 0, null, line.startedAt],
			[`${of} /a`, 2, 200, 0, null, line.startedAt],
		],
	);
	assert.equal((await store.analytics.top(organizationId, ofTool, { ...fields, limit: 1 })).length, 1);
	assert.deepEqual(await store.analytics.top(organizationId, ofTool, { ...fields, prefix: 'other ' }), []);
	const [answers] = await store.analytics.top(organizationId, ofTool, { ...fields, dimension: 'answer' });
	assert.deepEqual([answers?.outputTokens, answers?.histogram.reduce((sum, calls) => sum + calls, 0), answers?.sample], [80, 2, null]);
	const [error] = await store.analytics.top(organizationId, ofTool, { ...fields, dimension: 'error', prefix: '' });
	assert.deepEqual([error?.calls, error?.sample], [1, 'request-1']);
	for (const [dimension, hasHistogram, hasSample] of [
		...([
			['field', false, false],
			['error', false, true],
			['key', true, false],
		] as const),
		...([
			['client', true, false],
			['tool', true, false],
			['answer', true, false],
		] as const),
	] as const) {
		const asked = ({ analytics }: Store) => analytics.top(organizationId, ofTool, { dimension, by: 'calls', limit: 10 });
		const [plan = assert.fail()] = await plansOf(store, asked, 'EXPLAIN (VERBOSE)');
		assert.deepEqual([plan.includes('histogram['), plan.includes('array_agg(')], [hasHistogram, hasSample], `${dimension}: ${plan}`);
		if (dimension === 'field') assert.ok(!plan.includes('Join') && !plan.includes('sum(m.duration_ms)'), plan);
	}
});
