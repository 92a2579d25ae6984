// Tests how a worker of imports loads an importer.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

const PROGRAM = `const { parentPort, workerData: { formats, source } } = require('node:worker_threads');
import(formats).then(({ loadImporter }) => loadImporter('acme_lines', { acme_lines: source }))
	.then(({ summary }) => parentPort.postMessage(summary), ({ message }) => parentPort.postMessage(message));`;

test('an importer from outside gets the helpers of this process in a worker too, wherever it lies', async (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-importer-'));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'acme-lines', type: 'module' }));
	const entry = join(folder, 'index.js');
	writeFileSync(
		entry,
		`import { cleanText } from 'gatehouse';
import Joi from 'joi';
export default { kind: 'importer', name: 'acme_lines', config: Joi.object({}), summary: cleanText('Reads\\u200b lines.', 100) };`,
	);
	const formats = new URL('./formats.ts', import.meta.url).href;
	const worker = new Worker(PROGRAM, { eval: true, workerData: { formats, source: pathToFileURL(entry).href } });
	const [said] = await once(worker, 'message');
	assert.equal(said, 'Reads lines.');
	await worker.terminate();
});
