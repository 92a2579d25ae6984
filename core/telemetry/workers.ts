// `/metrics` of several workers: the first process asks all of them and adds up, whichever of them was asked.

import cluster, { type Worker } from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { counted, merged } from './merge.ts';

/** A worker that has not answered by then is left out, with what it told last. */
const PATIENCE_MS = 2_000;

/** `metrics`: which message of ours it is. Others use the channel, too. */
type Message =
	| { metrics: 'ask'; id: string }
	| { metrics: 'told'; id: string; text: string }
	| { metrics: 'ask-all'; id: string }
	| { metrics: 'told-all'; id: string; text: string };

const isOurs = (message: unknown): message is Message =>
	typeof message === 'object' && message !== null && 'metrics' in message && typeof (message as { id?: unknown }).id === 'string';

/** Runs in the first process. @returns the sum of all workers, of those that have ended, too */
export function collectWorkers(): () => Promise<string> {
	const last = new Map<number, string>();
	const waiting = new Map<string, (text: string) => void>();
	let ended = '';
	const ask = async (worker: Worker): Promise<void> => {
		const id = randomUUID();
		const told = Promise.withResolvers<string>();
		const late = setTimeout(() => told.resolve(last.get(worker.id) ?? ''), PATIENCE_MS);
		waiting.set(id, told.resolve);
		if (worker.isConnected()) worker.send({ metrics: 'ask', id } satisfies Message);
		last.set(worker.id, await told.promise);
		clearTimeout(late);
		waiting.delete(id);
	};
	const collect = async (): Promise<string> => {
		const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected());
		await Promise.all(workers.map((worker) => worker && ask(worker)));
		return merged([ended, ...last.values()]);
	};
	cluster.on('message', (worker, message: unknown) => {
		if (!isOurs(message)) return;
		if (message.metrics === 'told') waiting.get(message.id)?.(message.text);
		if (message.metrics === 'ask-all')
			void collect().then((text) => worker.isConnected() && worker.send({ metrics: 'told-all', id: message.id, text } satisfies Message));
	});
	cluster.on('exit', ({ id }) => {
		ended = merged([ended, counted(last.get(id) ?? '')]);
		last.delete(id);
	});
	return collect;
}

/** Runs in a worker: answers the first process. @returns the sum of all workers */
export function joinWorkers(scrape: () => Promise<string>): { scrapeAll(): Promise<string>; leave(): void } {
	const waiting = new Map<string, (text: string) => void>();
	const send = (message: Message): void => void (process.connected && process.send?.(message));
	const hear = (message: unknown): void => {
		if (!isOurs(message)) return;
		const { id } = message;
		if (message.metrics === 'ask')
			scrape().then(
				(text) => send({ metrics: 'told', id, text }),
				() => send({ metrics: 'told', id, text: '' }),
			);
		if (message.metrics === 'told-all') waiting.get(id)?.(message.text);
	};
	process.on('message', hear);
	return {
		async scrapeAll() {
			const id = randomUUID();
			const { promise, resolve, reject } = Promise.withResolvers<string>();
			const late = setTimeout(() => reject(new Error('The first process did not tell the metrics in time.')), 2 * PATIENCE_MS);
			waiting.set(id, resolve);
			send({ metrics: 'ask-all', id });
			try {
				return await promise;
			} finally {
				clearTimeout(late);
				waiting.delete(id);
			}
		},
		leave: () => void process.off('message', hear),
	};
}
