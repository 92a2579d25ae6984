// A checking thread, seen from the main thread: it gets one task at a time, and is killed when it computes for too long.

import { Worker } from 'node:worker_threads';
import { endThread } from '../process/end-thread.ts';
import type { CheckAnswer, CheckTask, FromThread, ThreadData } from './messages.ts';

const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 16, stackSizeMb: 8 };
/** Limit of CPU time, which does not depend on how busy the machine is. */
const MAX_COMPUTED_MS = 1000;
const LOOK_EVERY_MS = 250;
/** Limit of wall-clock time, for a machine that gives the thread no CPU; a sixtieth of a core is enough to pass. */
const MAX_PASSED_MS = 60_000;

/** `late`: the task took more than a second of CPU time. `broken`: the thread died while running it. */
export type CheckEnding = CheckAnswer | { type: 'late' } | { type: 'broken' };

export class CheckThread {
	/** True once the thread must not be used any more. */
	isGone = false;
	readonly ready: Promise<void>;
	readonly #worker: Worker;
	#onEnd: (ending: CheckEnding) => void = () => undefined;

	constructor(workerData: ThreadData) {
		this.#worker = new Worker(SCRIPT, { workerData, env: {}, argv: [], execArgv: [], resourceLimits: RESOURCE_LIMITS });
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		this.ready = promise;
		this.#worker.on('message', (message: FromThread) => (message.type === 'ready' ? resolve() : this.#onEnd(message)));
		// The exit event that follows rejects the waiting task.
		this.#worker.on('error', reject);
		this.#worker.on('exit', () => {
			this.isGone = true;
			reject(new Error('A checking thread ended before it began.'));
			this.#onEnd({ type: 'broken' });
		});
		// Callers that await `ready` see the error; there may be none.
		this.ready.catch(() => undefined);
	}

	/** An idle thread does not keep the process alive. */
	unref(): void {
		this.#worker.unref();
	}

	async run(task: CheckTask): Promise<CheckEnding> {
		if (this.isGone) return { type: 'crashed', stack: 'it is gone.' };
		const { promise, resolve } = Promise.withResolvers<CheckEnding>();
		this.#onEnd = resolve;
		this.#worker.ref();
		const stopLooking = this.#limit(resolve);
		this.#worker.postMessage(task);
		try {
			return await promise;
		} finally {
			stopLooking();
			this.#onEnd = () => undefined;
			this.#worker.unref();
		}
	}

	kill(): void {
		this.isGone = true;
		void endThread(this.#worker);
	}

	/** Watches the CPU time. @returns a function that stops watching */
	#limit(end: (ending: CheckEnding) => void): () => void {
		const started = performance.now();
		let before: number | null = null;
		const look = async (): Promise<void> => {
			const computed = await this.#computedMs();
			if (computed === null) return;
			before ??= computed;
			if (computed - before < MAX_COMPUTED_MS && performance.now() - started < MAX_PASSED_MS) return;
			this.kill();
			end({ type: 'late' });
		};
		void look();
		const timer = setInterval(() => void look(), LOOK_EVERY_MS);
		return () => clearInterval(timer);
	}

	/** Returns null when the thread has ended. */
	async #computedMs(): Promise<number | null> {
		try {
			const { user, system } = await this.#worker.cpuUsage();
			return (user + system) / 1000;
		} catch {
			return null;
		}
	}
}
