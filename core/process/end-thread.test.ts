import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { endThread } from './end-thread.ts';

const endless = async (): Promise<Worker> => {
	const worker = new Worker('require("node:worker_threads").parentPort.postMessage(1); for (;;);', { eval: true });
	await once(worker, 'message');
	return worker;
};

test('a thread in a loop is ended', { timeout: 60_000 }, async () => {
	const worker = await endless();
	await endThread(worker);
	assert.equal(worker.threadId, -1);
});

test('a thread that did not take notice is asked again', { timeout: 60_000 }, async (t) => {
	const worker = await endless();
	const gone = once(worker, 'exit');
	// The request is lost, and its promise settles when the thread ends, as with Node's own.
	const lost = t.mock.method(worker, 'terminate', () => gone, { times: 1 });
	await endThread(worker);
	assert.equal(lost.mock.callCount(), 1);
	assert.equal(worker.threadId, -1);
});

test('a thread that has ended is ended', { timeout: 60_000 }, async () => {
	const worker = new Worker('', { eval: true });
	await once(worker, 'exit');
	await endThread(worker);
});
