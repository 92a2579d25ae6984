// Looked at when metrics are read: the process, its pools, and what waits.

import { type EventLoopUtilization, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { ATTRIBUTES as A, type MetricName } from './names.ts';
import type { Attributes } from './spans.ts';

/** The part of the service that gauges look at. */
export interface Sources {
	streams(): number;
	inFlight(): number;
	pools(): { name: string; used: number; idle: number; waiting: number }[];
	/** The unfinished runs of the whole installation by status. */
	unfinished(): Promise<Record<string, number>>;
	/** Returns an organization's slug; null for one that is gone. */
	organization(id: string): Promise<string | null>;
	/** The number of this worker; one where there is only one process. */
	worker: number;
}

export const GAUGES = [
	...(['streams', 'inFlight', 'queue', 'dbConnections', 'dbWaiting', 'loopP50', 'loopP99', 'loopMax'] as const),
	...(['loopUse', 'memory', 'heap', 'cpu', 'uptime'] as const),
] as const satisfies readonly MetricName[];

export type Gauges = Record<(typeof GAUGES)[number], true>;

export interface Point {
	metric: MetricName;
	value: number;
	labels: Attributes;
}

export interface LoopClock {
	/** The delays since the last look, in seconds. */
	look(): { p50: number; p99: number; max: number; use: number };
	stop(): void;
}

const SECONDS = 1e9;
const RESOLUTION_MS = 20;

/** Watches the event loop by Node's own histogram, which costs one timer. */
export function startLoopClock(): LoopClock {
	const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
	delays.enable();
	let last: EventLoopUtilization = performance.eventLoopUtilization();
	// The clock fires after its resolution at the earliest.
	const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / SECONDS - RESOLUTION_MS / 1000);
	return {
		look() {
			const now = performance.eventLoopUtilization();
			const { utilization } = performance.eventLoopUtilization(now, last);
			last = now;
			const [p50, p99, max] = [delays.percentile(50), delays.percentile(99), delays.max].map(seconds);
			delays.reset();
			return { p50: p50 ?? 0, p99: p99 ?? 0, max: max ?? 0, use: utilization };
		},
		stop: () => delays.disable(),
	};
}

/** Looks at everything once. A database that cannot be asked leaves only its own gauge out. */
export async function observed(sources: Sources | null, loop: LoopClock): Promise<Point[]> {
	const points: Point[] = [];
	const add = (metric: MetricName, value: number, labels: Attributes = {}): void => void points.push({ metric, value, labels });
	const own = { [A.worker]: String(sources?.worker ?? 1) };
	const { p50, p99, max, use } = loop.look();
	add('loopP50', p50, own);
	add('loopP99', p99, own);
	add('loopMax', max, own);
	add('loopUse', use, own);
	const { rss, heapUsed } = process.memoryUsage();
	const { user, system } = process.cpuUsage();
	add('memory', rss, own);
	add('heap', heapUsed, own);
	add('cpu', (user + system) / 1e6, own);
	add('uptime', process.uptime(), own);
	if (!sources) return points;
	add('streams', sources.streams());
	add('inFlight', sources.inFlight());
	for (const { name, used, idle, waiting } of sources.pools()) {
		add('dbConnections', used, { [A.dbPool]: name, [A.dbState]: 'used' });
		add('dbConnections', idle, { [A.dbPool]: name, [A.dbState]: 'idle' });
		add('dbWaiting', waiting, { [A.dbPool]: name });
	}
	const unfinished = await sources.unfinished().catch(() => ({}));
	for (const [status, count] of Object.entries(unfinished)) add('queue', count, { [A.runStatus]: status });
	return points;
}
