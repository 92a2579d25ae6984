import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Semaphore } from './semaphore.ts';

const tooMany = () => new Error('Too many jobs wait.');

test('no more run at once than there are slots, and waiting callers run in order', async () => {
	const semaphore = new Semaphore(2, 10, tooMany);
	const started: number[] = [];
	const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
	const runs = gates.map((gate, index) =>
		semaphore.run(async () => {
			started.push(index);
			await gate.promise;
		}),
	);
	await setImmediate();
	assert.deepEqual(started, [0, 1]);
	gates[1]?.resolve();
	await setImmediate();
	assert.deepEqual(started, [0, 1, 2]);
	for (const gate of gates) gate.resolve();
	await Promise.all(runs);
	assert.deepEqual(started, [0, 1, 2, 3, 4]);
});

test('a slot is free again after a failure', async () => {
	const semaphore = new Semaphore(1, 0, tooMany);
	await assert.rejects(
		semaphore.run(() => Promise.reject(new Error('no'))),
		/^Error: no$/,
	);
	assert.equal(await semaphore.run(async () => 'yes'), 'yes');
});

test('when the queue is full the next caller is refused', async () => {
	const semaphore = new Semaphore(1, 1, tooMany);
	const gate = Promise.withResolvers<void>();
	const runs = [semaphore.run(() => gate.promise), semaphore.run(() => gate.promise)];
	await assert.rejects(
		semaphore.run(() => gate.promise),
		/^Error: Too many jobs wait\.$/,
	);
	gate.resolve();
	await Promise.all(runs);
});

test('a caller that leaves while waiting gives up its place in the queue', async () => {
	const semaphore = new Semaphore(1, 1, tooMany);
	const gate = Promise.withResolvers<void>();
	const first = semaphore.run(() => gate.promise);
	const leaving = new AbortController();
	const second = semaphore.run(() => Promise.reject(new Error('it ran')), leaving.signal);
	leaving.abort(new Error('gone'));
	await assert.rejects(second, /^Error: gone$/);
	const third = semaphore.run(async () => 'third');
	gate.resolve();
	assert.equal(await third, 'third');
	await first;
});
