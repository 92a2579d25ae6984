// Plugins' documents, and the records of runs.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { PutOptions } from '../../core/contract/nouns.ts';
import type { Topic } from '../../core/store/store.ts';
import { actor, sorted, type Told, told } from '../../test/helpers/audit.ts';
import { until } from '../../test/helpers/clock.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addGateway, addTenant, addTool } from '../../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';
import { byUpdate } from '../sorts.ts';
import { statementsAt } from './statements.ts';

async function begin(store: TestStore) {
	const { organizationId } = await addTenant(store);
	const scope = { plugin: 'oauth2', gatewayId: (await addGateway(store, organizationId)).id };
	const put = (key: string, value = {}, options: PutOptions = {}) => store.records.put(organizationId, scope, key, value, options);
	return { organizationId, scope, put, records: store.records };
}

test('a record is returned as it was put, to its own plugin only', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	await put('a', { z: 1, a: 2 }, { tags: ['x', 'y'] });
	const record = (await records.get(organizationId, scope, 'a')) ?? assert.fail();
	const { createdAt, updatedAt, readAt, ...rest } = record;
	const times = { expiresAt: null, takenAt: null };
	assert.deepEqual(rest, { key: 'a', value: { z: 1, a: 2 }, tags: ['x', 'y'], ...times, revision: 1, sealed: [] });
	assert.deepEqual(updatedAt, createdAt);
	assert.ok(createdAt <= readAt);
	assert.equal(JSON.stringify(record.value), '{"z":1,"a":2}');
	assert.deepEqual(Object.keys((await records.take(organizationId, scope, 'a')) ?? {}), Object.keys(record));
	assert.equal(await records.get(organizationId, { ...scope, plugin: 'other' }, 'a'), null);
});

test('one of fifty parallel takers gets the record, and it is still read after that', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	await put('code');
	const taken = await Promise.all(Array.from({ length: 50 }, () => records.take(organizationId, scope, 'code')));
	assert.equal(taken.filter((record) => record !== null).length, 1);
	assert.ok((await records.get(organizationId, scope, 'code'))?.takenAt instanceof Date);
});

test('one of fifty parallel updates of one revision succeeds', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	await put('a');
	const updated = await Promise.all(
		Array.from({ length: 50 }, (_, n) => records.update(organizationId, scope, { key: 'a', revision: 1, value: { n } })),
	);
	assert.equal(updated.filter(Boolean).length, 1);
	assert.deepEqual((await records.get(organizationId, scope, 'a'))?.value, { n: updated.indexOf(true) });
	assert.equal(await records.update(organizationId, scope, { key: 'a', revision: 2, value: {} }), true);
});

test('one of fifty parallel additions of one key succeeds; the key is free again when its document has expired', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	const add = (n: number, ttlMs = 60_000) => records.add(organizationId, scope, 'a', { n }, { ttlMs, tags: ['t'] });
	const added = await Promise.all(Array.from({ length: 50 }, (_, n) => add(n)));
	assert.equal(added.filter(Boolean).length, 1);
	assert.deepEqual((await records.get(organizationId, scope, 'a'))?.value, { n: added.indexOf(true) });
	await put('a', {}, { ttlMs: -1000 });
	assert.deepEqual([await add(50), await add(51)], [true, false]);
	const { value, revision } = (await records.get(organizationId, scope, 'a')) ?? assert.fail();
	assert.deepEqual([value, revision], [{ n: 50 }, 3]);
	await put('kept');
	assert.equal(await records.add(organizationId, scope, 'kept', {}, {}), false, 'one that never expires');
	assert.equal(await records.add(organizationId, { ...scope, plugin: 'other' }, 'a', {}, {}), true, 'of another plugin');
});

test('an update may restart the lifetime, which otherwise stays', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	await put('a', {}, { ttlMs: 60_000 });
	const first = await records.get(organizationId, scope, 'a');
	assert.equal(await records.update(organizationId, scope, { key: 'a', revision: 1, value: {} }), true);
	assert.deepEqual((await records.get(organizationId, scope, 'a'))?.expiresAt, first?.expiresAt);
	assert.equal(await records.update(organizationId, scope, { key: 'a', revision: 2, value: {} }, { ttlMs: 120_000 }), true);
	const later = await records.get(organizationId, scope, 'a');
	assert.ok(later?.expiresAt && first?.expiresAt && later.expiresAt.getTime() - first.expiresAt.getTime() > 50_000);
});

