// Measures the hot path beside a bare proxy: requests per second, CPU per request, latency. `node test/bench/gateway.ts`

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPort } from '../../demo/ports.ts';
import { preparePaths } from './paths.ts';
import { type Measured, type Meter, print, runRounds } from './rounds.ts';
import { startSubject } from './subject.ts';

async function main(): Promise<void> {
	const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
	try {
		print(await measureAll(dataDir));
	} finally {
		await rm(dataDir, { recursive: true, force: true });
	}
}

async function measureAll(dataDir: string): Promise<Measured[]> {
	await using upstream = await startSubject('./upstream.ts', {});
	await using bare = await startSubject('./bare-proxy.ts', { UPSTREAM: upstream.url });
	const port = String(await findPort('127.0.0.1', 0));
	const env = { PORT: port, SVC_DATA_DIR: dataDir, EGRESS_ALLOW: upstream.url, LOG_LEVEL: 'warn' };
	await using service = await startSubject('./service.ts', env);
	const meter: Meter = (server) => (server === 'bare' ? bare : service).cpuMicros();
	const paths = await preparePaths({ upstream: upstream.url, bare: bare.url, service: service.url });
	// The result is awaited here, since the servers used above end when this function returns.
	return await runRounds(paths, meter);
}

await main();
