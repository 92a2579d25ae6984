import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { beside, failureOf } from './all.ts';

test('a script that fails is told in its own words, and ends what runs beside it', async () => {
	const NONE = 'no-such-script';
	assert.match((await failureOf([NONE])) ?? '', /Missing script: "no-such-script"/);
	let isAborted = false;
	const code = await beside([NONE], async (aborted) => {
		await once(aborted, 'abort');
		isAborted = true;
		return 0;
	});
	assert.deepEqual([code, isAborted], [1, true]);
});

test('where no script fails, the exit code is that of the tests', async () => {
	assert.equal(await beside([], async () => 3), 3);
});
