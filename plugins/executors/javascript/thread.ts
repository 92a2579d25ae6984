// The main thread's side of a sandbox thread: one run at a time, which is stopped on time, whatever it does.

import { Worker } from 'node:worker_threads';
import { compileCacheFolder, endThread } from '../../../core/index.ts';
import {
	type CheckTask,
	CONTROL,
	type Ending,
	type FromThread,
	type HostAnswer,
	type Job,
	KEPT_INSTANCES,
	type Progress,
	type RunTask,
	type SandboxRequest,
	type ThreadData,
	type ToThread,
	WHOLE_CORE,
} from './messages.ts';

const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
/** The engine's heap is bounded WebAssembly memory. V8 counts it, too: beyond half of the old generation it runs full collections. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 640, maxYoungGenerationSizeMb: 16, stackSizeMb: 16 };
/** Time between asking a run to stop and killing its thread. The engine mostly notices within a millisecond. */
const GRACE_MS = 100;

export interface RunLimits {
	timeoutMs: number;
	/** Aborted when the caller stops waiting for the run. */
	signal: AbortSignal;
	request(request: SandboxRequest, signal: AbortSignal): Promise<HostAnswer>;
	progress?(progress: Progress): void;
	/** Answers a call of a function that was lent. */
	call?(name: string, argument: string, signal: AbortSignal): Promise<HostAnswer>;
}

export interface Ended {
	ending: Ending | { type: 'late' } | { type: 'cancelled' };
	/** Printed lines; lost if the thread had to be killed. */
	logs: string[];
	/** Whether the run's memory was so large that it was returned to the system. */
	isHeavy: boolean;
	/** CPU time of the run; all the time that passed if the thread had to be killed. */
	computedMs: number;
}

/** A message by which a run asks its host for something. */
type HostCall = Extract<FromThread, { type: 'request' | 'call' }>;

export class Thread {
	/** The organizations of the last runs, whose instances of the engine it mostly keeps; the last is the last. */
	readonly #organizations = new Set<string>();
	/** True while the run only waits. */
	isWaiting = false;
	/** Called at each change of `isWaiting`. */
	onWaiting: () => void = () => undefined;
	/** True once the thread must not be used again. */
	isGone = false;
	readonly ready: Promise<void>;
	readonly #worker: Worker;
	readonly #control = new Int32Array(new SharedArrayBuffer(CONTROL.bytes));
	#onMessage: (message: FromThread) => void = () => undefined;
	#onExit: () => void = () => undefined;

