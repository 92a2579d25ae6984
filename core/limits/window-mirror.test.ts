// The capacity and the expiry of the mirror of windows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WindowMirror } from './window-mirror.ts';

const bucket = (key: string, windowMs = 60_000) => ({ key, max: 1, windowMs });

test('beyond 200,000 windows those that began first are forgotten', () => {
	const mirror = new WindowMirror();
	for (let at = 0; at < 200_001; at++) mirror.count(bucket(String(at)));
	assert.deepEqual(
		['0', '1', '200000'].map((key) => mirror.isFull(bucket(key), 1)),
		[false, true, true],
	);
});

test('a window that has ended is neither counted nor reported, and can be swept away', (t) => {
	let nowMs = 1000;
	t.mock.method(performance, 'now', () => nowMs);
	const mirror = new WindowMirror();
	for (let at = 0; at < 1000; at++) mirror.count(bucket(String(at), 100));
	assert.equal(mirror.unreported().length, 1000);
	nowMs += 100;
	assert.equal(mirror.isFull(bucket('1'), 1), false);
	assert.deepEqual(mirror.unreported(), []);
	mirror.sweep();
	assert.deepEqual(mirror.unreported(), []);
});
