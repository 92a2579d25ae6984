// A folder that is removed while a server removes its files from it.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { removeFolder } from './remove-folder.ts';

const FILES = ['.s.PGSQL.5432', '.s.PGSQL.5432.lock'];
/** With so many, `rmSync` alone left thirty. */
const FOLDERS = 300;

/** Removes the files of each folder that it is told of, from when both are ready. */
const SERVER = `
const { rmSync } = require('node:fs');
const { parentPort, workerData: { begun, files } } = require('node:worker_threads');
parentPort.on('message', (folder) => {
	Atomics.store(begun, 0, 1);
	Atomics.notify(begun, 0);
	for (const file of files) rmSync(folder + '/' + file, { force: true });
	parentPort.postMessage('removed');
});`;

test('a folder is gone, though its files vanish while it is removed', async () => {
	const begun = new Int32Array(new SharedArrayBuffer(4));
	const server = new Worker(SERVER, { eval: true, workerData: { begun, files: FILES } });
	let left = 0;
	for (let made = 0; made < FOLDERS; made++) {
		const folder = mkdtempSync(join(tmpdir(), 'gatehouse-removed-'));
		for (const file of FILES) writeFileSync(join(folder, file), '');
		Atomics.store(begun, 0, 0);
		const removed = new Promise((resolve) => server.once('message', resolve));
		server.postMessage(folder);
		Atomics.wait(begun, 0, 0);
		removeFolder(folder);
		if (existsSync(folder)) left++;
		await removed;
		removeFolder(folder);
	}
	await server.terminate();
	assert.equal(left, 0);
});
