// The ids of traces and spans: random, and drawn for many at once.

import { randomBytes } from 'node:crypto';

/** The random bytes that are drawn at once: those of 170 requests. */
const DRAWN_BYTES = 4080;

export class Ids {
	#hex = '';
	#at = 0;

	trace(): string {
		return this.#take(32);
	}

	span(): string {
		return this.#take(16);
	}

	#take(length: number): string {
		if (this.#at + length > this.#hex.length) {
			this.#hex = randomBytes(DRAWN_BYTES).toString('hex');
			this.#at = 0;
		}
		const from = this.#at;
		this.#at += length;
		return this.#hex.slice(from, this.#at);
	}
}
