// Measures two workers of one service (WEB_CONCURRENCY) beside one process: the same call through a gateway, both counting in the same Redis, at full load and at half.
// `node test/bench/workers.ts`

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPort } from '../../demo/ports.ts';
import { startRedis } from '../helpers/redis.ts';
import { halfRateOf, printHalfLoad, runHalfLoad } from './half-load.ts';
import { prepareCall } from './paths.ts';
import { CONNECTIONS, IS_SHORT, type Meter, print, runRounds } from './rounds.ts';
import { startSubject } from './subject.ts';

const ROUNDS = 6;
/** Each of two workers compiles for itself, and gets half of the requests: after the usual warm-up, their CPU still fell from round to round. */
const WARM_UP_SECONDS = IS_SHORT ? 4 : 30;

const redis = await startRedis();
const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
try {
	await using upstream = await startSubject('./upstream.ts', {});
	const start = async (count: number) => {
		const port = String(await findPort('127.0.0.1', 0));
		const own = { PORT: port, SVC_DATA_DIR: join(dataDir, String(count)), WEB_CONCURRENCY: String(count) };
		const shared = { REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), EGRESS_ALLOW: upstream.url, LOG_LEVEL: 'warn' };
		return startSubject('./cluster-service.ts', { ...own, ...shared });
	};
	await using one = await start(1);
	await using two = await start(2);
	const services = new Map([
		['one process', one],
		['two workers', two],
	]);
	const paths = await Promise.all([...services].map(([name, { url }]) => prepareCall(name, { upstream: upstream.url, service: url })));
	// A call costs the less, the more of them a process has at once: behind twice the load, each of two workers has as many as the one process.
	const loaded = paths.map((path) => ({ ...path, name: `${path.name}, ${2 * CONNECTIONS} connections`, connections: 2 * CONNECTIONS }));
	const meter: Meter = async (server) => (await services.get(server)?.cpuMicros()) ?? Number.NaN;
	const measured = await runRounds([...paths, ...loaded], meter, { rounds: ROUNDS, warmUpSeconds: WARM_UP_SECONDS });
	print(measured);
	// At full load two workers take the cores from each other, from the load and from the upstream, which slows each of them: here they do not.
	printHalfLoad(await runHalfLoad(paths, halfRateOf(measured, 'one process'), meter));
} finally {
	await rm(dataDir, { recursive: true, force: true });
	await redis.stop();
}
