// The worker thread for messages that take long to read or to write. It gets one task at a time; accounts take turns, and so do their organizations.

import { Worker } from 'node:worker_threads';
import {
	asGatewayError,
	type Call,
	compileCacheFolder,
	type ErrorCode,
	type ErrorDetail,
	endThread,
	FairQueue,
	GatewayError,
	raceWith,
} from '../../../core/index.ts';
import type { Request } from './arguments.ts';
import type { GrpcConfig } from './config.ts';

/** Far more than a result shows; the limit bounds the cost of copying the texts from the worker. */
export const MAX_TEXT_CHARS = 16 * 1024 * 1024;
/** Longest time for one task, the start of the worker included. It begins when the worker gets the task, not while that waits for others. */
export const MAX_TASK_MS = 10_000;
/** An idle worker is ended after this time, since it holds as much memory as a small service. */
const IDLE_MS = 60_000;
const MEGABYTE = 1024 * 1024;
/** Arguments are not measured; they are seldom larger. */
const REQUEST_BYTES = MEGABYTE;
const LIMITS = { units: 1, computing: 1, waiting: 1000, waitingBytes: 256 * MEGABYTE };
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker-start.ts' : './worker-start.js', import.meta.url);
const resourceLimits = { maxOldGenerationSizeMb: 512 };

export type CodecSource = Pick<GrpcConfig, 'descriptors' | 'service' | 'method'>;

/** The call that a task belongs to: its account takes its turn, and the task is given up when the signal aborts. */
export type Owner = Pick<Call, 'account' | 'api' | 'signal'>;

interface Reading {
	/** `decode`: answers as JSON. `details`: those of a status, as JSON. */
	type: 'decode' | 'details';
	source: CodecSource;
	messages: readonly Uint8Array[];
}

interface Writing {
	/** `encode`: requests as bytes. `show`: requests as canonical JSON. */
	type: 'encode' | 'show';
	source: CodecSource;
	requests: readonly Request[];
}

export type Task = Reading | Writing;

/** The data that a thread receives when it starts. */
export interface ThreadData {
	/** A folder; null when the service has no compile cache. */
	compileCache: string | null;
}

/** The texts or bytes that a task asked for. */
export interface Made {
	texts: string[];
	bytes: Uint8Array[];
}

export interface Fault {
	code: ErrorCode;
	message: string;
	details: ErrorDetail[];
}

/** `fault`: the reason why nothing was made. */
export type Answer = Made | { fault: Fault };

interface Waiting {
	task: Task;
	resolve(made: Made): void;
	reject(error: unknown): void;
	/** Lets the next task have its turn. */
	leave(): void;
}

const queue = new FairQueue<Waiting>(LIMITS);
/** The worker that all calls of this process share, started by the first that needs it. */
let thread: Thread | null = null;

/** @throws the fault of the task; upstream_failed or validation_failed when it takes too much time or memory; rate_limited; the signal's reason */
export async function runTask(task: Task, owner: Owner): Promise<Made> {
	const sizeBytes = 'messages' in task ? task.messages.reduce((sum, { length }) => sum + length, 0) : REQUEST_BYTES;
	const asked = { account: await owner.account(), organization: owner.api?.organizationId ?? '', sizeBytes, units: 1 };
	const { promise, resolve, reject } = Promise.withResolvers<Made>();
	const leave = (): void => {
		queue.giveBack(asked);
		queue.compute(asked.account, -1);
		runNext();
	};
	const waiting: Waiting = { task, resolve, reject, leave };
	if (!queue.add(waiting, asked))
		throw new GatewayError('rate_limited', 'Too many large messages wait for their turn: try again in a minute.');
	runNext();
	return raceWith(owner.signal, promise, { leave: () => queue.remove(waiting, asked) });
}

function runNext(): void {
	const next = queue.take();
	if (next === null) return;
	thread ??= new Thread();
	thread.run(next);
}

class Thread {
	readonly #worker: Worker;
	#running: Waiting | null = null;
	#late: NodeJS.Timeout | undefined;
	#idle: NodeJS.Timeout | undefined;

	constructor() {
		const workerData: ThreadData = { compileCache: compileCacheFolder() };
		this.#worker = new Worker(SCRIPT, { workerData, env: {}, resourceLimits });
		this.#worker.on('message', (answer: Answer) => this.#settle(answer));
		this.#worker.on('error', (cause) => this.#end(cause));
		this.#worker.on('exit', () => this.#end());
		// Listeners keep the process alive; it may end whatever the worker does.
		this.#worker.unref();
	}

	run(waiting: Waiting): void {
		clearTimeout(this.#idle);
		this.#running = waiting;
		this.#late = setTimeout(() => this.#end(), MAX_TASK_MS);
		try {
			this.#worker.postMessage(waiting.task);
		} catch (error) {
			this.#stop()?.reject(error);
			this.#rest(waiting);
		}
	}

	#settle(answer: Answer): void {
		const ended = this.#stop();
		if ('texts' in answer) ended?.resolve(answer);
		else ended?.reject(new GatewayError(answer.fault.code, answer.fault.message, { details: answer.fault.details }));
		this.#rest(ended);
	}

	#rest(ended: Waiting | null): void {
		this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
		ended?.leave();
	}

	/** Ends the worker, and rejects the task that it runs. Those that wait go on in another. */
	#end(cause?: unknown): void {
		if (thread === this) thread = null;
		void endThread(this.#worker);
		const ended = this.#stop();
		ended?.reject(tooMuch(ended.task, cause));
		ended?.leave();
	}

	#stop(): Waiting | null {
		clearTimeout(this.#late);
		clearTimeout(this.#idle);
		const running = this.#running;
		this.#running = null;
		return running;
	}
}

const tooMuch = (task: Task, cause: unknown): GatewayError =>
	'messages' in task
		? new GatewayError('upstream_failed', 'The answer takes too much time or memory to be read.', { cause })
		: new GatewayError('validation_failed', 'The request takes too much time or memory to be written.', { cause });

export const sourceIn = ({ descriptors, service, method }: CodecSource): CodecSource => ({ descriptors, service, method });

export function faultIn(error: unknown): Fault | null {
	const known = asGatewayError(error);
	return known ? { code: known.code, message: known.message, details: [...known.details] } : null;
}
