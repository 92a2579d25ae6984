// A server in a process of its own, so that its CPU time can be told apart: the parent's interface, and the child's.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export interface Subject extends AsyncDisposable {
	url: string;
	/** Returns the user and system time of all its threads since its start. */
	cpuMicros(): Promise<number>;
}

/** Starts a server. @param file the name of a file of this folder, which calls `announce` */
export async function startSubject(file: string, env: Record<string, string>): Promise<Subject> {
	const child = fork(new URL(file, import.meta.url), { env: { PATH: process.env['PATH'], ...env } });
	const { url } = await receive<{ url: string }>(child);
	return {
		url,
		cpuMicros: async () => {
			child.send('cpu');
			return (await receive<{ cpuMicros: number }>(child)).cpuMicros;
		},
		[Symbol.asyncDispose]: async () => {
			if (!child.connected) return;
			child.disconnect();
			await once(child, 'exit');
		},
	};
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

/** Runs in the child: it reports the URL, returns CPU time on request, and ends with its parent. */
export function announce(url: string, stop: () => Promise<unknown>, cpuMicros: () => number = ownCpuMicros): void {
	process.on('message', () => void process.send?.({ cpuMicros: cpuMicros() }));
	process.on('disconnect', () => void stop().then(() => process.exit()));
	process.send?.({ url });
}
