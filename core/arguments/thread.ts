// A checking thread, seen from the main thread: it gets one task at a time, and is killed when it computes for too long.

import { Worker } from 'node:worker_threads';
import { endThread } from '../process/end-thread.ts';
import type { CheckAnswer, CheckTask, FromThread, ThreadData } from './messages.ts';

const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 16, stackSizeMb: 8 };
const LOOK_EVERY_MS = 250;
/** Limit of wall-clock time, for a machine that gives the thread no CPU; a twelfth of a core is enough to pass. */
const MAX_PASSED_MS = 60_000;

export type CheckPhase = 'compiling' | 'checking';

/**
 * Limits of CPU time, in milliseconds, which do not depend on how busy the machine is. The size of a schema is limited before it is
 * compiled, to what takes about a second; a machine that is slower must not refuse what another one has accepted.
 */
export const MAX_COMPUTED_MS: Readonly<Record<CheckPhase, number>> = { compiling: 5000, checking: 1000 };

/** `late`: the phase took more than its CPU time. `broken`: the thread died while running the task. */
export type CheckEnding = CheckAnswer | { type: 'late'; phase: CheckPhase } | { type: 'broken' };

const firstPhaseOf = (task: CheckTask): CheckPhase =>
	task.type === 'redact' || (task.type !== 'admit' && task.schema === null) ? 'checking' : 'compiling';

export class CheckThread {
	/** True once the thread must not be used any more. */
	isGone = false;
	readonly ready: Promise<void>;
	readonly #worker: Worker;
	readonly #maxComputedMs: typeof MAX_COMPUTED_MS;
	#onEnd: (ending: CheckEnding) => void = () => undefined;
	#onCompiled: () => void = () => undefined;

	constructor(workerData: ThreadData, maxComputedMs = MAX_COMPUTED_MS) {
		this.#maxComputedMs = maxComputedMs;
		this.#worker = new Worker(SCRIPT, { workerData, env: {}, argv: [], execArgv: [], resourceLimits: RESOURCE_LIMITS });
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		this.ready = promise;
		this.#worker.on('message', (message: FromThread) => {
			if (message.type === 'ready') resolve();
			else if (message.type === 'compiled') this.#onCompiled();
			else this.#onEnd(message);
		});
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
		const stopLooking = this.#limit(firstPhaseOf(task), resolve);
		this.#worker.postMessage(task);
		try {
			return await promise;
		} finally {
			stopLooking();
			this.#onEnd = () => undefined;
			this.#onCompiled = () => undefined;
			this.#worker.unref();
		}
	}

	kill(): void {
		this.isGone = true;
		void endThread(this.#worker);
	}

	/** Watches the CPU time of each phase. @param first the phase that begins. @returns a function that stops watching */
	#limit(first: CheckPhase, end: (ending: CheckEnding) => void): () => void {
		const started = performance.now();
		let phase = first;
		let before: number | null = null;
		this.#onCompiled = () => {
			phase = 'checking';
			before = null;
		};
		const look = async (): Promise<void> => {
			const asked = phase;
			const computed = await this.#computedMs();
			// A figure that was asked for before the phase began may be of long before.
			if (computed === null || asked !== phase) return;
			before ??= computed;
			if (computed - before < this.#maxComputedMs[phase] && performance.now() - started < MAX_PASSED_MS) return;
			this.kill();
			end({ type: 'late', phase });
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
