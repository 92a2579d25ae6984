// Tests of records as plugins get them: sealed fields, watches over two replicas, bounds.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../../test/helpers/clock.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addGateway, addTenant } from '../../test/helpers/samples.ts';
import { openReplica, testStore } from '../../test/helpers/store.ts';
import type { StoredRecord } from '../contract/nouns.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import type { Changes, Store, Topic } from '../store/store.ts';
import { createRecordServices, PluginRecords } from './plugin-records.ts';
import { RecordQuota } from './record-quota.ts';
import { RecordWatches } from './record-watches.ts';
import type { RecordOwner } from './sealed-fields.ts';

const CANARY = 'canary-7f3a';

function start(t: TestContext, store: Store, key = 'ab') {
	const secrets = createSecrets(key.repeat(32));
	const services = createRecordServices({ store, secrets, accountOf: async (organizationId) => organizationId });
	t.after(() => services.close());
	const of = (owner: RecordOwner, hidesSealed = false) => new PluginRecords({ store: store.records, services, hidesSealed }, owner);
	return { of, services };
}

async function addOwner(store: Store): Promise<RecordOwner> {
	const { organizationId } = await addTenant(store);
	return { organizationId, gatewayId: (await addGateway(store, organizationId)).id, plugin: 'transport:a2a' };
}

test('sealed fields are opened for the plugin, and neither stored, found in another place, nor shown in management', async (t) => {
	await using store = await testStore();
	const owner = await addOwner(store);
	const { of } = start(t, store);
	const [records, shown] = [of(owner), of(owner, true)];
	const value = { url: 'https://hooks.example', token: CANARY, list: [{ key: { deep: CANARY } }], 'a/b': null };
	await records.put('a', value, { tags: ['t'], watched: true, sealed: ['/token', '/list/0/key', '/a~1b'] });
	for (const read of [records.get('a'), records.recall('a'), records.recall('a'), records.find('t').then(({ records: [one] }) => one)])
		assert.deepEqual((await read)?.value, value);
	const dump = async () => JSON.stringify(await administer(store.database, 'SELECT records::text AS row FROM records'));
	assert.doesNotMatch(await dump(), /canary/);
	const hidden = (await shown.get('a')) ?? assert.fail();
	assert.deepEqual(hidden.value, { ...value, token: '••••', list: [{ key: '••••' }], 'a/b': '••••' });
	assert.doesNotMatch(JSON.stringify(await shown.find('t')), /canary|v[12]\./);

	assert.ok(await shown.update('a', 1, { ...hidden.value, url: 'https://other.example' }), 'what is hidden is kept');
	assert.deepEqual((await records.get('a'))?.value, { ...value, url: 'https://other.example' });
	await assert.rejects(shown.put('b', hidden.value, { sealed: ['/token'] }), /\/token is hidden here/);
	assert.ok(await records.update('a', 2, { ...value, token: `${CANARY}2` }));
	assert.equal((await records.take('a'))?.value['token'], `${CANARY}2`);
	assert.doesNotMatch(await dump(), /canary/);
	await assert.rejects(records.update('a', 4, { url: 'x' }), /the value has no \/token/);
	assert.equal(await records.update('a', 1, value), false);
	const other = start(t, store).of(owner);
	assert.ok(await other.update('a', 4, value), 'by a process that has not seen the record yet');
	assert.doesNotMatch(await dump(), /canary/);

	await administer(store.database, `UPDATE records SET key = 'moved'`);
	await assert.rejects(records.get('moved'), { code: 'secret_unreadable' });
	await administer(store.database, `UPDATE records SET key = 'a'`);
	await assert.rejects(start(t, store, 'cd').of(owner).get('a'), { code: 'secret_unreadable' });
});

test('a pointer that cannot be sealed is refused naming it', async (t) => {
	await using store = await testStore();
	const records = start(t, store).of(await addOwner(store));
	const wrong: [unknown, RegExp][] = [
		['/a', /must be a list/],
		[['/none'], /has no \/none/],
		[['/list/length'], /has no \/list\/length/],
		[['/__proto__'], /has no \/__proto__/],
		[[''], /JSON pointers/],
		[['a'], /JSON pointers/],
		[['/a~2'], /JSON pointers/],
		[[7], /JSON pointers/],
		[['/o', '/o/p'], /\/o\/p is inside another/],
		[['/a', '/a'], /name each field once/],
	];
	for (const [sealed, fault] of wrong)
		await assert.rejects(records.put('k', { a: 1, list: [1], o: { p: 1 } }, { sealed: sealed as string[] }), fault, String(sealed));
	await assert.rejects(records.drop({ all: [] }), /at least one tag/);
	await assert.rejects(records.find({ all: 'a' } as never), /records\.find: the tags must be/);
});

