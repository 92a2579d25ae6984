// The exporters of the three signals by OTLP over HTTP, in the encoding that the operator chose.

import { OTLPLogExporter as JsonLogs } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as ProtobufLogs } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPMetricExporter as JsonMetrics } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufMetrics } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraces } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraces } from '@opentelemetry/exporter-trace-otlp-proto';
import type { LogRecordExporter } from '@opentelemetry/sdk-logs';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { OtlpConfig } from './variables.ts';

type Sending = Pick<OtlpConfig, 'headers' | 'protocol'>;

export const spansTo = (url: string, { headers, protocol }: Sending): SpanExporter =>
	new (protocol === 'http/json' ? JsonTraces : ProtobufTraces)({ url, headers });

export const metricsTo = (url: string, { headers, protocol }: Sending): PushMetricExporter =>
	new (protocol === 'http/json' ? JsonMetrics : ProtobufMetrics)({ url, headers });

export const logsTo = (url: string, { headers, protocol }: Sending): LogRecordExporter =>
	new (protocol === 'http/json' ? JsonLogs : ProtobufLogs)({ url, headers });
