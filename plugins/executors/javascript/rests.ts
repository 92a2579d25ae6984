// Rests of slots: a slot whose run computed for long stays free for a while before the account's next run may take it.

import type { Ended } from './thread.ts';

/** Least rest if a run cost a thread, or tens of megabytes, which cost more than most runs. */
const COOLING_MS = { thread: 1000, memory: 250 };
/**
 * A slot whose run computed for longer than `freeMs` rests for so many times as long, and again for each other account with resting
 * slots: however many runs compute without end, together they take less than half of the cores on average, and leave the rest to those
 * that answer requests.
 */
const REST = { freeMs: 50, times: 4, maxMs: 60_000 };

type Took = Pick<Ended, 'computedMs' | 'isHeavy'>;

export class Rests {
	/** The number of resting slots, by account. */
	readonly #slots = new Map<string, number>();

	/**
	 * Returns how long the slot of a run of the account rests; 0 if it does not.
	 * @param ended null if the run failed
	 * @param thread the run's, which is gone if the run cost it
	 */
	msAfter(account: string, ended: Took | null, { isGone }: { isGone: boolean }): number {
		const { computedMs, isHeavy } = ended ?? { computedMs: 0, isHeavy: false };
		const accounts = this.#slots.size + (this.#slots.has(account) ? 0 : 1);
		const restMs = computedMs > REST.freeMs ? Math.min(REST.times * computedMs * accounts, REST.maxMs) : 0;
		return Math.max(restMs, isHeavy ? COOLING_MS.memory : 0, isGone ? COOLING_MS.thread : 0);
	}

	/** Calls `rested` when a slot of the account has rested for so long. */
	begin(account: string, restMs: number, rested: () => void): void {
		this.#slots.set(account, (this.#slots.get(account) ?? 0) + 1);
		const end = (): void => {
			const others = (this.#slots.get(account) ?? 1) - 1;
			if (others > 0) this.#slots.set(account, others);
			else this.#slots.delete(account);
			rested();
		};
		setTimeout(end, restMs).unref();
	}
}
