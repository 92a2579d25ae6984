// Measures what the product promises in seconds, some rounds of each. Tests prove that it happens, and in which order; they do not judge
// its duration, which depends on the load of the machine. `node test/bench/promises.ts`. Everything runs in one process, so the figures
// include the noise of the machine. It fails when the median of a promise is over its limit.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPool } from '../../plugins/executors/javascript/pool.ts';
import { startRedis } from '../helpers/redis.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { exchange } from '../helpers/wire.ts';
import { median } from './rounds.ts';

interface Promised {
	what: string;
	limitMs: number;
	rounds: number;
	/** Measures one round. @returns milliseconds */
	measure(): Promise<number>;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
	const started = performance.now();
	await work();
	return performance.now() - started;
}

async function timedUntil(condition: () => Promise<boolean>, everyMs = 10): Promise<number> {
	return timed(async () => {
		while (!(await condition())) await sleep(everyMs);
	});
}

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

/** Measures changes on one replica until they are effective on the other. */
async function onReplicas(account: Account, second: TestService): Promise<Promised[]> {
	const gateway = await publishGateway(account);
	const url = second.url + new URL(gateway.url).pathname;
	const keys = `/gateways/${gateway.id}/auth/api-keys`;
	const ask = async (key: string): Promise<number> =>
		(await send(url, 'POST', { body: LIST, headers: { 'x-api-key': key, accept: 'application/json, text/event-stream' } })).status;
	const removal = async (): Promise<number> => {
		const { id, key } = must(await account.post(keys, { name: 'k' }), 201).body.data;
		while ((await ask(key)) !== 200) await sleep(10);
		must(await account.del(`${keys}/${id}`), 200);
		return timedUntil(async () => (await ask(key)) === 401);
	};
	const addition = async (): Promise<number> => {
		const { key } = must(await account.post(keys, { name: 'k' }), 201).body.data;
		return timedUntil(async () => (await ask(key)) === 200);
	};
	return [
		{ what: 'a key that was revoked on another replica opens nothing', limitMs: 1000, rounds: 15, measure: removal },
		{ what: 'a key that was made on another replica opens its gateway', limitMs: 1000, rounds: 15, measure: addition },
	];
}

/** Measures a replica whose database becomes silent and comes back. */
async function withoutDatabase(account: Account, whole: TestService): Promise<{ promised: Promised[]; stop(): Promise<void> }> {
	const { database } = whole.config;
	if (!database) throw new Error('The service has no database.');
	const cable = await startTcpProxy(database);
	const far = await startTestService({ replicaOf: whole, env: { DATABASE_HOST: '127.0.0.1', DATABASE_PORT: String(cable.port) } });
	const headers = { authorization: `Bearer ${account.token}` };
	const at = async (path: string, status: number): Promise<void> => void must(await send(far.url + path, 'GET', { headers }), status);
	const isBack = async (): Promise<boolean> => (await send(`${far.url}/gateways`, 'GET', { headers })).status === 200;
	const silent = (path: string) => async (): Promise<number> => {
		await timedUntil(isBack);
		cable.stall();
		// After this wait no cached entry may be used any more.
		await sleep(1100);
		const tookMs = await timed(() => at(path, 503));
		await cable.mend();
		return tookMs;
	};
	const recovery = async (): Promise<number> => {
		await timedUntil(isBack);
		cable.stall();
		await at('/gateways', 503).catch(() => undefined);
		await cable.mend();
		return timedUntil(isBack);
	};
	return {
		promised: [
			{ what: 'with a silent database a request is a 503', limitMs: 2500, rounds: 5, measure: silent('/gateways') },
			{ what: 'with a silent database readiness is a 503', limitMs: 2000, rounds: 5, measure: silent('/health/ready') },
			{ what: 'a database that is back is used again', limitMs: 5000, rounds: 5, measure: recovery },
		],
		async stop() {
			await far.stop();
			await cable.cut();
		},
	};
}

/** Measures a service whose Redis hangs: only the first request that uses it may be delayed, and only a little. */
async function withoutRedis(): Promise<{ promised: Promised[]; stop(): Promise<void> }> {
	const redis = await startRedis();
	const service = await startTestService({ redis });
	const account = await registerAccount(service.url);
	const ask = () => account.get('/gateways');
	const meeting = async (): Promise<number> => {
		for (let asked = 0; asked < 5; asked++) await ask();
		redis.signal('SIGSTOP');
		const tookMs = await timed(ask);
		redis.signal('SIGCONT');
		await sleep(3000);
		return tookMs;
	};
	const during = async (): Promise<number> => {
		redis.signal('SIGSTOP');
		await ask();
		const tookMs = await timed(ask);
		redis.signal('SIGCONT');
		await sleep(3000);
		return tookMs;
	};
	return {
		promised: [
			{ what: 'a request that meets a Redis that hangs is answered', limitMs: 150, rounds: 5, measure: meeting },
			{ what: 'the next one does not wait for it', limitMs: 50, rounds: 5, measure: during },
		],
		stop: () => service.stop(),
	};
}

