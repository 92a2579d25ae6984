// Tests the places of a process.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Places } from './places.ts';

const KIND = { kind: 'k', places: 3 };

test('runs that are about to begin keep their places from others, and give them back', () => {
	let held = 0;
	const places = new Places((kind) => (kind === KIND.kind ? held : 0));
	const one = places.reserve(KIND, 1) ?? assert.fail();
	const rest = places.reserve(KIND, 3) ?? assert.fail();
	assert.deepEqual([one.count, rest.count, places.reserve(KIND, 1)], [1, 2, null]);
	assert.equal(places.reserve({ kind: 'other', places: 1 }, 3)?.count, 1);
	held = 1;
	one.leave();
	assert.equal(places.reserve(KIND, 1), null);
	rest.leave();
	assert.equal(places.reserve(KIND, 3)?.count, 2);
});
