// One service per data folder. A lock left behind by a service that was killed does not count.

import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLineOf, startOf } from './processes.ts';

interface Holder {
	pid: number;
	/** When the process began: a number that comes around again belongs to another process. */
	start: string | null;
	/** Removed by the next service if this one could not. */
	socketDir: string;
}

/** @returns what unlocks it. @throws Error naming the folder when a live service has it */
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

/** Appears with its content or not at all. */
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

/** A dead service's lock, unless another process was quicker and this is its own: that one is put back. */
function takeAway(file: string, former: string): void {
	const aside = `${file}.former.${process.pid}`;
	try {
		renameSync(file, aside);
	} catch (error) {
		if (isCode(error, 'ENOENT')) return;
		throw error;
	}
	if (read(aside) === former) rmSync(parse(former).socketDir, { recursive: true, force: true });
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

// Only `lockFolder` writes these files, whole.
const parse = (content: string): Holder => JSON.parse(content) as Holder;

const isCode = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code;

/**
 * Makes way where a server's own lock remains though the service that started it is gone: a server that lost its service is
 * told to stop; a process number that belongs to something else by now says nothing, so its lock goes.
 * @returns false when no such lock is there
 */
export function evictOrphan(cluster: string): boolean {
	const file = join(cluster, 'postmaster.pid');
	const pid = Number.parseInt(read(file) ?? '', 10);
	if (Number.isNaN(pid)) return false;
	if (commandLineOf(pid).includes(cluster)) process.kill(pid, 'SIGINT');
	else rmSync(file, { force: true });
	return true;
}
