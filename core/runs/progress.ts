// The progress that an attempt tells, merged: a program may tell as often as it likes.

import type { Json } from '../contract/nouns.ts';
import { isOfDatabase } from './faults.ts';

/** The least time between two writes of one run. */
const MERGE_MS = 250;

export class ProgressTeller {
	readonly #write: (value: Json) => Promise<void>;
	#told: { value: Json } | null = null;
	#writing: Promise<void> | null = null;
	#failure: { error: unknown } | null = null;
	#timer: NodeJS.Timeout | undefined;
	#lastMs = Number.NEGATIVE_INFINITY;
	#isOver = false;

	constructor(write: (value: Json) => Promise<void>) {
		this.#write = write;
	}

	tell(value: Json): void {
		if (this.#isOver) return;
		this.#told = { value };
		this.#plan();
	}

	/** Writes what is left, and takes no more. @returns what a write threw; null: nothing, or that the database is away */
	async end(): Promise<{ error: unknown } | null> {
		this.#isOver = true;
		clearTimeout(this.#timer);
		await this.#writing;
		await this.#writeTold();
		return this.#failure;
	}

	#plan(): void {
		if (this.#timer || this.#writing || this.#failure || this.#isOver) return;
		const waitMs = Math.max(0, this.#lastMs + MERGE_MS - performance.now());
		this.#timer = setTimeout(() => {
			this.#timer = undefined;
			this.#writing = this.#writeTold().finally(() => {
				this.#writing = null;
				if (this.#told) this.#plan();
			});
		}, waitMs);
	}

	async #writeTold(): Promise<void> {
		const told = this.#told;
		if (!told || this.#failure) return;
		this.#told = null;
		this.#lastMs = performance.now();
		try {
			await this.#write(told.value);
		} catch (error) {
			if (!isOfDatabase(error)) this.#failure = { error };
		}
	}
}
