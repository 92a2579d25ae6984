// Reads facts about a process: from /proc if there is one, else from `ps`.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The start time is the 22nd field of `/proc/<pid>/stat`; the second is a name in parentheses, which may hold spaces. */
const FIELDS_BEFORE = 2;
const START_FIELD = 22;

/** Returns the start time, which tells apart two processes with the same number; null when there is none. */
export function startOf(pid: number): string | null {
	if (process.platform !== 'linux') return ps('lstart=', pid) || null;
	const stat = readProc(`${pid}/stat`);
	if (stat === null) return null;
	const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
	const start = fields[START_FIELD - FIELDS_BEFORE - 1];
	return start === undefined ? null : `${readProc('sys/kernel/random/boot_id')?.trim()} ${start}`;
}

/** Returns the command line; empty when there is no such process. */
export const commandLineOf = (pid: number): string =>
	process.platform === 'linux' ? (readProc(`${pid}/cmdline`) ?? '') : ps('args=', pid);

function readProc(path: string): string | null {
	try {
		return readFileSync(`/proc/${path}`, 'utf8');
	} catch (error) {
		// ESRCH: the process ended between the opening and the reading.
		if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return null;
		throw error;
	}
}

const ps = (field: string, pid: number): string => (spawnSync('ps', ['-o', field, '-p', String(pid)]).stdout ?? '').toString().trim();
