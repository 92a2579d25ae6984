// The time that one request has at the database.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inTime, withDeadline } from './deadline.ts';

const TIMEOUT = /^Error: Timeout of the request/;
const timed = async (work: () => Promise<unknown>): Promise<number> => {
	const started = performance.now();
	await assert.rejects(work, TIMEOUT);
	return performance.now() - started;
};
const never = (): Promise<never> => new Promise(() => {});

test('what one request waits for adds up; the next request begins anew', async () => {
	await withDeadline(async () => {
		await inTime(null, () => sleep(1200));
		const tookMs = await timed(() => inTime(null, never));
		assert.ok(tookMs > 600 && tookMs < 1300, `${tookMs} ms`);
		assert.ok((await timed(() => inTime(null, never))) < 300, 'there is none left');
	});
	assert.equal(await withDeadline(() => inTime(null, async () => 'done')), 'done');
});

test('a prompt answer gives the time back, so that a request of hours does not use it up', async () => {
	await withDeadline(async () => {
		await inTime(null, () => sleep(1200));
		await inTime(null, async () => 'prompt');
		await inTime(null, () => sleep(1200));
	});
});

test('work that is bounded in itself is told by its signal, also outside a request', async () => {
	let heard: unknown = null;
	await timed(() =>
		inTime(50, (signal) => {
			signal.addEventListener('abort', () => {
				heard = signal.reason;
			});
			return never();
		}),
	);
	assert.ok(heard instanceof Error);
	assert.equal(await inTime(null, async () => 'no end outside'), 'no end outside');
});
