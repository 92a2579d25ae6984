// A server in a process of its own, so that its CPU time can be told apart: the parent's interface, and the child's.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export interface Subject extends AsyncDisposable {
	url: string;
	/** Returns the user and system time of all its threads since its start. */
	cpuMicros(): Promise<number>;
	/** The process, for figures that the system tells (`proc.ts`). */
	pid: number;
	/** Collects its garbage and returns what is left, buffers included; it must have been started with `--expose-gc`. */
	heapMb(): Promise<number>;
}

/** Starts a server. @param file the name of a file of this folder, which calls `announce` */
export async function startSubject(file: string, env: Record<string, string>, execArgv = process.execArgv): Promise<Subject> {
	const child = fork(new URL(file, import.meta.url), { env: { PATH: process.env['PATH'], ...env }, execArgv });
	const { url } = await receive<{ url: string }>(child);
	return subjectOf(child, url);
}

/** Returns the interface of a server whose process answers messages with its CPU time, and ends when it is disconnected. */
export function subjectOf(child: ChildProcess, url: string): Subject {
	const ask = (what: 'cpu' | 'heap'): Promise<Figures> => {
		child.send(what);
		return receive<Figures>(child);
	};
	return {
		url,
		pid: child.pid ?? Number.NaN,
		cpuMicros: async () => (await ask('cpu')).cpuMicros,
		heapMb: async () => (await ask('heap')).heapMb ?? Number.NaN,
		[Symbol.asyncDispose]: async () => {
			if (!child.connected) return;
			child.disconnect();
			await once(child, 'exit');
		},
	};
}

interface Figures {
	cpuMicros: number;
	/** Present where it was asked for. */
	heapMb?: number;
}

async function receive<T>(child: ChildProcess): Promise<T> {
	const received = new AbortController();
	const { signal } = received;
	const exit = once(child, 'exit', { signal }).then(([code]) => {
		throw new Error(`A server of the benchmark ended with ${code} before it answered.`);
	});
	try {
		const [message] = await Promise.race([once(child, 'message', { signal }), exit]);
		// Only `announce` below sends messages.
		return message as T;
	} finally {
		received.abort();
	}
}

function ownCpuMicros(): number {
	const { user, system } = process.cpuUsage();
	return user + system;
}

/** Returns the heap and the buffers that are left after a collection that also gives back memory, as the service's own start does. */
function heapMbLeft(): number {
	globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
	const { heapUsed, external } = process.memoryUsage();
	return (heapUsed + external) / 1024 / 1024;
}

/** Runs in the child: it reports the URL, returns CPU time and memory on request, and ends with its parent. */
export function announce(url: string, stop: () => Promise<unknown>, cpuMicros: () => number = ownCpuMicros): void {
	process.on('message', (asked) => {
		const figures: Figures = { cpuMicros: cpuMicros(), ...(asked === 'heap' && { heapMb: heapMbLeft() }) };
		process.send?.(figures);
	});
	process.on('disconnect', () => void stop().then(() => process.exit()));
	process.send?.({ url });
}
