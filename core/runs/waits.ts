// The waits of one attempt at a run: for signals by their names, and for times.

interface Wait {
	/** Null: it waits for a time only. */
	event: string | null;
	until: Date | null;
	resume(): void;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class Waits {
	readonly #waits = new Set<Wait>();
	#isOver = false;

	get size(): number {
		return this.#waits.size;
	}

	/** The names of the signals that are waited for. */
	get events(): string[] {
		return [...this.#waits].flatMap(({ event }) => event ?? []);
	}

	/** The time at which the first of them is over, in milliseconds; null: none waits for a time. */
	get next(): number | null {
		const times = [...this.#waits].flatMap(({ until }) => (until ? [until.getTime()] : []));
		return times.length > 0 ? Math.min(...times) : null;
	}

	/** Waits until the signal may be there, the time is over, or `given` is aborted; for ever when the attempt ends before. */
	wait(event: string | null, until: Date | null, given?: AbortSignal): Promise<void> {
		if (this.#isOver) return new Promise<never>(() => {});
		const { promise, resolve } = Promise.withResolvers<void>();
		const timer = timerAt(until, () => wait.resume());
		const leave = (): void => wait.resume();
		given?.addEventListener('abort', leave, { once: true });
		const wait: Wait = {
			...{ event, until },
			resume: () => {
				clearTimeout(timer);
				given?.removeEventListener('abort', leave);
				if (this.#waits.delete(wait) && !this.#isOver) resolve();
			},
		};
		this.#waits.add(wait);
		return promise;
	}

	/** Ends the waits for signals that have come. */
	hear(signals: ReadonlyMap<string, unknown>): void {
		for (const wait of this.#waits) if (wait.event !== null && signals.has(wait.event)) wait.resume();
	}

	/** Leaves all waits where they stand, without their timers. */
	end(): void {
		this.#isOver = true;
		for (const { resume } of this.#waits) resume();
	}
}

/** Calls `then` at a time; one that is too far for a timer is called early, and looks at the clock again. */
export function timerAt(at: Date | null, then: () => void): NodeJS.Timeout | undefined {
	return at ? setTimeout(then, Math.min(LONGEST_TIMER_MS, Math.max(0, at.getTime() - Date.now()))) : undefined;
}
