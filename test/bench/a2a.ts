// Measures tasks of A2A beside the same call over MCP: the service's CPU per call, 16 at once, for clients that wait, follow a stream, or come back.
// `node test/bench/a2a.ts`, about two minutes.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { enter } from '../../demo/account.ts';
import { findPort } from '../../demo/ports.ts';
import { ACCOUNT } from './paths.ts';
import { median } from './rounds.ts';
import { startSubject } from './subject.ts';

const AT_ONCE = 16;
const ROUNDS = 6;
const ROUND_MS = 4_000;
const WARM_UP_MS = 3_000;
/** The most that a task may cost above a call of MCP, in µs. */
const GOAL = 2_000;

interface Way {
	name: string;
	url: string;
	body(): object;
	/** Returns a second request, which the answer asks for. */
	next?(answer: string): object;
	/** A text that each last answer has. */
	has: RegExp;
}

interface Round {
	callsPerSecond: number;
	cpuMicros: number;
}

async function main(): Promise<void> {
	const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
	try {
		await measure(dataDir);
	} finally {
		await rm(dataDir, { recursive: true, force: true });
	}
}

async function measure(dataDir: string): Promise<void> {
	await using upstream = await startSubject('./upstream.ts', {});
	const port = String(await findPort('127.0.0.1', 0));
	const env = { PORT: port, SVC_DATA_DIR: dataDir, EGRESS_ALLOW: upstream.url, LOG_LEVEL: 'warn' };
	await using service = await startSubject('./service.ts', env);
	const { ways, key } = await prepare(service.url, upstream.url);
	const dispatcher = new Agent({ connections: AT_ONCE });
	const round = (way: Way, ms: number): Promise<Round> => run(way, { key, dispatcher, ms, cpu: () => service.cpuMicros() });
	for (const way of ways) await round(way, WARM_UP_MS);
	const rounds = new Map(ways.map(({ name }) => [name, [] as Round[]]));
	for (let at = 0; at < ROUNDS; at++)
		for (const way of at % 2 === 0 ? ways : ways.toReversed()) rounds.get(way.name)?.push(await round(way, ROUND_MS));
	await dispatcher.close();
	print(rounds);
}

async function prepare(service: string, upstream: string): Promise<{ ways: Way[]; key: Record<string, string> }> {
	const { rest, organization } = await enter(service, ACCOUNT);
	const { id: toolId } = await rest<{ id: string }>('POST', `/organizations/${organization.id}/tools`, {
		...{ name: 'get_item', description: 'One item of the upstream.', type: 'http' },
		parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
		executionConfig: { method: 'GET', url: `${upstream}/items/{id}` },
	});
	const key: Record<string, string> = {};
	const publish = async (type: string): Promise<string> => {
		const { id, url } = await rest<{ id: string; url: string }>('POST', '/gateways', { name: type, type, endpoint: `/${type}` });
		await rest('POST', `/gateways/${id}/tools/bulk`, { toolIds: [toolId] });
		await rest('POST', `/gateways/${id}/auth`, { type: 'api_key' });
		key[url] = (await rest<{ key: string }>('POST', `/gateways/${id}/auth/api-keys`, { name: 'bench' })).key;
		return url;
	};
	const [mcp, a2a] = [await publish('mcp'), await publish('a2a')];
	const args = { id: '42' };
	const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params });
	const message = () => ({ messageId: randomUUID(), role: 'ROLE_USER', parts: [{ data: { skill: 'get_item', arguments: args } }] });
	return {
		key,
		ways: [
			{
				name: 'mcp, tools/call',
				url: mcp,
				body: () => rpc('tools/call', { name: 'get_item', arguments: args }),
				has: /"structuredContent"/,
			},
			{ name: 'a2a, SendMessage', url: a2a, body: () => rpc('SendMessage', { message: message() }), has: /TASK_STATE_COMPLETED/ },
			{
				name: 'a2a, SendStreamingMessage to its end',
				url: a2a,
				body: () => rpc('SendStreamingMessage', { message: message() }),
				has: /TASK_STATE_COMPLETED/,
			},
			{
				name: 'a2a, returnImmediately, then SubscribeToTask to its end',
				url: a2a,
				body: () => rpc('SendMessage', { message: message(), configuration: { returnImmediately: true } }),
				next: (answer) => rpc('SubscribeToTask', { id: JSON.parse(answer).result.task.id }),
				// A task that has ended is not subscribed to.
				has: /TASK_STATE_COMPLETED|-32004/,
			},
		],
	};
}

interface Running {
	key: Record<string, string>;
	dispatcher: Agent;
	ms: number;
	cpu(): Promise<number>;
}

async function run({ url, body, next, has }: Way, { key, dispatcher, ms, cpu }: Running): Promise<Round> {
	const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'x-api-key': key[url] ?? '' };
	const [before, started] = [await cpu(), performance.now()];
	let calls = 0;
	const send = async (sent: object): Promise<string> =>
		(await request(url, { method: 'POST', headers, body: JSON.stringify(sent), dispatcher })).body.text();
	const work = async (): Promise<void> => {
		while (performance.now() - started < ms) {
			const first = await send(body());
			assert.match(next ? await send(next(first)) : first, has);
			calls++;
		}
	};
	await Promise.all(Array.from({ length: AT_ONCE }, work));
	const seconds = (performance.now() - started) / 1000;
	return { callsPerSecond: calls / seconds, cpuMicros: ((await cpu()) - before) / calls };
}

function print(rounds: Map<string, Round[]>): void {
	console.log(`Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model}), load ${loadavg()[0]?.toFixed(1)}.`);
	console.log(`${AT_ONCE} at once, ${ROUNDS} rounds of ${ROUND_MS / 1000} s each, order alternating; medians.\n`);
	console.log('| way | calls/s | CPU µs/call |\n|---|---|---|');
	const cost = (name: string): number => median((rounds.get(name) ?? []).map(({ cpuMicros }) => cpuMicros));
	for (const [name, all] of rounds)
		console.log(`| ${name} | ${Math.round(median(all.map(({ callsPerSecond }) => callsPerSecond)))} | ${Math.round(cost(name))} |`);
	const [first = '', second = ''] = rounds.keys();
	console.log(`\nA task costs ${Math.round(cost(second) - cost(first))} µs more; the goal is ${GOAL} at most.`);
}

await main();
