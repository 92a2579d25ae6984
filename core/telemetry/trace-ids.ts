// The ids of traces and spans: random, and drawn for many at once.

import { randomBytes } from 'node:crypto';
import type { IdGenerator } from '@opentelemetry/sdk-trace';

/** The random bytes that are drawn at once: those of 170 requests. */
const DRAWN_BYTES = 4080;

/** Makes the ids of traces and spans; one that is held is the next trace's. */
export class Ids implements IdGenerator {
	#hex = '';
	#at = 0;
	#held: string | null = null;

	generateTraceId(): string {
		const held = this.#held;
		this.#held = null;
		return held ?? this.#take(32);
	}

	generateSpanId(): string {
		return this.#take(16);
	}

	/** Has the SDK begin its next trace by an id about which a sampler was asked already. */
	hold(traceId: string): void {
		this.#held = traceId;
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
