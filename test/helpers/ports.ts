// Finds ports for servers that are told theirs before they start.

import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The ports below those that Linux hands out by itself (32768 and up), which another process may take before the service listens. */
const PORTS = { first: 12_000, count: 20_000 };
/** The ports of one process, so that two processes that look for one at once find different ones: ids of processes follow each other. */
const OF_PROCESS = 100;

/** Names the variable with the folder in which the processes of one run note the ports that they have taken. */
const TAKEN = 'GATEHOUSE_TEST_PORTS';

let found = 0;

/**
 * Begins to note which ports are taken, for the processes that are started from now on: a port that is found is free until its service
 * listens, which takes a second, and another process could find it, too. @returns what ends it
 */
export function sharePorts(): () => void {
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-ports-'));
	process.env[TAKEN] = folder;
	return () => rmSync(folder, { recursive: true });
}

export async function freePort(): Promise<number> {
	const first = PORTS.first + (process.pid % (PORTS.count / OF_PROCESS)) * OF_PROCESS;
	for (let tried = 0; tried < PORTS.count; tried++) {
		// Those of this process in turn; where all are taken, those of the next ones.
		const at = first + (tried < OF_PROCESS ? found++ % OF_PROCESS : tried);
		const port = PORTS.first + ((at - PORTS.first) % PORTS.count);
		if (takes(port) && (await isFree(port))) return port;
	}
	throw new Error('No port is free.');
}

/** Notes that a port is taken. @returns false where another call of this run has it */
function takes(port: number): boolean {
	const folder = process.env[TAKEN];
	if (!folder) return true;
	try {
		closeSync(openSync(join(folder, String(port)), 'wx'));
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
		throw error;
	}
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
