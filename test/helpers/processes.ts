// The service as a process of its own.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { send } from './service.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = fileURLToPath(new URL('../../core/main.ts', import.meta.url));
const START_MS = 60_000;
const LAST_WORDS_MS = 2000;

export interface Started extends AsyncDisposable {
	child: ChildProcess;
	/** Both streams. */
	output(): string;
	/** Its lines of log. */
	// biome-ignore lint/suspicious/noExplicitAny: tests read into lines whose shape is what they test
	lines(): any[];
	/** With its exit code; null when a signal ended it. */
	ended: Promise<number | null>;
	/** To all of its processes, as a terminal does on Ctrl-C. */
	signalGroup(signal: NodeJS.Signals): void;
}

/** Starts it with nothing in its environment but what is given here. */
export const start = (env: Record<string, string>, args: string[] = []): Started => startProgram([process.execPath, MAIN, ...args], env);

/** In a group of processes of its own, which ends with the test that disposes of it. */
export function startProgram([command = '', ...args]: string[], env: Record<string, string>): Started {
	const path = `${process.env['PATH']}`;
	const child = spawn(command, args, {
		cwd: ROOT,
		env: { PATH: path, HOME: `${process.env['HOME']}`, ...env },
		stdio: ['ignore', 'pipe', 'pipe'],
		detached: true,
	});
	let output = '';
	for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
	const signalGroup = (signal: NodeJS.Signals): void => {
		try {
			process.kill(-(child.pid ?? assert.fail('it did not start')), signal);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
		}
	};
	return {
		child,
		output: () => output,
		lines: () =>
			output
				.split('\n')
				.filter((line) => line.startsWith('{'))
				.map((line) => JSON.parse(line)),
		ended: endOf(child),
		signalGroup,
		async [Symbol.asyncDispose]() {
			signalGroup('SIGKILL');
		},
	};
}

/** Waits for all that it says, unless something that it left behind goes on speaking for it. */
async function endOf(child: ChildProcess): Promise<number | null> {
	const closed = new Promise((resolve) => child.once('close', resolve));
	const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
	await Promise.race([closed, sleep(LAST_WORDS_MS, undefined, { ref: false })]);
	return code;
}

/** Resolves when it is ready to serve. */
export async function ready(url: string, { output }: Pick<Started, 'output'>): Promise<void> {
	for (let waited = 0; waited < START_MS; waited += 50) {
		const status = await send(`${url}/health/ready`, 'GET').then(
			(answer) => answer.status,
			() => 0,
		);
		if (status === 200) return;
		await sleep(50);
	}
	assert.fail(`nothing listens at ${url}: ${output()}`);
}

/** @param what is waited for, should it never come */
export async function until(condition: () => boolean, what: string, { output }: Pick<Started, 'output'>): Promise<void> {
	for (let waited = 0; !condition(); waited += 20) {
		assert.ok(waited < START_MS, `${what}: ${output()}`);
		await sleep(20);
	}
}
