// Tests how long a slot rests, by what its run took and by who else rests. The pool's test shows that the next run waits for it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Rests } from './rests.ts';

/** Far beyond the test; the timer does not keep the process alive. */
const LONG_MS = 600_000;
const SHORT = { computedMs: 100, isHeavy: false };

const KEPT = { isGone: false };

const stay = (rests: Rests, account: string): void => rests.begin(account, LONG_MS, () => {});
const resting = (rests: Rests, account: string, restMs: number): Promise<void> =>
	new Promise((rested) => rests.begin(account, restMs, rested));

/** A timer that keeps the process alive while a rest, which does not, is waited for. */
async function awake<T>(work: Promise<T>): Promise<T> {
	const stop = new AbortController();
	delay(LONG_MS, null, { signal: stop.signal }).catch(() => {});
	return work.finally(() => stop.abort());
}

test('a slot rests for four times what its run computed, at most for a minute, and not at all after a short one', () => {
	const rests = new Rests();
	assert.equal(rests.msAfter('first', SHORT, KEPT), 400);
	assert.equal(rests.msAfter('first', { ...SHORT, computedMs: 50 }, KEPT), 0);
	assert.equal(rests.msAfter('first', { ...SHORT, computedMs: 30_000 }, KEPT), 60_000);
});

test('it rests for a while at least if its run took much memory, or cost a thread, even one that failed', () => {
	const rests = new Rests();
	assert.equal(rests.msAfter('first', { computedMs: 1, isHeavy: true }, KEPT), 250);
	assert.equal(rests.msAfter('first', { computedMs: 100, isHeavy: true }, KEPT), 400);
	assert.equal(rests.msAfter('first', SHORT, { isGone: true }), 1000);
	assert.equal(rests.msAfter('first', { ...SHORT, computedMs: 300 }, { isGone: true }), 1200);
	assert.equal(rests.msAfter('first', null, { isGone: true }), 1000);
	assert.equal(rests.msAfter('first', null, KEPT), 0);
});

test('it rests longer for each other account that rests, and not for slots of its own', () => {
	const rests = new Rests();
	stay(rests, 'first');
	stay(rests, 'first');
	assert.equal(rests.msAfter('first', SHORT, KEPT), 400);
	assert.equal(rests.msAfter('second', SHORT, KEPT), 800);
	stay(rests, 'second');
	assert.equal(rests.msAfter('second', SHORT, KEPT), 800);
	assert.equal(rests.msAfter('third', SHORT, KEPT), 1200);
});

test('an account counts until the last of its slots has rested', async () => {
	const rests = new Rests();
	// Timers of one length fire in the order in which they are set.
	const others = [resting(rests, 'first', 20), resting(rests, 'first', 20)];
	await awake(Promise.race(others));
	assert.equal(rests.msAfter('second', SHORT, KEPT), 800);
	await awake(Promise.all(others));
	assert.equal(rests.msAfter('second', SHORT, KEPT), 400);
});
