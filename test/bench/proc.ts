// Reads figures of a process from Linux' /proc: CPU time, memory, open descriptors.

import { readdirSync, readFileSync } from 'node:fs';

const MICROS_PER_TICK = 10_000;

/** Reads user and system time of a process (proc_pid_stat(5), fields 14 and 15, in hundredths of a second). */
export function cpuMicrosOf(pid: number): number {
	const [utime = 0, stime = 0] = ticksOf(pid);
	return (utime + stime) * MICROS_PER_TICK;
}

/** Reads the times of the children of this process that have ended (fields 16 and 17). */
export function endedCpuMicros(): number {
	const [, , utime = 0, stime = 0] = ticksOf('self');
	return (utime + stime) * MICROS_PER_TICK;
}

function ticksOf(pid: number | 'self'): number[] {
	const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
	return stat
		.slice(stat.lastIndexOf(')') + 2)
		.split(' ')
		.slice(11, 15)
		.map(Number);
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
