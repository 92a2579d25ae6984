// Reads figures of a process from Linux' /proc: CPU time, memory, open descriptors.

import { readdirSync, readFileSync } from 'node:fs';

const MICROS_PER_TICK = 10_000;

/** Reads user and system time of a process (proc_pid_stat(5), fields 14 and 15, in hundredths of a second). */
export function cpuMicrosOf(pid: number): number {
	const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
	const [utime = 0, stime = 0] = stat
		.slice(stat.lastIndexOf(')') + 2)
		.split(' ')
		.slice(11, 13)
		.map(Number);
	return (utime + stime) * MICROS_PER_TICK;
}

export interface ResidentMemory {
	rssMb: number;
	/** Pages that it shares with other processes count in parts. */
	pssMb: number;
}

export function memoryOf(pid: number): ResidentMemory {
	const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
	const read = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1]) / 1024;
	return { rssMb: read('Rss'), pssMb: read('Pss') };
}

export const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
