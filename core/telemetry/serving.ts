// Puts `/metrics` together: of this process alone, or of all workers of the machine.

import cluster from 'node:cluster';
import type { Server } from '@hapi/hapi';
import { type MetricsPlace, routeMetrics, serveMetrics } from './scrape.ts';
import type { Telemetry } from './telemetry.ts';
import { joinWorkers } from './workers.ts';

/** Serves the metrics where the configuration says; the first process has the port of its own, and asks its workers. @returns how to stop */
export async function openMetrics(
	config: MetricsPlace,
	{ server, telemetry }: { server: Server; telemetry: Telemetry },
): Promise<() => Promise<void>> {
	if (config.metrics === null) return async () => undefined;
	if (!cluster.isWorker) {
		routeMetrics(server, config, telemetry.scrape);
		const own = await serveMetrics(config, telemetry.scrape);
		return async () => own?.stop();
	}
	const workers = joinWorkers(telemetry.scrape);
	routeMetrics(server, config, workers.scrapeAll);
	return async () => workers.leave();
}
