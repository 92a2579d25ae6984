// Finds ports for servers that are told theirs before they start.

import { createServer } from 'node:net';

/** The ports below those that Linux hands out by itself (32768 and up), which another process may take before the service listens. */
const PORTS = { first: 12_000, count: 20_000 };
/** The ports of one process, so that two processes that look for one at once find different ones: ids of processes follow each other. */
const OF_PROCESS = 100;

let found = 0;

export async function freePort(): Promise<number> {
	const first = PORTS.first + (process.pid % (PORTS.count / OF_PROCESS)) * OF_PROCESS;
	for (let tried = 0; tried < PORTS.count; tried++) {
		// Those of this process in turn; where all are taken, those of the next ones.
		const at = first + (tried < OF_PROCESS ? found++ % OF_PROCESS : tried);
		const port = PORTS.first + ((at - PORTS.first) % PORTS.count);
		if (await isFree(port)) return port;
	}
	throw new Error('No port is free.');
}

async function isFree(port: number): Promise<boolean> {
	const server = createServer();
	const listens = await new Promise<boolean>((resolve) => {
		server.once('error', () => resolve(false));
		server.listen(port, '127.0.0.1', () => resolve(true));
	});
	if (listens) await new Promise((resolve) => server.close(resolve));
	return listens;
}
