// Measures a gateway's call of two revisions of the project alternately, so that the cost of a change shows on a noisy machine too. `node
// test/bench/revisions.ts <folder of the older revision> [folder of the newer]`: checkouts with their packages installed; the newer is this
// one unless another is named.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findPort } from '../../demo/ports.ts';
import { type Path, prepareCall } from './paths.ts';
import { print, runRounds } from './rounds.ts';
import { type Subject, startSubject } from './subject.ts';

/** The number of rounds: enough that noise moves the median by less than three per cent. */
const ROUNDS = 8;

async function main(older: string | undefined, newer = resolve(import.meta.dirname, '../..')): Promise<void> {
	if (older === undefined) throw new Error('Usage: node test/bench/revisions.ts <folder of the older revision> [folder of the newer]');
	const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
	try {
		await using upstream = await startSubject('./upstream.ts', {});
		await using before = await startService(resolve(older), join(dataDir, 'before'), upstream.url);
		await using after = await startService(resolve(newer), join(dataDir, 'after'), upstream.url);
		const services: Record<string, Subject> = { before, after };
		const paths: Path[] = [];
		for (const [name, service] of Object.entries(services))
			paths.push(await prepareCall(name, { upstream: upstream.url, service: service.url }));
		const named = paths.map((path) => ({ ...path, name: `gateway, api_key, 2025-11-25, ${path.server}` }));
		print(await runRounds(named, async (server) => (await services[server]?.cpuMicros()) ?? Number.NaN, ROUNDS));
	} finally {
		await rm(dataDir, { recursive: true, force: true });
	}
}

/** Starts the service of a revision by the file with which its own benchmarks start it. */
async function startService(folder: string, dataDir: string, upstream: string): Promise<Subject> {
	const port = String(await findPort('127.0.0.1', 0));
	const file = pathToFileURL(join(folder, 'test/bench/service.ts')).href;
	return await startSubject(file, { PORT: port, SVC_DATA_DIR: dataDir, EGRESS_ALLOW: upstream, LOG_LEVEL: 'warn' });
}

await main(process.argv[2], process.argv[3]);
