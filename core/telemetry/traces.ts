// Traces with the official SDK. Spans pass from call to call by `spans.ts`, not by the SDK's own context.

import { createHash } from 'node:crypto';
import {
	type Context,
	createTraceState,
	type Span as OtelSpan,
	ROOT_CONTEXT,
	type SpanContext,
	SpanKind,
	SpanStatusCode,
	TraceFlags,
	type Tracer,
	trace,
} from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
	AlwaysOffSampler,
	AlwaysOnSampler,
	BatchSpanProcessor,
	ParentBasedSampler,
	type Sampler,
	SamplingDecision,
	TraceIdRatioBasedSampler,
	TracerProvider,
} from '@opentelemetry/sdk-trace';
import { spansTo } from './exporters.ts';
import { ATTRIBUTES as A, type MetricName } from './names.ts';
import { type Attributes, errorTypeOf, type SpanDraft, type TraceContext, within } from './spans.ts';
import type { TracedRun } from './telemetry.ts';
import { Ids } from './trace-ids.ts';
import { type Measuring, NoSpan, type OpenLinked, type RootSpan, UnsampledSpan } from './unsampled.ts';
import type { OtlpConfig } from './variables.ts';

const KINDS = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;
/** The most characters of an attribute, and the most attributes of a span: names of tenants are no longer. */
const LIMITS = { attributeValueLengthLimit: 256, attributeCountLimit: 32, linkCountLimit: 4, eventCountLimit: 4 };

export interface Traces {
	/** Begins the span of a request. */
	begin(draft: () => SpanDraft, parent: TraceContext | null): RootSpan;
	run<T>(run: TracedRun, draft: () => SpanDraft, work: () => Promise<T>): Promise<T>;
	close(): Promise<void>;
}

interface TraceParts {
	resource: Resource;
	version: string;
	otlp: OtlpConfig | null;
	measuring: Measuring;
}

export function startTraces({ resource, version, otlp, measuring }: TraceParts): Traces {
	if (!otlp?.traces) return withoutTraces(measuring);
	const exporter = spansTo(otlp.traces, otlp);
	const { sampler, root } = samplersOf(otlp);
	const ids = new Ids();
	const spanProcessors = [new BatchSpanProcessor({ exporter })];
	const provider = new TracerProvider({ resource, sampler, spanLimits: LIMITS, spanProcessors, idGenerator: ids });
	const tracer = provider.getTracer('gatehouse', version);
	const traced = (draft: SpanDraft, parent: Context, open?: Set<TracedSpan>): TracedSpan =>
		new TracedSpan(started(tracer, draft, parent), { tracer, measuring, ...(open && { open }) });
	const linked: OpenLinked = (draft, parent, link) =>
		new TracedSpan(started(tracer, draft, contextFrom(parent), link), { tracer, measuring }, draft.tool);
	return {
		begin(draft, parent) {
			if (parent === null) {
				const traceId = ids.generateTraceId();
				if (!isRecordedBy(root, traceId))
					return new UnsampledSpan({ traceId, spanId: ids.generateSpanId(), traceFlags: TraceFlags.NONE }, measuring, linked);
				ids.hold(traceId);
			}
			return traced(draft(), contextFrom(parent));
		},
		async run(run, draft, work) {
			const parent = run.trace ? contextFrom(run.trace) : ownContext(run.id, root);
			const open = new Set<TracedSpan>();
			const span = traced(draft(), parent, open);
			void run.over?.then(() => {
				for (const left of open) left.end();
			});
			try {
				return await within(span, work);
			} catch (thrown) {
				span.fail(errorTypeOf(thrown));
				throw thrown;
			} finally {
				span.end();
			}
		},
		close: () => provider.shutdown(),
	};
}

const withoutTraces = (measuring: Measuring): Traces => ({
	begin: () => new NoSpan(measuring),
	run: (_run, _draft, work) => within(new NoSpan(measuring), work),
	close: async () => undefined,
});

/** The parts of the spans of a request or a run. */
interface SpanParts {
	tracer: Tracer;
	measuring: Measuring;
	/** The spans of a run that have not ended. */
	open?: Set<TracedSpan>;
}

class TracedSpan implements RootSpan {
	readonly isRecorded: boolean;
	readonly #span: OtelSpan;
	readonly #parts: SpanParts;
	/** Written when it is first asked for. */
	#context: TraceContext | null = null;
	tool: string | null;
	routed: string | null = null;
	#hasFailed = false;

	constructor(span: OtelSpan, parts: SpanParts, tool: string | null = null) {
		parts.open?.add(this);
		this.isRecorded = span.isRecording();
		this.#span = span;
		this.#parts = parts;
		this.tool = tool;
	}

