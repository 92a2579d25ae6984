// Measures event streams for clients that take gzip, of a transport from outside and of MCP in both eras: the time until the first byte, the
// memory of 500 idle ones, and the time of a stop while they are open. `node test/bench/streams.ts`. The service is a process of its own. It fails above 50 ms in
// the median, 100 MB, or a second for the stop beyond the time that it takes without streams.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
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

interface StreamTarget {
	url: string;
	key: string;
}

/** A kind of stream, and how it is opened. */
interface Kind {
	name: string;
	/** The transport. */
	type: string;
	method: 'GET' | 'POST';
	headers: Record<string, string>;
	/** Each stream is of a session of its own. */
	sessions?: true;
	body?: string;
}

const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
const LISTEN = {
	jsonrpc: '2.0',
	id: 'l',
	method: 'subscriptions/listen',
	params: { notifications: { toolsListChanged: true }, _meta: META },
};
const KINDS: readonly Kind[] = [
	{ name: 'a transport from outside', type: 'idle', method: 'GET', headers: {} },
	{ name: 'mcp, GET', type: 'mcp', method: 'GET', headers: { accept: 'text/event-stream', 'mcp-protocol-version': '2025-11-25' } },
	{
		...{ name: 'mcp, GET, each with a session’s id', type: 'mcp', method: 'GET', sessions: true },
		headers: { accept: 'text/event-stream', 'mcp-protocol-version': '2025-11-25' },
	},
	{
		...{ name: 'mcp, subscriptions/listen', type: 'mcp', method: 'POST', body: JSON.stringify(LISTEN) },
		headers: {
			...{ accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
			...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
		},
	},
];

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
async function open({ url, key }: StreamTarget, { method, headers, sessions, body }: Kind): Promise<number> {
	const startedMs = performance.now();
	const own = { ...headers, ...(sessions && { 'mcp-session-id': randomUUID() }), 'x-api-key': key, 'accept-encoding': 'gzip' };
	const asked = request(url, { method, headers: own, agent: false });
	asked.end(body);
	const [response] = (await once(asked, 'response')) as [IncomingMessage];
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

interface Measured {
	times: number[];
	memory: number;
	stopMs: number;
}

async function measure(kind: Kind, places: readonly StreamTarget[]): Promise<Measured> {
	const { url, started } = await run();
	const placed = places.map(({ url: path, key }) => ({ url: url + path, key }));
	// The first one of each gateway reads it from the database.
	for (const place of placed) await open(place, kind);
	const beforeMb = memoryMb(started);
	const times: number[] = [];
	for (let at = 1; at < EACH; at++) for (const place of placed) times.push(await open(place, kind));
	await sleep(IDLE_MS);
	const memory = memoryMb(started) - beforeMb;
	return { times, memory, stopMs: await stop(started) };
}

const first = await run();
const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => registerAccount(first.url)));
const places = new Map<string, StreamTarget[]>();
for (const type of new Set(KINDS.map((kind) => kind.type))) {
	const made = await Promise.all(accounts.map((account) => publishGateway(account, { type })));
	const placed = made.map(({ url, key }) => ({ url: new URL(url).pathname, key }));
	places.set(type, placed);
}
const withoutMs = await stop(first.started);

console.log('| | first byte, median, ms | the longest, ms | memory of 500 idle ones, MB | stop with them, ms |\n|---|---|---|---|---|');
for (const kind of KINDS) {
	const { times, memory, stopMs } = await measure(kind, places.get(kind.type) ?? []);
	const cells = [median(times).toFixed(1), Math.max(...times).toFixed(1), memory.toFixed(1), stopMs.toFixed(0)];
	console.log(`| ${kind.name} | ${cells.join(' | ')} |`);
	if (median(times) > FIRST_BYTE_MS || memory > MEMORY_MB || stopMs > withoutMs + STOP_MS) process.exitCode = 1;
}
console.log(`| limit | ${FIRST_BYTE_MS} | | ${MEMORY_MB} | ${(withoutMs + STOP_MS).toFixed(0)} |`);
packages[Symbol.dispose]();
await redis.stop();
await database.drop();
