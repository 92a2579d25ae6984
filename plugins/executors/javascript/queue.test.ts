// Who waits for a thread, and whose turn it is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from './queue.ts';

const LIMITS = { running: 2, waiting: 3, waitingBytes: 100, allWaiting: 5, allWaitingBytes: 150 };

test('owners take turns, however much one of them wants', () => {
	const queue = new FairQueue<string>({ ...LIMITS, running: 9 });
	for (const item of ['a1', 'a2', 'a3']) assert.ok(queue.add('a', item, 1));
	for (const item of ['b1', 'b2']) assert.ok(queue.add('b', item, 1));
	assert.deepEqual(
		Array.from({ length: 6 }, () => queue.take()),
		['a1', 'b1', 'a2', 'b2', 'a3', null],
	);
});

test('an owner has at most its share under way, and its next begins when one is done', () => {
	const queue = new FairQueue<string>(LIMITS);
	for (const item of ['a1', 'a2', 'a3']) queue.add('a', item, 1);
	queue.add('b', 'b1', 1);
	assert.equal(queue.eligible(), 3);
	assert.deepEqual([queue.take(), queue.take(), queue.take(), queue.take()], ['a1', 'b1', 'a2', null]);
	queue.done('b');
	assert.equal(queue.take(), null);
	queue.done('a');
	assert.deepEqual([queue.take(), queue.take()], ['a3', null]);
});

test('what waits is bounded, for each owner and for all, in number and in bytes', () => {
	const queue = new FairQueue<string>(LIMITS);
	assert.deepEqual(
		['a1', 'a2', 'a3', 'a4'].map((item) => queue.add('a', item, 1)),
		[true, true, true, false],
	);
	assert.deepEqual(
		['b1', 'b2', 'b3'].map((item) => queue.add('b', item, 1)),
		[true, true, false],
		'five of all wait',
	);
	const heavy = new FairQueue<string>(LIMITS);
	assert.deepEqual([heavy.add('a', 'a1', 300), heavy.add('a', 'a2', 1)], [true, false], 'one of any size may wait, alone');
	assert.deepEqual([heavy.add('b', 'b1', 1)], [false], 'the bytes of all');
	heavy.take();
	assert.deepEqual([heavy.add('b', 'b1', 90), heavy.add('b', 'b2', 20), heavy.add('c', 'c1', 60)], [true, false, true]);
});

test('what is taken back is not taken, and leaves nothing behind', () => {
	const queue = new FairQueue<string>({ ...LIMITS, allWaiting: 1 });
	queue.add('a', 'a1', 50);
	queue.remove('a', 'a1');
	queue.remove('a', 'a1');
	assert.equal(queue.take(), null);
	assert.ok(queue.add('b', 'b1', 150));
	assert.equal(queue.take(), 'b1');
});