/** Collects what a watch yields, as texts. */
function follow(watch: AsyncIterable<StoredRecord | null>) {
	const seen: string[] = [];
	const ended = (async () => {
		for await (const record of watch) seen.push(record ? String(record.value['n']) : 'none');
	})();
	ended.catch(() => undefined);
	return {
		seen,
		ended,
		has: (text: string) =>
			until(
				() => seen.at(-1) === text,
				() => `${text} after ${seen}`,
			),
	};
}

test('a watch yields each state on another replica: coming, change, taking, removal, expiry and return', async (t) => {
	await using store = await testStore();
	await using replica = await openReplica(store);
	const owner = await addOwner(store);
	const [here, there] = [start(t, store).of(owner), start(t, replica)];
	const leaving = new AbortController();
	const watch = follow(there.of(owner).watch('a', leaving.signal));
	await watch.has('none');
	await here.put('b', { n: 0 }, { watched: true });
	assert.ok(await here.add('a', { n: 1 }, { watched: true }));
	await watch.has('1');
	assert.ok(await here.update('a', 1, { n: 2 }));
	await watch.has('2');
	assert.ok(await here.remove('a'));
	await watch.has('none');
	await here.put('a', { n: 3 }, { watched: true, ttlMs: 400 });
	await watch.has('3');
	await watch.has('none');
	await here.put('a', { n: 4 }, { watched: true });
	await watch.has('4');
	for (let n = 5; n < 30; n++) await here.put('a', { n }, { watched: true });
	await watch.has('29');
	assert.deepEqual(watch.seen.filter((text) => text === '29').length, 1);
	leaving.abort();
	await watch.ended;
	assert.equal(there.services.watches.size, 0);
});

test('a watch of an unwatched record is refused, and one of another organization sees nothing', async (t) => {
	await using store = await testStore();
	const [owner, other] = [await addOwner(store), await addOwner(store)];
	const { of } = start(t, store);
	await of(owner).put('a', { n: 1 });
	await assert.rejects(follow(of(owner).watch('a', new AbortController().signal)).ended, /not put as `watched`/);
	await of(owner).put('a', { n: 1 }, { watched: true });
	const leaving = new AbortController();
	const watch = follow(of({ ...owner, organizationId: other.organizationId }).watch('a', leaving.signal));
	await watch.has('none');
	leaving.abort();
	await watch.ended;
	assert.deepEqual(watch.seen, ['none']);
});

test('a watch waits for an outage of the feed, and reads what changed in it; its first state does not wait', async (t) => {
	await using store = await testStore();
	const owner = await addOwner(store);
	let isLost = false;
	const listeners = new Set<(topics: Topic[]) => void>();
	const changes: Changes = {
		subscribe(listener) {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
		fresh: (ms) => (isLost ? Promise.reject(Object.assign(new Error('lost'), { code: 'unavailable' })) : store.changes.fresh(ms)),
	};
	const { of } = start(t, { ...store, changes });
	await of(owner).put('a', { n: 1 }, { watched: true });
	const leaving = new AbortController();
	const watch = follow(of(owner).watch('a', leaving.signal));
	await watch.has('1');
	await of(owner).update('a', 1, { n: 2 });
	isLost = true;
	for (const listener of listeners) listener(['*']);
	await assert.rejects(follow(of(owner).watch('a', leaving.signal)).ended, { code: 'unavailable' });
	assert.deepEqual(watch.seen, ['1']);
	isLost = false;
	await watch.has('2');
	leaving.abort();
	await watch.ended;
});

test('watches are bounded for an account and for all, and those that end make room', async (t) => {
	await using store = await testStore();
	const owners = [await addOwner(store), await addOwner(store), await addOwner(store)] as const;
	const { services } = start(t, store);
	const watches = new RecordWatches({ changes: store.changes, accountOf: async (id) => id }, { account: 2, all: 3 });
	t.after(() => watches.close());
	const of = (owner: RecordOwner) => new PluginRecords({ store: store.records, services: { ...services, watches } }, owner);
	const begin = async (owner: RecordOwner) => {
		const iterator = of(owner).watch('a', new AbortController().signal)[Symbol.asyncIterator]();
		await iterator.next();
		return iterator;
	};
	const first = await begin(owners[0]);
	await begin(owners[0]);
	await assert.rejects(begin(owners[0]), { code: 'rate_limited' });
	await begin(owners[1]);
	await assert.rejects(begin(owners[2]), { code: 'rate_limited' });
	const waiting = first.next();
	await first.return?.();
	assert.equal((await waiting).done, true);
	await begin(owners[2]);
	assert.equal(watches.size, 3);
});

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

test('the bytes that a plugin stores are bounded too, and those of updates count', async () => {
	const quota = new RecordQuota({ usage: async () => ({ records: 1, bytes: used }) }, { records: 1_000, bytes: 1_000 });
	let used = 0;
	const update = () => quota.assertRoom('o', 'auth:x', { chars: 600 });
	await update();
	used = 1_000;
	await assert.rejects(update(), { code: 'conflict' });
});
