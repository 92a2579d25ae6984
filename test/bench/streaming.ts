// Measures what a streamed answer costs beside undici alone: the CPU time of this process for each MB, in rounds that take turns.
// `node test/bench/streaming.ts`. The upstream is another process.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, request } from 'undici';
import { createEgress } from '../../core/egress/egress.ts';
import { eventsOf } from '../../core/egress/stream-text.ts';
import { median } from './rounds.ts';

const ROUNDS = 15;
const WARM_UP = 4;
const MB = 1e6;
const EVENT = `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: 'token ' } }] })}\n\n`;
/** Parts of the size of an event, as models send them, and of the size of a file's. */
const PARTS: readonly [name: string, part: Buffer, count: number][] = [
	['parts of 64 kB', Buffer.from(EVENT.repeat(900)), 400],
	['parts of one event', Buffer.from(EVENT), 20_000],
];

async function serve(): Promise<void> {
	const server = createServer(async ({ url }, response) => {
		const [, part = Buffer.alloc(0), count = 0] = PARTS[Number(url?.slice(1))] ?? [];
		for (let sent = 0; sent < count; sent++) if (!response.write(part)) await once(response, 'drain');
		response.end();
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	process.send?.((server.address() as AddressInfo).port);
}

const cpuMs = (): number => {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1000;
};

async function costOf(read: () => Promise<AsyncIterable<Uint8Array>>): Promise<number> {
	const started = cpuMs();
	let sizeBytes = 0;
	for await (const part of await read()) sizeBytes += part.length;
	return (cpuMs() - started) / (sizeBytes / MB);
}

async function costOfEvents(read: () => Promise<AsyncIterable<Uint8Array>>, sizeBytes: number): Promise<number> {
	const started = cpuMs();
	for await (const _ of eventsOf(await read()));
	return (cpuMs() - started) / (sizeBytes / MB);
}

async function measure(): Promise<void> {
	const upstream = fork(new URL(import.meta.url), ['serve']);
	const [port] = (await once(upstream, 'message')) as [number];
	const origin = `http://127.0.0.1:${port}`;
	const egress = createEgress({ allow: ['127.0.0.1'] });
	const agent = new Agent();
	for (const [at, [name, part, count]] of PARTS.entries()) {
		const url = `${origin}/${at}`;
		const plain = async () => (await request(url, { dispatcher: agent })).body;
		const ours = async () => (await egress.stream({ method: 'GET', url })).body;
		const costs: Record<'plain' | 'ours' | 'events', number[]> = { plain: [], ours: [], events: [] };
		for (let round = -WARM_UP; round < ROUNDS; round++) {
			const one = { plain: await costOf(plain), ours: await costOf(ours), events: await costOfEvents(ours, part.length * count) };
			if (round >= 0) for (const key of ['plain', 'ours', 'events'] as const) costs[key].push(one[key]);
		}
		const [plainMs, oursMs, eventsMs] = [median(costs.plain), median(costs.ours), median(costs.events)];
		const shown = (ms: number): string => `${ms.toFixed(2)} ms of CPU for each MB`;
		process.stdout.write(
			`${name}: undici ${shown(plainMs)}, context.stream ${shown(oursMs)} (${(oursMs / plainMs).toFixed(2)} of it), its events ${shown(eventsMs)}\n`,
		);
	}
	await egress.close();
	await agent.close();
	upstream.kill();
}

await (process.argv[2] === 'serve' ? serve() : measure());
