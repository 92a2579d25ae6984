// The span around the current work, as the rest of the service sees it: nothing of OpenTelemetry is loaded by this file, and while telemetry is
// off there is never a span, so each use costs one look.

import { asGatewayError } from '../contract/errors.ts';
import { around, runWith } from '../process/around.ts';
import type { ATTRIBUTES, MetricName } from './names.ts';

type Value = string | number | boolean | string[];

/** Attributes under the names that the conventions give them: the labels of metrics. */
export type Attributes = Record<string, Value>;

/** Attributes of a span under their keys in `ATTRIBUTES`: they get their names when they are sent, and those without a value are left out. */
export type SpanAttributes = Partial<Record<keyof typeof ATTRIBUTES, Value | undefined>>;

/** W3C Trace Context (https://www.w3.org/TR/trace-context/), as headers, members of `_meta`, or stored with a run. */
export interface TraceContext {
	traceparent: string;
	tracestate?: string;
}

export interface SpanDraft {
	name: string;
	kind?: 'internal' | 'server' | 'client';
	/** Themselves, or a function that returns them when they are sent: it must refer to little, since the span is kept until then. */
	attributes?: SpanAttributes | (() => SpanAttributes);
	/** The tool whose run it tells, too. */
	tool?: string;
}

export interface SpanIds {
	traceId: string;
	spanId: string;
	/** The flags as a `traceparent` has them, of which `01` says that the trace is sampled. */
	traceFlags: string;
}

export interface Span {
	/** False in a trace that is not sampled: its spans need no attributes and no children. */
	readonly isRecorded: boolean;
	/** The ids of the trace and of the span, and the flags of the trace; null when traces are off. */
	readonly ids: SpanIds | null;
	/** The context for messages to others; null when traces are off. */
	readonly context: TraceContext | null;
	/** The tool whose run it tells, until that has begun: one that the tool calls itself is another. */
	tool: string | null;
	child(draft: SpanDraft, parent: TraceContext | null): Span;
	set(attributes: SpanAttributes): void;
	/** Names the route of the request, which the span of the request and its metric tell. */
	route(path: string): void;
	/** Marks it as failed, once: whoever is nearest to the fault knows its name. @param type a code or a word, never a message */
	fail(type: string): void;
	/** Whether `measure` is heard. */
	readonly isMeasured: boolean;
	/** Adds to a metric. Values of labels are bounded by the caller. */
	measure(metric: MetricName, value: number, labels: Attributes): void;
	end(): void;
}

/** Returns the span around the current work; undefined without telemetry, and outside of requests and runs. Nobody else puts anything there. */
export const activeSpan = (): Span | undefined => around().span as Span | undefined;

/** Runs work with `span` around it. */
export const within = <T>(span: Span, work: () => T): T => runWith({ deadline: around().deadline, span }, work);

/** Runs work that belongs to no span, whoever happened to begin it. */
export const apart = <T>(work: () => T): T => runWith({ deadline: around().deadline }, work);

/**
 * Runs work in a span of its own, if its trace is recorded. The error that it throws is told by its code.
 * @param parent a context that a message brought: it is the parent, and the span around is linked
 */
export function spanned<T>(
	draft: () => SpanDraft,
	work: (span: Span | null) => Promise<T>,
	parent: TraceContext | null = null,
): Promise<T> {
	const span = begin(draft, parent);
	// Most work is in no span.
	return span ? workIn(span, work) : work(null);
}

function workIn<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
	return ended(
		() => within(span, () => work(span)),
		() => span.end(),
		(thrown) => {
			span.fail(errorTypeOf(thrown));
			span.end();
		},
	);
}

/**
 * Returns the very promise of `work`, of whose end it hears first. One around it would cost more, and let what follows wait for some steps.
 * @param done is called with the result, and `failed` with what was thrown; neither may throw
 */
export function ended<T>(work: () => Promise<T>, done: (result: T) => void, failed: (thrown: unknown) => void): Promise<T> {
	try {
		const working = work();
		working.then(done, failed);
		return working;
	} catch (thrown) {
		failed(thrown);
		throw thrown;
	}
}

/** Reads an answer piece by piece in a span of its own, if its trace is recorded: the span ends with the last piece, or with the reader. */
export async function* spannedStream<T>(draft: () => SpanDraft, work: (span: Span | null) => AsyncIterable<T>): AsyncGenerator<T> {
	const span = begin(draft, null);
	if (!span) return yield* work(null);
	const pieces = within(span, () => work(span)[Symbol.asyncIterator]());
	try {
		for (;;) {
			const next = await within(span, () => pieces.next());
			if (next.done) return;
			yield next.value;
		}
	} catch (thrown) {
		span.fail(errorTypeOf(thrown));
		throw thrown;
	} finally {
		await within(span, () => pieces.return?.());
		span.end();
	}
}

/** A message may bring a trace that is recorded, inside of a request whose own is not. */
function begin(draft: () => SpanDraft, parent: TraceContext | null): Span | null {
	const outer = activeSpan();
	return outer && (outer.isRecorded || parent) ? outer.child(draft(), parent) : null;
}

/** Returns the context of the span around, for messages to others; null without telemetry. */
export const traceContext = (): TraceContext | null => activeSpan()?.context ?? null;

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/;
const TRACESTATE_LENGTH = 512;

/** Returns the id of the trace that a header names; null for none. */
export const traceIdOf = (traceparent: unknown): string | null =>
	(typeof traceparent === 'string' && traceparent.length <= 256 && TRACEPARENT.exec(traceparent)?.[1]) || null;

/** Reads the context that headers or `_meta` bring; null for none, and for one that is not valid. */
export function contextOf({ traceparent, tracestate }: { traceparent?: unknown; tracestate?: unknown }): TraceContext | null {
	if (typeof traceparent !== 'string' || traceIdOf(traceparent) === null) return null;
	const isFit = typeof tracestate === 'string' && tracestate.length <= TRACESTATE_LENGTH && /^[\x20-\x7e]+$/.test(tracestate);
	return isFit ? { traceparent, tracestate } : { traceparent };
}

/** Returns the word for an error: its code, never its message, which may hold what a tenant sent. */
export const errorTypeOf = (thrown: unknown): string => asGatewayError(thrown)?.code ?? 'internal';
