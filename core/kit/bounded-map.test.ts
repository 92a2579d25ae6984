import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedMap } from './bounded-map.ts';

test('Beyond its capacity the oldest entry is evicted, and an entry set again is the newest', () => {
	const map = new BoundedMap<string, number>(2);
	map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
	assert.deepEqual(
		[...map],
		[
			['a', 3],
			['c', 4],
		],
	);
	assert.equal(map.get('b'), undefined);
});

test('An entry that must stay stays, even beyond the capacity if no other may be evicted', () => {
	const evicted: [string, boolean][] = [];
	const map = new BoundedMap<string, boolean>(2, { mustStay: (value) => value, onEvicted: (...entry) => evicted.push(entry) });
	map.set('a', true).set('b', false).set('c', true);
	assert.deepEqual([...map.keys()], ['a', 'c']);
	map.set('d', true);
	assert.deepEqual([...map.keys()], ['a', 'c', 'd']);
	map.delete('d');
	assert.deepEqual(evicted, [['b', false]]);
});
