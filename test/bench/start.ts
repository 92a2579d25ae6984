// Measures the start as `npm start` does it, from the start of the process to its first answer, and the CPU time of the process until then: on a
// PostgreSQL with a Redis that run, and on the embedded database in a folder that exists. `node test/bench/start.ts [embedded | postgres | all]`.
// With `--profile` it writes a profile of one more start into the current folder instead of a table.

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPort } from '../../demo/ports.ts';
import { ROOT, startProgram } from '../helpers/processes.ts';
import { type BackingName, backingsOf, openBacking } from './backing.ts';
import { cpuMicrosOf } from './proc.ts';
import { median, printRows } from './rounds.ts';

const ROUNDS = 5;
const GOALS_MS: Record<BackingName, number> = { postgres: 1000, embedded: 1500 };
const LOOK_MS = 5;
/** The same folder as the script `start` in package.json names. */
const CACHE = join(ROOT, 'node_modules/.cache/compile');

interface Start {
	durationMs: number;
	cpuMs: number;
	stopMs: number;
}

/** Starts the service, waits for its first answer, and stops it. @param flags of Node.js */
async function startOnce(env: Record<string, string>, flags: string[] = []): Promise<Start> {
	const port = String(await findPort('127.0.0.1', 0));
	const url = `http://127.0.0.1:${port}/health/live`;
	const startedMs = performance.now();
	const command = [process.execPath, ...flags, join(ROOT, 'core/main.ts')];
	await using started = startProgram(command, { ...env, PORT: port, NODE_COMPILE_CACHE: CACHE });
	const { child, ended, output } = started;
	while (!(await isAnswered(url))) {
		if (child.exitCode !== null) throw new Error(`It did not start: ${output()}`);
		await sleep(LOOK_MS);
	}
	const durationMs = performance.now() - startedMs;
	const cpuMs = cpuMicrosOf(child.pid ?? Number.NaN) / 1000;
	const stoppedMs = performance.now();
	child.kill('SIGTERM');
	await ended;
	return { durationMs, cpuMs, stopMs: performance.now() - stoppedMs };
}

async function isAnswered(url: string): Promise<boolean> {
	const answer = await fetch(url).catch(() => null);
	await answer?.body?.cancel();
	return answer?.status === 200;
}

async function measure(name: BackingName): Promise<unknown[]> {
	await using backing = await openBacking(name);
	// The first start makes the database's tables and fills the cache of compiled code.
	await startOnce(backing.env);
	if (process.argv.includes('--profile')) {
		await startOnce(backing.env, [
			'--cpu-prof',
			'--cpu-prof-interval=200',
			`--cpu-prof-dir=${process.cwd()}`,
			`--cpu-prof-name=start-${name}.cpuprofile`,
		]);
		return [backing.title, '', '', '', '', ''];
	}
	const starts: Start[] = [];
	for (let round = 0; round < ROUNDS; round++) starts.push(await startOnce(backing.env));
	const of = (field: keyof Start): number => median(starts.map((start) => start[field]));
	const all = starts.map(({ durationMs }) => durationMs.toFixed(0)).join(', ');
	return [backing.title, of('durationMs').toFixed(0), GOALS_MS[name], of('cpuMs').toFixed(0), all, of('stopMs').toFixed(0)];
}

const rows: unknown[][] = [];
for (const name of backingsOf(process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? 'all'))
	rows.push(await measure(name));
printRows(['on', 'first answer, ms', 'goal, ms', 'CPU until then, ms', 'each start, ms', 'stop, ms'], rows);