	get ids(): { traceId: string; spanId: string } | null {
		const { traceId, spanId } = this.#span.spanContext();
		return { traceId, spanId };
	}

	get isMeasured(): boolean {
		return this.#parts.measuring.isMeasured;
	}

	get context(): TraceContext {
		this.#context ??= this.#written();
		return this.#context;
	}

	#written(): TraceContext {
		const { traceId, spanId, traceFlags, traceState } = this.#span.spanContext();
		const traceparent = `00-${traceId}-${spanId}-${traceFlags & TraceFlags.SAMPLED ? '01' : '00'}`;
		return traceState ? { traceparent, tracestate: traceState.serialize() } : { traceparent };
	}

	child(draft: SpanDraft, parent: TraceContext | null): TracedSpan {
		const { tracer } = this.#parts;
		const around = parent ? contextFrom(parent) : trace.setSpan(ROOT_CONTEXT, this.#span);
		return new TracedSpan(started(tracer, draft, around, parent ? this.#span.spanContext() : null), this.#parts, draft.tool);
	}

	set(attributes: Attributes): void {
		// Work may go on when the client has left.
		if (this.#span.isRecording()) this.#span.setAttributes(attributes);
	}

	route(path: string): void {
		this.routed = path;
	}

	fail(type: string): void {
		if (this.#hasFailed || !this.#span.isRecording()) return;
		this.#hasFailed = true;
		this.#span.setAttribute(A.errorType, type);
		this.#span.setStatus({ code: SpanStatusCode.ERROR });
	}

	measure(metric: MetricName, value: number, labels: Attributes): void {
		this.#parts.measuring.measure(metric, value, labels);
	}

	end(): void {
		this.#parts.open?.delete(this);
		if (this.#span.isRecording()) this.#span.end();
	}

	endAs(name: string, attributes: Attributes, error: string | null): void {
		if (this.#span.isRecording()) {
			this.#span.updateName(name);
			this.#span.setAttributes(attributes);
			if (error !== null) this.fail(error);
		}
		this.#span.end();
	}
}

/** @param linked the span of the message's carrier, where the message has a parent of its own */
function started(tracer: Tracer, draft: SpanDraft, parent: Context, linked: SpanContext | null = null): OtelSpan {
	const { name, kind = 'internal', attributes } = draft;
	const links = linked ? { links: [{ context: linked }] } : null;
	const span = tracer.startSpan(name, { kind: KINDS[kind], ...links }, parent);
	// No sampler of ours looks at attributes, so a span that is not recorded needs none.
	if (attributes && span.isRecording()) span.setAttributes(attributes);
	return span;
}

/** @param carrier whose form was checked when it was read */
function contextFrom(carrier: TraceContext | null): Context {
	if (carrier === null) return ROOT_CONTEXT;
	const [, traceId = '', spanId = '', flags = ''] = carrier.traceparent.split('-');
	const state = carrier.tracestate === undefined ? {} : { traceState: createTraceState(carrier.tracestate) };
	const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
	return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true, ...state });
}

/**
 * Returns the context of a run that nothing traced began. It comes from the run's id, so that each attempt on each replica continues the same
 * trace, and agrees whether it is sampled.
 */
function ownContext(runId: string, root: Sampler): Context {
	const hash = createHash('sha256').update(runId).digest('hex');
	const [traceId, spanId] = [hash.slice(0, 32), hash.slice(32, 48)];
	const traceFlags = isRecordedBy(root, traceId) ? TraceFlags.SAMPLED : TraceFlags.NONE;
	return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

/** Tells whether a trace that begins here is recorded. No sampler of ours looks at more than its id. */
const isRecordedBy = (root: Sampler, traceId: string): boolean =>
	root.shouldSample(ROOT_CONTEXT, traceId, '', SpanKind.INTERNAL, {}, []).decision === SamplingDecision.RECORD_AND_SAMPLED;

/** Returns the sampler of OTEL_TRACES_SAMPLER, and the part of it that decides about traces which begin here. */
function samplersOf({ sampler: asked, samplerRatio }: OtlpConfig): { sampler: Sampler; root: Sampler } {
	const isParentBased = asked.startsWith('parentbased_');
	const name = isParentBased ? asked.slice('parentbased_'.length) : asked;
	const root =
		name === 'always_on'
			? new AlwaysOnSampler()
			: name === 'always_off'
				? new AlwaysOffSampler()
				: new TraceIdRatioBasedSampler(samplerRatio);
	return { sampler: isParentBased ? new ParentBasedSampler({ root }) : root, root };
}
