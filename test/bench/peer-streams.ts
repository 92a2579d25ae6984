// Calls of a server that answers a POST with 202 and nothing, and sends the result over the event stream that its session has opened by GET.

import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { eventsOf } from '../../core/index.ts';
import { quantile } from './paced.ts';
import type { Path } from './paths.ts';
import type { Load } from './rounds.ts';

const OPEN_AFTER_MS = 500;

interface StreamedSession {
	/** Sends a request, and returns the message with its id. */
	ask(method: string, params: object): Promise<string>;
}

/** Opens the stream of a session. It ends with the server. */
async function openStream(url: string, headers: Record<string, string>, connections: number): Promise<StreamedSession> {
	const { origin, pathname } = new URL(url);
	const pool = new Pool(origin, { connections });
	const waiting = new Map<string, (message: string) => void>();
	const read = async (): Promise<void> => {
		const { body } = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } });
		if (!body) return;
		for await (const { data } of eventsOf(body)) {
			const { id } = JSON.parse(data) as { id: string };
			waiting.get(id)?.(data);
			waiting.delete(id);
		}
	};
	read().catch(() => undefined);
	// The headers of the stream come with its first event, so nothing tells when it is open.
	await sleep(OPEN_AFTER_MS);
	let last = 0;
	return {
		async ask(method, params) {
			const id = `s${++last}`;
			const { promise, resolve } = Promise.withResolvers<string>();
			waiting.set(id, resolve);
			const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
			const answer = await pool.request({ path: pathname, method: 'POST', headers, body });
			await answer.body.dump();
			if (answer.statusCode !== 202) throw new Error(`${url} answered ${answer.statusCode}.`);
			return promise;
		},
	};
}

/** Returns how a path is fetched and loaded over such a stream. @param isAnswer judges a message */
export async function overStream(
	{ url, headers }: Pick<Path, 'url' | 'headers'>,
	params: object,
	{ connections, isAnswer }: { connections: number; isAnswer(message: string): boolean },
): Promise<{ session: StreamedSession; via: NonNullable<Path['via']> }> {
	const session = await openStream(url, headers, connections);
	const call = (): Promise<string> => session.ask('tools/call', params);
	const load = async (seconds: number): Promise<Load> => {
		const [latencies, startedMs] = [[] as number[], performance.now()];
		let mismatches = 0;
		const callOn = async (): Promise<void> => {
			for (let sentMs = performance.now(); sentMs < startedMs + seconds * 1000; sentMs = performance.now()) {
				if (!isAnswer(await call())) mismatches++;
				latencies.push(performance.now() - sentMs);
			}
		};
		await Promise.all(Array.from({ length: connections }, callOn));
		const total = latencies.length;
		latencies.sort((a, b) => a - b);
		return {
			requests: { average: total / ((performance.now() - startedMs) / 1000), total },
			latency: { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) },
			...{ non2xx: 0, errors: 0, mismatches },
		};
	};
	return { session, via: { fetch: call, load } };
}
