// Load at a fixed rate: requests leave on time, whether earlier ones were answered or not, so that a slow answer delays no other request.
// (autocannon's rate sends the requests of a second at its beginning, as fast as it can.)

import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Path } from './paths.ts';
import { CONNECTIONS } from './rounds.ts';

export interface Paced {
	sent: number;
	p50Ms: number;
	p99Ms: number;
	/** The number of answers that failed, or were not the expected one. */
	faults: number;
}

/** Sends a path's request so many times a second. A latency lasts from the request's dispatch to the end of its answer. */
export async function runPaced(path: Path, expected: string, rate: number, seconds: number): Promise<Paced> {
	const { origin, pathname, search } = new URL(path.url);
	const pool = new Pool(origin, { connections: CONNECTIONS });
	const [latencies, pending]: [number[], Promise<void>[]] = [[], []];
	let faults = 0;
	const send = async (): Promise<void> => {
		const startedMs = performance.now();
		const asked = { path: pathname + search, method: path.method, headers: path.headers, body: path.body ?? null };
		const answer = await pool.request(asked);
		const text = await answer.body.text();
		latencies.push(performance.now() - startedMs);
		if (answer.statusCode !== 200 || text !== expected) faults++;
	};
	const count = Math.round(rate * seconds);
	const startedMs = performance.now();
	for (let sent = 0; sent < count; await sleep(1)) {
		const due = Math.min(count, Math.floor(((performance.now() - startedMs) * rate) / 1000));
		for (; sent < due; sent++) pending.push(send().catch(() => void faults++));
	}
	await Promise.all(pending);
	await pool.close();
	latencies.sort((a, b) => a - b);
	return { sent: count, p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99), faults };
}

/** Returns a quantile of sorted values. */
export const quantile = (sorted: readonly number[], share: number): number =>
	sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
