// Measures what is told while a tool runs, over real sockets with clients that take gzip, on two replicas that are processes of their own: the time
// from a tool's first progress to its first byte at the client, and from `notifications/cancelled`, sent to the other replica, to the end of the
// upstream's request. `node test/bench/cancel.ts`. It fails above 50 ms for the first and 100 ms for the second, in the median.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../helpers/ports.ts';
import { testDatabase } from '../helpers/postgres.ts';
import { ready, type Started, start } from '../helpers/processes.ts';
import { startRedis } from '../helpers/redis.ts';
import { createHttpTool, databaseVariables, must, publishGateway, registerAccount, SECRETS } from '../helpers/service.ts';
import { median } from './rounds.ts';

const ROUNDS = 60;
const [FIRST_BYTE_MS, CANCEL_MS] = [50, 100];

/** Reports the time at which it reports, in milliseconds of the machine's clock. */
const CODE = `
await new Promise((resolve) => setTimeout(resolve, 20));
progress(1, 2, String(Date.now()));
await new Promise((resolve) => setTimeout(resolve, 60));
return 'done';`;

/** The requests that the upstream holds, and whoever waits for the end of one. */
const upstream = createServer((_request, response) => {
	response.once('close', () => closed.splice(0).forEach((resolve) => void resolve(performance.now())));
	asked.splice(0).forEach((resolve) => void resolve());
}).listen(0, '127.0.0.1');
await once(upstream, 'listening');
const asked: (() => void)[] = [];
const closed: ((at: number) => void)[] = [];

const database = await testDatabase();
const redis = await startRedis();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const shared = { REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS, HOST: '127.0.0.1', SVC_DATA_DIR: folder };
// The server listens on TCP, so the address is not a pipe's name.
const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
const own = { LOG_LEVEL: 'warn', EGRESS_ALLOW: origin };
const env = { ...databaseVariables(database.database), ...shared, ...own };

async function run(): Promise<{ url: string; started: Started }> {
	const port = await freePort();
	const started = start({ ...env, PORT: String(port) });
	await ready(`http://127.0.0.1:${port}`, started);
	return { url: `http://127.0.0.1:${port}`, started };
}

const replicas = [await run(), await run()];
const account = await registerAccount(replicas[0]?.url ?? '');
const reporting = { name: 'report', description: 'Reports.', type: 'javascript', parameters: { type: 'object' }, code: CODE };
const made = must(await account.post(`/organizations/${account.organization.id}/tools`, reporting), 201).body.data.id;
const held = await createHttpTool(account, { name: 'hold', url: `${origin}/hold`, timeoutMs: 120_000 });
const gateway = await publishGateway(account, { toolIds: [made, held] });
const path = new URL(gateway.url).pathname;

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'accept-encoding': 'gzip' };

async function send(base: string, message: object, headers: Record<string, string> = {}): Promise<IncomingMessage> {
	const sent = request(base + path, { method: 'POST', headers: { ...HEADERS, 'x-api-key': gateway.key, ...headers }, agent: false });
	sent.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
	const [response] = (await once(sent, 'response')) as [IncomingMessage];
	return response;
}

async function session(base: string): Promise<Record<string, string>> {
	const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } };
	const response = await send(base, { id: 0, method: 'initialize', params });
	response.resume();
	return { 'mcp-session-id': String(response.headers['mcp-session-id']), 'mcp-protocol-version': '2025-11-25' };
}

const inTurn = (round: number): [here: string, other: string] =>
	round % 2 === 0 ? [replicas[0]?.url ?? '', replicas[1]?.url ?? ''] : [replicas[1]?.url ?? '', replicas[0]?.url ?? ''];

/** @returns milliseconds from the tool's report until its bytes are read */
async function firstByte(round: number): Promise<number> {
	const [here] = inTurn(round);
	const params = { name: 'report', arguments: {}, _meta: { progressToken: 'p' } };
	const response = await send(here, { id: 1, method: 'tools/call', params });
	const [chunk] = (await once(response, 'data')) as [Buffer];
	const at = Date.now();
	const reported = Number(/"message":"([\d.]+)"/.exec(String(chunk))?.[1]);
	if (Number.isNaN(reported)) throw new Error(`the first bytes were ${chunk}`);
	response.resume();
	await once(response, 'end');
	return at - reported;
}

/** @returns milliseconds from the notification until the upstream's request is closed */
async function cancelled(round: number): Promise<number> {
	const [here, other] = inTurn(round);
	const headers = await session(here);
	const isAsked = new Promise<void>((resolve) => asked.push(resolve));
	const isClosed = new Promise<number>((resolve) => closed.push(resolve));
	const id = `call-${round}`;
	const calling = send(here, { id, method: 'tools/call', params: { name: 'hold', arguments: {} } }, headers);
	await isAsked;
	const startedMs = performance.now();
	const told = await send(other, { method: 'notifications/cancelled', params: { requestId: id } }, headers);
	told.resume();
	const ms = (await isClosed) - startedMs;
	(await calling).resume();
	return ms;
}

async function measure(name: string, once: (round: number) => Promise<number>, limitMs: number): Promise<void> {
	const times: number[] = [];
	for (let round = -4; round < ROUNDS; round++) {
		const ms = await once(round + 4);
		if (round >= 0) times.push(ms);
	}
	const sorted = times.toSorted((a, b) => a - b);
	const shown = [median(times), sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN, sorted.at(-1) ?? Number.NaN];
	console.log(`| ${name} | ${shown.map((ms) => ms.toFixed(1)).join(' | ')} | ${limitMs} |`);
	if (median(times) > limitMs) process.exitCode = 1;
}

console.log(`| ${ROUNDS} rounds | median, ms | p95, ms | the longest, ms | limit, ms |\n|---|---|---|---|---|`);
await measure('first byte of progress, after the tool reported it', firstByte, FIRST_BYTE_MS);
await measure('a cancel at one replica, until the upstream’s request at the other is closed', cancelled, CANCEL_MS);

for (const { started } of replicas) started.child.kill('SIGTERM');
await Promise.all(replicas.map(({ started }) => started.ended));
upstream.closeAllConnections();
upstream.close();
rmSync(folder, { recursive: true, force: true });
await redis.stop();
await database.drop();
