// Plugins' documents: what is put is read, by its own plugin and organization, until it expires.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { administer } from '../../test/helpers/postgres.ts';
import { begin } from '../../test/helpers/records.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

test('a record is returned as it was put, to its own plugin only', async () => {
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

test('an update may restart the lifetime, which otherwise stays', async () => {
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
	const { organizationId, scope, put, records } = await begin(store);
	await put('a', { n: 1 }, { tags: ['x'] });
	await records.take(organizationId, scope, 'a');
	await put('a', { n: 2 }, { tags: ['y'] });
	const record = await records.get(organizationId, scope, 'a');
	assert.deepEqual([record?.value, record?.tags, record?.takenAt, record?.revision], [{ n: 2 }, ['y'], null, 3]);
});

test('a record expires by the clock of the database, and every read returns the time of that clock', async (t) => {
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

test('records of an organization are its own, beside those of its gateways, and are removed with it', async () => {
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
