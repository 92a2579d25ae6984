// A waiter and those who wake it.

import { raceWith } from '../kit/race.ts';

/** Wakes one waiter; notifications that come before a wait end it at once, together. */
export class Wakeup {
	#isNotified = false;
	#wake: (() => void) | null = null;

	notify(): void {
		this.#isNotified = true;
		this.#wake?.();
	}

	/** Resolves when notified, after the timeout, or when the signal aborts. @returns whether it was notified */
	async wait(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
		if (!this.#isNotified && !signal.aborted) {
			const { promise, resolve } = Promise.withResolvers<void>();
			this.#wake = resolve;
			// Only the signal can reject here.
			await raceWith(signal, promise, { late: { afterMs: timeoutMs, reason: () => null } }).catch(() => undefined);
		}
		const wasNotified = this.#isNotified;
		this.#isNotified = false;
		return wasNotified;
	}
}