test('an expired record is neither read, taken, updated nor found, and is pruned', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	await put('old', {}, { tags: ['t'], ttlMs: -1_000 });
	await put('new', {}, { tags: ['t'], ttlMs: 60_000 });
	assert.equal(await records.get(organizationId, scope, 'old'), null);
	assert.equal(await records.take(organizationId, scope, 'old'), null);
	assert.equal(await records.update(organizationId, scope, { key: 'old', revision: 1, value: {} }), false);
	assert.equal(await records.look(organizationId, scope, 'old'), null);
	await put('older', {}, { tags: ['u'], ttlMs: -1_000 });
	assert.equal(await records.drop(organizationId, scope, 'u'), 0);
	assert.deepEqual(
		(await records.find(organizationId, scope, 't', { limit: 10 })).items.map(({ key }) => key),
		['new'],
	);
	assert.equal(await records.prune(), 2);
	assert.equal(await records.prune(), 0);
});

test('putting again replaces the document and resets its taking', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	await put('a', { n: 1 }, { tags: ['x'] });
	await records.take(organizationId, scope, 'a');
	await put('a', { n: 2 }, { tags: ['y'] });
	const record = await records.get(organizationId, scope, 'a');
	assert.deepEqual([record?.value, record?.tags, record?.takenAt, record?.revision], [{ n: 2 }, ['y'], null, 3]);
});

test('records are found by tag, newest first, page by page, and dropped by tag', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	for (const key of ['a', 'b', 'c', 'd']) await put(key, {}, { tags: key === 'b' ? ['other'] : ['t', 'with,comma "and" quote'] });
	const first = await records.find(organizationId, scope, 't', { limit: 2 });
	assert.deepEqual(
		first.items.map(({ key }) => key),
		['d', 'c'],
	);
	const second = await records.find(organizationId, scope, 't', { limit: 2, cursor: first.nextCursor ?? '' });
	assert.deepEqual([second.items.map(({ key }) => key), second.nextCursor], [['a'], null]);
	assert.equal(await records.drop(organizationId, scope, 'with,comma "and" quote'), 3);
	assert.equal(await records.drop(organizationId, scope, 't'), 0);
});

test('a record expires by the clock of the database, and every read returns the time of that clock', async (t) => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	t.mock.timers.enable({ apis: ['Date'], now: new Date('2001-01-01T00:00:00Z') });
	await put('a', {}, { tags: ['t'], ttlMs: 60_000 });
	const [clock] = await administer(store.database, 'SELECT now() AS now');
	const now = clock?.['now'] as Date;
	const found = await records.find(organizationId, scope, 't', { limit: 1 });
	for (const record of [await records.get(organizationId, scope, 'a'), found.items[0], await records.take(organizationId, scope, 'a')]) {
		const { readAt, expiresAt, takenAt } = record ?? assert.fail();
		assert.ok(Math.abs(readAt.getTime() - now.getTime()) < 10_000, 'it is the time of the database');
		const leftMs = (expiresAt ?? assert.fail()).getTime() - readAt.getTime();
		assert.ok(leftMs > 50_000 && leftMs <= 60_000, `${leftMs} ms are left`);
		assert.ok(takenAt === null || takenAt <= readAt);
	}
});

// ── changes of watched records ─────────────────────────────────────────────────────────────────────────────────────

const EVENTS: [id: string, doing: (world: Awaited<ReturnType<typeof begin>>) => Promise<unknown>][] = [
	['an update', ({ organizationId, scope, records }) => records.update(organizationId, scope, { key: 'a', revision: 1, value: { n: 2 } })],
	['a taking', ({ organizationId, scope, records }) => records.take(organizationId, scope, 'a')],
	['a removal', ({ organizationId, scope, records }) => records.drop(organizationId, scope, 't')],
	['a document in its place', ({ put }) => put('a', { n: 2 }, { tags: ['t'], watched: true })],
	['one in its place that is not watched', ({ put }) => put('a', { n: 2 }, { tags: ['t'] })],
];

/** Runs another replica, and collects the topics of records that it receives until a topic of ours that comes after them. */
async function listen(store: TestStore, isNew = false) {
	const replica = await openReplica(store);
	const heard: Topic[] = [];
	replica.changes.subscribe((topics) => heard.push(...topics));
	const hear = async (doing: () => Promise<unknown>): Promise<Topic[]> => {
		await doing();
		const end: Topic = `org:${randomUUID()}`;
		await administer(store.database, `INSERT INTO changes (topic) VALUES ('${end}')`);
		await until(async () => heard.includes(end), 'the end');
		return heard.splice(0).filter((topic) => topic.startsWith('record:') && topic.startsWith('record:new:') === isNew);
	};
	return { hear, [Symbol.asyncDispose]: () => replica[Symbol.asyncDispose]() };
}

