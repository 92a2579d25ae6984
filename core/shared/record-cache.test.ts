// The cache of watched records, on a real database and with a second replica.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../test/helpers/clock.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addGateway, addTenant } from '../../test/helpers/samples.ts';
import { SECRETS } from '../../test/helpers/service.ts';
import { soon } from '../../test/helpers/soon.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';
import type { Records } from '../contract/records.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import type { Changes, RecordStore, Store, Topic } from '../store/store.ts';
import { createRecordServices, PluginRecords } from './plugin-records.ts';
import { RecordCache } from './record-cache.ts';
import type { RecordOwner } from './sealed-fields.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

interface Replica {
	records: Records;
	/** Number of queries for a record. */
	looks(): number;
	/** Owners of other records on the same replica. */
	of(owner: RecordOwner): Records;
}

interface ReplicaOptions {
	capacity?: number;
	maxChars?: number;
	/** Awaited between the database's answer and its delivery. */
	delay?: () => Promise<unknown>;
}

function startReplica(t: TestContext, store: Store, owner: RecordOwner, { capacity, maxChars, delay }: ReplicaOptions = {}): Replica {
	let looks = 0;
	const counted: RecordStore = {
		...store.records,
		look: async (...place) => {
			looks++;
			const found = await store.records.look(...place);
			await delay?.();
			return found;
		},
	};
	const cache = new RecordCache(store.changes, capacity, maxChars);
	t.after(() => cache.close());
	const secrets = createSecrets(SECRETS.ENCRYPTION_KEY);
	const services = createRecordServices({ store, secrets, accountOf: async (organizationId) => organizationId });
	t.after(() => services.close());
	const of = (its: RecordOwner): Records => new PluginRecords({ store: counted, services: { ...services, cache } }, its);
	return { records: of(owner), looks: () => looks, of };
}

async function addOwner(store: TestStore): Promise<RecordOwner> {
	const { organizationId } = await addTenant(store);
	return { organizationId, gatewayId: (await addGateway(store, organizationId)).id, plugin: 'auth:test' };
}

const numberAt = async (records: Records, key = 'a') => (await records.recall(key))?.value['n'] ?? null;

test('a watched record is queried once, also by concurrent callers; an unwatched or missing one each time', async (t) => {
	const { records, looks } = startReplica(t, store, await addOwner(store));
	await records.put('a', { n: 1 }, { watched: true });
	const at = await Promise.all(Array.from({ length: 20 }, () => numberAt(records)));
	assert.deepEqual([new Set(at), looks()], [new Set([1]), 1]);
	assert.deepEqual([await numberAt(records), looks()], [1, 1]);
	await records.put('b', { n: 2 });
	for (const asked of [2, 3]) assert.deepEqual([await numberAt(records, 'b'), looks()], [2, asked]);
	for (const asked of [4, 5]) assert.deepEqual([await records.recall('c'), looks()], [null, asked]);
	assert.deepEqual(Object.keys((await records.recall('a')) ?? {}), Object.keys((await records.get('a')) ?? {}));
});

test('cached records belong to one plugin of one gateway', async (t) => {
	const owner = await addOwner(store);
	const { records, of } = startReplica(t, store, owner);
	await records.put('a', { n: 1 }, { watched: true });
	assert.equal(await numberAt(records), 1);
	for (const other of [{ ...owner, plugin: 'auth:other' }, { ...owner, gatewayId: randomUUID() }, await addOwner(store)])
		assert.equal(await numberAt(of(other)), null);
});

const CHANGES: [id: string, doing: (records: Records) => Promise<unknown>, seen: number | null][] = [
	['an update', (records) => records.update('a', 1, { n: 2 }), 2],
	['another document under its key', (records) => records.put('a', { n: 2 }, { watched: true }), 2],
	['a removal', (records) => records.drop('t'), null],
	['a removal and a new one', async (records) => [await records.drop('t'), await records.put('a', { n: 2 }, { watched: true })], 2],
];

for (const [id, doing, seen] of CHANGES)
	test(`${id} on one replica is recalled on another within a second`, async (t) => {
		await using store = await testStore();
		await using other = await openReplica(store);
		const owner = await addOwner(store);
		const [here, there] = [startReplica(t, store, owner), startReplica(t, other, owner)];
		await here.records.put('a', { n: 1 }, { tags: ['t'], watched: true });
		for (const { records } of [here, there]) assert.equal(await numberAt(records), 1);
		await doing(here.records);
		for (const { records } of [here, there]) await soon(async () => (await numberAt(records)) === seen, id);
		assert.ok(there.looks() >= 2);
	});

test('a taking is recalled on another replica within a second', async (t) => {
	await using other = await openReplica(store);
	const owner = await addOwner(store);
	const [here, there] = [startReplica(t, store, owner), startReplica(t, other, owner)];
	await here.records.put('a', {}, { watched: true });
	assert.equal((await there.records.recall('a'))?.takenAt, null);
	await here.records.take('a');
	await soon(async () => (await there.records.recall('a'))?.takenAt instanceof Date, 'a taking');
});

