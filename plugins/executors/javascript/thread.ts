// One of the sandbox's threads, from the main thread's side: one run at a time, which is stopped on time, whatever it does.

import { Worker } from 'node:worker_threads';
import type { Ending, FromThread, GuestAnswer, GuestRequest, RunTask, ThreadData, ToThread } from './messages.ts';

const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
/** The engine's heap is WebAssembly's and bounded by itself. V8 counts it, too: beyond half of the old generation it collects all at once. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 640, maxYoungGenerationSizeMb: 16, stackSizeMb: 16 };
/** From the wish that a run ends to the end of its thread. The engine mostly hears the wish within a millisecond. */
const GRACE_MS = 100;

export interface RunLimits {
	timeoutMs: number;
	/** Of who waits for the run. */
	signal: AbortSignal;
	request(request: GuestRequest, signal: AbortSignal): Promise<GuestAnswer>;
}

export interface Ended {
	ending: Ending | { type: 'late' } | { type: 'cancelled' };
	/** Lost where the thread had to be killed. */
	logs: string[];
	/** What it took was given back to the system. */
	isHeavy: boolean;
	/** Of the processor's time; all that passed where the thread had to be killed. */
	computedMs: number;
}

type Job = Extract<ToThread, { type: 'run' | 'check' }>;

export class Thread {
	/** Whose run was the last; its instance of the engine is still there. */
	owner: string | null = null;
	/** True from the moment on when it must not be used again. */
	isGone = false;
	readonly ready: Promise<void>;
	readonly #worker: Worker;
	readonly #stop = new Int32Array(new SharedArrayBuffer(4));
	#onMessage: (message: FromThread) => void = () => undefined;
	#onExit: () => void = () => undefined;

	constructor(module: WebAssembly.Module) {
		const workerData: ThreadData = { module, stop: this.#stop.buffer };
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
		// Whoever waits for it hears of it; nobody may.
		this.ready.catch(() => undefined);
	}

	/** An idle thread does not keep the process. */
	unref(): void {
		this.#worker.unref();
	}

	async run(task: RunTask, limits: RunLimits): Promise<Ended> {
		this.owner = task.owner;
		const requests = new AbortController();
		try {
			return await this.#work({ type: 'run', task }, limits, (id, request) => {
				// What comes when the run is over must not reach the next one.
				const answer = (given: GuestAnswer): void => {
					if (!requests.signal.aborted) this.#post({ type: 'answer', id, answer: given });
				};
				limits.request(request, requests.signal).then(answer, () => answer({ fault: 'The request failed.' }));
			});
		} finally {
			requests.abort();
		}
	}

	check(code: string, limits: Pick<RunLimits, 'timeoutMs' | 'signal'>): Promise<Ended> {
		this.owner = null;
		return this.#work({ type: 'check', code }, limits, () => undefined);
	}

	kill(): void {
		this.isGone = true;
		// That it is gone is all that anybody wants of it.
		this.#worker.terminate().catch(() => undefined);
	}

	/** Settles soon after the deadline at the latest. */
	async #work(
		job: Job,
		{ timeoutMs, signal }: Pick<RunLimits, 'timeoutMs' | 'signal'>,
		onRequest: (id: string, request: GuestRequest) => void,
	): Promise<Ended> {
		const { promise, resolve } = Promise.withResolvers<Ended>();
		const started = performance.now();
		const killed = (ending: Ended['ending']): void => resolve({ ending, logs: [], isHeavy: true, computedMs: performance.now() - started });
		let wish: 'late' | 'cancelled' | null = null;
		let grace: NodeJS.Timeout | undefined;
		const wishEnd = (why: 'late' | 'cancelled'): void => {
			if (wish !== null) return;
			wish = why;
			Atomics.store(this.#stop, 0, 1);
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
			if (message.type === 'request') onRequest(message.id, message.request);
			if (message.type !== 'ended') return;
			if (message.isUnsound) this.kill();
			const { ending, logs, isHeavy, computedMs } = message;
			resolve({ ending: ending.type === 'stopped' && wish ? { type: wish } : ending, logs, isHeavy, computedMs });
		};
		this.#onExit = () => killed({ type: wish ?? 'broken' });
		Atomics.store(this.#stop, 0, 0);
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

	#post(message: ToThread): void {
		this.#worker.postMessage(message);
	}
}
