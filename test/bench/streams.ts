// Measures event streams of a transport from outside, for clients that take gzip: the time until the first byte, the memory of 500 idle
// ones, and the time of a stop while they are open. `node test/bench/streams.ts`. The service is a process of its own. It fails above 50 ms in
// the median, 100 MB, or a second for the stop beyond the time that it takes without streams.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../helpers/ports.ts';
import { testDatabase } from '../helpers/postgres.ts';
import { ready, type Started, start } from '../helpers/processes.ts';
import { startRedis } from '../helpers/redis.ts';
import { databaseVariables, publishGateway, registerAccount, SECRETS } from '../helpers/service.ts';
import { writePackages } from '../helpers/written-packages.ts';
import { median } from './rounds.ts';

const [FIRST_BYTE_MS, MEMORY_MB, STOP_MS] = [50, 100, 1_000];
/** An account may have 100 streams. */
const [ACCOUNTS, EACH] = [5, 100];
/** The time after which memory is read: a heartbeat of each stream has passed. */
const IDLE_MS = 20_000;

const SOURCE = `
import Joi from 'joi';
const aborted = (signal) => new Promise((resolve) => signal.addEventListener('abort', resolve));
const idle = async function* ({ signal }) { await aborted(signal); };
export default {
	kind: 'transport', name: 'idle', summary: 'Streams nothing.', config: Joi.object({}),
	routes: [{ method: 'GET', path: '/', handler: async (_request, _config, call) => ({ status: 200, body: idle(call) }) }],
};`;

interface Place {
	url: string;
	key: string;
}

const database = await testDatabase();
const redis = await startRedis();
const packages = writePackages({ 'idle-streams': SOURCE });
const shared = { REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS, HOST: '127.0.0.1', SVC_DATA_DIR: packages.folder };
const env = { ...databaseVariables(database.database), ...shared, GATEWAY_PLUGINS: 'idle-streams', LOG_LEVEL: 'warn' };

async function run(): Promise<{ url: string; started: Started }> {
	const port = await freePort();
	const started = start({ ...env, PORT: String(port) }, [], packages.folder);
	await ready(`http://127.0.0.1:${port}`, started);
	return { url: `http://127.0.0.1:${port}`, started };
}

/** Opens a stream. @returns the milliseconds until its first byte */
async function open({ url, key }: Place): Promise<number> {
	const startedMs = performance.now();
	const request = get(url, { headers: { 'x-api-key': key, 'accept-encoding': 'gzip' }, agent: false });
	const [response] = (await once(request, 'response')) as [IncomingMessage];
	if (response.statusCode !== 200) throw new Error(`a stream was answered with ${response.statusCode}`);
	await once(
		response.on('error', () => undefined),
		'data',
	);
	return performance.now() - startedMs;
}

const memoryMb = ({ child }: Started): number =>
	Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024;

/** @returns milliseconds until the process has ended */
async function stop({ child, ended }: Started): Promise<number> {
	const startedMs = performance.now();
	child.kill('SIGTERM');
	await ended;
	return performance.now() - startedMs;
}

const first = await run();
const places: Place[] = [];
for (let account = 0; account < ACCOUNTS; account++) {
	const { url, key } = await publishGateway(await registerAccount(first.url), { type: 'idle' });
	places.push({ url: new URL(url).pathname, key });
}
const withoutMs = await stop(first.started);

const { url, started } = await run();
const placed = places.map(({ url: path, key }) => ({ url: url + path, key }));
// The first one of each gateway reads it from the database.
for (const place of placed) await open(place);
const beforeMb = memoryMb(started);
const times: number[] = [];
for (let at = 1; at < EACH; at++) for (const place of placed) times.push(await open(place));
await sleep(IDLE_MS);
const memory = memoryMb(started) - beforeMb;
const stopMs = await stop(started);

console.log('| | measured | limit |\n|---|---|---|');
console.log(`| time until the first byte, median of ${times.length}, ms | ${median(times).toFixed(1)} | ${FIRST_BYTE_MS} |`);
console.log(`| the longest, ms | ${Math.max(...times).toFixed(1)} | |`);
console.log(`| memory of ${ACCOUNTS * EACH} idle streams, MB | ${memory.toFixed(1)} | ${MEMORY_MB} |`);
console.log(`| stop with them, ms | ${stopMs.toFixed(0)} | ${(withoutMs + STOP_MS).toFixed(0)} |`);
console.log(`| stop without, ms | ${withoutMs.toFixed(0)} | |`);
packages[Symbol.dispose]();
await redis.stop();
await database.drop();
if (median(times) > FIRST_BYTE_MS || memory > MEMORY_MB || stopMs > withoutMs + STOP_MS) process.exitCode = 1;
