// The variables of logs, metrics and traces, and what they configure. Those of OpenTelemetry have their standard names
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).

import Joi from 'joi';
import { httpUrl } from '../kit/urls.ts';

const SAMPLERS = ['always_on', 'always_off', 'traceidratio', 'parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'];
const PAIR = /^[^\s=,;]+=[^,]*$/;
/** Pairs such as `key=value`, whose values are percent-encoded. */
const pairs = Joi.array()
	.items(Joi.string().custom((text: string, helpers) => (pairOf(text) ? text : helpers.error('any.invalid'))))
	.default([]);
const exporter = Joi.string().valid('otlp', 'none').default('otlp').label('otlp or none');
const endpoint = httpUrl.label('the URL of an OTLP collector over HTTP');

export const TELEMETRY_VARIABLES = {
	LOG_FORMAT: Joi.string().valid('json', 'pretty').default('json').label('json or pretty'),
	METRICS_PORT: Joi.number().port().min(1).label('a port, 1 to 65535'),
	METRICS_TOKEN: Joi.string()
		.pattern(/^[\x21-\x7e]{16,512}$/)
		.label('16 or more characters without spaces'),
	OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
	OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint,
	OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: endpoint,
	OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: endpoint,
	OTEL_EXPORTER_OTLP_HEADERS: pairs.label('headers as name=value separated by commas'),
	OTEL_EXPORTER_OTLP_PROTOCOL: Joi.string()
		.valid('http/protobuf', 'http/json')
		.default('http/protobuf')
		.label('http/protobuf or http/json'),
	OTEL_TRACES_EXPORTER: exporter,
	OTEL_METRICS_EXPORTER: exporter,
	OTEL_LOGS_EXPORTER: exporter,
	OTEL_SERVICE_NAME: Joi.string().max(255).default('gatehouse').label('a name'),
	OTEL_RESOURCE_ATTRIBUTES: pairs.label('attributes as name=value separated by commas'),
	OTEL_TRACES_SAMPLER: Joi.string()
		.valid(...SAMPLERS)
		.default('parentbased_always_on')
		.label(`one of ${SAMPLERS.join(', ')}`),
	OTEL_TRACES_SAMPLER_ARG: Joi.number().min(0).max(1).default(1).label('a share, 0 to 1'),
	OTEL_METRIC_EXPORT_INTERVAL: Joi.number().integer().min(100).default(60_000).label('milliseconds, 100 or more'),
} as const satisfies Record<string, Joi.Schema>;

export const TELEMETRY_PURPOSES: Readonly<Record<keyof typeof TELEMETRY_VARIABLES, string>> = {
	LOG_FORMAT: 'the form of the log; `pretty` is for people',
	METRICS_PORT: 'serves `/metrics` for Prometheus on a port of its own',
	METRICS_TOKEN: 'the Bearer token of `/metrics`, which without `METRICS_PORT` is served on `PORT`',
	OTEL_EXPORTER_OTLP_ENDPOINT: 'sends traces, metrics and logs to an OpenTelemetry collector',
	OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '',
	OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: '',
	OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: '',
	OTEL_EXPORTER_OTLP_HEADERS: 'its credentials',
	OTEL_EXPORTER_OTLP_PROTOCOL: 'the encoding of what is sent',
	OTEL_TRACES_EXPORTER: '`none` keeps this signal off',
	OTEL_METRICS_EXPORTER: '',
	OTEL_LOGS_EXPORTER: '',
	OTEL_SERVICE_NAME: 'the name of this service there',
	OTEL_RESOURCE_ATTRIBUTES: 'more about it',
	OTEL_TRACES_SAMPLER: 'which requests are traced',
	OTEL_TRACES_SAMPLER_ARG: 'the share of them for the samplers with a ratio',
	OTEL_METRIC_EXPORT_INTERVAL: 'the interval of metrics',
};

/** One signal: the address that takes it, which is the operator's own. */
type Endpoint = string | null;

export interface OtlpConfig {
	traces: Endpoint;
	metrics: Endpoint;
	logs: Endpoint;
	headers: Record<string, string>;
	protocol: 'http/protobuf' | 'http/json';
	serviceName: string;
	resource: Record<string, string>;
	sampler: string;
	samplerRatio: number;
	metricIntervalMs: number;
}

export interface TelemetryConfig {
	logFormat: 'json' | 'pretty';
	/** `/metrics`: null while it is off. */
	metrics: { port: number | null; token: string | null } | null;
	/** Null while nothing is sent. */
	otlp: OtlpConfig | null;
}

/** @param values that passed the schemas, so each cast names the type that its schema yields */
export function telemetryOf(values: Record<string, unknown>): TelemetryConfig {
	const port = (values['METRICS_PORT'] as number | undefined) ?? null;
	const token = (values['METRICS_TOKEN'] as string | undefined) ?? null;
	const [traces, metrics, logs] = [endpointOf(values, 'TRACES'), endpointOf(values, 'METRICS'), endpointOf(values, 'LOGS')];
	return {
		logFormat: values['LOG_FORMAT'] as 'json' | 'pretty',
		metrics: port === null && token === null ? null : { port, token },
		otlp: (traces ?? metrics ?? logs) === null ? null : { traces, metrics, logs, ...sendingOf(values) },
	};
}

const sendingOf = (values: Record<string, unknown>): Omit<OtlpConfig, 'traces' | 'metrics' | 'logs'> => ({
	headers: recordOf(values['OTEL_EXPORTER_OTLP_HEADERS']),
	protocol: values['OTEL_EXPORTER_OTLP_PROTOCOL'] as OtlpConfig['protocol'],
	serviceName: values['OTEL_SERVICE_NAME'] as string,
	resource: recordOf(values['OTEL_RESOURCE_ATTRIBUTES']),
	sampler: values['OTEL_TRACES_SAMPLER'] as string,
	samplerRatio: values['OTEL_TRACES_SAMPLER_ARG'] as number,
	metricIntervalMs: values['OTEL_METRIC_EXPORT_INTERVAL'] as number,
});

/** The address of one signal is taken as it is; that of all gets the path of the signal. */
function endpointOf(values: Record<string, unknown>, signal: 'TRACES' | 'METRICS' | 'LOGS'): Endpoint {
	if (values[`OTEL_${signal}_EXPORTER`] === 'none') return null;
	const own = values[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] as string | undefined;
	const all = values['OTEL_EXPORTER_OTLP_ENDPOINT'] as string | undefined;
	return own ?? (all === undefined ? null : `${all.replace(/\/+$/, '')}/v1/${signal.toLowerCase()}`);
}

const recordOf = (texts: unknown): Record<string, string> =>
	// Each has passed `pairOf`.
	Object.fromEntries((texts as string[]).map((text) => pairOf(text) as [string, string]));

function pairOf(text: string): [string, string] | null {
	if (!PAIR.test(text)) return null;
	const at = text.indexOf('=');
	try {
		return [text.slice(0, at).trim(), decodeURIComponent(text.slice(at + 1).trim())];
	} catch {
		return null;
	}
}
