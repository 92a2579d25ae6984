// The exporters of the three signals by OTLP over HTTP, in the encoding that the operator chose.

import { OTLPLogExporter as JsonLogs } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as ProtobufLogs } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPMetricExporter as JsonMetrics } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufMetrics } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraces } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http';
import { ProtobufTraceSerializer, TraceExporterMetricsHelper } from '@opentelemetry/otlp-transformer';
import type { LogRecordExporter } from '@opentelemetry/sdk-logs';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { OtlpConfig } from '../variables.ts';
import { spansAsProtobuf } from './protobuf-spans.ts';

type Sending = Pick<OtlpConfig, 'headers' | 'protocol'>;

export const spansTo = (url: string, { headers, protocol }: Sending): SpanExporter =>
	protocol === 'http/json' ? new JsonTraces({ url, headers }) : new ProtobufTraces(url, headers);

/** The SDK's exporter of spans, with a writer of its own. */
class ProtobufTraces extends OTLPExporterBase<ReadableSpan[]> implements SpanExporter {
	constructor(url: string, headers: Sending['headers']) {
		const options = convertLegacyHttpOptions({ url, headers }, 'TRACES', 'v1/traces', { 'Content-Type': 'application/x-protobuf' });
		const serializer = { ...ProtobufTraceSerializer, serializeRequest: spansAsProtobuf };
		super(createOtlpHttpExportDelegate(options, serializer, 'otlp_http_span_exporter', TraceExporterMetricsHelper, undefined));
	}
}

export const metricsTo = (url: string, { headers, protocol }: Sending): PushMetricExporter =>
	new (protocol === 'http/json' ? JsonMetrics : ProtobufMetrics)({ url, headers });

export const logsTo = (url: string, { headers, protocol }: Sending): LogRecordExporter =>
	new (protocol === 'http/json' ? JsonLogs : ProtobufLogs)({ url, headers });
