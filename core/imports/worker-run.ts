// The worker processes of imports, as seen by the service: each gets a bounded heap, returns its results in batches, and is killed when late. They
// are processes, since a thread that needs too much memory at once ends its whole process. After a success one stays warm for a minute, since
// loading an importer takes longer than reading a small document.

import { type ChildProcess, fork } from 'node:child_process';
import { on as eventsOf, once } from 'node:events';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { trustOfProcess } from '../config/trust.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import { raceWith } from '../kit/race.ts';
import type { Strays } from '../process/strays.ts';
import { BatchReader } from './batch-reader.ts';
import type { OperationBatch } from './batch-writer.ts';
import { BATCHES_FD, type ImportResult, type ImportTask, type ServiceMessage, type WorkerMessage } from './worker-messages.ts';

const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker-start.ts' : './worker-start.js', import.meta.url);
/** Half of the stack that Linux and macOS give to a process. */
const STACK_KB = 3_904;
/** With 8 MB for young objects, collections were 28 % of what a large document took (Google's protos, by a profile). */
const SEMI_SPACE_MB = 32;
const WARM_MS = 60_000;
/** A heap grown by a large document is not kept for small ones. */
const MAX_WARM_HEAP_MB = 128;
/** The text with which V8 begins to explain why it ends a process that has no more memory. */
const OUT_OF_MEMORY = '<--- Last few GCs --->';
/** The part of a body that is sent in one go: a whole one would keep the event loop for as long as it takes to copy it. */
const PART_BYTES = 1024 * 1024;
/** The status by which shells and systems without signals tell of SIGABRT. */
const ABORTED = 134;

export interface WorkerParts {
	/** A folder; null when the service has no compile cache. */
	compileCache: string | null;
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

export class ImportWorkers {
	readonly #parts: WorkerParts;
	#warm: { worker: ChildProcess; timer: NodeJS.Timeout } | null = null;

	constructor(parts: WorkerParts) {
		this.#parts = parts;
	}

	/** @throws the error of the worker; schema_invalid when it died; unavailable when there is none; the signal's reason */
	async run(task: ImportTask, body: Uint8Array, signal: AbortSignal, on: Listener): Promise<ImportResult> {
		signal.throwIfAborted();
		const worker = this.#take();
		let isSound = false;
		try {
			const ended = await follow(worker, { task, body }, signal, on);
			isSound = ended.heapMb <= MAX_WARM_HEAP_MB;
			if (ended.type === 'done') return ended.result;
			throw new GatewayError(ended.code, ended.message, { details: ended.details });
		} catch (error) {
			throw error instanceof Death ? this.#explain(error, worker, task.type) : error;
		} finally {
			if (isSound) this.#keep(worker);
			else await end(worker);
		}
	}

	async close(): Promise<void> {
		const warm = this.#warm;
		this.#forget();
		if (warm) await end(warm.worker);
	}

	#take(): ChildProcess {
		const warm = this.#warm;
		this.#forget();
		if (warm) {
			warm.worker.ref();
			warm.worker.channel?.ref();
			return warm.worker;
		}
		const { compileCache, maxHeapMb, strays } = this.#parts;
		const worker = start(compileCache, maxHeapMb);
		worker.on('message', (message: WorkerMessage) => {
			if (message.type === 'stray') strays.report(message.error, 'a rejection that nothing handled, in an import');
		});
		worker.once('exit', () => this.#drop(worker));
		return worker;
	}

	#keep(worker: ChildProcess): void {
		const former = this.#warm;
		this.#forget();
		if (former) void end(former.worker);
		worker.unref();
		worker.channel?.unref();
		this.#warm = { worker, timer: setTimeout(() => this.#drop(worker), WARM_MS).unref() };
	}

	/** Ends a worker, unless it is no longer the warm one. */
	#drop(worker: ChildProcess): void {
		if (this.#warm?.worker !== worker) return;
		this.#forget();
		void end(worker);
	}

	#forget(): void {
		clearTimeout(this.#warm?.timer);
		this.#warm = null;
	}

