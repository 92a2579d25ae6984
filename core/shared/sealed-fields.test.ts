// Tests of sealed fields: encrypted in the database, opened for the plugin, hidden in management.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addOwner, start } from '../../test/helpers/plugin-records.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { testStore } from '../../test/helpers/store.ts';
import type { Store } from '../store/store.ts';

const CANARY = 'canary-7f3a';

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

/** Collects the values with which the store is told to update records. */
function watchUpdates(store: Store) {
	const told: string[] = [];
	const update: Store['records']['update'] = (...given) => {
		told.push(JSON.stringify(given));
		return store.records.update(...given);
	};
	const reads = { count: 0 };
	const get: Store['records']['get'] = (...given) => {
		reads.count++;
		return store.records.get(...given);
	};
	return { told, reads, store: { ...store, records: { ...store.records, get, update } } };
}

test('the database is never told the plain text of a sealed field, whatever the process knows of the record', async (t) => {
	await using store = await testStore();
	const owner = await addOwner(store);
	const { told, reads, store: heard } = watchUpdates(store);
	const first = start(t, store).of(owner);
	const fresh = () => start(t, heard).of(owner);
	await first.put('a', { token: 'x' }, { sealed: ['/token'] });
	await first.put('b', { token: 'x' });
	const other = fresh();
	await other.get('b');
	assert.ok(await other.update('a', 1, { token: CANARY }), 'by one that has read another record');
	assert.ok(await fresh().update('a', 2, { token: CANARY }), 'by one that has read nothing');
	assert.equal(await fresh().update('a', 1, { token: CANARY }), false, 'of a revision that is gone');
	assert.equal(await fresh().update('none', 1, { token: CANARY }), false);
	await other.get('a');
	assert.ok(await other.update('a', 3, { token: CANARY }));
	const late = fresh();
	await late.get('b');
	await first.put('b', { token: CANARY }, { sealed: ['/token'] });
	assert.equal(await late.update('b', 2, { token: CANARY }), true, 'sealed since it was read');
	assert.ok(told.length >= 3);
	assert.doesNotMatch(told.join('\n'), /canary/);
	assert.equal((await first.get('b'))?.value['token'], CANARY);

	const plain = fresh();
	await first.put('c', { n: 1 });
	await plain.get('c');
	reads.count = 0;
	assert.ok(await plain.update('c', 1, { n: 2 }));
	assert.equal(reads.count, 0, 'a record without sealed fields is not read twice');
	assert.ok(await plain.update('c', 2, { n: 3 }));
	assert.equal(await plain.update('c', 2, { n: 4 }), false);
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
