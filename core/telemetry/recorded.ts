// The spans of recorded traces, as the SDK's processor and exporters read them. The SDK's own tracer asks its sampler for each span again, cleans
// attributes twice and measures itself: with it, the hooks of a recorded call cost a fifth to a third more.

import { type HrTime, type Link, type SpanContext, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { ATTRIBUTES as A, type MetricName } from './names.ts';
import type { Attributes, SpanDraft, SpanIds, TraceContext } from './spans.ts';
import type { Ids } from './trace-ids.ts';
import { idsOf, type Measuring, type OpenBrought, type RootSpan, written } from './unsampled.ts';

const KINDS = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;
/** The most characters of an attribute. */
const VALUE_LENGTH = 256;
const [UNSET, FAILED] = [{ code: SpanStatusCode.UNSET }, { code: SpanStatusCode.ERROR }];

/** The parts that the spans of a request or a run have in common. */
export interface SpanParts extends Pick<ReadableSpan, 'resource' | 'instrumentationScope'> {
	ids: Ids;
	measuring: Measuring;
	processor: Pick<SpanProcessor, 'onEnd'>;
	/** The spans of a run that have not ended. */
	open?: Set<RecordedSpan>;
	openBrought: OpenBrought;
}

/** The contexts that a span begins with. */
export interface SpanContexts {
	own: SpanContext;
	parent: SpanContext | null;
	/** The span of the message's carrier, where the message has a parent of its own. */
	linked?: SpanContext | null;
}

export class RecordedSpan implements RootSpan, ReadableSpan {
	readonly isRecorded = true;
	tool: string | null;
	routed: string | null = null;
	name: string;
	readonly kind: SpanKind;
	readonly attributes: Attributes = {};
	readonly links: Link[];
	readonly parentSpanContext?: SpanContext;
	readonly events = [];
	readonly droppedAttributesCount = 0;
	readonly droppedEventsCount = 0;
	readonly droppedLinksCount = 0;
	status = UNSET;
	ended = false;
	startTime: HrTime = [0, 0];
	endTime: HrTime = [0, 0];
	readonly #contexts: SpanContexts;
	readonly #parts: SpanParts;
	readonly #startedMs = Date.now();
	readonly #startedAt = performance.now();
	/** Written when it is first asked for. */
	#written: TraceContext | null = null;

	constructor({ name, kind = 'internal', attributes, tool }: SpanDraft, contexts: SpanContexts, parts: SpanParts) {
		parts.open?.add(this);
		this.#contexts = contexts;
		this.#parts = parts;
		this.name = name;
		this.kind = KINDS[kind];
		this.tool = tool ?? null;
		if (contexts.parent) this.parentSpanContext = contexts.parent;
		this.links = contexts.linked ? [{ context: contexts.linked }] : [];
		if (attributes) this.set(attributes);
	}

	get resource(): ReadableSpan['resource'] {
		return this.#parts.resource;
	}

	get instrumentationScope(): ReadableSpan['instrumentationScope'] {
		return this.#parts.instrumentationScope;
	}

	get duration(): HrTime {
		const [seconds, nanos] = [this.endTime[0] - this.startTime[0], this.endTime[1] - this.startTime[1]];
		return nanos < 0 ? [seconds - 1, nanos + 1e9] : [seconds, nanos];
	}

	spanContext(): SpanContext {
		return this.#contexts.own;
	}

	get ids(): SpanIds {
		return idsOf(this.#contexts.own);
	}

	get isMeasured(): boolean {
		return this.#parts.measuring.isMeasured;
	}

	get context(): TraceContext {
		this.#written ??= written(this.#contexts.own);
		return this.#written;
	}

	child(draft: SpanDraft, parent: TraceContext | null): RootSpan {
		const { own } = this.#contexts;
		if (parent) return this.#parts.openBrought(this.#parts, draft, parent, own);
		return new RecordedSpan(draft, { own: { ...own, spanId: this.#parts.ids.span(), isRemote: false }, parent: own }, this.#parts);
	}

	set(attributes: Attributes): void {
		// Work may go on when the client has left.
		if (this.ended) return;
		for (const name in attributes) this.attributes[name] = cut(attributes[name] ?? '');
	}

	route(path: string): void {
		this.routed = path;
	}

	fail(type: string): void {
		if (this.ended || this.status === FAILED) return;
		this.attributes[A.errorType] = cut(type);
		this.status = FAILED;
	}

	measure(metric: MetricName, value: number, labels: Attributes): void {
		this.#parts.measuring.measure(metric, value, labels);
	}

	end(): void {
		if (this.ended) return;
		this.ended = true;
		this.#parts.open?.delete(this);
		this.startTime = timeOf(this.#startedMs);
		// The clock of the system may be set meanwhile.
		this.endTime = timeOf(this.#startedMs + performance.now() - this.#startedAt);
		this.#parts.processor.onEnd(this);
	}

	endAs(name: string, attributes: Attributes, error: string | null): void {
		if (this.ended) return;
		this.name = name;
		this.set(attributes);
		if (error !== null) this.fail(error);
		this.end();
	}
}

const timeOf = (ms: number): HrTime => [Math.trunc(ms / 1000), Math.round((ms % 1000) * 1e6)];

function cut<V extends Attributes[string]>(value: V): V | string | string[] {
	if (typeof value === 'string') return value.length > VALUE_LENGTH ? value.slice(0, VALUE_LENGTH) : value;
	return Array.isArray(value) ? value.map((each) => each.slice(0, VALUE_LENGTH)) : value;
}
