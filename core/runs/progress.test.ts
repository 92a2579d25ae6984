// Tests the merging of progress.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../contract/nouns.ts';
import { ProgressTeller } from './progress.ts';

test('what is told at once is written once, and the last of it always', async () => {
	const written: Json[] = [];
	const teller = new ProgressTeller(async (value) => void written.push(value));
	for (let done = 1; done <= 1_000; done++) teller.tell(done);
	assert.equal(await teller.end(), null);
	assert.deepEqual(written, [1_000]);
	teller.tell('late');
	await teller.end();
	assert.deepEqual(written, [1_000]);
});

test('what is told during a write follows it', async () => {
	const written: Json[] = [];
	const [entered, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
	const teller = new ProgressTeller(async (value) => {
		written.push(value);
		entered.resolve();
		await gate.promise;
	});
	teller.tell(1);
	await entered.promise;
	for (const done of [2, 3]) teller.tell(done);
	const ending = teller.end();
	gate.resolve();
	await ending;
	assert.deepEqual(written, [1, 3]);
});

test('a value that cannot be written is told at the end', async () => {
	const failure = new TypeError('no JSON');
	const teller = new ProgressTeller(() => Promise.reject(failure));
	teller.tell(1);
	assert.deepEqual(await teller.end(), { error: failure });
});
