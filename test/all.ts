// `npm test [options of node --test]`: checks types and lints while the tests already run, since TypeScript keeps only one core busy. What
// fails there ends the tests.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { allSources, ROOT } from './rooms.ts';
import { runTests } from './run.ts';
import { testsIn } from './together.ts';

/** Scripts of package.json. */
const CHECKS = ['types', 'lint'];

/** Runs scripts one after the other, up to one that fails. @returns what that one says; null if none fails */
export async function failureOf(scripts: readonly string[]): Promise<string | null> {
	for (const script of scripts) {
		const child = spawn('npm', ['run', script], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
		const said: string[] = [];
		for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => said.push(chunk.toString()));
		const [code] = await once(child, 'close');
		if (code !== 0) return said.join('');
	}
	return null;
}

/** Runs work beside scripts, of which one that fails aborts it. @returns the exit code */
export async function beside(scripts: readonly string[], work: (aborted: AbortSignal) => Promise<number>): Promise<number> {
	const failed = new AbortController();
	const checking = failureOf(scripts);
	void checking.then((failure) => failure !== null && failed.abort());
	const code = await work(failed.signal);
	const failure = await checking;
	if (failure === null) return code;
	// After the summary of the tests, so that it is what a reader sees last.
	process.stderr.write(`\n${failure}`);
	return 1;
}

if (import.meta.main) process.exitCode = await beside(CHECKS, (aborted) => runTests(testsIn(allSources()), process.argv.slice(2), aborted));
