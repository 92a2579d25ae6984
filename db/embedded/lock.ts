// Locks a data folder for one service. The lock of a service that was killed does not count.

import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLineOf, startOf } from './processes.ts';
import { removeFolder } from './remove-folder.ts';

interface Holder {
	pid: number;
	/** The start time of the process: a reused process number belongs to another process. */
	start: string | null;
	/** Removed by the next service if this one could not. */
	socketDir: string;
}

/** @returns the function that unlocks it. @throws Error naming the folder when a live service holds it */
export function lockFolder(dataDir: string, socketDir: string): () => void {
	const file = join(dataDir, 'service.lock');
	const holder: Holder = { pid: process.pid, start: startOf(process.pid), socketDir };
	while (!create(file, JSON.stringify(holder))) {
		const former = read(file);
		if (former === null) continue;
		const { pid, start } = parse(former);
		if (start !== null && startOf(pid) === start)
			throw new Error(`The data folder ${dataDir} is in use by another service (process ${pid}): stop it, or set SVC_DATA_DIR.`);
		takeAway(file, former);
	}
	return () => rmSync(file, { force: true });
}

/** Creates a file with its content in one step. */
function create(file: string, content: string): boolean {
	const draft = `${file}.${process.pid}`;
	writeFileSync(draft, content, { mode: 0o600 });
	try {
		linkSync(draft, file);
		return true;
	} catch (error) {
		if (!isCode(error, 'EEXIST')) throw error;
		return false;
	} finally {
		rmSync(draft, { force: true });
	}
}

/** Removes a dead service's lock; if another process replaced it meanwhile, that lock is put back. */
function takeAway(file: string, former: string): void {
	const aside = `${file}.former.${process.pid}`;
	try {
		renameSync(file, aside);
	} catch (error) {
		if (isCode(error, 'ENOENT')) return;
		throw error;
	}
	if (read(aside) === former) removeFolder(parse(former).socketDir);
	else create(file, read(aside) ?? '');
	rmSync(aside, { force: true });
}

function read(file: string): string | null {
	try {
		return readFileSync(file, 'utf8');
	} catch (error) {
		if (isCode(error, 'ENOENT')) return null;
		throw error;
	}
}

// Only `lockFolder` writes these files, as a whole.
const parse = (content: string): Holder => JSON.parse(content) as Holder;

const isCode = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code;

/**
 * Removes a server's own lock when the service that started the server is gone: a server that is still running is stopped; a process number
 * that belongs to another program by now only loses its lock.
 * @returns false when there is no such lock
 */
export function evictOrphan(cluster: string): boolean {
	const file = join(cluster, 'postmaster.pid');
	const pid = Number.parseInt(read(file) ?? '', 10);
	if (Number.isNaN(pid)) return false;
	if (commandLineOf(pid).includes(cluster)) process.kill(pid, 'SIGINT');
	else rmSync(file, { force: true });
	return true;
}
