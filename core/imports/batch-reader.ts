// Reads the batches of a worker from its pipe into one memory, which is not taken anew for each: what is read in pieces and joined waits for a
// collection, and a large import is hundreds of megabytes.

import type { Readable } from 'node:stream';

const FIRST_BYTES = 1024 * 1024;
/** A batch is at most half a mebibyte and one operation more, of up to three bytes a character. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Thrown when a worker sends more than a batch has. */
const TOO_LARGE = 'The worker sent more than a batch.';

/**
 * Gives back the memory of a piece at once: V8 collects all garbage after so many megabytes outside of its heap, each time for some 25 ms, and a large
 * import had fifty of these.
 */
function release({ buffer, byteLength }: Buffer): void {
	// A piece that shares its memory with others is left to the collection.
	if (buffer.byteLength === byteLength) (buffer as ArrayBuffer).transfer(0);
}

export class BatchReader implements Disposable {
	readonly #pipe: Readable | null;
	#memory = Buffer.allocUnsafeSlow(FIRST_BYTES);
	#sizeBytes = 0;
	#error: Error | null = null;
	#waiting: { sizeBytes: number; resolve(): void; reject(error: Error): void } | null = null;

	/** @param pipe of the worker, which sends the next batch once it was told that the last one is written; null: it could not be started */
	constructor(pipe: Readable | null) {
		this.#pipe = pipe;
		pipe?.on('data', this.#add).on('close', this.#end);
	}

	[Symbol.dispose](): void {
		this.#pipe?.off('data', this.#add).off('close', this.#end);
	}

	/**
	 * Returns the bytes of the batch that was announced, which stay as they are until the next call. @throws Error when the worker has ended, or has
	 * sent more than that
	 */
	async take(sizeBytes: number): Promise<Uint8Array> {
		if (this.#sizeBytes < sizeBytes && this.#error === null)
			await new Promise<void>((resolve, reject) => {
				this.#waiting = { sizeBytes, resolve, reject };
			});
		if (this.#sizeBytes > sizeBytes) throw new Error(TOO_LARGE);
		if (this.#sizeBytes < sizeBytes) throw this.#error ?? new Error(TOO_LARGE);
		this.#sizeBytes = 0;
		return this.#memory.subarray(0, sizeBytes);
	}

	readonly #end = (): void => this.#fail(new Error('The worker has closed its pipe.'));

	readonly #add = (piece: Buffer): void => {
		const needed = this.#sizeBytes + piece.length;
		if (needed > MAX_BYTES) {
			this.#fail(new Error(TOO_LARGE));
			return;
		}
		if (needed > this.#memory.length) this.#grow(needed);
		piece.copy(this.#memory, this.#sizeBytes);
		release(piece);
		this.#sizeBytes = needed;
		const { sizeBytes, resolve } = this.#waiting ?? {};
		if (sizeBytes === undefined || needed < sizeBytes) return;
		this.#waiting = null;
		resolve?.();
	};

	#grow(needed: number): void {
		const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#memory.length));
		this.#memory.copy(larger, 0, 0, this.#sizeBytes);
		this.#memory = larger;
	}

	#fail(error: Error): void {
		this.#error ??= error;
		this.#waiting?.reject(this.#error);
		this.#waiting = null;
	}
}
