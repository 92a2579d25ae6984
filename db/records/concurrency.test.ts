// Concurrent writers of one record, on several replicas.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { begin } from '../../test/helpers/records.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

test('one of fifty parallel takers gets the record, and it is still read after that', async () => {
	const { organizationId, scope, put, records } = await begin(store);
	await put('code');
	const taken = await Promise.all(Array.from({ length: 50 }, () => records.take(organizationId, scope, 'code')));
	assert.equal(taken.filter((record) => record !== null).length, 1);
	assert.ok((await records.get(organizationId, scope, 'code'))?.takenAt instanceof Date);
});

test('one of fifty parallel updates of one revision succeeds', async () => {
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

test('of fifty removers on two replicas one removes the record', async () => {
	await using replica = await openReplica(store);
	const { organizationId, scope, put } = await begin(store);
	await put('a');
	const removed = await Promise.all(
		Array.from({ length: 50 }, (_, n) => (n % 2 ? store : replica).records.remove(organizationId, scope, 'a')),
	);
	assert.equal(removed.filter(Boolean).length, 1);
});

test('of takers and updaters of one revision on two replicas each has one winner, and an update never follows a taking', async () => {
	await using replica = await openReplica(store);
	const { organizationId, scope, put, records } = await begin(store);
	for (let round = 0; round < 10; round++) {
		const key = String(round);
		await put(key);
		const race = Array.from({ length: 20 }, (_, n) => {
			const own = (n % 2 ? store : replica).records;
			const update = async () => Number(await own.update(organizationId, scope, { key, revision: 1, value: { n } }));
			return Promise.all([own.take(organizationId, scope, key), update()]);
		});
		const done = await Promise.all(race);
		const takings = done.flatMap(([taken]) => taken ?? []);
		const updates = done.reduce((sum, [, updated]) => sum + updated, 0);
		assert.equal(takings.length, 1);
		assert.deepEqual([updates, (await records.get(organizationId, scope, key))?.revision], [(takings[0]?.revision ?? 0) - 2, 2 + updates]);
	}
});

test('among concurrent additions, removals, takings and updates of one key, what each reports adds up', async () => {
	await using replica = await openReplica(store);
	const { organizationId, scope, put, records } = await begin(store);
	for (let round = 0; round < 10; round++) {
		const key = String(round);
		await put(key);
		const did = { add: 0, remove: 0, take: 0, update: 0 };
		const race = Array.from({ length: 10 }, async (_, n) => {
			const own = (n % 2 ? store : replica).records;
			await Promise.all([
				own.add(organizationId, scope, key, { n }, {}).then((won) => (did.add += Number(won))),
				own.remove(organizationId, scope, key).then((won) => (did.remove += Number(won))),
				own.take(organizationId, scope, key).then((taken) => (did.take += Number(taken !== null))),
				own.update(organizationId, scope, { key, revision: 1, value: {} }).then((won) => (did.update += Number(won))),
			]);
		});
		await Promise.all(race);
		const left = await records.get(organizationId, scope, key);
		const lives = 1 + did.add;
		assert.equal(lives - did.remove, left ? 1 : 0, JSON.stringify(did));
		assert.ok(did.take <= lives && did.update <= lives, 'each life is taken once, and has revision 1 once');
	}
});
