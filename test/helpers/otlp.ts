// A collector that takes OTLP over HTTP as Protobuf or JSON (https://opentelemetry.io/docs/specs/otlp/), and checks the form of what it gets.

import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { decodeOtlp } from './otlp-protobuf.ts';
import { httpUpstream } from './upstream.ts';

type Value = {
	stringValue?: string;
	intValue?: number | string;
	boolValue?: boolean;
	doubleValue?: number;
	arrayValue?: { values?: Value[] };
	kvlistValue?: object;
};
interface KeyValue {
	key: string;
	value: Value;
}
export type Flat = Record<string, unknown>;

export interface CollectedSpan {
	name: string;
	traceId: string;
	spanId: string;
	parentSpanId?: string;
	/** 1 internal, 2 server, 3 client. */
	kind: number;
	attributes: Flat;
	status: { code?: number; message?: string };
	links: { traceId: string; spanId: string }[];
	events: unknown[];
	resource: Flat;
}

export interface CollectedMetric {
	name: string;
	unit: string;
	points: { attributes: Flat; count?: number; asDouble?: number; asInt?: number | string }[];
	resource: Flat;
}

export interface CollectedLog {
	body: string;
	severityText: string;
	severityNumber: number;
	attributes: Flat;
	traceId?: string;
	/** The flags of the trace; 1 for one that is sampled. */
	flags?: number;
	resource: Flat;
}

export interface Collector {
	origin: string;
	spans: CollectedSpan[];
	metrics: CollectedMetric[];
	logs: CollectedLog[];
	/** All that was received, as text. */
	raw(): string;
	/** The headers of the requests, by path. */
	headers: Record<string, unknown>[];
}

const ID = (chars: number): RegExp => new RegExp(`^[0-9a-f]{${chars}}$`);

function flat(attributes: KeyValue[] = []): Flat {
	return Object.fromEntries(
		attributes.map(({ key, value }) => {
			assert.equal(Object.keys(value).length <= 1, true, `${key} has one value`);
			const [one] = Object.values(value);
			return [key, value.arrayValue ? (value.arrayValue.values ?? []).map((each) => Object.values(each)[0]) : one];
		}),
	);
}

// biome-ignore lint/suspicious/noExplicitAny: the form is what is checked here
type Json = any;

function spansOf(body: Json): CollectedSpan[] {
	return body.resourceSpans.flatMap(({ resource, scopeSpans }: Json) =>
		scopeSpans.flatMap(({ scope, spans }: Json) => {
			assert.equal(scope.name, 'gatehouse');
			return spans.map((span: Json) => {
				assert.match(span.traceId, ID(32));
				assert.match(span.spanId, ID(16));
				assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano), span.name);
				assert.ok(!span.droppedAttributesCount, `${span.name} keeps its attributes`);
				const { links = [], events = [], status = {} } = span;
				return { ...span, attributes: flat(span.attributes), links, events, status, resource: flat(resource.attributes) };
			});
		}),
	);
}

function metricsOf(body: Json): CollectedMetric[] {
	return body.resourceMetrics.flatMap(({ resource, scopeMetrics }: Json) =>
		scopeMetrics.flatMap(({ metrics }: Json) =>
			metrics.map((metric: Json) => {
				const { dataPoints } = metric.sum ?? metric.gauge ?? metric.histogram ?? assert.fail(`${metric.name} has data`);
				const points = dataPoints.map((point: Json) => ({ ...point, attributes: flat(point.attributes) }));
				return { name: metric.name, unit: metric.unit, points, resource: flat(resource.attributes) };
			}),
		),
	);
}

function logsOf(body: Json): CollectedLog[] {
	return body.resourceLogs.flatMap(({ resource, scopeLogs }: Json) =>
		scopeLogs.flatMap(({ logRecords }: Json) =>
			logRecords.map((record: Json) => {
				assert.ok(BigInt(record.timeUnixNano) > 0n);
				return { ...record, body: record.body?.stringValue, attributes: flat(record.attributes), resource: flat(resource.attributes) };
			}),
		),
	);
}

export async function startCollector(t: Pick<TestContext, 'after'>): Promise<Collector> {
	const texts: string[] = [];
	const collected = { spans: [] as CollectedSpan[], metrics: [] as CollectedMetric[], logs: [] as CollectedLog[] };
	const headers: Record<string, unknown>[] = [];
	// Nothing else of the context is used.
	const { origin } = await httpUpstream(t as TestContext, async (request, response) => {
		const bytes = await buffer(request);
		texts.push(bytes.toString('latin1'));
		headers.push({ path: request.url, ...request.headers });
		const type = request.headers['content-type'];
		assert.ok(type === 'application/json' || type === 'application/x-protobuf', type);
		const body = type === 'application/json' ? JSON.parse(bytes.toString()) : decodeOtlp(request.url ?? '', bytes);
		if (request.url === '/v1/traces') collected.spans.push(...spansOf(body));
		if (request.url === '/v1/metrics') collected.metrics.push(...metricsOf(body));
		if (request.url === '/v1/logs') collected.logs.push(...logsOf(body));
		// The answer has no fields in either encoding.
		response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{}' : '');
	});
	return { origin, ...collected, headers, raw: () => texts.join('\n') };
}
