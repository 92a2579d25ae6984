// The PostgreSQL of a run of many files: the embedded one, which need not survive a crash, in memory where the system has some to spare. A
// database is made in 0.05 s there; on a disk it takes 0.1 to 0.9 s, nearly all of it the processor's, to make 770 files.

import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded } from '../../db/embedded/server.ts';
import { freePort } from './ports.ts';
import type { Started } from './postgres.ts';

/** The file system in memory that Linux offers to programs. */
const MEMORY = '/dev/shm';
/** A database takes 12 MB, and PostgreSQL keeps up to 1 GB of its log; more is left for others. */
const NEEDED_BYTES = 3 * 1024 ** 3;
/** A service uses up to 24 connections; files that run at once start four and more of them each. */
const CONNECTIONS = 400;
const PREFIX = 'gatehouse-test-';
/** A server that has no file of its process for so long is not one that is about to start. */
const ABANDONED_MS = 10 * 60_000;

export async function startMemoryServer(): Promise<Started> {
	removeAbandoned();
	const dataDir = mkdtempSync(join(hasMemory() ? MEMORY : tmpdir(), PREFIX));
	const embedded = await startEmbedded({ dataDir, durable: false, openPort: await freePort(), connections: CONNECTIONS });
	const stop = async (): Promise<void> => {
		await embedded.stop();
		rmSync(dataDir, { recursive: true, force: true });
	};
	return { endpoint: embedded.database, mayLose: true, stop };
}

function hasMemory(): boolean {
	if (!existsSync(MEMORY)) return false;
	const { bavail, bsize } = statfsSync(MEMORY);
	return bavail * bsize >= NEEDED_BYTES;
}

/** Removes what runs left in memory that ended by a signal: the server then ends with its run, and nobody removes its folder. */
function removeAbandoned(): void {
	if (!existsSync(MEMORY)) return;
	for (const name of readdirSync(MEMORY)) {
		const folder = join(MEMORY, name);
		if (!name.startsWith(PREFIX) || existsSync(join(folder, 'postgres', 'postmaster.pid'))) continue;
		const changedMs = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
		if (Date.now() - changedMs > ABANDONED_MS) rmSync(folder, { recursive: true, force: true });
	}
}
