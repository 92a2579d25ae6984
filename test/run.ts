// `npm run test:run [options of node --test]`: runs all tests, in one run with one summary.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { COMPILE_CACHE } from './helpers/compile-cache.ts';
import { allSources, ROOT } from './rooms.ts';
import { divided, fileOfGroup, GROUPS, RUN, testsIn } from './together.ts';

/** Files wait for sockets most of the time, so more of them run than a machine has cores. */
const CONCURRENCY = 5;
/**
 * The heap of each process, in megabytes. By default it begins small and grows by its collections, so that a process which runs many files
 * collects often: six of the groups took 292 s of CPU time with these, and 330 with the first alone.
 */
const HEAP = ['--max-semi-space-size=64', '--min-semi-space-size=32', '--initial-old-space-size=512'];
/** TypeScript's compiler, a program of Go, collects when its heap has grown fivefold instead of twofold: a build takes 13 s of CPU time, not 21. */
const COMPILER = { GOGC: '400' };
/** The time of a process, which may run a hundred files. */
const TIMEOUT_MS = 3_600_000;

/** Runs files of tests, those together that need no process of their own, unless `aborted` ends them. @returns the exit code */
export async function runTests(tests: readonly string[], options: readonly string[] = [], aborted?: AbortSignal): Promise<number> {
	const { together, apart } = divided(tests, allSources());
	const groups = GROUPS.filter((group) => together[group].length > 0);
	// The runner sorts its files. Absolute paths are the first, so the longest files are not the last to begin.
	const files = [...groups.map((group) => join(ROOT, fileOfGroup(group))), ...apart];
	const settings = ['--test-global-setup=test/setup.ts', `--test-concurrency=${CONCURRENCY}`, `--test-timeout=${TIMEOUT_MS}`];
	const usual = [...HEAP, '--test', ...settings];
	const env = { ...process.env, ...COMPILE_CACHE, ...COMPILER, [RUN]: JSON.stringify(together) };
	const runner = spawn(process.execPath, [...usual, ...options, ...files], { cwd: ROOT, stdio: 'inherit', env });
	const end = (): void => void runner.kill();
	aborted?.addEventListener('abort', end);
	// Ctrl-C in a terminal reaches the runner, too, which then ends what it has started.
	process.once('SIGINT', () => undefined);
	const [code] = await once(runner, 'exit');
	return code ?? 1;
}

if (import.meta.main) process.exitCode = await runTests(testsIn(allSources()), process.argv.slice(2));
