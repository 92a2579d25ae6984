// The spans of requests whose trace nobody records: ids that are passed on, and no more. They are most where a tenth is sampled.

import { type SpanContext, TraceFlags } from '@opentelemetry/api';
import type { MetricName } from './names.ts';
import type { SpanParts } from './recorded.ts';
import type { Attributes, Span, SpanAttributes, SpanDraft, SpanIds, TraceContext } from './spans.ts';

type Measure = (metric: MetricName, value: number, labels: Attributes) => void;

/** The receiver of measures. */
export interface Measuring {
	isMeasured: boolean;
	measure: Measure;
}

/** The span of a request, which is named at its end. */
export interface RootSpan extends Span {
	/** The route that it was told; null for none. */
	routed: string | null;
	endAs(name: string, attributes: SpanAttributes, error: string | null): void;
}

/** Only metrics: requests carry a span that is none, for the sake of `measure`. */
export class NoSpan implements RootSpan {
	readonly isRecorded = false;
	readonly isMeasured: boolean;
	readonly measure: Measure;
	readonly tool = null;
	routed: string | null = null;

	constructor({ isMeasured, measure }: Measuring) {
		this.isMeasured = isMeasured;
		this.measure = measure;
	}

	get ids(): Span['ids'] {
		return null;
	}

	get context(): TraceContext | null {
		return null;
	}

	child(_draft: SpanDraft, _parent: TraceContext | null): Span {
		return this;
	}

	route(path: string): void {
		this.routed = path;
	}

	set(): void {}

	fail(): void {}

	end(): void {}

	endAs(): void {}
}

/** Opens the span of a message that brought a trace of its own; `linked` is the span of its carrier. */
export type OpenBrought = (parts: SpanParts, draft: SpanDraft, parent: TraceContext, linked: SpanContext) => RootSpan;

/** The span of a request or a run whose trace is not recorded. */
export class UnsampledSpan extends NoSpan {
	readonly #own: SpanContext;
	readonly #parts: SpanParts;
	/** Written when it is first asked for. */
	#written: TraceContext | null = null;

	constructor(own: SpanContext, parts: SpanParts) {
		super(parts.measuring);
		this.#own = own;
		this.#parts = parts;
	}

	override get ids(): SpanIds {
		return idsOf(this.#own);
	}

	override get context(): TraceContext {
		this.#written ??= written(this.#own);
		return this.#written;
	}

	override child(draft: SpanDraft, parent: TraceContext | null): Span {
		return parent ? this.#parts.openBrought(this.#parts, draft, parent, this.#own) : this;
	}
}

/** Returns the ids of a span as lines of the log tell them. */
export const idsOf = ({ traceId, spanId, traceFlags }: SpanContext): SpanIds => ({ traceId, spanId, traceFlags: flagsOf(traceFlags) });

const flagsOf = (flags: number): string => (flags & TraceFlags.SAMPLED ? '01' : '00');

/** Writes a context for messages to others. */
export function written({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
	const traceparent = `00-${traceId}-${spanId}-${flagsOf(traceFlags)}`;
	return traceState ? { traceparent, tracestate: traceState.serialize() } : { traceparent };
}
