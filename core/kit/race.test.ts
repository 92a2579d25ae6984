import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { raceWith } from './race.ts';

const never = new Promise<string>(() => undefined);

test('Settles like the promise, and removes its listener from the signal', async () => {
	const { signal } = new AbortController();
	assert.equal(await raceWith(signal, Promise.resolve('done')), 'done');
	await assert.rejects(raceWith(signal, Promise.reject(new Error('broken'))), /broken/);
	assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('Rejects with the reason of the signal, after `leave` was called', async () => {
	const controller = new AbortController();
	let left = 0;
	const waiting = raceWith(controller.signal, never, { leave: () => left++ });
	controller.abort(new Error('gone'));
	assert.equal(left, 1);
	await assert.rejects(waiting, /gone/);
	await assert.rejects(raceWith(controller.signal, Promise.resolve('done'), { leave: () => left++ }), /gone/);
	await assert.rejects(raceWith(controller.signal, Promise.reject(new Error('broken'))), /gone/);
	assert.equal(left, 2);
});

test('A promise that settled before the signal wins', async () => {
	const controller = new AbortController();
	const { promise, resolve } = Promise.withResolvers<string>();
	const waiting = raceWith(controller.signal, promise);
	resolve('granted');
	controller.abort(new Error('gone'));
	assert.equal(await waiting, 'granted');
});

test('Rejects when its time is over, and not before', async () => {
	const late = { afterMs: 20, reason: () => new Error('late') };
	const { signal } = new AbortController();
	assert.equal(await raceWith(signal, sleep(1, 'in time'), { late }), 'in time');
	await assert.rejects(raceWith(signal, never, { late }), /late/);
});
