// Measures the same call of a tool over each transport and the universal endpoint, beside each other. `node test/bench/parity.ts`

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPort } from '../../demo/ports.ts';
import { prepareTransports } from './paths.ts';
import { type Measured, print, runRounds } from './rounds.ts';
import { startSubject } from './subject.ts';

async function measureAll(dataDir: string): Promise<Measured[]> {
	await using upstream = await startSubject('./upstream.ts', {});
	const port = String(await findPort('127.0.0.1', 0));
	const env = { PORT: port, SVC_DATA_DIR: dataDir, EGRESS_ALLOW: upstream.url, LOG_LEVEL: 'warn' };
	await using service = await startSubject('./service.ts', env);
	const paths = await prepareTransports({ upstream: upstream.url, service: service.url });
	// The result is awaited here, since the servers used above end when this function returns.
	return await runRounds(paths, () => service.cpuMicros());
}

const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
try {
	print(await measureAll(dataDir));
} finally {
	await rm(dataDir, { recursive: true, force: true });
}
