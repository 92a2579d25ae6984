// Starts the service as a process of its own.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { until as untilTrue } from './clock.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { send } from './service.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = fileURLToPath(new URL('../../core/main.ts', import.meta.url));
const LAST_WORDS_MS = 2000;

export interface Started extends AsyncDisposable {
	child: ChildProcess;
	/** Returns the output of both streams. */
	output(): string;
	/** Returns its log lines. */
	// biome-ignore lint/suspicious/noExplicitAny: tests read into lines whose shape is what they test
	lines(): any[];
	/** Resolves with its exit code; null when a signal ended it. */
	ended: Promise<number | null>;
	/** Sends a signal to all of its processes, as a terminal does on Ctrl-C. */
	signalGroup(signal: NodeJS.Signals): void;
}

/** Starts the service with no environment but the given one and the cache of compiled code. @param cwd the folder that its packages are found from */
export const start = (env: Record<string, string>, args: string[] = [], cwd: string = ROOT): Started =>
	startProgram([process.execPath, MAIN, ...args], env, cwd);

/** Starts a program in a process group of its own, which ends with the test that disposes of it. */
export function startProgram([command = '', ...args]: string[], env: Record<string, string>, cwd: string = ROOT): Started {
	const path = `${process.env['PATH']}`;
	const child = spawn(command, args, {
		cwd,
		env: { PATH: path, HOME: `${process.env['HOME']}`, ...COMPILE_CACHE, ...env },
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

/** Resolves when the process and its output have ended, unless a process that it left behind keeps the output open. */
async function endOf(child: ChildProcess): Promise<number | null> {
	const closed = new Promise((resolve) => child.once('close', resolve));
	const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
	await Promise.race([closed, sleep(LAST_WORDS_MS, undefined, { ref: false })]);
	return code;
}

/** Resolves when the service is ready. */
export async function ready(url: string, started: Pick<Started, 'output'>): Promise<void> {
	const answers = (): Promise<boolean> =>
		send(`${url}/health/ready`, 'GET').then(
			({ status }) => status === 200,
			() => false,
		);
	await until(answers, `it listens at ${url}`, started);
}

/** Waits for a condition. @param what the condition in words, for the failure */
export const until = (condition: () => unknown, what: string, { output }: Pick<Started, 'output'>): Promise<void> =>
	untilTrue(condition, () => `${what}: ${output()}`);
