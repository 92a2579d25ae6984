// The brake of a run: it checks whether the run must end, and pauses it so that others get their part of the cores.

import { CONTROL, WHOLE_CORE } from './messages.ts';

/** A run pauses at least once in a millisecond of computing, or the main thread would wait for the end of its time slice. */
const [BUSY_MS, LEAST_PAUSE_MS] = [1, 0.1];
/** The longest pause, after a built-in that computed for seconds without a check; its account rests afterwards as well. */
const MOST_PAUSE_MS = 1000;

const cpuMs = (): number => {
	const { user, system } = process.threadCpuUsage();
	return (user + system) / 1000;
};

export class Brake {
	readonly #control: Int32Array;
	/** The thread's CPU time when the last run ended, which is when the next begins: reading it costs more than the thread does between. */
	#endedCpuMs = cpuMs();
	#begunCpuMs = 0;
	#seenCpuMs = 0;
	#pausedAt = 0;

	constructor(control: SharedArrayBuffer) {
		this.#control = new Int32Array(control);
	}

	/** Counts from zero for a run that begins. */
	begin(): void {
		this.#begunCpuMs = this.#endedCpuMs;
		this.#seenCpuMs = this.#endedCpuMs;
		this.#pausedAt = performance.now();
	}

	/** Ends a run. @returns its CPU time in milliseconds */
	end(): number {
		this.#endedCpuMs = cpuMs();
		return this.#endedCpuMs - this.#begunCpuMs;
	}

	/** Says whether the run must end. The engine asks every ten thousand steps. */
	isStopped(): boolean {
		if (performance.now() - this.#pausedAt > BUSY_MS) this.#pause();
		return Atomics.load(this.#control, CONTROL.stop) !== 0;
	}

	#pause(): void {
		const now = cpuMs();
		this.#pausedAt = performance.now();
		// The thread itself was kept waiting, so others had their turn.
		if (now - this.#seenCpuMs < BUSY_MS) return;
		const part = Atomics.load(this.#control, CONTROL.part) / WHOLE_CORE;
		const owedMs = (now - this.#seenCpuMs) * (1 / part - 1);
		// A request to stop wakes this wait.
		Atomics.wait(this.#control, CONTROL.stop, 0, Math.min(Math.max(owedMs, LEAST_PAUSE_MS), MOST_PAUSE_MS));
		this.#seenCpuMs = now;
		this.#pausedAt = performance.now();
	}
}
