// Starts the service as `npm start` does with WEB_CONCURRENCY, in processes of the benchmark, with limits that no round reaches.

import cluster from 'node:cluster';
import { superviseWorkers } from '../../core/cluster.ts';
import { loadConfig } from '../../core/config/config.ts';
import { createLog } from '../../core/config/log.ts';
import { startService } from '../../core/service.ts';
import { startDatabase } from '../../db/index.ts';
import { cpuMicrosOf } from './proc.ts';
import { WIDE_LIMITS } from './service-limits.ts';
import { announce } from './subject.ts';

const pids = (): number[] => [process.pid, ...Object.values(cluster.workers ?? {}).flatMap((worker) => worker?.process.pid ?? [])];

const config = loadConfig();
const log = createLog(config.logLevel);
const ownDatabase = () => startDatabase({ dataDir: config.dataDir, durable: true, processes: config.webConcurrency, log });
const supervisor = await superviseWorkers(config, { log, startDatabase: ownDatabase, refused: () => process.exit(1) });
if (supervisor) {
	let listening = 0;
	cluster.on('listening', () => {
		listening++;
		if (listening < config.webConcurrency) return;
		announce(
			`http://127.0.0.1:${config.port}`,
			() => supervisor.stop(AbortSignal.abort()),
			() => pids().reduce((sum, pid) => sum + cpuMicrosOf(pid), 0),
		);
	});
} else {
	const service = await startService(config, log, { limits: WIDE_LIMITS });
	if (cluster.isPrimary) announce(service.url, service.stop);
	else process.once('SIGTERM', () => void service.stop(AbortSignal.abort()).then(() => process.exit()));
}
