// Measures the limiter: calls of a tool through three services side by side, which count no requests, count them in their own process, and
// count them in Redis; then the limiter by itself. `node test/bench/limiter.ts`

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWindows, type Windows } from '../../core/limits/windows.ts';
import { joinReplicas } from '../../core/shared/presence.ts';
import { createShared } from '../../core/shared/redis.ts';
import { findPort } from '../../demo/ports.ts';
import { startRedis, type TestRedis } from '../helpers/redis.ts';
import { silent } from '../helpers/silent.ts';
import { prepareCall } from './paths.ts';
import { median, print, runRounds } from './rounds.ts';
import { startSubject } from './subject.ts';

const ROUNDS = 5;
const HITS = 20_000;
const AT_ONCE = 50;
const SUBJECTS = 200;

async function main(): Promise<void> {
	const redis = await startRedis();
	const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
	try {
		await measureServices(redis, dataDir);
		await measureAlone(redis);
	} finally {
		await rm(dataDir, { recursive: true, force: true });
		await redis.stop();
	}
}

async function measureServices(redis: TestRedis, dataDir: string): Promise<void> {
	await using upstream = await startSubject('./upstream.ts', {});
	const start = async (name: string, env: Record<string, string>) => {
		const port = String(await findPort('127.0.0.1', 0));
		const own = { PORT: port, SVC_DATA_DIR: join(dataDir, name), EGRESS_ALLOW: upstream.url, LOG_LEVEL: 'warn' };
		return startSubject('./service.ts', { ...own, ...env });
	};
	await using none = await start('none', { LIMITS: 'none' });
	await using alone = await start('process', {});
	await using shared = await start('redis', { REDIS_HOST: redis.host, REDIS_PORT: String(redis.port) });
	const services = new Map([
		['no limiter', none],
		['counted in this process', alone],
		['counted in Redis', shared],
	]);
	const paths = await Promise.all([...services].map(([name, { url }]) => prepareCall(name, { upstream: upstream.url, service: url })));
	print(await runRounds(paths, async (server) => (await services.get(server)?.cpuMicros()) ?? Number.NaN));
}

interface Cost {
	hitsPerSecond: number;
	/** Microseconds of a hit, one after the other. */
	micros: number;
}

/** Measures hits like those of a gateway's request: one window, and a peek at another. */
async function measureAlone(redis: TestRedis): Promise<void> {
	const [local, remote] = [await createShared(null, silent), await createShared({ ...redis, keyPrefix: 'bench:' }, silent)];
	const limiters: [string, Windows][] = [
		['in this process', createWindows(local, await joinReplicas(local, 'local'), silent)],
		['in Redis', createWindows(remote, await joinReplicas(remote, 'remote'), silent)],
	];
	const costs = limiters.map((): Cost[] => []);
	for (let round = 0; round < ROUNDS; round++) {
		for (const [at, [, windows]] of limiters.entries()) costs[at]?.push(await costOf(windows));
	}
	console.log(`\nThe limiter by itself, ${SUBJECTS} subjects, ${ROUNDS} rounds of ${HITS} hits, alternating; medians.\n`);
	console.log('| counted | hits/s, 50 at once | µs a hit, one after the other |');
	console.log('|---|---|---|');
	for (const [at, [name]] of limiters.entries()) {
		const of = (field: keyof Cost): string => median((costs[at] ?? []).map((cost) => cost[field])).toFixed(field === 'micros' ? 1 : 0);
		console.log(`| ${name} | ${of('hitsPerSecond')} | ${of('micros')} |`);
	}
	for (const [, windows] of limiters) windows.close();
	await Promise.all([local.close(), remote.close()]);
}

async function costOf(windows: Windows): Promise<Cost> {
	let hits = 0;
	const one = async (): Promise<void> => {
		const subject = hits++ % SUBJECTS;
		const own = { key: `own:${subject}`, max: 1_000_000_000, windowMs: 60_000 };
		await windows.hit([{ ...own, key: `failed:${subject}`, isPeek: true }, own]);
	};
	const lane = async (): Promise<void> => {
		while (hits < HITS) await one();
	};
	const started = performance.now();
	await Promise.all(Array.from({ length: AT_ONCE }, lane));
	const atOnceMs = performance.now() - started;
	const alone = HITS / 10;
	const sequential = performance.now();
	for (let at = 0; at < alone; at++) await one();
	return { hitsPerSecond: (HITS / atOnceMs) * 1000, micros: ((performance.now() - sequential) / alone) * 1000 };
}

await main();