for (const [id, doing] of EVENTS)
	test(`${id} of a watched record is announced to every replica, but not of an unwatched one`, async () => {
		await using store = await testStore();
		const world = await begin(store);
		const { organizationId, scope, put, records } = world;
		await using replica = await listen(store);
		assert.deepEqual(await replica.hear(() => put('a', { n: 1 }, { tags: ['t'], watched: true })), [], 'its coming is no change');
		const { topic } = (await records.look(organizationId, scope, 'a')) ?? assert.fail();
		assert.deepEqual(await replica.hear(() => doing(world)), [topic]);
		await replica.hear(() => records.drop(organizationId, scope, 't'));
		await put('a', { n: 1 }, { tags: ['t'] });
		assert.equal((await records.look(organizationId, scope, 'a'))?.topic, null);
		assert.deepEqual(await replica.hear(() => doing(world)), []);
	});

test('many watched records removed at once share one topic, and expired ones are removed unannounced', async () => {
	await using store = await testStore();
	const { organizationId, scope, records } = await begin(store);
	await using replica = await listen(store);
	const fill = (tag: string, count: number, expiresAt = 'NULL') =>
		administer(
			store.database,
			`INSERT INTO records (organization_id, gateway_id, plugin, key, value, tags, watched, expires_at)
			SELECT '${organizationId}', '${scope.gatewayId}', '${scope.plugin}', '${tag}' || n, '{}', '{${tag}}', true, ${expiresAt}
			FROM generate_series(1, ${count}) AS n`,
		);
	await fill('many', 1_001);
	await fill('some', 1_000);
	await fill('old', 3, `now() - interval '1 second'`);
	assert.deepEqual(await replica.hear(() => records.drop(organizationId, scope, 'many')), ['record:*']);
	assert.equal((await replica.hear(() => records.drop(organizationId, scope, 'some'))).length, 1_000);
	assert.deepEqual(await replica.hear(() => records.prune()), []);
});

test('the coming of a watched record is announced by its place and key, also in the place of an expired one', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	await using replica = await listen(store, true);
	for (const at of [scope, { ...scope, gatewayId: null }]) {
		const come = (ttlMs: number) => records.put(organizationId, at, 'a', {}, { watched: true, ttlMs });
		const topic = await records.arrival(organizationId, at, 'a');
		assert.deepEqual(await replica.hear(() => come(60_000)), [topic]);
		assert.deepEqual(await replica.hear(() => come(-1_000)), [], 'a change is no coming');
		assert.deepEqual(await replica.hear(() => come(60_000)), [topic]);
	}
	assert.deepEqual(await replica.hear(() => put('b')), [], 'an unwatched one');
});

// ── tags, order, and records of an organization ────────────────────────────────────────────────────────────────────

const keysOf = ({ items }: { items: { key: string }[] }) => items.map(({ key }) => key).join('');

test('records are found by all of several tags in the order of their last change, page by page', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	for (const key of 'abcdef') await put(key, {}, { tags: ['task', `half:${key < 'd' ? 1 : 2}`, `odd:${'ace'.includes(key)}`] });
	await administer(store.database, `UPDATE records SET updated_at = created_at - interval '1 hour' - seq * interval '1 second'`);
	assert.ok(await records.update(organizationId, scope, { key: 'b', revision: 1, value: {} }, { tags: ['task', 'half:2'] }));
	await records.take(organizationId, scope, 'f');
	const find = (all: string[], page = {}) => records.find(organizationId, scope, { all }, { limit: 10, sort: '-updatedAt', ...page });
	assert.equal(keysOf(await find(['task', 'half:2'])), 'fbde');
	assert.equal(keysOf(await find(['half:1', 'odd:true'])), 'ac');
	assert.equal(keysOf(await find(['half:1', 'half:2'])), '');
	assert.equal(keysOf(await find([], { sort: '-createdAt' })), 'fedcba');
	assert.equal(keysOf(await find(['task'], { sort: 'updatedAt' })), 'edcabf');
	const first = await find(['task'], { limit: 4 });
	const second = await find(['task'], { limit: 4, cursor: first.nextCursor ?? assert.fail() });
	assert.deepEqual([keysOf(first), keysOf(second), second.nextCursor], ['fbac', 'de', null]);
	await assert.rejects(find(['task'], { cursor: first.nextCursor, sort: 'updatedAt' }), { code: 'validation_failed' });
	const count = (all: string[], most = 100) => records.count(organizationId, scope, { all }, most);
	assert.deepEqual([await count(['task']), await count(['task'], 2), await count([]), await count(['none'])], [6, 2, 6, 0]);
	assert.equal(await records.drop(organizationId, scope, { all: ['half:2', 'odd:true'] }), 1);
	assert.equal(await records.remove(organizationId, scope, 'a'), true);
	assert.equal(await records.remove(organizationId, scope, 'a'), false);
	assert.equal(keysOf(await find(['task'])), 'fbcd');
});

