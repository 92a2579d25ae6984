// Searches by tags, their order, and what a page costs among many records.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { administer } from '../../test/helpers/postgres.ts';
import { begin } from '../../test/helpers/records.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import { byUpdate } from '../sorts.ts';
import { PRUNE, statementsAt } from './statements.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const keysOf = ({ items }: { items: { key: string }[] }) => items.map(({ key }) => key).join('');

test('records are found by tag, newest first, page by page, and dropped by tag', async () => {
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

test('records are found by all of several tags in the order of their last change, page by page', async () => {
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
	const pruning = (await administer(store.database, 'ANALYZE records', `EXPLAIN ${PRUNE}`)).map((row) => String(row['QUERY PLAN']));
	assert.match(pruning.join('\n'), /records_expiry/, 'expired ones are found by their index');
});
