// Writes what an attempt has done, as often as it takes: a database that is away for a while costs time, and no finished step.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../contract/nouns.ts';
import type { RunHold, RunQueue, RunSignal } from '../store/store.ts';
import { isOfDatabase, LOST } from './faults.ts';

const RETRY_MS = 250;

export class Keeper {
	readonly #queue: RunQueue;

	constructor(queue: RunQueue) {
		this.#queue = queue;
	}

	/** @throws LOST when this process does not hold the run any more */
	async begin(hold: RunHold, step: Parameters<RunQueue['begin']>[1], signal: AbortSignal): Promise<void> {
		if (!(await persist(signal, () => this.#queue.begin(hold, step)))) throw LOST;
	}

	/** @throws LOST */
	async finish(hold: RunHold, step: Parameters<RunQueue['finish']>[1], signal: AbortSignal): Promise<void> {
		if (!(await persist(signal, () => this.#queue.finish(hold, step)))) throw LOST;
	}

	/** @returns whether the signal is late: none of its name has come. @throws LOST */
	async late(hold: RunHold, name: string, step: Parameters<RunQueue['late']>[2], signal: AbortSignal): Promise<boolean> {
		const how = await persist(signal, () => this.#queue.late(hold, name, step));
		if (!how) throw LOST;
		return how === 'late';
	}

	/** @throws LOST */
	async progress(hold: RunHold, value: Json, signal: AbortSignal): Promise<void> {
		if (!(await persist(signal, () => this.#queue.progress(hold, value)))) throw LOST;
	}

	signals(hold: RunHold, signal: AbortSignal): Promise<RunSignal[]> {
		return persist(signal, () => this.#queue.signals(hold));
	}

	end(hold: RunHold, end: Parameters<RunQueue['end']>[1], signal: AbortSignal): ReturnType<RunQueue['end']> {
		return persist(signal, () => this.#queue.end(hold, end));
	}

	suspend(hold: RunHold, until: Parameters<RunQueue['suspend']>[1], signal: AbortSignal): Promise<boolean> {
		return persist(signal, () => this.#queue.suspend(hold, until));
	}
}

/** Repeats `write` until the database has answered. @param signal ends the repetition */
export async function persist<T>(signal: AbortSignal, write: () => Promise<T>): Promise<T> {
	for (;;) {
		try {
			return await write();
		} catch (error) {
			if (!isOfDatabase(error) || signal.aborted) throw error;
			await sleep(RETRY_MS);
		}
	}
}
