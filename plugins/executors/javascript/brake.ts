// The brake of a run: it checks whether the run must end, and pauses it so that others get their part of the cores.

import { CONTROL, WHOLE_CORE } from './messages.ts';

/** A run pauses at least once a millisecond, or the main thread would wait for the end of its time slice. */
const [BUSY_MS, LEAST_PAUSE_MS] = [1, 0.1];
/** The longest pause, after a built-in that computed for seconds without a check; its account rests afterwards as well. */
const MOST_PAUSE_MS = 1000;

const cpuMs = (): number => {
	const { user, system } = process.threadCpuUsage();
	return (user + system) / 1000;
};

export class Brake {
	readonly #control: Int32Array;
	#begunCpuMs = 0;
	#seenCpuMs = 0;
	#pausedAt = 0;

	constructor(control: SharedArrayBuffer) {
		this.#control = new Int32Array(control);
	}

	/** Counts from zero for a run that begins. */
	begin(): void {
		this.#begunCpuMs = cpuMs();
		this.#seenCpuMs = this.#begunCpuMs;
		this.#pausedAt = performance.now();
	}

	/** CPU time since the run began, in milliseconds. */
	computedMs(): number {
		return cpuMs() - this.#begunCpuMs;
	}

	/** Says whether the run must end. The engine asks every ten thousand steps. */
	isStopped(): boolean {
		if (performance.now() - this.#pausedAt > BUSY_MS) this.#pause();
		return Atomics.load(this.#control, CONTROL.stop) !== 0;
	}

	#pause(): void {
		const now = cpuMs();
		const part = Atomics.load(this.#control, CONTROL.part) / WHOLE_CORE;
		const owedMs = (now - this.#seenCpuMs) * (1 / part - 1);
		// A request to stop wakes this wait.
		Atomics.wait(this.#control, CONTROL.stop, 0, Math.min(Math.max(owedMs, LEAST_PAUSE_MS), MOST_PAUSE_MS));
		this.#seenCpuMs = now;
		this.#pausedAt = performance.now();
	}
}
