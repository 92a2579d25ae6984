// Turns answers into JSON texts: small ones on this thread, larger ones on a worker thread, so that they do not block the event loop.

import { Worker } from 'node:worker_threads';
import { endThread, GatewayError } from '../../../core/index.ts';
import type { Codec } from './codec.ts';
import type { GrpcConfig } from './config.ts';

/** Most bytes decoded on this thread. In the worst case measured (messages of two bytes) they take up to 10 ms, ordinarily 1 ms. */
const MAX_HERE_BYTES = 32 * 1024;
/** Most characters that these bytes may become, if every byte stands for the longest name: also up to 10 ms. */
const MAX_HERE_CHARS = 2 * 1024 * 1024;
/** Far more than a result shows; the limit bounds the cost of copying the text from the worker. */
export const MAX_TEXT_CHARS = 16 * 1024 * 1024;
/** Longest wait for the worker, including the tasks before it, each of which takes some 100 ms. */
const MAX_WAIT_MS = 10_000;
/** An idle worker is ended after this time, since it holds as much memory as a small service. */
const IDLE_MS = 60_000;
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './decoding-worker.ts' : './decoding-worker.js', import.meta.url);
const resourceLimits = { maxOldGenerationSizeMb: 512 };

export type CodecSource = Pick<GrpcConfig, 'descriptors' | 'service' | 'method'>;

export interface DecodingTask {
	id: number;
	source: CodecSource;
	messages: readonly Uint8Array[];
}

/** The texts of a task, or in `fault` the reason why its messages cannot be read. */
export type Decoded = { id: number; texts: string[] } | { id: number; fault: string };

interface Waiting {
	resolve(texts: string[]): void;
	reject(error: unknown): void;
}

/** The worker that all calls of this process share, started by the first that needs it. */
let thread: DecodingThread | null = null;

export const isSmall = (sizeBytes: number, { longestNameChars }: Pick<Codec, 'longestNameChars'>): boolean =>
	sizeBytes <= MAX_HERE_BYTES && sizeBytes * longestNameChars <= MAX_HERE_CHARS;

/** @returns the JSON of each message. @throws upstream_failed if they are not of the method's type, or too large */
export async function decodeAll(
	messages: readonly Buffer[],
	codec: Codec,
	{ descriptors, service, method }: CodecSource,
): Promise<string[]> {
	const sizeBytes = messages.reduce((sum, { length }) => sum + length, 0);
	if (isSmall(sizeBytes, codec)) return messages.map((bytes) => JSON.stringify(codec.decode(bytes)));
	thread ??= new DecodingThread();
	return thread.decode({ source: { descriptors, service, method }, messages });
}

class DecodingThread {
	readonly #worker = new Worker(SCRIPT, { env: {}, resourceLimits });
	readonly #waiting = new Map<number, Waiting>();
	#lastId = 0;
	#idle: NodeJS.Timeout | undefined;

	constructor() {
		this.#worker.on('message', (decoded: Decoded) => this.#settle(decoded));
		this.#worker.on('error', (cause) => this.#end(tooMuch(cause)));
		this.#worker.on('exit', () => this.#end(tooMuch()));
		// Listeners keep the process alive; it may end whatever the worker does.
		this.#worker.unref();
	}

	async decode(task: Omit<DecodingTask, 'id'>): Promise<string[]> {
		clearTimeout(this.#idle);
		const id = ++this.#lastId;
		const { promise, resolve, reject } = Promise.withResolvers<string[]>();
		this.#waiting.set(id, { resolve, reject });
		const timer = setTimeout(() => this.#end(tooMuch()), MAX_WAIT_MS);
		this.#worker.postMessage({ ...task, id } satisfies DecodingTask);
		return promise.finally(() => {
			clearTimeout(timer);
			if (this.#waiting.size === 0) this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
		});
	}

	#settle(decoded: Decoded): void {
		const waiting = this.#waiting.get(decoded.id);
		this.#waiting.delete(decoded.id);
		if ('texts' in decoded) waiting?.resolve(decoded.texts);
		else waiting?.reject(new GatewayError('upstream_failed', decoded.fault));
	}

	/** Ends the worker, and rejects the tasks that still wait for it. */
	#end(error?: GatewayError): void {
		if (thread === this) thread = null;
		void endThread(this.#worker);
		for (const { reject } of this.#waiting.values()) reject(error);
		this.#waiting.clear();
	}
}

const tooMuch = (cause?: unknown): GatewayError =>
	new GatewayError('upstream_failed', 'The answer takes too much time or memory to be read.', { cause });
