// Traces with the official SDK: its samplers, its batches, its exporters. Spans pass from call to call by `spans.ts`, not by the SDK's own context.

import { createHash } from 'node:crypto';
import { createTraceState, ROOT_CONTEXT, type SpanContext, SpanKind, TraceFlags } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
	AlwaysOffSampler,
	AlwaysOnSampler,
	BatchSpanProcessor,
	type Sampler,
	SamplingDecision,
	TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import { spansTo } from './otlp/exporters.ts';
import { RecordedSpan, type SpanParts } from './recorded.ts';
import { errorTypeOf, type SpanDraft, type TraceContext, within } from './spans.ts';
import type { TracedRun } from './telemetry.ts';
import { Ids, Roots } from './trace-ids.ts';
import { type Measuring, NoSpan, type RootSpan, UnsampledSpan } from './unsampled.ts';
import type { OtlpConfig } from './variables.ts';

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
	const processor = new BatchSpanProcessor({ exporter: spansTo(otlp.traces, otlp) });
	const sampler = samplerOf(otlp);
	const isParentBased = otlp.sampler.startsWith('parentbased_');
	const ids = new Ids();
	const flagsOf = (traceId: string): TraceFlags => (isRecordedBy(sampler, traceId) ? TraceFlags.SAMPLED : TraceFlags.NONE);
	const roots = new Roots(ids, flagsOf);
	const continued = ({ traceId, traceFlags, traceState }: SpanContext): SpanContext => {
		const own: SpanContext = { traceId, spanId: ids.span(), traceFlags: isParentBased ? traceFlags : flagsOf(traceId) };
		if (traceState) own.traceState = traceState;
		return own;
	};
	const opened = (draft: () => SpanDraft, parent: SpanContext | null, linked: SpanContext | null, parts: SpanParts): RootSpan => {
		const own = parent ? continued(parent) : roots.next();
		const isRecorded = own.traceFlags === TraceFlags.SAMPLED;
		return isRecorded ? new RecordedSpan(draft(), { own, parent, linked }, parts) : new UnsampledSpan(own, parts);
	};
	const usual: SpanParts = {
		...{ resource, instrumentationScope: { name: 'gatehouse', version }, ids, measuring, processor },
		openBrought: (parts, draft, parent, linked) => opened(() => draft, contextFrom(parent), linked, parts),
	};
	return {
		begin: (draft, parent) => opened(draft, parent && contextFrom(parent), null, usual),
		async run(run, draft, work) {
			const parent = run.trace ? contextFrom(run.trace) : ownContext(run.id, sampler);
			const open = new Set<RecordedSpan>();
			const span = opened(draft, parent, null, { ...usual, open });
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
		close: () => processor.shutdown(),
	};
}

const withoutTraces = (measuring: Measuring): Traces => ({
	begin: () => new NoSpan(measuring),
	run: (_run, _draft, work) => within(new NoSpan(measuring), work),
	close: async () => undefined,
});

/** @param carrier whose form was checked when it was read */
function contextFrom({ traceparent, tracestate }: TraceContext): SpanContext {
	const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
	const state = tracestate === undefined ? {} : { traceState: createTraceState(tracestate) };
	const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
	return { traceId, spanId, traceFlags, isRemote: true, ...state };
}

/**
 * Returns the context of a run that nothing traced began. It comes from the run's id, so that each attempt on each replica continues the same
 * trace, and agrees whether it is sampled.
 */
function ownContext(runId: string, sampler: Sampler): SpanContext {
	const hash = createHash('sha256').update(runId).digest('hex');
	const [traceId, spanId] = [hash.slice(0, 32), hash.slice(32, 48)];
	return { traceId, spanId, traceFlags: isRecordedBy(sampler, traceId) ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
}

/** Tells whether a trace that begins here is recorded. No sampler of ours looks at more than its id. */
const isRecordedBy = (sampler: Sampler, traceId: string): boolean =>
	sampler.shouldSample(ROOT_CONTEXT, traceId, '', SpanKind.INTERNAL, {}, []).decision === SamplingDecision.RECORD_AND_SAMPLED;

/** Returns the sampler of OTEL_TRACES_SAMPLER that decides about traces which begin here. */
function samplerOf({ sampler, samplerRatio }: OtlpConfig): Sampler {
	if (sampler.endsWith('always_on')) return new AlwaysOnSampler();
	return sampler.endsWith('always_off') ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(samplerRatio);
}
