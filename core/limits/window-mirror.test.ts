// How much this process remembers of windows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Mirrors } from './window-mirror.ts';

const bucket = (key: string, windowMs = 60_000) => ({ key, max: 1, windowMs });

test('beyond 200,000 windows those that began first are forgotten', () => {
	const mirrors = new Mirrors();
	for (let at = 0; at < 200_001; at++) mirrors.count(bucket(String(at)));
	assert.deepEqual(
		['0', '1', '200000'].map((key) => mirrors.isFull(bucket(key), 1)),
		[false, true, true],
	);
});

test('a window that has ended is not counted, nor told, and can be swept away', async () => {
	const mirrors = new Mirrors();
	for (let at = 0; at < 100_000; at++) mirrors.count(bucket(String(at), 100));
	assert.ok(mirrors.untold().length > 0);
	await sleep(150);
	assert.equal(mirrors.isFull(bucket('1'), 1), false);
	assert.deepEqual(mirrors.untold(), []);
	mirrors.sweep();
	assert.deepEqual(mirrors.untold(), []);
});
