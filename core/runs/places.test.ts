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

test('one place is waited for while runs are claimed, and taken if the claim leaves it', async () => {
	const held = { count: 0 };
	const places = new Places(() => held.count);
	for (const [found, one] of [
		[2, 1],
		[3, null],
	] as const) {
		held.count = 0;
		const answer = Promise.withResolvers<void>();
		const claiming = places.fill(KIND, async (free) => {
			await answer.promise;
			held.count += found;
			return free;
		});
		assert.equal(
			places.fill(KIND, () => assert.fail()),
			null,
			'all are reserved',
		);
		const waiting = places.one(KIND);
		answer.resolve();
		assert.equal(await claiming, 3);
		const place = await waiting;
		assert.equal(place?.count ?? null, one);
		place?.leave();
	}
	held.count = 0;
	const failing = places.fill(KIND, () => Promise.reject(new Error('away'))) ?? assert.fail();
	const waiting = places.one(KIND);
	await assert.rejects(failing, { message: 'away' });
	assert.equal((await waiting)?.count, 1, 'a claim that fails leaves all');
});