/** Measures the end of code that must stop and cannot be interrupted. */
function inSandbox(): { promised: Promised[]; stop(): Promise<void> } {
	const pool = createPool();
	const deaf = 'return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);';
	let runs = 0;
	const begin = (code: string, timeoutMs: number, signal: AbortSignal) => {
		const owner = `account-${runs++}`;
		const task = { account: owner, organization: owner, code, parameters: '{}', memoryBytes: 64 * 1024 * 1024, mayRequest: false };
		return pool.run(task, { timeoutMs, signal, request: async () => ({ fault: 'No.' }) });
	};
	const overrun = (code: string) => async (): Promise<number> => {
		await begin('return 1', 5000, new AbortController().signal);
		return (await timed(() => begin(code, 300, new AbortController().signal))) - 300;
	};
	const leaving = async (): Promise<number> => {
		const client = new AbortController();
		const running = begin(deaf, 30_000, client.signal);
		await sleep(400);
		client.abort(new Error('gone'));
		return timed(() => running);
	};
	return {
		promised: [
			{ what: 'code that loops is stopped when its time is over, after', limitMs: 250, rounds: 10, measure: overrun('for (;;) {}') },
			{ what: 'code that cannot be interrupted is, after', limitMs: 250, rounds: 5, measure: overrun(deaf) },
			{ what: 'a run whose client has left ends, deaf or not', limitMs: 250, rounds: 5, measure: leaving },
		],
		stop: async () => pool.close(),
	};
}

/** Measures the cancellation of an upstream request when the caller disconnects. */
async function leavingCallers(account: Account, { url }: TestService): Promise<{ promised: Promised[]; stop(): Promise<void> }> {
	let came = Promise.withResolvers<Socket>();
	const upstream = createServer(({ socket }) => came.resolve(socket)).listen(0, '127.0.0.1');
	await once(upstream, 'listening');
	const { port } = upstream.address() as AddressInfo;
	const tool = await createHttpTool(account, { name: 'hangs', url: `http://127.0.0.1:${port}/` });
	const headers = { authorization: `Bearer ${account.token}`, 'content-type': 'application/json' };
	const measure = async (): Promise<number> => {
		came = Promise.withResolvers();
		const leaving = new AbortController();
		const path = `${url}/organizations/${account.organization.id}/tools/${tool}/execute`;
		fetch(path, { method: 'POST', headers, body: '{}', signal: leaving.signal }).catch(() => undefined);
		const socket = await came.promise;
		return timed(async () => {
			leaving.abort();
			if (!socket.destroyed) await once(socket, 'close');
		});
	};
	const stop = async (): Promise<void> => {
		upstream.closeAllConnections();
		upstream.close();
	};
	return { promised: [{ what: 'a caller who leaves takes the request to the upstream along', limitMs: 100, rounds: 20, measure }], stop };
}

const SLOW = 300;

/** Measures slow clients: they are cut off, and do not affect others. */
function slowClients(account: Account, { url }: TestService): Promised[] {
	const { hostname, port } = new URL(url);
	const body = `POST /gateways HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.token}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n`;
	const cut = (bytes: string, adds: string) => () => timed(() => exchange(url, bytes, { adds }));
	const crowded = async (): Promise<number> => {
		const sockets = Array.from({ length: SLOW }, (_none, at) => {
			const socket = connect(Number(port), hostname).on('error', () => undefined);
			socket.write(['', 'GET /health HTTP/1.1\r\nhost: x\r\nx: ', body][at % 3] ?? '');
			return socket;
		});
		const dripping = setInterval(() => {
			for (const socket of sockets) if (socket.writable) socket.write('a');
		}, 200);
		await sleep(300);
		const times: number[] = [];
		for (let asked = 0; asked < 200; asked++) times.push(await timed(() => send(`${url}/health/live`, 'GET')));
		clearInterval(dripping);
		for (const socket of sockets) socket.destroy();
		return times.toSorted((a, b) => a - b)[197] ?? Number.NaN;
	};
	return [
		{ what: `with ${SLOW} slow connections 99 of 100 looks at health are answered`, limitMs: 200, rounds: 3, measure: crowded },
		{ what: 'headers without an end are cut off', limitMs: 6_500, rounds: 2, measure: cut('GET /health HTTP/1.1\r\nhost: x\r\nx: ', 'a') },
		{ what: 'a body without an end is cut off', limitMs: 16_500, rounds: 1, measure: cut(body, ' ') },
	];
}

async function report({ what, limitMs, rounds, measure }: Promised): Promise<boolean> {
	const times: number[] = [];
	for (let round = 0; round < rounds; round++) times.push(await measure());
	const kept = times.filter((time) => time <= limitMs).length;
	const cells = [what, limitMs, rounds, median(times).toFixed(0), Math.max(...times).toFixed(0), `${kept} of ${rounds}`];
	console.log(`| ${cells.join(' | ')} |`);
	return median(times) <= limitMs;
}

async function main(): Promise<void> {
	const first = await startTestService();
	const second = await startTestService({ replicaOf: first });
	const account = await registerAccount(first.url);
	const parts = [await withoutDatabase(account, first), await withoutRedis(), inSandbox(), await leavingCallers(account, first)];
	const replicas = await onReplicas(account, second);
	const promised = [...replicas, ...parts.flatMap((part) => part.promised), ...slowClients(account, first)];
	console.log('| promise | within ms | rounds | median ms | worst ms | kept |');
	console.log('|---|---|---|---|---|---|');
	let isKept = true;
	for (const one of promised) isKept = (await report(one)) && isKept;
	for (const part of parts) await part.stop();
	await second.stop();
	await first.stop();
	if (!isKept) throw new Error('The median of a promise is over its limit.');
}

await main();
