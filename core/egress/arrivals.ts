// The bytes of an answer between the upstream and their reader: a bounded number of them, since the upstream is paused while nobody reads.

/** The connection is paused while so many bytes, or pieces, wait for the reader. */
const FULL_BYTES = 64 * 1024;
const FULL_PIECES = 256;

/** `whole` after the last byte, else the error that the reader gets. */
export type Ending = 'whole' | Error;

export interface Flow {
	pause(): void;
	resume(): void;
}

export class Arrivals implements AsyncIterableIterator<Uint8Array, undefined> {
	readonly #flow: Flow;
	#pieces: Uint8Array[] = [];
	#sizeBytes = 0;
	#isPaused = false;
	#ending: Ending | null = null;
	readonly #readers: PromiseWithResolvers<IteratorResult<Uint8Array, undefined>>[] = [];

	constructor(flow: Flow) {
		this.#flow = flow;
	}

	push(piece: Uint8Array): void {
		// undici gives one after a pause.
		if (piece.length === 0) return;
		const reader = this.#readers.shift();
		if (reader) {
			reader.resolve({ done: false, value: piece });
			return;
		}
		this.#pieces.push(piece);
		this.#sizeBytes += piece.length;
		if (this.#isPaused || (this.#sizeBytes < FULL_BYTES && this.#pieces.length < FULL_PIECES)) return;
		this.#isPaused = true;
		this.#flow.pause();
	}

	/** Ends after the bytes that have arrived. */
	end(ending: Ending): void {
		this.#ending ??= ending;
		for (const reader of this.#readers.splice(0)) this.#answer().then(reader.resolve, reader.reject);
	}

	/** Ends at once, with this error. */
	break(error: Error): void {
		this.#pieces = [];
		this.#ending = null;
		this.end(error);
	}

	/** Returns all bytes that have arrived, or waits for the next. */
	next(): Promise<IteratorResult<Uint8Array, undefined>> {
		if (this.#pieces.length > 0 || this.#ending !== null) return this.#answer();
		const reader = Promise.withResolvers<IteratorResult<Uint8Array, undefined>>();
		this.#readers.push(reader);
		return reader.promise;
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	async #answer(): Promise<IteratorResult<Uint8Array, undefined>> {
		if (this.#pieces.length > 0) return { done: false, value: this.#take() };
		if (this.#ending instanceof Error) throw this.#ending;
		return { done: true, value: undefined };
	}

	#take(): Uint8Array {
		const [first] = this.#pieces;
		const taken = first && this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces, this.#sizeBytes);
		this.#pieces = [];
		this.#sizeBytes = 0;
		if (this.#isPaused) {
			this.#isPaused = false;
			this.#flow.resume();
		}
		return taken;
	}
}
