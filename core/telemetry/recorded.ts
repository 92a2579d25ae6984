// The spans of recorded traces, as the SDK's processor and exporters read them. The SDK's own tracer asks its sampler for each span again, cleans
// attributes twice and measures itself: with it, the hooks of a recorded call cost a fifth to a third more.
//
// A span is told as little as possible while its call goes on, and becomes what exporters read when it is sent, with hundreds of others: where one call
// in ten is recorded, the same code between other work takes several times as long.

import { type HrTime, type Link, type SpanContext, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { ATTRIBUTES, type MetricName } from './names.ts';
import type { Attributes, SpanAttributes, SpanDraft, SpanIds, TraceContext } from './spans.ts';
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
	processor: { onEnd(span: RecordedSpan): void };
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

/** The attributes that a span was told, and those that it had been told before. */
interface Told {
	attributes: NonNullable<SpanDraft['attributes']>;
	before: Told | null;
}

export class RecordedSpan implements RootSpan, ReadableSpan {
	readonly isRecorded = true;
	tool: string | null;
	routed: string | null = null;
	name: string;
	status = UNSET;
	ended = false;
	readonly #kind: keyof typeof KINDS;
	readonly #contexts: SpanContexts;
	readonly #parts: SpanParts;
	#told: Told | null;
	readonly #startedMs = Date.now();
	readonly #startedAt = performance.now();
	#durationMs = 0;
	/** Written when it is first asked for. */
	#written: TraceContext | null = null;

	constructor({ name, kind = 'internal', attributes, tool }: SpanDraft, contexts: SpanContexts, parts: SpanParts) {
		parts.open?.add(this);
		this.#contexts = contexts;
		this.#parts = parts;
		this.name = name;
		this.#kind = kind;
		this.tool = tool ?? null;
		this.#told = attributes ? { attributes, before: null } : null;
	}

	get kind(): SpanKind {
		return KINDS[this.#kind];
	}

	get attributes(): Attributes {
		const attributes: Attributes = {};
		// The last value that it was told counts.
		for (let told = this.#told; told !== null; told = told.before) {
			const more = typeof told.attributes === 'function' ? told.attributes() : told.attributes;
			for (const key in more) {
				// Its type has no other keys.
				const value = more[key as keyof SpanAttributes];
				const name = ATTRIBUTES[key as keyof SpanAttributes];
				if (value !== undefined && attributes[name] === undefined) attributes[name] = cut(value);
			}
		}
		return attributes;
	}

	/** Undefined for a root, where the type of the SDK has no member. */
	get parentSpanContext(): SpanContext {
		return (this.#contexts.parent ?? undefined) as SpanContext;
	}

	get links(): Link[] {
		const { linked } = this.#contexts;
		return linked ? [{ context: linked }] : [];
	}

	get events(): [] {
		return [];
	}

	get droppedAttributesCount(): number {
		return 0;
	}

	get droppedEventsCount(): number {
		return 0;
	}

	get droppedLinksCount(): number {
		return 0;
	}

	get startTime(): HrTime {
		return timeOf(this.#startedMs);
	}

	get endTime(): HrTime {
		// The clock of the system may have been set meanwhile.
		return timeOf(this.#startedMs + this.#durationMs);
	}

	get duration(): HrTime {
		const [start, end] = [this.startTime, this.endTime];
		const [seconds, nanos] = [end[0] - start[0], end[1] - start[1]];
		return nanos < 0 ? [seconds - 1, nanos + 1e9] : [seconds, nanos];
	}

	get resource(): ReadableSpan['resource'] {
		return this.#parts.resource;
	}

	get instrumentationScope(): ReadableSpan['instrumentationScope'] {
		return this.#parts.instrumentationScope;
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
		const { traceId, traceFlags, traceState } = own;
		const context: SpanContext = { traceId, spanId: this.#parts.ids.span(), traceFlags, isRemote: false };
		if (traceState) context.traceState = traceState;
		return new RecordedSpan(draft, { own: context, parent: own }, this.#parts);
	}

	set(attributes: SpanAttributes): void {
		// Work may go on when the client has left.
		if (!this.ended) this.#told = { attributes, before: this.#told };
	}

	route(path: string): void {
		this.routed = path;
	}

	fail(type: string): void {
		if (this.ended || this.status === FAILED) return;
		this.set({ errorType: type });
		this.status = FAILED;
	}

	measure(metric: MetricName, value: number, labels: Attributes): void {
		this.#parts.measuring.measure(metric, value, labels);
	}

	end(): void {
		if (this.ended) return;
		this.ended = true;
		this.#durationMs = performance.now() - this.#startedAt;
		this.#parts.open?.delete(this);
		this.#parts.processor.onEnd(this);
	}

	endAs(name: string, attributes: SpanAttributes, error: string | null): void {
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
