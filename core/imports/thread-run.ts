// The worker threads of imports, as seen by the main thread: each gets little memory, returns its results in batches, and is killed when
// late. After a success it stays warm for a minute, since loading an importer takes longer than reading a small document.

import { on as eventsOf } from 'node:events';
import { Worker } from 'node:worker_threads';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import { endThread } from '../process/end-thread.ts';
import type { Strays } from '../process/strays.ts';
import type { OperationBatch } from './batch-writer.ts';
import type { ImportResult, ImportTask, ThreadData, WorkerMessage } from './worker.ts';

const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js', import.meta.url);
const STACK_MB = 4;
/** A worker at its limit gets 16 MB more to end in. Young objects that suddenly become old must fit into it, or the whole process dies. */
const YOUNG_MB = 8;
const WARM_MS = 60_000;
/** A heap grown by a large document is not kept for small ones. */
const MAX_WARM_HEAP_MB = 128;

export interface ThreadParts {
	data: ThreadData;
	maxHeapMb: number;
	log: Log;
	strays: Strays;
}

export interface Listener {
	/** Called once the document is fetched, before it is parsed. */
	got(): void;
	/** Receives a batch as the worker sent it. The worker makes at most one more until this resolves. */
	write(batch: OperationBatch): Promise<void>;
}

export class ImportThreads {
	readonly #parts: ThreadParts;
	#warm: { worker: Worker; timer: NodeJS.Timeout } | null = null;

	constructor(parts: ThreadParts) {
		this.#parts = parts;
	}

	/**
	 * @param task its body is moved to the worker, and empty afterwards
	 * @throws the error of the worker; schema_invalid when it died; the signal's reason
	 */
	async run(task: ImportTask, signal: AbortSignal, on: Listener): Promise<ImportResult> {
		signal.throwIfAborted();
		const worker = this.#take();
		let isSound = false;
		try {
			const ended = await follow(worker, task, signal, on);
			isSound = ended.heapMb <= MAX_WARM_HEAP_MB;
			if (ended.type === 'done') return ended.result;
			throw new GatewayError(ended.code, ended.message, { details: ended.details });
		} catch (error) {
			throw error instanceof Death ? this.#explain(error, task.type) : error;
		} finally {
			if (isSound) this.#keep(worker);
			else await endThread(worker);
		}
	}

	async close(): Promise<void> {
		const warm = this.#warm;
		this.#forget();
		if (warm) await endThread(warm.worker);
	}

	#take(): Worker {
		const warm = this.#warm;
		this.#forget();
		if (warm) {
			warm.worker.ref();
			return warm.worker;
		}
		const { data, maxHeapMb } = this.#parts;
		const resourceLimits = { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: YOUNG_MB, stackSizeMb: STACK_MB };
		// The worker gets no environment, since it reads untrusted documents.
		const worker = new Worker(SCRIPT, { workerData: data, env: {}, resourceLimits });
		// While a worker runs, its follower handles errors; while it is idle, an error without a listener would end the process.
		worker.on('error', () => undefined);
		worker.on('message', (message: WorkerMessage) => {
			if (message.type === 'stray') this.#parts.strays.report(message.error, 'a rejection that nothing handled, in an import');
		});
		worker.once('exit', () => this.#drop(worker));
		return worker;
	}

	#keep(worker: Worker): void {
		const former = this.#warm;
		this.#forget();
		if (former) void endThread(former.worker);
		worker.unref();
		this.#warm = { worker, timer: setTimeout(() => this.#drop(worker), WARM_MS).unref() };
	}

	/** Ends a worker, unless it is no longer the warm one. */
	#drop(worker: Worker): void {
		if (this.#warm?.worker !== worker) return;
		this.#forget();
		void endThread(worker);
	}

	#forget(): void {
		clearTimeout(this.#warm?.timer);
		this.#warm = null;
	}

	#explain({ cause }: Death, importer: string): GatewayError {
		const { maxHeapMb, log } = this.#parts;
		if ((cause as NodeJS.ErrnoException | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY')
			return new GatewayError('schema_invalid', `The document needs more than ${maxHeapMb} MB of memory to be read.`, { cause });
		log.error({ plugin: `importer:${importer}`, err: cause }, 'an import failed unexpectedly');
		return new GatewayError('schema_invalid', 'The document could not be read: the importer failed on it.', { cause });
	}
}

/** Marks the death of the worker, or an unforeseen error of the importer. */
class Death extends Error {}

type Ended = Extract<WorkerMessage, { type: 'done' | 'failed' }>;

async function follow(worker: Worker, task: ImportTask, signal: AbortSignal, on: Listener): Promise<Ended> {
	const messages = eventsOf(worker, 'message', { signal, close: ['exit'] }) as AsyncIterable<[WorkerMessage]>;
	worker.postMessage(task, [task.body.buffer as ArrayBuffer]);
	let isWriting = false;
	try {
		for await (const [message] of messages) {
			if (message.type === 'done' || message.type === 'failed') return message;
			if (message.type === 'crashed') throw new Error(message.stack);
			if (message.type === 'got') on.got();
			if (message.type !== 'batch') continue;
			isWriting = true;
			await on.write(message);
			isWriting = false;
			worker.postMessage('written');
		}
		throw new Error('The worker ended without an answer.');
	} catch (error) {
		if (isWriting || signal.aborted || asGatewayError(error)) throw error;
		throw new Death('', { cause: error });
	}
}
