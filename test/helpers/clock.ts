// Time in tests. No verdict depends on elapsed wall-clock time, which a busy machine stretches. It depends on the order of events, on
// counted work, on a clock that the test moves, or on the CPU time of the thread. test/wall-clock.test.ts enforces it.

import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from '../../testing/waiting.ts';

export { firstOf, isBeforeTimer, PATIENCE_MS, until } from '../../testing/waiting.ts';

const milliseconds = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;

/** Measures the CPU time of this thread until the work is done, other work included. @returns milliseconds */
export async function threadCpuMs(work: () => unknown): Promise<number> {
	const before = process.threadCpuUsage();
	await work();
	return milliseconds(process.threadCpuUsage(before));
}

/** Measures the CPU time of all threads of this process, including those of bcrypt and of the workers. @returns milliseconds */
export async function processCpuMs(work: () => unknown): Promise<number> {
	const before = process.cpuUsage();
	await work();
	return milliseconds(process.cpuUsage(before));
}

/** Measures the longest iteration of the event loop during the work. @returns milliseconds of CPU time of this thread */
export async function longestTurnMs(work: () => unknown): Promise<number> {
	let last = process.threadCpuUsage();
	let longestMs = 0;
	const look = (): void => {
		longestMs = Math.max(longestMs, milliseconds(process.threadCpuUsage(last)));
		last = process.threadCpuUsage();
	};
	const turns = setInterval(look, 1);
	try {
		await work();
	} finally {
		clearInterval(turns);
		look();
	}
	return longestMs;
}

/** Measures the time since it was made. It only shows that enough has passed: a busy machine adds to it and never shortens it. */
export function stopwatch(): { atLeast(ms: number): boolean } {
	const startedMs = performance.now();
	// Timers of Node may fire 1 ms early.
	return { atLeast: (ms) => performance.now() - startedMs >= ms - 1 };
}

/** Starts measuring time. @returns a function that tells whether this many milliseconds have passed */
export function elapsing(ms: number): () => boolean {
	const passed = stopwatch();
	return () => passed.atLeast(ms);
}

/** Timestamps of which only the shortest distance counts. */
export interface Marks {
	mark(): void;
	readonly count: number;
	/** Returns the least number of milliseconds between two consecutive timestamps. */
	leastGapMs(): number;
}

export function marks(): Marks {
	const atMs: number[] = [];
	return {
		mark: () => void atMs.push(performance.now()),
		get count() {
			return atMs.length;
		},
		leastGapMs: () => Math.min(...atMs.slice(1).map((at, index) => at - (atMs[index] ?? at))),
	};
}

/** Returns the time in whole seconds, as claims of tokens carry it. */
export const epochSeconds = (): number => Math.floor(Date.now() / 1000);

/**
 * Tells whether a date that was just written is about now, or `laterMs` after it; wrong time zones and units are off by more than three minutes.
 */
export const isAbout = (date: string, laterMs = 0): boolean => Math.abs(Date.parse(date) - Date.now() - laterMs) < PATIENCE_MS;

/** Records the times before and after the work, between which dates in its result must lie. @returns the result and both times */
export async function spanOf<T>(work: () => Promise<T>): Promise<{ value: T; fromMs: number; toMs: number }> {
	const fromMs = Date.now();
	const value = await work();
	return { value, fromMs, toMs: Date.now() };
}

/** Resolves after this many iterations of the event loop, in each of which timers that are due have run. */
export async function turns(count: number): Promise<void> {
	for (let turn = 0; turn < count; turn++) await sleep(1);
}
