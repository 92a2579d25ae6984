// Tests that both encodings of OTLP tell a collector the same.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Collector, startCollector } from '../../../test/helpers/otlp.ts';
import { silent } from '../../../test/helpers/silent.ts';
import { activeSpan } from '../spans.ts';
import { createTelemetry } from '../telemetry.ts';
import { TELEMETRY_VARIABLES, telemetryOf } from '../variables.ts';

const VALUES = {
	...{ OTEL_EXPORTER_OTLP_HEADERS: ['x-key=k'], OTEL_RESOURCE_ATTRIBUTES: ['a=ü'], OTEL_SERVICE_NAME: 'gatehouse', LOG_FORMAT: 'json' },
	...{ OTEL_METRIC_EXPORT_INTERVAL: 60_000, OTEL_TRACES_SAMPLER: 'always_on' },
};
const RUN = { id: 'e6a1f6b1-51c5-4cf5-bb39-6a84a5f3c0a1', trace: undefined };

const TYPES: Record<string, string> = { 'http/protobuf': 'application/x-protobuf', 'http/json': 'application/json' };

/** Returns what does not change from one sending to the next. */
const told = ({ spans, metrics, logs }: Collector) => ({
	spans: spans.map(({ name, kind, traceId, attributes, status, resource }) => ({
		name,
		kind,
		traceId,
		attributes,
		status,
		resource: resource['a'],
	})),
	metrics: metrics.map(({ name, unit }) => `${name} ${unit}`).sort(),
	logs: logs.map(({ body, severityText, severityNumber, attributes }) => ({ body, severityText, severityNumber, attributes })),
});

async function send(origin: string, protocol: string): Promise<void> {
	const sinks: ((line: string) => void)[] = [];
	const log = { ...silent, tee: (sink: ((line: string) => void) | null) => void (sink && sinks.push(sink)) };
	const values = { ...VALUES, OTEL_EXPORTER_OTLP_PROTOCOL: protocol, OTEL_EXPORTER_OTLP_ENDPOINT: origin };
	const telemetry = await createTelemetry(telemetryOf(values), { log, version: '1' });
	const draft = { name: 'work', attributes: { tool: 'ü', httpStatus: 200, costUsd: 0.5, worker: true, finishReasons: ['a', 'b'] } };
	const failing = telemetry.run(
		RUN,
		() => draft,
		async () => {
			activeSpan()?.measure('message', 0.25, { 'mcp.method.name': 'ping' });
			throw new Error('secret');
		},
	);
	await assert.rejects(failing, /secret/);
	const line = { level: 'warn', time: '2026-11-26T00:00:00.000Z', msg: 'über', count: 3, inner: { is: false } };
	for (const sink of sinks) sink(JSON.stringify(line));
	await telemetry.close();
}

test('spans, metrics and lines of the log are the same as Protobuf and as JSON', async (t) => {
	const collectors: Collector[] = [];
	for (const [protocol, type] of Object.entries(TYPES)) {
		const collector = await startCollector(t);
		await send(collector.origin, protocol);
		assert.deepEqual(new Set(collector.headers.map((headers) => headers['content-type'])), new Set([type]));
		assert.ok(collector.headers.length === 3 && collector.headers.every((headers) => headers['x-key'] === 'k'));
		collectors.push(collector);
	}
	const [asProtobuf, asJson] = collectors.map(told);
	assert.deepEqual(asProtobuf, asJson);
	const { spans = [], metrics = [], logs = [] } = asJson ?? {};
	assert.deepEqual(
		spans.map(({ name, status, resource }) => [name, status.code, resource]),
		[['work', 2, 'ü']],
	);
	assert.ok(metrics.includes('mcp.server.operation.duration s'), String(metrics));
	assert.deepEqual(
		logs.map(({ body, severityText }) => [body, severityText]),
		[['über', 'warn']],
	);
});

test('an operator who names no protocol sends Protobuf, and OTLP over gRPC is refused', () => {
	const { OTEL_EXPORTER_OTLP_PROTOCOL: protocol } = TELEMETRY_VARIABLES;
	assert.equal(protocol.validate(undefined).value, 'http/protobuf');
	assert.ok(protocol.validate('grpc').error);
});
