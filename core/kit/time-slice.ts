// Splits long work on the event loop into slices of a few milliseconds. Decoding a text is such work: in charsets other than UTF-8 it takes far
// longer, and longest for bytes that do not fit.

import { setImmediate as nextTurn } from 'node:timers/promises';

const UTF_8 = 'utf-8';
/** Bytes between two looks at the clock. */
const PART_BYTES = 64 * 1024;

const utf8 = new TextDecoder(UTF_8);

const SLICE_MS = 4;

/** The remaining time of the current slice. */
export class TimeSlice {
	readonly #lengthMs: number;
	#until: number;
	#steps = 0;

	constructor(lengthMs = SLICE_MS) {
		this.#lengthMs = lengthMs;
		this.#until = performance.now() + lengthMs;
	}

	/** Whether the slice is used up. Cheap enough for every small step: it reads the clock at every 64th call only. */
	get isOver(): boolean {
		this.#steps += 1;
		return this.#steps % 64 === 0 && this.isOverNow;
	}

	/** Whether the slice is used up, for steps that can be long themselves. */
	get isOverNow(): boolean {
		return performance.now() > this.#until;
	}

	/** Lets other work run, then starts the next slice. */
	async next(): Promise<void> {
		await nextTurn();
		this.#until = performance.now() + this.#lengthMs;
	}
}

/** Decodes bytes as TextDecoder does, in charsets other than UTF-8 while other work runs. @param charset a name that TextDecoder knows */
export const decodeGradually = (bytes: Uint8Array, charset: string): string | Promise<string> =>
	charset === UTF_8 ? utf8.decode(bytes) : decodeInSlices(bytes, charset);

async function decodeInSlices(bytes: Uint8Array, charset: string): Promise<string> {
	const [decoder, slice] = [new TextDecoder(charset), new TimeSlice()];
	let text = '';
	for (let at = 0; at < bytes.length; at += PART_BYTES) {
		if (slice.isOverNow) await slice.next();
		text += decoder.decode(bytes.subarray(at, at + PART_BYTES), { stream: true });
	}
	return text + decoder.decode();
}
