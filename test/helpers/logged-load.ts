// Calls of tools at two replicas in processes of their own, one of which may be killed, and what the request log holds of them afterwards.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { COMPILE_CACHE } from './compile-cache.ts';
import { freePort } from './ports.ts';
import { administer, type Endpoint, testDatabase } from './postgres.ts';
import { testRedis } from './redis.ts';
import { createHttpTool, databaseVariables, publishGateway, registerAccount, SECRETS } from './service.ts';

const TOOLS = 5;
export const AT_ONCE = 32;
/** A call of the last tool fails at its upstream. */
const FAILS = TOOLS - 1;

/** The calls that were answered. */
export interface Answered {
	calls: number;
	bytes: number;
	byTool: number[];
	/** Calls without an answer, since their replica was killed. */
	broken: number;
}

/** The lines of a kind, and what they add up to; the same of the sums by each resolution. */
export interface Logged {
	gateway: number;
	tool: number;
	bytes: number;
	failed: number;
	byTool: number[];
	/** Each must equal what the lines add up to. */
	sums: { resolution: string; kind: string; calls: number; failed: number; bytes: number; timed: number }[];
}

export interface LoggedWorld extends AsyncDisposable {
	/** Calls tools in turn at both replicas. @param killAfter so many answers, at which the first replica is killed */
	load(calls: number, killAfter?: number): Promise<Answered>;
	/** Returns what is logged, once nothing more is written. */
	logged(): Promise<Logged>;
}

export async function loggedWorld(): Promise<LoggedWorld> {
	const stack = new AsyncDisposableStack();
	const [redis, made] = await Promise.all([testRedis(), testDatabase()]);
	stack.defer(() => redis.stop());
	const { database } = stack.use(made);
	const upstream = await startUpstream(stack);
	const env = {
		...{ ...databaseVariables(database), REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS },
		...{ HOST: '127.0.0.1', EGRESS_ALLOW: '127.0.0.1', LOG_LEVEL: 'error' },
	};
	const replicas = await Promise.all([startReplica(stack, env), startReplica(stack, env)]);
	const [first, second] = [replicas[0] ?? null, replicas[1] ?? null];
	if (!first || !second) throw new Error('There are no replicas.');
	const account = await registerAccount(second.url);
	const tools = await Promise.all(
		Array.from({ length: TOOLS }, (_, at) =>
			createHttpTool(account, { name: `tool_${at}`, url: `${upstream}/${at === FAILS ? 'fails' : at}` }),
		),
	);
	const gateway = await publishGateway(account, { toolIds: tools });
	const { pathname } = new URL(gateway.url);
	return {
		load: (calls, killAfter) => runLoad({ calls, killAfter: killAfter ?? null, pathname, key: gateway.key, first, second }),
		logged: () => settled(database, tools),
		[Symbol.asyncDispose]: () => stack.disposeAsync(),
	};
}

interface Replica {
	url: string;
	child: ChildProcess;
}

