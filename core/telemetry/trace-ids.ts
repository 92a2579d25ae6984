// The ids of traces and spans: random, and drawn for many at once, as is whether a trace is sampled. Done for each request, between other work, it
// takes several times as long.

import { randomBytes } from 'node:crypto';
import type { SpanContext, TraceFlags } from '@opentelemetry/api';

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

/** The number of contexts that are made at once. */
const ROOTS = 170;

/** The contexts of requests that begin a trace. */
export class Roots {
	readonly #ids: Ids;
	readonly #flagsOf: (traceId: string) => TraceFlags;
	readonly #made: SpanContext[] = [];

	constructor(ids: Ids, flagsOf: (traceId: string) => TraceFlags) {
		this.#ids = ids;
		this.#flagsOf = flagsOf;
	}

	next(): SpanContext {
		return this.#made.pop() ?? this.#make();
	}

	#make(): SpanContext {
		for (let at = 1; at < ROOTS; at++) this.#made.push(this.#root());
		return this.#root();
	}

	#root(): SpanContext {
		const traceId = this.#ids.trace();
		return { traceId, spanId: this.#ids.span(), traceFlags: this.#flagsOf(traceId) };
	}
}
