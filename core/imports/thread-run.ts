// The worker threads of imports, from the main thread's side: each is given little, heard in batches, and killed when late. One that
// ended well stays warm for a minute: to load an importer takes longer than to read a small document.

import { on as eventsOf } from 'node:events';
import { Worker } from 'node:worker_threads';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Log, Operation } from '../contract/nouns.ts';
import type { ImportResult, ImportTask, ThreadData, WorkerMessage } from './worker.ts';

const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js', import.meta.url);
const STACK_MB = 4;
/** A worker at its limit gets 16 MB more to end in. Young objects that become old at once must fit, or the whole process dies. */
const YOUNG_MB = 8;
const WARM_MS = 60_000;
/** A heap that a large document has made is not kept for small ones. */
const MAX_WARM_HEAP_MB = 128;

export interface ThreadParts {
	data: ThreadData;
	maxHeapMb: number;
	log: Log;
}

export interface Listener {
	/** The document is there, and will be parsed. */
	got(): void;
	/** The worker makes at most one batch more until it resolves. */
	write(operations: Operation[]): Promise<void>;
}

export class ImportThreads {
	readonly #parts: ThreadParts;
	#warm: { worker: Worker; timer: NodeJS.Timeout } | null = null;

	constructor(parts: ThreadParts) {
		this.#parts = parts;
	}

	/**
	 * @param task its body is moved to the worker, and empty afterwards
	 * @throws whatever the worker failed with; schema_invalid when it died; the signal's reason
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
			throw error instanceof Death ? this.#explain(error) : error;
		} finally {
			if (isSound) this.#keep(worker);
			else await worker.terminate();
		}
	}

	async close(): Promise<void> {
		const warm = this.#warm;
		this.#forget();
		await warm?.worker.terminate();
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
		// Without the environment: what the worker reads was written by strangers.
		const worker = new Worker(SCRIPT, { workerData: data, env: {}, resourceLimits });
		// Whoever follows it hears of it; while it is idle nobody does, and then it would end the process.
		worker.on('error', () => undefined);
		worker.once('exit', () => this.#drop(worker));
		return worker;
	}

	#keep(worker: Worker): void {
		const former = this.#warm;
		this.#forget();
		void former?.worker.terminate();
		worker.unref();
		this.#warm = { worker, timer: setTimeout(() => this.#drop(worker), WARM_MS).unref() };
	}

	/** Nothing where it is no longer the warm one. */
	#drop(worker: Worker): void {
		if (this.#warm?.worker !== worker) return;
		this.#forget();
		void worker.terminate();
	}

	#forget(): void {
		clearTimeout(this.#warm?.timer);
		this.#warm = null;
	}

	#explain({ cause }: Death): GatewayError {
		const { maxHeapMb, log } = this.#parts;
		if ((cause as NodeJS.ErrnoException | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY')
			return new GatewayError('schema_invalid', `The document needs more than ${maxHeapMb} MB of memory to be read.`, { cause });
		log.error({ err: cause }, 'an import failed unexpectedly');
		return new GatewayError('schema_invalid', 'The document could not be read: the importer failed on it.', { cause });
	}
}

/** The worker died, or the importer failed in a way that nobody foresaw. */
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
			if (message.type === 'got') {
				on.got();
				continue;
			}
			isWriting = true;
			await on.write(message.operations);
			isWriting = false;
			worker.postMessage('written');
		}
		throw new Error('The worker ended without an answer.');
	} catch (error) {
		if (isWriting || signal.aborted || asGatewayError(error)) throw error;
		throw new Death('', { cause: error });
	}
}
