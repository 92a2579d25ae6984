// Tests of recorded spans: whatever is done to one of ours and to one of the SDK's tracer, exporters read the same.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HrTime, ROOT_CONTEXT, type Span as SdkSpan, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { ATTRIBUTES } from './names.ts';
import { RecordedSpan, type SpanParts } from './recorded.ts';
import type { Attributes, SpanAttributes } from './spans.ts';
import { Ids } from './trace-ids.ts';
import { UnsampledSpan } from './unsampled.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = { traceId: TRACE, spanId: '00f067aa0ba902b7', traceFlags: 1, isRemote: true };
const linked = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 0 };
const LIMITS = { attributeValueLengthLimit: 256, attributeCountLimit: 32, linkCountLimit: 4, eventCountLimit: 4 };
const resource = resourceFromAttributes({ 'service.name': 'gatehouse' });
const measuring = { isMeasured: false, measure: () => undefined };

/** Returns attributes under the names of the conventions. */
const named = (attributes: SpanAttributes): Attributes =>
	Object.fromEntries(Object.entries(attributes).map(([key, value]) => [ATTRIBUTES[key as keyof SpanAttributes], value ?? '']));

/** Starts the span `name` with a parent and a link by each, does the same to both, and returns what exporters read. */
function both(attributes: SpanAttributes, ours: (span: RecordedSpan) => void, sdks: (span: SdkSpan) => void) {
	const ended: ReadableSpan[] = [];
	const parts: SpanParts = {
		...{ resource, instrumentationScope: { name: 'gatehouse', version: '1' }, ids: new Ids(), measuring },
		processor: { onEnd: (span) => void ended.push(span) },
		openBrought: (own) => new UnsampledSpan(linked, own),
	};
	const own = { traceId: TRACE, spanId: 'c'.repeat(16), traceFlags: 1 };
	ours(new RecordedSpan({ name: 'name', kind: 'server', attributes }, { own, parent, linked }, parts));
	const exporter = new InMemorySpanExporter();
	const idGenerator = { generateTraceId: () => TRACE, generateSpanId: () => 'c'.repeat(16) };
	const spanProcessors = [new SimpleSpanProcessor({ exporter })];
	const tracer = new TracerProvider({ resource, spanLimits: LIMITS, spanProcessors, idGenerator }).getTracer('gatehouse', '1');
	const options = { kind: SpanKind.SERVER, attributes: named(attributes), links: [{ context: linked }] };
	sdks(tracer.startSpan('name', options, trace.setSpanContext(ROOT_CONTEXT, parent)));
	return { ended: ended.map(readOf), expected: exporter.getFinishedSpans().map(readOf) };
}

/** Returns all that exporters read but the times. */
function readOf(span: ReadableSpan) {
	const { name, kind, attributes, status, links, events, ended, droppedAttributesCount, droppedEventsCount, droppedLinksCount } = span;
	const { traceId, spanId, traceFlags } = span.spanContext();
	const { name: scope, version } = span.instrumentationScope;
	return {
		...{ name, kind, attributes: { ...attributes }, status: { ...status }, links: links.map(({ context }) => context), events, ended },
		...{ droppedAttributesCount, droppedEventsCount, droppedLinksCount, traceId, spanId, traceFlags, scope, version },
		...{ parent: span.parentSpanContext, resource: span.resource.attributes },
	};
}

test('a span that ends as it began', () => {
	const { ended, expected } = both(
		{ tool: 'a'.repeat(300), finishReasons: ['b'.repeat(300), 'c'], costUsd: 1.5, worker: true },
		(span) => span.end(),
		(span) => span.end(),
	);
	assert.equal(expected.length, 1);
	assert.deepEqual(ended, expected);
});

test('a span that is told more, fails, gets another name, and is left alone after its end', () => {
	const { ended, expected } = both(
		{ runAttempt: 1 },
		(span) => {
			span.set({ runAttempt: 2, node: 'x', nodeType: undefined });
			span.fail('tool_error');
			span.fail('another');
			span.endAs('POST /x', { outcome: 'y' }, '500');
			span.set({ tool: 'late' });
			span.fail('late');
			span.end();
			span.endAs('late', {}, null);
		},
		(span) => {
			span.setAttributes(named({ runAttempt: 2, node: 'x' }));
			span.setAttribute('error.type', 'tool_error');
			span.setStatus({ code: SpanStatusCode.ERROR });
			span.updateName('POST /x');
			span.setAttributes(named({ outcome: 'y' }));
			span.end();
		},
	);
	assert.equal(expected.length, 1);
	assert.deepEqual(ended, expected);
});

test('attributes may be made when the span is read, and not before', () => {
	let made = 0;
	const ended: ReadableSpan[] = [];
	const parts = { ids: new Ids(), measuring, processor: { onEnd: (span: ReadableSpan) => void ended.push(span) } };
	const attributes = (): SpanAttributes => ({ runAttempt: ++made });
	new RecordedSpan({ name: 'x', attributes }, { own: linked, parent: null }, parts as unknown as SpanParts).end();
	assert.equal(made, 0);
	assert.deepEqual(ended[0]?.attributes, { [ATTRIBUTES.runAttempt]: 1 });
});

test('it begins when those of the SDK do that are begun around it, and lasts until its end', async () => {
	const ended: ReadableSpan[] = [];
	const exporter = new InMemorySpanExporter();
	const tracer = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }).getTracer('around');
	const parts = { ids: new Ids(), measuring, processor: { onEnd: (span: ReadableSpan) => void ended.push(span) } };
	tracer.startSpan('before').end();
	// A span that nobody is the parent of needs no more parts.
	const span = new RecordedSpan({ name: 'x' }, { own: linked, parent: null }, parts as unknown as SpanParts);
	tracer.startSpan('after').end();
	await new Promise((resolve) => setImmediate(resolve));
	span.end();
	const [before, after] = exporter.getFinishedSpans();
	const [whole] = ended;
	assert.ok(before && after && whole);
	const nanosOf = ([seconds, nanos]: HrTime): bigint => BigInt(seconds) * 1_000_000_000n + BigInt(nanos);
	assert.ok(nanosOf(before.startTime) <= nanosOf(whole.startTime) && nanosOf(whole.startTime) <= nanosOf(after.startTime));
	assert.ok(nanosOf(whole.endTime) > nanosOf(whole.startTime));
	assert.equal(nanosOf(whole.endTime) - nanosOf(whole.startTime), nanosOf(whole.duration));
	assert.equal(whole.parentSpanContext, undefined);
});

test('a child has its parent’s trace and state, and an id of its own', () => {
	const ended: ReadableSpan[] = [];
	const parts = { ids: new Ids(), measuring, processor: { onEnd: (span: ReadableSpan) => void ended.push(span) } };
	const span = new RecordedSpan({ name: 'x' }, { own: parent, parent: null }, parts as unknown as SpanParts);
	span.child({ name: 'y' }, null).end();
	const [child] = ended;
	assert.deepEqual(child?.parentSpanContext, parent);
	const { spanId = '', ...rest } = child?.spanContext() ?? {};
	assert.match(spanId, /^[0-9a-f]{16}$/);
	assert.notEqual(spanId, parent.spanId);
	assert.deepEqual(rest, { traceId: TRACE, traceFlags: 1, isRemote: false });
});