test('a page of a hundred thousand records neither scans nor sorts all of them, however common the tags are', async () => {
	await using store = await testStore();
	const { organizationId, scope, records } = await begin(store);
	await administer(
		store.database,
		`INSERT INTO records (organization_id, gateway_id, plugin, key, value, tags, updated_at)
		SELECT '${organizationId}', '${scope.gatewayId}', '${scope.plugin}', n, '{}', ARRAY['task', 'c:' || n / 10, 's:' || n % 2], now() - n * interval '1 second'
		FROM generate_series(1, 100000) AS n`,
	);
	for (const [all, first, count] of [
		[['task'], '1', 5],
		[['task', 's:0'], '2', 5],
		[['c:77', 's:1'], '771', 5],
		[['c:77', 'c:78'], undefined, 0],
	] as const) {
		const { items } = await records.find(organizationId, scope, { all }, { limit: 5, sort: '-updatedAt' });
		assert.deepEqual([items[0]?.key, items.length], [first, count], String(all));
		const walk = { name: '', key: byUpdate, beyond: '<', direction: 'DESC', last: { seq: '0', value: '' } } as const;
		const sql = statementsAt(scope.gatewayId).find({ walk, hasTags: true, from: null });
		const values = [`'${organizationId}'`, `'${scope.gatewayId}'`, `'${scope.plugin}'`, `'{${all}}'::text[]`, '9', '101'];
		const filled = sql.replaceAll(/\$(\d)/g, (_, n) => values[Number(n) - 1] ?? '');
		const plan = (await administer(store.database, `EXPLAIN (ANALYZE, TIMING OFF) ${filled}`)).map((row) => String(row['QUERY PLAN']));
		const fetched = plan.map((line) =>
			line.includes('never executed') ? 0 : Number(/ rows=(\d+) loops/.exec(line.split('actual')[1] ?? '')?.[1] ?? 0),
		);
		const sorts = plan.map((line, at) => (line.includes('Sort  (') ? (fetched[at + 1] ?? 0) : 0));
		assert.doesNotMatch(plan.join('\n'), /Seq Scan on records/);
		assert.ok(Math.max(...sorts) <= 1_001, plan.join('\n'));
	}
});

test('records of an organization are its own, beside those of its gateways, and are removed with it', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	const own = { ...scope, gatewayId: null };
	await put('a', { n: 1 }, { tags: ['t'] });
	await records.put(organizationId, own, 'a', { n: 2 }, { tags: ['t'], audited: { type: 'oauth_client', name: 'a' } });
	await records.put(organizationId, own, 'a', { n: 3 }, { tags: ['t'], audited: { type: 'oauth_client', name: 'a' } });
	assert.equal(await records.add(organizationId, own, 'a', {}, {}), false);
	const values = await Promise.all([scope, own].map((at) => records.get(organizationId, at, 'a')));
	assert.deepEqual(
		values.map((record) => [record?.value, record?.revision]),
		[
			[{ n: 1 }, 1],
			[{ n: 3 }, 2],
		],
	);
	assert.deepEqual((await records.find(organizationId, own, 't', { limit: 10 })).items.length, 1);
	const other = await begin(store);
	assert.equal(await records.get(other.organizationId, own, 'a'), null);
	assert.equal(await records.count(other.organizationId, own, 't', 10), 0);
	assert.equal((await records.usage(organizationId, scope.plugin)).records, 2);
	assert.equal(await records.drop(organizationId, own, 't'), 1);
	assert.ok(await records.get(organizationId, scope, 'a'));
	await records.put(organizationId, own, 'b', {}, {});
	await store.gateways.remove(organizationId, scope.gatewayId, false);
	assert.ok(await records.get(organizationId, own, 'b'));
	await administer(store.database, `DELETE FROM organizations WHERE id = '${organizationId}'`);
	assert.equal(await records.get(organizationId, own, 'b'), null);
});

// ── the audit log ──────────────────────────────────────────────────────────────────────────────────────────────────

const CLIENT = { type: 'oauth_client', name: 'Ada’s editor' };

/** Returns the log's entries about records. */
async function logOf(store: TestStore, organizationId: string): Promise<Told[]> {
	const { items } = await store.audit.list(organizationId, { limit: 100 }, { resourceType: CLIENT.type });
	return items.map(told);
}

