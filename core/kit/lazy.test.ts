// Modules that are loaded when they are first needed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lazy } from './lazy.ts';

test('a module is loaded once, for concurrent and later callers', async () => {
	let times = 0;
	const load = lazy(async () => ++times);
	assert.equal(times, 0);
	assert.deepEqual(await Promise.all([load(), load()]), [1, 1]);
	assert.equal(await load(), 1);
});

test('a module that failed to load is loaded again', async () => {
	let times = 0;
	const load = lazy(async () => {
		times++;
		if (times === 1) throw new Error('not yet');
		return times;
	});
	await assert.rejects(Promise.all([load(), load()]), /not yet/);
	assert.equal(await load(), 2);
});
