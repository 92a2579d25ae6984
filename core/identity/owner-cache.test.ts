// The capacity of the cache of owners, and the order of its evictions. Its invalidation is tested where it is used.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import type { Changes, Topic } from '../store/store.ts';
import { OwnerCache } from './owner-cache.ts';

const CAPACITY = 10_000;

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const BY_USER = { owners: 'user', ownerOf: ({ userId }: { userId: string }) => userId, keepsNobody: true } as const;

const add = (cache: OwnerCache<{ userId: string }>, id: string) => cache.add(id, { look: async () => ({ userId: id }) });

test('ten thousand entries are kept; the oldest go first, except those in use', async () => {
	const cache = new OwnerCache<{ userId: string }>(store.changes, BY_USER);
	for (let id = 0; id < CAPACITY; id++) await add(cache, `${id}`);
	assert.deepEqual(await cache.get('0'), { userId: '0' });
	for (let id = 0; id < CAPACITY / 2; id++) await add(cache, `more ${id}`);
	const isKept = (id: string): boolean => cache.get(id) !== undefined;
	assert.deepEqual(['0', '1', '5000', '5001', 'more 0'].map(isKept), [true, false, false, true, true]);
	cache.close();
});

test('when all are in use the oldest goes, and the new one stays', async () => {
	const cache = new OwnerCache<{ userId: string }>(store.changes, BY_USER);
	for (let id = 0; id < CAPACITY; id++) {
		await add(cache, `${id}`);
		cache.get(`${id}`);
	}
	await add(cache, 'new');
	assert.deepEqual([cache.get('0'), cache.get('new') !== undefined], [undefined, true]);
	cache.close();
});

test('when the subjects of changes are unknown, everything is dropped', async () => {
	const hearing: ((topics: Topic[]) => void)[] = [];
	const changes: Changes = {
		...store.changes,
		subscribe(listener) {
			hearing.push(listener);
			return store.changes.subscribe(listener);
		},
	};
	const cache = new OwnerCache<{ userId: string }>(changes, BY_USER);
	const announce = (topic: Topic): void => {
		for (const listener of hearing) listener([topic]);
	};
	await add(cache, 'a');
	await cache.add('nobody', { look: async () => null });
	announce('org:a');
	assert.deepEqual([await cache.get('a'), await cache.get('nobody')], [{ userId: 'a' }, null]);
	announce('*');
	assert.deepEqual([cache.get('a'), cache.get('nobody')], [undefined, undefined]);
	cache.close();
});

test('a failed look-up is not cached', async () => {
	const cache = new OwnerCache<{ userId: string }>(store.changes, BY_USER);
	const look = async (): Promise<null> => {
		throw new Error('away');
	};
	await assert.rejects(cache.add('a', { look }), /away/);
	assert.equal(cache.get('a'), undefined);
	cache.close();
});
