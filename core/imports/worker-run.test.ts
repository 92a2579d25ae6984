// Tests of the worker processes of imports when something around them fails.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { until } from '../../test/helpers/clock.ts';
import { silent } from '../../test/helpers/silent.ts';
import { Strays } from '../process/strays.ts';
import { ImportWorkers } from './worker-run.ts';

const SOURCE = `export default { kind: 'importer', name: 'endless', config: { describe: () => ({}), validate: (value) => ({ value }) }, detect: () => 1,
	async *parse() { console.log(process.pid); for (;;); } };`;
const TASK = {
	...{ type: 'endless', egressAllow: [], operator: {}, timeoutMs: 60_000, known: null, unchanged: null },
	sources: { endless: `data:text/javascript,${encodeURIComponent(SOURCE)}` },
};
const BODY = Buffer.from('{"schemaContent":"x"}');
const PARTS = { compileCache: null, maxHeapMb: 64, log: silent };

/** Runs the import of a document that is read for ever, in a process that the test ends. */
const SERVICE = `
const { ImportWorkers } = await import(${JSON.stringify(new URL('./worker-run.ts', import.meta.url))});
const workers = new ImportWorkers({ ...${JSON.stringify({ compileCache: null, maxHeapMb: 64 })}, log: console, strays: {} });
await workers.run(${JSON.stringify(TASK)}, Buffer.from(${JSON.stringify(String(BODY))}), new AbortController().signal, { got() {}, write: async () => undefined });`;

test('a worker that never pauses ends with a service that was killed', { skip: !existsSync('/proc/self/stat') }, async () => {
	const service = spawn(process.execPath, ['--input-type=module', '-e', SERVICE], { stdio: ['ignore', 'pipe', 'inherit'] });
	const [said] = await once(service.stdout, 'data');
	const worker = Number(String(said));
	assert.ok(isRunning(worker));
	service.kill('SIGKILL');
	await until(() => !isRunning(worker), 'the worker has ended');
});

/** Tells whether a process runs: one that nobody has waited for is a zombie. */
function isRunning(pid: number): boolean {
	try {
		return !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
	} catch {
		return false;
	}
}

test('without a process for it, an import is told to come again', async () => {
	const workers = new ImportWorkers({ ...PARTS, strays: new Strays(silent) });
	const { execPath } = process;
	process.execPath = '/nowhere/node';
	try {
		const run = workers.run(TASK, BODY, new AbortController().signal, { got: () => undefined, write: async () => undefined });
		await assert.rejects(run, { code: 'unavailable', message: 'No process could be started for the import.' });
	} finally {
		process.execPath = execPath;
	}
	await workers.close();
});