test('a change of one record drops that one only, and many at once drop all', async (t) => {
	const owner = await addOwner(store);
	const { records, looks } = startReplica(t, store, owner);
	for (const key of ['a', 'b']) await records.put(key, { n: 1 }, { watched: true });
	for (const key of ['a', 'b']) await numberAt(records, key);
	await records.update('a', 1, { n: 2 });
	await soon(async () => (await numberAt(records)) === 2, 'the update');
	assert.deepEqual([await numberAt(records, 'b'), looks()], [1, 3]);
	await administer(store.database, `INSERT INTO changes (topic) VALUES ('record:*')`);
	await soon(async () => (await numberAt(records, 'b')) === 1 && looks() >= 4, 'the topic of all');
});

test('a record that was being looked up when a change was received is not cached', async (t) => {
	const [read, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
	const delay = (): Promise<void> => {
		read.resolve();
		return answered.promise;
	};
	const heard: Topic[] = [];
	store.changes.subscribe((topics) => heard.push(...topics));
	const { records, looks } = startReplica(t, store, await addOwner(store), { delay });
	await records.put('a', { n: 1 }, { watched: true });
	await records.put('other', {}, { watched: true });
	const early = numberAt(records);
	await read.promise;
	await records.update('a', 1, { n: 2 });
	await soon(async () => heard.some((topic) => /^record:\d/.test(topic)), 'the change');
	answered.resolve();
	assert.equal(await early, 1, 'who asked before the change may get what was before it');
	assert.deepEqual([await numberAt(records), looks()], [2, 2]);
});

test('no caller joins a look-up that is older than a second', async (t) => {
	const delays = [sleep(1_500)];
	const { records, looks } = startReplica(t, store, await addOwner(store), { delay: async () => delays.shift() });
	const early = numberAt(records);
	await sleep(1_100);
	await records.put('a', { n: 1 });
	assert.deepEqual([await numberAt(records), looks()], [1, 2]);
	assert.equal(await early, null);
});

test('no record is recalled past its expiry by the database’s clock, whatever the process’s clock says', async (t) => {
	const { records, looks } = startReplica(t, store, await addOwner(store));
	t.mock.timers.enable({ apis: ['Date'], now: new Date('2001-01-01T00:00:00Z') });
	await records.put('a', { n: 1 }, { watched: true, ttlMs: 3_000 });
	const first = (await records.recall('a')) ?? assert.fail();
	await sleep(300);
	const second = (await records.recall('a')) ?? assert.fail();
	assert.equal(looks(), 1);
	const passedMs = second.readAt.getTime() - first.readAt.getTime();
	assert.ok(passedMs >= 290 && passedMs < 3_000, `${passedMs} ms have passed`);
	t.mock.timers.setTime(new Date('2090-01-01T00:00:00Z').getTime());
	assert.ok(await records.recall('a'), 'the clock of the process does not count');
	assert.equal(looks(), 1);
	await until(async () => (await records.recall('a')) === null, 'its expiry');
	assert.equal(looks(), 2);
});

test('a look-up that fails is not kept, and fails for all callers that wait for it', async (t) => {
	const answers = [() => Promise.reject(new Error('gone'))];
	const { records, looks } = startReplica(t, store, await addOwner(store), { delay: async () => answers.shift()?.() });
	await records.put('a', { n: 1 }, { watched: true });
	const both = await Promise.allSettled([records.recall('a'), records.recall('a')]);
	assert.deepEqual(
		both.map(({ status }) => status),
		['rejected', 'rejected'],
	);
	assert.deepEqual([await numberAt(records), looks()], [1, 2]);
});

test('the least recently used are evicted, and shared values cannot be changed', async (t) => {
	const { records, looks } = startReplica(t, store, await addOwner(store), { capacity: 2 });
	for (const key of ['a', 'b', 'c']) await records.put(key, { n: key, deep: { n: 1 } }, { watched: true });
	for (const key of ['a', 'b', 'a', 'c', 'a']) await records.recall(key);
	assert.equal(looks(), 3);
	assert.equal(await numberAt(records, 'b'), 'b');
	assert.equal(looks(), 4);
	const { value } = (await records.recall('a')) ?? assert.fail();
	assert.throws(() => Object.assign(value, { n: 2 }), TypeError);
	assert.throws(() => Object.assign(value['deep'] ?? {}, { n: 2 }), TypeError);
});

test('recalling waits when the changes are not known up to a second ago, and fails when they cannot be known', async (t) => {
	const owner = await addOwner(store);
	await store.records.put(owner.organizationId, owner, 'a', { n: 1 }, { watched: true });
	const lost: Changes = {
		...store.changes,
		fresh: () => Promise.reject(Object.assign(new Error('x'), { code: 'unavailable' })),
	};
	const known = startReplica(t, store, owner);
	assert.equal(await numberAt(known.records), 1);
	const unknown = startReplica(t, { ...store, changes: lost }, owner);
	await assert.rejects(unknown.records.recall('a'), { code: 'unavailable' });
});
