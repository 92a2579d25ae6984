import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Semaphore } from './semaphore.ts';

const never = new AbortController().signal;

test('no more run at once than there are places, and those that wait come in order', async () => {
	const semaphore = new Semaphore(2, 10, 'jobs');
	const started: number[] = [];
	const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
	const runs = gates.map((gate, index) =>
		semaphore.run(never, async () => {
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

test('a place is free again after a failure', async () => {
	const semaphore = new Semaphore(1, 0, 'jobs');
	await assert.rejects(
		semaphore.run(never, () => Promise.reject(new Error('no'))),
		/^Error: no$/,
	);
	assert.equal(await semaphore.run(never, async () => 'yes'), 'yes');
});

test('when too many wait the next is refused as unavailable', async () => {
	const semaphore = new Semaphore(1, 1, 'jobs');
	const gate = Promise.withResolvers<void>();
	const runs = [semaphore.run(never, () => gate.promise), semaphore.run(never, () => gate.promise)];
	await assert.rejects(
		semaphore.run(never, () => gate.promise),
		{ code: 'unavailable', message: /jobs/ },
	);
	gate.resolve();
	await Promise.all(runs);
});

test('one who leaves while waiting gives up its place in the queue', async () => {
	const semaphore = new Semaphore(1, 1, 'jobs');
	const gate = Promise.withResolvers<void>();
	const first = semaphore.run(never, () => gate.promise);
	const leaving = new AbortController();
	const second = semaphore.run(leaving.signal, () => Promise.reject(new Error('it ran')));
	leaving.abort(new Error('gone'));
	await assert.rejects(second, /^Error: gone$/);
	const third = semaphore.run(never, async () => 'third');
	gate.resolve();
	assert.equal(await third, 'third');
	await first;
});