async function startUpstream(stack: AsyncDisposableStack): Promise<string> {
	const server = createServer((request, response) => {
		request.resume();
		response.writeHead(request.url === '/fails' ? 500 : 200, { 'content-type': 'application/json' }).end(`{"path":"${request.url}"}`);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	stack.defer(() => {
		server.closeAllConnections();
		server.close();
	});
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function startReplica(stack: AsyncDisposableStack, env: Record<string, string>): Promise<Replica> {
	const service = new URL('../bench/service.ts', import.meta.url);
	const child = fork(service, { env: { PATH: process.env['PATH'], ...COMPILE_CACHE, ...env, PORT: String(await freePort()) } });
	stack.defer(async () => {
		if (child.exitCode !== null || child.signalCode !== null) return;
		child.disconnect();
		await once(child, 'exit');
	});
	const [{ url }] = (await once(child, 'message')) as [{ url: string }];
	return { url, child };
}

interface Load {
	calls: number;
	killAfter: number | null;
	pathname: string;
	key: string;
	first: Replica;
	second: Replica;
}

async function runLoad({ calls, killAfter, pathname, key, first, second }: Load): Promise<Answered> {
	const pools = [first, second].map(({ url }) => new Pool(url, { connections: AT_ONCE }));
	const answered: Answered = { calls: 0, bytes: 0, byTool: new Array<number>(TOOLS).fill(0), broken: 0 };
	let [next, isKilled] = [0, first.child.signalCode !== null];
	const call = async (n: number): Promise<void> => {
		const body = JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params: { name: `tool_${n % TOOLS}`, arguments: {} } });
		const headers = { 'content-type': 'application/json', accept: 'application/json', 'x-api-key': key };
		const pool = pools[isKilled ? 1 : n % 2];
		const answer = await pool?.request({ method: 'POST', path: pathname, headers, body });
		const text = (await answer?.body.text()) ?? '';
		if (answer?.statusCode !== 200) throw new Error(`A call was answered with ${answer?.statusCode}: ${text}`);
		answered.calls++;
		answered.bytes += Buffer.byteLength(text);
		answered.byTool[n % TOOLS] = (answered.byTool[n % TOOLS] ?? 0) + 1;
	};
	const work = async (): Promise<void> => {
		while (next < calls) {
			const n = next++;
			try {
				await call(n);
			} catch (error) {
				if (!isKilled) throw error;
				answered.broken++;
			}
			if (killAfter !== null && answered.calls >= killAfter && !isKilled) {
				isKilled = true;
				first.child.kill('SIGKILL');
			}
		}
	};
	await Promise.all(Array.from({ length: AT_ONCE }, work));
	await Promise.all(pools.map((pool) => pool.destroy()));
	return answered;
}

/** Waits until two looks, with time for a write between them, find the same. */
async function settled(database: Endpoint, tools: readonly string[]): Promise<Logged> {
	for (let last = ''; ; await sleep(1500)) {
		const now = await read(database, tools);
		const shown = JSON.stringify(now);
		if (shown === last) return now;
		last = shown;
	}
}

async function read(database: Endpoint, tools: readonly string[]): Promise<Logged> {
	const [line = {}] = await administer(
		database,
		`SELECT count(*) FILTER (WHERE kind = 'gateway')::int AS gateway, count(*) FILTER (WHERE kind = 'tool')::int AS tool,
			coalesce(sum(bytes_out) FILTER (WHERE kind = 'gateway'), 0)::float AS bytes,
			count(*) FILTER (WHERE kind = 'tool' AND outcome <> 'success')::int AS failed
		FROM request_log`,
	);
	const byTool = await administer(database, `SELECT tool_id, count(*)::int AS calls FROM request_log WHERE kind = 'tool' GROUP BY tool_id`);
	const sums = await administer(
		database,
		`SELECT resolution, kind, sum(calls)::int AS calls, sum(failed)::int AS failed, sum(bytes_out)::float AS bytes,
			sum((SELECT sum(n) FROM unnest(histogram) AS n))::int AS timed
		FROM metrics WHERE dimension = '' AND kind IN ('gateway', 'tool') GROUP BY resolution, kind ORDER BY resolution, kind`,
	);
	return {
		...(line as Omit<Logged, 'byTool' | 'sums'>),
		byTool: tools.map((id) => Number(byTool.find((row) => row['tool_id'] === id)?.['calls'] ?? 0)),
		sums: sums as Logged['sums'],
	};
}

/** Tells whether the sums of each resolution are those of the lines. Those of five seconds are kept for an hour. */
export function sumsDiffer({ gateway, tool, failed, bytes, sums }: Logged): string[] {
	const expected: Record<string, object> = {
		gateway: { calls: gateway, failed: 0, bytes, timed: gateway },
		tool: { calls: tool, failed, bytes: 0, timed: tool },
	};
	return sums
		.filter(({ resolution: _resolution, kind, ...has }) => JSON.stringify(has) !== JSON.stringify(expected[kind]))
		.map((sum) => JSON.stringify(sum));
}
