// Measures a call at the universal endpoint beside the same call at a gateway, with the same access key. `node test/bench/universal.ts`

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPort } from '../../demo/ports.ts';
import { prepareUniversal } from './paths.ts';
import { print, runRounds } from './rounds.ts';
import { startSubject } from './subject.ts';

async function main(): Promise<void> {
	const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
	try {
		await using upstream = await startSubject('./upstream.ts', {});
		const port = String(await findPort('127.0.0.1', 0));
		const env = { PORT: port, SVC_DATA_DIR: dataDir, EGRESS_ALLOW: upstream.url, LOG_LEVEL: 'warn' };
		await using service = await startSubject('./service.ts', env);
		const paths = await prepareUniversal({ upstream: upstream.url, service: service.url });
		print(await runRounds(paths, () => service.cpuMicros()));
	} finally {
		await rm(dataDir, { recursive: true, force: true });
	}
}

await main();
