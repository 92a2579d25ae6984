import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SizedCache } from './sized-cache.ts';

test('a cache stays within its bytes, and evicts the least recently used entry', () => {
	const cache = new SizedCache<string>(100);
	for (const key of ['a', 'b', 'c']) cache.put(key, key, 30);
	assert.equal(cache.get('a'), 'a');
	cache.put('d', 'd', 30);
	assert.deepEqual(
		['a', 'b', 'c', 'd'].map((key) => cache.get(key)),
		['a', undefined, 'c', 'd'],
	);
	assert.equal(cache.bytes, 90);
	cache.put('e', 'e', 80);
	assert.deepEqual([cache.bytes, cache.get('d'), cache.get('e')], [80, undefined, 'e']);
});

test('a value larger than the cache is not kept, and a value stored again counts once', () => {
	const cache = new SizedCache<number>(100);
	cache.put('a', 1, 60);
	cache.put('a', 2, 70);
	assert.deepEqual([cache.get('a'), cache.bytes], [2, 70]);
	cache.put('a', 3, 101);
	assert.deepEqual([cache.get('a'), cache.bytes], [undefined, 0]);
	cache.put('a', 4, 10);
	cache.drop('a');
	cache.drop('a');
	assert.equal(cache.bytes, 0);
});
