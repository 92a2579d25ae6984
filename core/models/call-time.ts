// The time of one call of a model: until its answer begins, between two signs of life of it, and in all. A long answer is not a late one.

import { GatewayError } from '../contract/errors.ts';
import type { StreamResponse } from '../contract/outbound.ts';

/** The time of a call, with its repetitions, until its answer begins, and of silence after that. */
export const SILENCE_MS = 120_000;
/** The longest time of one call. Runs, nodes and tools have limits of their own, which end a call sooner. */
export const LONGEST_MS = 3_600_000;

export class CallTime {
	/** Aborted with the outer one, and when the time is over. */
	readonly signal: AbortSignal;
	/** The time by `performance.now()` after which no other attempt begins. */
	readonly endsAtMs = performance.now() + SILENCE_MS;
	readonly #over = new AbortController();
	#hasEnded = false;
	readonly #whole = this.#limit(LONGEST_MS, `The model provider took longer than ${LONGEST_MS / 60_000} minutes.`);
	#silence = this.#silent();

	constructor(outer: AbortSignal) {
		this.signal = AbortSignal.any([outer, this.#over.signal]);
	}

	/** Begins the time of silence anew. */
	heard(): void {
		clearTimeout(this.#silence);
		if (!this.#hasEnded) this.#silence = this.#silent();
	}

	/** Hears each part of a body. */
	hearing(body: StreamResponse['body']): StreamResponse['body'] {
		return {
			[Symbol.asyncIterator]: () => {
				const parts = body[Symbol.asyncIterator]();
				const next = async (): Promise<IteratorResult<Uint8Array>> => {
					const part = await parts.next();
					this.heard();
					return part;
				};
				// A generator would leave the body only when the part that it waits for has come.
				return { next, return: async () => (await parts.return?.()) ?? { done: true, value: undefined } };
			},
		};
	}

	end(): void {
		this.#hasEnded = true;
		clearTimeout(this.#silence);
		clearTimeout(this.#whole);
	}

	#silent(): NodeJS.Timeout {
		return this.#limit(SILENCE_MS, `The model provider was silent for ${SILENCE_MS / 1000} s.`);
	}

	#limit(ms: number, message: string): NodeJS.Timeout {
		return setTimeout(() => this.#over.abort(new GatewayError('upstream_timeout', message)), ms);
	}
}
