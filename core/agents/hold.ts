// The hold of a node on its run: a run leaves its process while all of its nodes wait.

import type { RunContext } from '../runs/context.ts';

/** Keeps the run in the process while a node computes, and lets it leave while the node waits. */
export class Hold {
	readonly #run: RunContext;
	/** Counts what the node used so far: what follows the wait may be another attempt, which does not know of it. */
	count: (() => Promise<void>) | null = null;
	#waits = 0;
	#leave: (() => void) | null;

	constructor(run: RunContext) {
		this.#run = run;
		this.#leave = run.hold();
	}

	/** Settles as `waiting` does; meanwhile the run may leave. */
	async without<T>(waiting: () => Promise<T>): Promise<T> {
		this.#waits++;
		try {
			if (this.#waits === 1) {
				await this.count?.();
				this.#leave?.();
			}
			return await waiting();
		} finally {
			this.#waits--;
			if (this.#waits === 0 && this.#leave) this.#leave = this.#run.hold();
		}
	}

	end(): void {
		this.#leave?.();
		this.#leave = null;
	}
}
