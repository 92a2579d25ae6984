// Tests of the most that a plugin stores for an organization.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addOwner, start } from '../../test/helpers/plugin-records.ts';
import { openReplica, testStore } from '../../test/helpers/store.ts';
import { PluginRecords } from './plugin-records.ts';
import { RecordQuota } from './record-quota.ts';
import type { RecordOwner } from './sealed-fields.ts';

test('a plugin stores no more than its bound for an organization: what is there may be replaced, and removing makes room', async (t) => {
	await using store = await testStore();
	const [owner, other] = [await addOwner(store), await addOwner(store)];
	const { services } = start(t, store);
	const most = { records: 3, bytes: 1_000_000 };
	const of = (its: RecordOwner) =>
		new PluginRecords({ store: store.records, services: { ...services, quota: new RecordQuota(store.records, most) } }, its);
	const records = of(owner);
	for (const key of ['a', 'b', 'c']) await records.put(key, {}, { tags: ['t'] });
	await assert.rejects(records.put('d', {}), { code: 'conflict', message: /transport:a2a stores the most/ });
	await assert.rejects(of({ ...owner, gatewayId: null }).add('d', {}), { code: 'conflict' });
	await records.put('c', { n: 1 });
	assert.equal(await records.add('c', {}), false);
	assert.ok(await records.update('a', 1, {}));
	await of(other).put('d', {});
	await of({ ...owner, plugin: 'auth:x' }).put('d', {});
	await records.remove('a');
	await of(owner).put('d', {});
});

test('a burst over two replicas ends at the bound, and leaves another organization its room', async (t) => {
	await using store = await testStore();
	await using replica = await openReplica(store);
	const [owner, other] = [await addOwner(store), await addOwner(store)];
	const most = { records: 40, bytes: 1_000_000 };
	const [here, there] = [store, replica].map((at) => {
		const { services } = start(t, at);
		const quota = new RecordQuota(at.records, most);
		return (its: RecordOwner) => new PluginRecords({ store: at.records, services: { ...services, quota } }, its);
	});
	assert.ok(here && there);
	const add = async (n: number): Promise<boolean> => {
		const records = (n % 2 ? here : there)(owner);
		return records.add(String(n), {}).catch((error: { code?: string }) => (error.code === 'conflict' ? false : Promise.reject(error)));
	};
	const added = await Promise.all(Array.from({ length: 200 }, (_, n) => add(n)));
	const { records } = await store.records.usage(owner.organizationId, owner.plugin);
	assert.equal(records, added.filter(Boolean).length);
	assert.ok(records >= most.records / 2 && records <= most.records, `${records} records`);
	for (const at of [here, there]) await at(other).put('a', {});
});

test('the bytes that a plugin stores are bounded too, and those of updates count', async () => {
	const quota = new RecordQuota({ usage: async () => ({ records: 1, bytes: used }) }, { records: 1_000, bytes: 1_000 });
	let used = 0;
	const update = () => quota.assertRoom('o', 'auth:x', { chars: 600, growth: async () => 1_025 });
	await update();
	used = 1_000;
	await assert.rejects(update(), { code: 'conflict' });
});

test('where no bytes are left, an update passes that makes its record at most 1 KiB larger, until twice as much is stored', async () => {
	for (const [used, bytes, passes] of [
		[1_000, 0, true],
		[1_999, 1_024, true],
		[1_000, 1_025, false],
		[2_000, 0, false],
		[2_000, -100, false],
	] as const) {
		const quota = new RecordQuota({ usage: async () => ({ records: 1, bytes: used }) }, { records: 1_000, bytes: 1_000 });
		const update = quota.assertRoom('o', 'auth:x', { chars: 600, growth: async () => bytes });
		if (passes) await update;
		else await assert.rejects(update, { code: 'conflict' }, `${used} stored, ${bytes} more`);
	}
});

test('a record may be rotated where its plugin has no bytes left, with sealed fields and without, and no other is written', async (t) => {
	await using store = await testStore();
	const owner = await addOwner(store);
	const { of, services } = start(t, store);
	const text = 'x'.repeat(1_000);
	await of(owner).put('a', { text });
	await of(owner).put('s', { text, secret: 'one' }, { sealed: ['/secret'] });
	const { bytes } = await store.records.usage(owner.organizationId, owner.plugin);
	const fullOf = (at = owner) =>
		new PluginRecords(
			{ store: store.records, services: { ...services, quota: new RecordQuota(store.records, { records: 10, bytes: bytes - 1 }) } },
			at,
		);
	const full = fullOf();
	assert.equal(await full.update('a', 1, { text: 'y'.repeat(1_000) }), true);
	const read = (await full.get('a')) ?? assert.fail();
	assert.equal(await full.update('a', read.revision, { text: 'z'.repeat(1_000) }), true, 'just read');
	assert.equal(await full.update('s', 1, { text, secret: 'two' }), true);
	assert.deepEqual((await full.get('s'))?.value, { text, secret: 'two' });
	assert.equal(await full.update('a', 1, { text: text.repeat(3) }), false, 'of a revision that is gone');
	// The characters are as many, but each has three bytes.
	await assert.rejects(full.update('a', 3, { text: '€'.repeat(1_000) }), { code: 'conflict' });
	await assert.rejects(full.put('a', { text }), { code: 'conflict' });
	await assert.rejects(fullOf({ ...owner, gatewayId: null }).add('b', { n: 1 }), { code: 'conflict' });
});

test('where no bytes are left, an empty record is added once, until there are too many records or twice the bytes', async (t) => {
	await using store = await testStore();
	const owner = await addOwner(store);
	const { of, services } = start(t, store);
	await of(owner).put('a', { text: 'x'.repeat(1_000) });
	const { bytes } = await store.records.usage(owner.organizationId, owner.plugin);
	const full = (most: { records: number; bytes: number }) =>
		new PluginRecords({ store: store.records, services: { ...services, quota: new RecordQuota(store.records, most) } }, owner);
	const records = full({ records: 3, bytes: bytes - 1 });
	assert.equal(await records.add('used', {}, { ttlMs: 60_000 }), true);
	assert.equal(await records.add('used', {}, { ttlMs: 60_000 }), false);
	await assert.rejects(full({ records: 10, bytes: bytes / 2 }).add('other', {}), { code: 'conflict' });
	assert.equal(await full({ records: 3, bytes: bytes - 1 }).add('other', {}), true);
	await assert.rejects(full({ records: 3, bytes: bytes - 1 }).add('more', {}), { code: 'conflict' });
});
