// The spans of requests whose trace nobody records: ids that are passed on, and no more. The SDK would make a context, attributes and a span of its
// own for each, and such requests are most where a tenth is sampled.

import type { SpanContext } from '@opentelemetry/api';
import type { MetricName } from './names.ts';
import type { Attributes, Span, SpanDraft, TraceContext } from './spans.ts';

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
	endAs(name: string, attributes: Attributes, error: string | null): void;
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

/** Opens the span of a message that brought a recorded trace of its own; `linked` is the request that carried it. */
export type OpenLinked = (draft: SpanDraft, parent: TraceContext, linked: SpanContext) => Span;

/** The span of a request that begins a trace which is not sampled. */
export class UnsampledSpan extends NoSpan {
	readonly #context: SpanContext;
	readonly #open: OpenLinked;
	/** Written when it is first asked for. */
	#written: TraceContext | null = null;

	constructor(context: SpanContext, measuring: Measuring, open: OpenLinked) {
		super(measuring);
		this.#context = context;
		this.#open = open;
	}

	override get ids(): { traceId: string; spanId: string } {
		const { traceId, spanId } = this.#context;
		return { traceId, spanId };
	}

	override get context(): TraceContext {
		this.#written ??= { traceparent: `00-${this.#context.traceId}-${this.#context.spanId}-00` };
		return this.#written;
	}

	override child(draft: SpanDraft, parent: TraceContext | null): Span {
		return parent ? this.#open(draft, parent, this.#context) : this;
	}
}
