import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../contract/nouns.ts';
import { hasItem, isSameJson } from './json-search.ts';

const VALUES: Json[] = [
	...[null, true, false, 0, 1, '', '1', 'a', 'A'],
	...[[], [[]], [null], [1, 2], [2, 1], [1, 2, 3]],
	...[{}, { a: 1 }, { a: null }, { b: null }, { a: 1, b: [2] }, { a: 1, b: [2, {}] }, { a: { a: { a: 1 } } }, { length: 0 }],
	JSON.parse('{"__proto__":{"a":1}}'),
];

test('values are the same that Node.js takes for the same, whatever the order of members', async () => {
	for (const one of VALUES)
		for (const other of VALUES) {
			const message = JSON.stringify([one, other]);
			assert.equal(await isSameJson(one, structuredClone(other)), isDeepStrictEqual(one, other), message);
		}
	assert.equal(await isSameJson({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }), true);
});

test('an item is found in a list, and texts in any case where that is wanted, but for those in objects', async () => {
	assert.equal(await hasItem(['x', { a: [1] }], { a: [1] }), true);
	assert.equal(await hasItem(['x', { a: [1] }], { a: [2] }), false);
	assert.equal(await hasItem([['X', ['Y']]], ['x', ['y']]), false);
	assert.equal(await hasItem([['X', ['Y']]], ['x', ['y']], { ignoreCase: true }), true);
	assert.equal(await hasItem([{ a: 'X' }], { a: 'x' }, { ignoreCase: true }), false);
});

test('each value is counted, and long texts by their length', async () => {
	let counted = 0;
	const count = (values: number): void => {
		counted += values;
	};
	const list = Array.from({ length: 10 }, (_, at) => ({ a: { b: at } }));
	assert.equal(await hasItem(list, { a: { b: 'none' } }, { count }), false);
	assert.equal(counted, 30);
	assert.equal(await isSameJson('a'.repeat(6400), `${'a'.repeat(6399)}b`, { count }), false);
	assert.equal(counted, 231);
});

test('other work runs while long lists are compared', async () => {
	const list = Array.from({ length: 400_000 }, (_, at) => ({ a: [at] }));
	let turns = 0;
	const timer = setInterval(() => turns++, 0);
	assert.equal(await hasItem(list, { a: ['none'] }), false);
	clearInterval(timer);
	assert.ok(turns > 2, `${turns} turns`);
});