	constructor(module: WebAssembly.Module) {
		this.setPart(1);
		const workerData: ThreadData = { module, control: this.#control.buffer, compileCache: compileCacheFolder() };
		const alone = { env: {}, argv: [], execArgv: [], stdin: false, stdout: true, stderr: true };
		this.#worker = new Worker(SCRIPT, { ...alone, workerData, resourceLimits: RESOURCE_LIMITS });
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		this.ready = promise;
		this.#worker.on('message', (message: FromThread) => (message.type === 'ready' ? resolve() : this.#onMessage(message)));
		this.#worker.on('error', reject);
		this.#worker.on('exit', () => {
			this.isGone = true;
			reject(new Error('The thread ended before it began.'));
			this.#onExit();
		});
		// Prevents an unhandled rejection if nobody awaits `ready`.
		this.ready.catch(() => undefined);
	}

	/** Sets the part of a core's time that the run may have. */
	setPart(part: number): void {
		Atomics.store(this.#control, CONTROL.part, Math.max(1, Math.round(part * WHOLE_CORE)));
	}

	/** Lets the process end while the thread is idle. */
	unref(): void {
		this.#worker.unref();
	}

	/** Whether it worked for the organization lately, so that it need not start an instance of the engine. */
	knows(organization: string): boolean {
		return this.#organizations.has(organization);
	}

	async run(task: RunTask, limits: RunLimits): Promise<Ended> {
		this.#note(task.organization);
		// The controller is made lazily: most runs make no request, and aborting costs more than all else that is done here for a run.
		const requests: { controller?: AbortController } = {};
		try {
			return await this.#work({ type: 'run', task }, limits, (asked) => {
				const { id } = asked;
				requests.controller ??= new AbortController();
				const { signal } = requests.controller;
				// An answer that arrives after the run must not reach the next one.
				const answer = (given: HostAnswer): void => {
					if (!signal.aborted) this.#post({ type: 'answer', id, answer: given }, 'body' in given ? [given.body.buffer] : []);
				};
				const answering =
					asked.type === 'request' ? limits.request(asked.request, signal) : limits.call?.(asked.name, asked.argument, signal);
				if (answering) answering.then(answer, () => answer({ fault: 'The request failed.' }));
			});
		} finally {
			requests.controller?.abort();
		}
	}

	check(task: CheckTask, limits: Pick<RunLimits, 'timeoutMs' | 'signal'>): Promise<Ended> {
		this.#note(task.organization);
		return this.#work({ type: 'check', task }, limits, () => undefined);
	}

	kill(): void {
		this.isGone = true;
		void endThread(this.#worker);
	}

	/** Runs one job, and settles soon after the deadline at the latest. */
	async #work(
		job: Job,
		{ timeoutMs, signal, progress }: Pick<RunLimits, 'timeoutMs' | 'signal' | 'progress'>,
		onAsked: (asked: HostCall) => void,
	): Promise<Ended> {
		const { promise, resolve } = Promise.withResolvers<Ended>();
		const started = performance.now();
		const killed = (ending: Ended['ending']): void => resolve({ ending, logs: [], isHeavy: true, computedMs: performance.now() - started });
		let wish: 'late' | 'cancelled' | null = null;
		let grace: NodeJS.Timeout | undefined;
		const wishEnd = (why: 'late' | 'cancelled'): void => {
			if (wish !== null) return;
			wish = why;
			Atomics.store(this.#control, CONTROL.stop, 1);
			Atomics.notify(this.#control, CONTROL.stop);
			this.#post({ type: 'stop' });
			grace = setTimeout(() => {
				this.kill();
				killed({ type: why });
			}, GRACE_MS);
		};
		const leave = (): void => wishEnd('cancelled');
		const deadline = setTimeout(() => wishEnd('late'), timeoutMs);
		signal.addEventListener('abort', leave, { once: true });
		this.#onMessage = (message) => {
			if (message.type === 'request' || message.type === 'call') onAsked(message);
			if (message.type === 'progress') progress?.(message.progress);
			if (message.type === 'waiting') this.#wait(message.isWaiting);
			if (message.type !== 'ended') return;
			if (message.isUnsound) this.kill();
			const { ending, logs, isHeavy, computedMs } = message;
			resolve({ ending: ending.type === 'stopped' && wish ? { type: wish } : ending, logs, isHeavy, computedMs });
		};
		this.#onExit = () => killed({ type: wish ?? 'broken' });
		Atomics.store(this.#control, CONTROL.stop, 0);
		this.isWaiting = false;
		this.#worker.ref();
		this.#post(job);
		if (signal.aborted) leave();
		try {
			return await promise;
		} finally {
			clearTimeout(deadline);
			clearTimeout(grace);
			signal.removeEventListener('abort', leave);
			this.#onMessage = () => undefined;
			this.#onExit = () => undefined;
			this.#worker.unref();
		}
	}

	#note(organization: string): void {
		this.#organizations.delete(organization);
		this.#organizations.add(organization);
		for (const oldest of this.#organizations) {
			if (this.#organizations.size <= KEPT_INSTANCES) return;
			this.#organizations.delete(oldest);
		}
	}

	#wait(isWaiting: boolean): void {
		this.isWaiting = isWaiting;
		this.onWaiting();
	}

	#post(message: ToThread, moved: ArrayBuffer[] = []): void {
		this.#worker.postMessage(message, moved);
		Atomics.add(this.#control, CONTROL.posted, 1);
		Atomics.notify(this.#control, CONTROL.posted);
	}
}
