// Tests of requests that begin a trace, of which a share is recorded, and the rest only passed on.

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { ROOT_CONTEXT } from '@opentelemetry/api';
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace';
import { startCollector } from '../../test/helpers/otlp.ts';
import { silent } from '../../test/helpers/silent.ts';
import { runWith } from '../process/around.ts';
import { activeSpan, spanned, traceContext } from './spans.ts';
import { createTelemetry, type Telemetry } from './telemetry.ts';
import { telemetryOf } from './variables.ts';

const log = { ...silent, tee: () => undefined };
const SAMPLING = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: 0.25 };
const VALUES = {
	...{ OTEL_EXPORTER_OTLP_HEADERS: [], OTEL_RESOURCE_ATTRIBUTES: [], OTEL_SERVICE_NAME: 'gatehouse', LOG_FORMAT: 'json' },
	...{ OTEL_METRIC_EXPORT_INTERVAL: 60_000, ...SAMPLING },
};

/** Answers a request, and does `work` meanwhile. */
async function request(telemetry: Telemetry, work: () => Promise<unknown>, headers: object = {}): Promise<void> {
	const incoming = { method: 'GET', httpVersion: '1.1', headers };
	const response = Object.assign(new EventEmitter(), { statusCode: 200, writableFinished: true, req: incoming });
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	// The parts of both that telemetry reads.
	const answering = [incoming as unknown as IncomingMessage, response as unknown as ServerResponse] as const;
	runWith({ span: telemetry.begin(...answering) }, () => void work().then(() => resolve(), reject));
	await promise;
	response.emit('close');
}

test('those traces are recorded whose ids the sampler takes; the others are passed on as such, each with ids of its own', async (t) => {
	const collector = await startCollector(t);
	const config = telemetryOf({ ...VALUES, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.origin}/v1/traces` });
	const telemetry = await createTelemetry(config, { log, version: '1' });
	const contexts: string[][] = [];
	for (let call = 0; call < 500; call++)
		await request(telemetry, async () => {
			await spanned(
				() => ({ name: 'inner' }),
				async () => undefined,
			);
			const { traceId, spanId } = activeSpan()?.ids ?? { traceId: '', spanId: '' };
			const context = traceContext()?.traceparent ?? '';
			assert.equal(context.slice(0, 53), `00-${traceId}-${spanId}-`);
			contexts.push([traceId, spanId, context.slice(53)]);
		});
	await telemetry.close();
	const sampler = new TraceIdRatioBasedSampler(0.25);
	for (const [traceId = '', , flags] of contexts)
		assert.equal(flags === '01', sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED, traceId);
	const recorded = contexts.filter(([, , flags]) => flags === '01').map(([traceId]) => traceId);
	assert.ok(recorded.length > 60 && recorded.length < 200, `${recorded.length} of 500`);
	const named = (name: string) => collector.spans.filter((span) => span.name === name).map(({ traceId }) => traceId);
	assert.deepEqual(named('inner').sort(), recorded.toSorted());
	assert.deepEqual(named('GET').sort(), recorded.toSorted());
	assert.equal(new Set(contexts.flatMap((ids) => ids.slice(0, 2))).size, 1000);
});

test('a message’s own trace is recorded in a request whose trace is not, and is linked to it', async (t) => {
	const collector = await startCollector(t);
	const values = { ...VALUES, OTEL_TRACES_SAMPLER_ARG: 0, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.origin}/v1/traces` };
	const telemetry = await createTelemetry(telemetryOf(values), { log, version: '1' });
	const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
	let carrier: string | undefined;
	await request(telemetry, async () => {
		carrier = activeSpan()?.ids?.traceId;
		await spanned(
			() => ({ name: 'message' }),
			async () => undefined,
			{ traceparent },
		);
	});
	await request(telemetry, async () => undefined, { traceparent });
	await telemetry.close();
	const [message, whole] = ['message', 'GET'].map((name) => collector.spans.find((span) => span.name === name));
	assert.deepEqual([message?.parentSpanId, message?.links.map(({ traceId }) => traceId)], ['00f067aa0ba902b7', [carrier]]);
	assert.equal(whole?.parentSpanId, '00f067aa0ba902b7', 'a request that brings a recorded trace goes on with it');
	assert.equal(collector.spans.length, 2);
});

for (const [share, flags] of [
	[0, 0],
	[1, 1],
])
	test(`a line of the log has the flags of its trace: ${flags} where a share of ${share} is sampled`, async (t) => {
		const collector = await startCollector(t);
		const sinks: ((line: string) => void)[] = [];
		const shared = { ...silent, tee: (sink: ((line: string) => void) | null) => void (sink && sinks.push(sink)) };
		const values = { ...VALUES, OTEL_TRACES_SAMPLER_ARG: share, OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin };
		const telemetry = await createTelemetry(telemetryOf(values), { log: shared, version: '1' });
		await request(telemetry, async () => {
			const line = { level: 'info', time: '2026-11-26T00:00:00.000Z', msg: 'request', ...activeSpan()?.ids };
			for (const sink of sinks) sink(JSON.stringify(line));
		});
		await telemetry.close();
		assert.match(`${collector.logs[0]?.traceId}`, /^[0-9a-f]{32}$/);
		assert.deepEqual([collector.logs[0]?.flags ?? 0, collector.logs[0]?.attributes], [flags, {}]);
	});
