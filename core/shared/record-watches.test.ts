// Tests of watches over two replicas, through outages, and of their bounds.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addOwner, follow, start } from '../../test/helpers/plugin-records.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';
import { startTcpProxy } from '../../test/helpers/tcp-proxy.ts';
import type { Changes, Topic } from '../store/store.ts';
import { PluginRecords } from './plugin-records.ts';
import { RecordWatches } from './record-watches.ts';
import type { RecordOwner } from './sealed-fields.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

test('a watch yields each state on another replica: coming, change, taking, removal, expiry and return', async (t) => {
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

test('a record under a watched key must be watched: here `put` and `add` refuse it, and a watch on another replica ends with the fault', async (t) => {
	await using replica = await openReplica(store);
	const owner = await addOwner(store);
	const { of, services } = start(t, store);
	const leaving = new AbortController();
	const watch = follow(of(owner).watch('a', leaving.signal));
	await watch.has('none');
	await assert.rejects(of(owner).put('a', { n: 1 }), /records\.put: the key is being watched, so its record must be put as `watched`/);
	await assert.rejects(of(owner).add('a', { n: 1 }), /records\.add: the key is being watched/);
	assert.equal(await of(owner).get('a'), null);
	await of({ ...owner, gatewayId: null }).put('a', { n: 0 });
	await of(owner).put('b', { n: 0 });
	await of(owner).put('a', { n: 1 }, { watched: true });
	await watch.has('1');
	leaving.abort();
	await watch.ended;
	assert.equal(services.watches.size, 0);
	await of(owner).put('a', { n: 2 });

	const there = start(t, replica);
	const watches = new RecordWatches({ changes: replica.changes, accountOf: async (id) => id }, { againMs: 100 });
	t.after(() => watches.close());
	const elsewhere = new PluginRecords({ store: replica.records, services: { ...there.services, watches } }, owner);
	const free = follow(elsewhere.watch('free', new AbortController().signal));
	await free.has('none');
	await of(owner).put('free', { n: 1 });
	await assert.rejects(free.ended, /not put as `watched`/);
	assert.deepEqual(free.seen, ['none']);
});

test('a watch waits for an outage of the feed, and reads what changed in it; its first state does not wait', async (t) => {
	const owner = await addOwner(store);
	let isLost = false;
	const listeners = new Set<(topics: Topic[]) => void>();
	const changes: Changes = {
		...store.changes,
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

test('on another replica a change is recalled before what follows from a later one, and a watch yields it within some round trips', async (t) => {
	await using replica = await openReplica(store);
	const owner = await addOwner(store);
	const [here, there] = [start(t, store).of(owner), start(t, replica).of(owner)];
	const leaving = new AbortController();
	const [first, later] = ['a', 'z'].map((key) => follow(there.watch(key, leaving.signal)));
	assert.ok(first && later);
	await Promise.all([first.has('none'), later.has('none')]);
	for (let n = 1; n <= 10; n++) {
		await here.put('a', { n }, { watched: true });
		// Watches read on several connections, so the one that is woken first may be the last that yields.
		for (let trip = 1; trip === 1 || first.seen.at(-1) !== String(n); trip++) {
			assert.ok(trip <= 100, `a change was not seen within ${trip} round trips: ${first.seen}`);
			await here.put('z', { n: `${n}.${trip}` }, { watched: true });
			await later.has(`${n}.${trip}`);
			assert.deepEqual((await there.recall('a'))?.value, { n });
		}
	}
	leaving.abort();
	await Promise.all([first.ended, later.ended]);
});

test('a watch outlives the connection to PostgreSQL, and yields what changed while it was cut; one that begins then fails', async (t) => {
	await using cable = await startTcpProxy(store.database);
	const database = { ...store.database, host: '127.0.0.1', port: cable.port };
	await using replica = await openReplica({ database, waits: { ordinaryMs: 600 } });
	const owner = await addOwner(store);
	const [here, there] = [start(t, store).of(owner), start(t, replica)];
	await here.put('a', { n: 1 }, { watched: true });
	const leaving = new AbortController();
	const [kept, free] = ['a', 'b'].map((key) => follow(there.of(owner).watch(key, leaving.signal)));
	assert.ok(kept && free);
	await Promise.all([kept.has('1'), free.has('none')]);
	for (const round of [2, 3]) {
		await cable.cut();
		await here.put('a', { n: `${round}?` }, { watched: true });
		await here.put('a', { n: round }, { watched: true });
		await here.put('b', { n: round }, { watched: true });
		await assert.rejects(follow(there.of(owner).watch('c', leaving.signal)).ended, { code: 'unavailable' });
		assert.deepEqual([kept.seen.at(-1), free.seen.at(-1)], round === 2 ? ['1', 'none'] : ['2', '2']);
		await cable.mend();
		await Promise.all([kept.has(String(round)), free.has(String(round))]);
	}
	leaving.abort();
	await Promise.all([kept.ended, free.ended]);
	assert.equal(there.services.watches.size, 0);
});

test('watches are bounded for an account and for all, and those that end make room', async (t) => {
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
