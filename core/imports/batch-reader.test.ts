import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { BatchReader } from './batch-reader.ts';

const MiB = 1024 * 1024;

/** Pieces of the size in which a pipe is read, each in memory of its own as Node reads them. */
function* piecesOf(bytes: Buffer): Generator<Buffer> {
	for (let at = 0; at < bytes.length; at += 64 * 1024) yield Buffer.from(Uint8Array.from(bytes.subarray(at, at + 64 * 1024)).buffer);
}

async function send(pipe: PassThrough, bytes: Buffer): Promise<void> {
	for (const piece of piecesOf(bytes)) if (!pipe.write(piece)) await new Promise((resolve) => pipe.once('drain', resolve));
}

test('batches arrive whole, in order, whether they were announced before their bytes or after', async () => {
	const pipe = new PassThrough();
	using reader = new BatchReader(pipe);
	for (const sizeBytes of [1, 64 * 1024, 3 * MiB, 300_000, 5 * MiB, 0]) {
		const bytes = Buffer.alloc(sizeBytes, `${sizeBytes} bytes `);
		const early = reader.take(sizeBytes);
		await send(pipe, bytes);
		assert.ok(bytes.equals(await early));
		await send(pipe, bytes);
		await new Promise(setImmediate);
		assert.ok(bytes.equals(await reader.take(sizeBytes)));
	}
});

test('the memory of a piece is given back once it was copied, unless it is part of another', async () => {
	const pipe = new PassThrough();
	using reader = new BatchReader(pipe);
	const own = Buffer.from(Uint8Array.of(1, 2, 3).buffer);
	const shared = Buffer.from(Uint8Array.of(4, 5, 6, 7).buffer, 1, 2);
	pipe.write(own);
	pipe.write(shared);
	assert.deepEqual([...(await reader.take(5))], [1, 2, 3, 5, 6]);
	assert.deepEqual([own.length, shared.length], [0, 2]);
});

test('whoever waits for a batch hears that its worker has ended, or has sent more than a batch', async () => {
	const ended = new PassThrough();
	using ofEnded = new BatchReader(ended);
	const waiting = ofEnded.take(10);
	ended.write('12345');
	ended.destroy();
	await assert.rejects(waiting, /closed its pipe/);
	await assert.rejects(ofEnded.take(10), /closed its pipe/);

	const more = new PassThrough();
	using ofMore = new BatchReader(more);
	more.write('12345');
	await new Promise(setImmediate);
	await assert.rejects(ofMore.take(4), /more than a batch/);

	const endless = new PassThrough();
	using ofEndless = new BatchReader(endless);
	const whole = assert.rejects(ofEndless.take(9 * MiB), /more than a batch/);
	await send(endless, Buffer.alloc(9 * MiB));
	await whole;

	using ofNone = new BatchReader(null);
	assert.deepEqual([...(await ofNone.take(0))], []);
});
