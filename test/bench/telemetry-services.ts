// Starts one service for each way of `telemetry.ts` in this one process, whose CPU time the benchmark reads: two processes that do the same
// differ by up to a fifth, by how their code was compiled, while services of one process share it.

import { loadConfig } from '../../core/config/config.ts';
import { createLog } from '../../core/config/log.ts';
import { startService } from '../../core/service.ts';
import { WIDE_LIMITS } from './service-limits.ts';
import { announce } from './subject.ts';

const { SERVICES = '[]', ...common } = process.env;
// The parent writes it.
const ways: Record<string, string>[] = JSON.parse(SERVICES);
const services: Awaited<ReturnType<typeof startService>>[] = [];
for (const way of ways) {
	const config = loadConfig({ ...common, ...way });
	services.push(await startService(config, createLog(config.logLevel), { limits: WIDE_LIMITS }));
}
announce(services.map(({ url }) => url).join(' '), () => Promise.all(services.map(({ stop }) => stop())));