	#explain({ cause }: Death, { pid, signalCode, exitCode }: ChildProcess, importer: string): GatewayError {
		const { maxHeapMb, log } = this.#parts;
		if (signalCode === 'SIGABRT' || exitCode === ABORTED)
			return new GatewayError('schema_invalid', `The document needs more than ${maxHeapMb} MB of memory to be read.`, { cause });
		log.error({ plugin: `importer:${importer}`, err: cause }, 'an import failed unexpectedly');
		if (pid === undefined)
			return new GatewayError('unavailable', 'No process could be started for the import.', { cause, headers: { 'retry-after': '30' } });
		return new GatewayError('schema_invalid', 'The document could not be read: the importer failed on it.', { cause });
	}
}

function start(compileCache: string | null, maxHeapMb: number): ChildProcess {
	const memory = [`--max-old-space-size=${maxHeapMb}`, `--max-semi-space-size=${SEMI_SPACE_MB}`, `--stack-size=${STACK_KB}`];
	const { env, options } = trustOfProcess();
	const worker = fork(SCRIPT, compileCache === null ? [] : [compileCache], {
		env,
		execArgv: [...options, ...memory],
		serialization: 'advanced',
		// The last one is BATCHES_FD.
		stdio: ['ignore', 'inherit', 'pipe', 'ipc', 'pipe'],
	});
	// While a worker runs, its follower handles errors; while it is idle, an error without a listener would end the process.
	worker.on('error', () => undefined);
	let isOver = false;
	// The channel alone keeps this process.
	for (const pipe of [worker.stderr, pipeOf(worker)]) (pipe as Socket | null)?.unref();
	// Its reader hears of the end.
	pipeOf(worker)?.on('error', () => undefined);
	worker.stderr?.on('data', (text: Buffer) => {
		isOver ||= text.includes(OUT_OF_MEMORY);
		if (!isOver) process.stderr.write(text);
	});
	return worker;
}

/** Returns the pipe for batches; null for a process that could not be started. */
const pipeOf = ({ stdio }: ChildProcess): Readable | null => (stdio[BATCHES_FD] as Readable | null | undefined) ?? null;

/** Kills a worker, and resolves once it is gone. */
async function end(worker: ChildProcess): Promise<void> {
	if (worker.pid === undefined || worker.exitCode !== null || worker.signalCode !== null) return;
	// A warm one keeps no process, and this one may have nothing else to do.
	worker.ref();
	const ended = once(worker, 'exit');
	worker.kill('SIGKILL');
	await ended;
}

/** Marks the death of the worker, or an unforeseen error of the importer. */
class Death extends Error {}

type Ended = Extract<WorkerMessage, { type: 'done' | 'failed' }>;

interface Given {
	task: ImportTask;
	body: Uint8Array;
}

async function follow(worker: ChildProcess, { task, body }: Given, signal: AbortSignal, on: Listener): Promise<Ended> {
	const messages = eventsOf(worker, 'message', { signal, close: ['exit'] }) as AsyncIterable<[WorkerMessage]>;
	let isWriting = false;
	using batches = new BatchReader(pipeOf(worker));
	try {
		for (let at = 0; at < body.length; at += PART_BYTES) await tell(worker, { type: 'part', bytes: body.subarray(at, at + PART_BYTES) });
		await tell(worker, { type: 'task', task });
		for await (const [message] of messages) {
			if (message.type === 'done' || message.type === 'failed') return message;
			if (message.type === 'crashed') throw new Error(message.stack);
			if (message.type === 'got') on.got();
			if (message.type !== 'batch') continue;
			const operations = await raceWith(signal, batches.take(message.sizeBytes));
			isWriting = true;
			await on.write({ operations, count: message.count });
			isWriting = false;
			await tell(worker, { type: 'written' });
		}
		throw new Error('The worker ended without an answer.');
	} catch (error) {
		if (isWriting || signal.aborted || asGatewayError(error)) throw error;
		throw new Death('', { cause: error });
	}
}

/** Sends a message, and resolves once it is written. */
const tell = (worker: ChildProcess, message: ServiceMessage): Promise<void> =>
	new Promise((resolve, reject) => {
		worker.send(message, (error) => (error ? reject(error) : resolve()));
	});