test('adding and removing a named record is logged, with the actor and without its values', async () => {
	await using store = await testStore();
	const { organizationId, scope, put } = await begin(store);
	const who = actor();
	const own = store.as(who).records;
	await own.put(organizationId, scope, 'secret-key', { n: 'secret' }, { tags: ['secret-tag'], audited: CLIENT });
	await put('nameless', {}, { tags: ['secret-tag'] });
	await own.put(organizationId, scope, 'secret-key', { n: 'secret2' }, { tags: ['secret-tag'], audited: CLIENT });
	await own.update(organizationId, scope, { key: 'secret-key', revision: 2, value: {} });
	await own.take(organizationId, scope, 'secret-key');
	assert.equal(await own.drop(organizationId, scope, 'secret-tag'), 2);
	const { items } = await store.audit.list(organizationId, { limit: 100 }, { resourceType: CLIENT.type });
	const id = items[0]?.resourceId ?? assert.fail();
	const { gatewayId } = scope;
	assert.deepEqual(items.map(told), [
		['delete', CLIENT.type, id, CLIENT.name, { gatewayId: { from: gatewayId } }],
		['create', CLIENT.type, id, CLIENT.name, { gatewayId: { to: gatewayId } }],
	]);
	for (const row of items) assert.deepEqual(row.actor, who);
	assert.doesNotMatch(JSON.stringify(items), /secret/);
});

test('an expired record is not logged as removed, and its replacement is logged as new', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	await put('a', {}, { tags: ['t'], ttlMs: -1_000, audited: CLIENT });
	await put('b', {}, { tags: ['t'], ttlMs: -1_000, audited: CLIENT });
	await put('a', {}, { tags: ['t'], audited: CLIENT });
	assert.equal(await records.prune(), 1);
	const log = await logOf(store, organizationId);
	assert.deepEqual(
		log.map(([action]) => action),
		['create', 'create', 'create'],
	);
	assert.equal(new Set(log.map(([, , id]) => id)).size, 3);
	assert.equal(await records.drop(organizationId, scope, 't'), 1);
	assert.deepEqual((await logOf(store, organizationId))[0]?.slice(0, 3), ['delete', CLIENT.type, log[0]?.[2]]);
});

test('removing a gateway removes its records, logged with the actor; removing an organization removes its log', async () => {
	await using store = await testStore();
	const { organizationId, scope, put } = await begin(store);
	const who = actor();
	await put('a', {}, { audited: CLIENT });
	await put('b', {}, { audited: { ...CLIENT, name: `a\0\ud800${'x'.repeat(300)}` } });
	await store.as(who).gateways.remove(organizationId, scope.gatewayId, false);
	const { items } = await store.audit.list(organizationId, { limit: 100 }, { resourceType: CLIENT.type, action: 'delete' });
	assert.deepEqual(
		sorted(items.map(told))
			.map(([, , , name]) => name)
			.sort(),
		[CLIENT.name, `a\ufffd${'x'.repeat(197)}`].sort(),
	);
	for (const row of items) assert.deepEqual(row.actor, who);
	const rest = await begin(store);
	await rest.put('a', {}, { audited: CLIENT });
	await administer(store.database, `DELETE FROM organizations WHERE id = '${rest.organizationId}'`);
	assert.deepEqual(await logOf(store, rest.organizationId), []);
});

test('runs outlive their tool and gateway, and those of a removed organization are left out of the batch', async () => {
	await using store = await testStore();
	const { organizationId } = await addTenant(store);
	const [gateway, tool] = [await addGateway(store, organizationId), await addTool(store, organizationId)];
	const run = { organizationId, toolId: tool.id, gatewayId: gateway.id, keyId: null, subject: 'user:a\0b\ud800', error: null };
	const startedAt = new Date('2026-01-02T03:04:05.678Z');
	await store.runs.add([
		{ ...run, status: 'success', durationMs: 1.6, startedAt },
		{ ...run, organizationId: randomUUID(), status: 'success', durationMs: 1, startedAt },
	]);
	await store.tools.remove(organizationId, tool.id, false);
	await store.gateways.remove(organizationId, gateway.id, false);
	const rows = await administer(store.database, 'SELECT tool_id, gateway_id, subject, duration_ms, started_at FROM tool_runs');
	assert.deepEqual(rows, [{ tool_id: tool.id, gateway_id: gateway.id, subject: 'user:ab\ufffd', duration_ms: 2, started_at: startedAt }]);
	assert.equal(await store.runs.prune(startedAt), 0);
	assert.equal(await store.runs.prune(new Date(startedAt.getTime() + 1)), 1);
});
