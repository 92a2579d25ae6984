// A checking thread, from the main thread's side: one task at a time, ended when it computes for too long.

import { Worker } from 'node:worker_threads';
import type { CheckAnswer, CheckTask, FromThread, ThreadData } from './messages.ts';

const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 16, stackSizeMb: 8 };
/** A second of the processor's time, however busy the machine is. */
const MAX_COMPUTED_MS = 1000;
const LOOK_EVERY_MS = 250;
/** A machine that gives a thread a tenth of a core is told apart from one that gives it none. */
const MAX_PASSED_MS = 10_000;

/** `late`: it took longer than a second to compute. `broken`: the thread died of it. */
export type CheckEnding = CheckAnswer | { type: 'late' } | { type: 'broken' };

export class CheckThread {
	/** True from the moment on when it must not be used again. */
	isGone = false;
	readonly ready: Promise<void>;
	readonly #worker: Worker;
	#onEnd: (ending: CheckEnding) => void = () => undefined;

	constructor(workerData: ThreadData) {
		this.#worker = new Worker(SCRIPT, { workerData, env: {}, argv: [], execArgv: [], resourceLimits: RESOURCE_LIMITS });
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		this.ready = promise;
		this.#worker.on('message', (message: FromThread) => (message.type === 'ready' ? resolve() : this.#onEnd(message)));
		// The exit that follows tells who waits.
		this.#worker.on('error', reject);
		this.#worker.on('exit', () => {
			this.isGone = true;
			reject(new Error('A checking thread ended before it began.'));
			this.#onEnd({ type: 'broken' });
		});
		// Whoever waits for it hears of it; nobody may.
		this.ready.catch(() => undefined);
	}

	/** An idle thread does not keep the process. */
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
		// That it is gone is all that anybody wants of it.
		this.#worker.terminate().catch(() => undefined);
	}

	/** @returns what ends the looking */
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

	/** Null when it has ended. */
	async #computedMs(): Promise<number | null> {
		try {
			const { user, system } = await this.#worker.cpuUsage();
			return (user + system) / 1000;
		} catch {
			return null;
		}
	}
}
