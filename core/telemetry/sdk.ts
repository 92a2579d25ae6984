// Telemetry with the official SDK of OpenTelemetry: loaded only when it is configured.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { Log } from '../contract/nouns.ts';
import type { RequestRow } from '../store/store.ts';
import { METHODS, requestDraft, requestEnd } from './http-spans.ts';
import { Labels } from './labels.ts';
import { startLogs } from './logs.ts';
import { Meters } from './meters.ts';
import { ATTRIBUTES as A } from './names.ts';
import { OrganizationNames, RowMetrics } from './row-metrics.ts';
import { type Attributes, contextOf, type Span } from './spans.ts';
import type { Telemetry, TelemetryParts } from './telemetry.ts';
import { startTraces, type Traces } from './traces.ts';
import type { RootSpan } from './unsampled.ts';
import type { TelemetryConfig } from './variables.ts';

/** The time for what is held when the service stops: a collector that does not answer must not keep it. */
const CLOSE_MS = 5_000;

export function startTelemetry(
	config: Pick<TelemetryConfig, 'metrics' | 'otlp'>,
	{ log, version, closeMs = CLOSE_MS }: TelemetryParts,
): Telemetry {
	const { otlp } = config;
	tellFaults(log);
	const resource = resourceFromAttributes({
		'service.name': otlp?.serviceName ?? 'gatehouse',
		'service.version': version,
		'service.instance.id': randomUUID(),
		...otlp?.resource,
	});
	const labels = new Labels();
	const meters = new Meters({ resource, version, otlp, isScraped: config.metrics !== null });
	const traces = startTraces({ resource, version, otlp, measuring: { isMeasured: meters.isOn, measure: meters.measure } });
	const logs = otlp?.logs ? startLogs({ resource, version, otlp, url: otlp.logs }, log) : null;
	const names = new OrganizationNames();
	const around: SdkParts = { traces, meters, labels, active: 0 };
	const rows = new RowMetrics({ measure: meters.measure, labels, names });
	return {
		begin: (request, response) => requestSpan(request, response, around),
		line: meters.isOn ? (row: RequestRow) => rows.add(row) : () => undefined,
		run: (run, draft, work) => traces.run(run, draft, work),
		observe(sources) {
			names.lookUp = sources.organization;
			meters.observe({ ...sources, inFlight: () => around.active });
		},
		scrape: () => meters.scrape(),
		async close() {
			const closing = Promise.allSettled([traces.close(), meters.close(), logs?.close()]);
			await Promise.race([closing, new Promise((resolve) => setTimeout(resolve, closeMs).unref())]);
		},
	};
}

interface SdkParts {
	traces: Traces;
	meters: Meters;
	labels: Labels;
	/** The number of requests that are being answered. */
	active: number;
}

/** Begins the span of a request, which ends with its answer or its connection. */
function requestSpan(request: IncomingMessage, response: ServerResponse, around: SdkParts): Span {
	const parent = contextOf(request.headers as { traceparent?: unknown; tracestate?: unknown });
	const span = around.traces.begin(() => requestDraft(request), parent);
	if (!span.isRecorded && !around.meters.isOn) return span;
	around.active++;
	response.once('close', ender(span, around));
	return span;
}

/**
 * Returns the listener of a request's end. It is made here, where nothing refers to the request, and neither does the span, so that a request is garbage
 * as soon as it has ended. The response gets no member for it: all of Node's code for responses would then have two forms of them to do with.
 */
function ender(span: RootSpan, around: SdkParts): (this: ServerResponse) => void {
	const startedMs = performance.now();
	return function (this: ServerResponse): void {
		const { req: request } = this;
		around.active--;
		const { routed: route } = span;
		const { name, attributes, error } = requestEnd({ request, response: this, route });
		span.endAs(name, attributes, error);
		if (!around.meters.isOn) return;
		const { method = '' } = request;
		const labels: Attributes = {
			[A.httpMethod]: METHODS.has(method) ? method : '_OTHER',
			[A.httpStatus]: this.statusCode,
			[A.urlScheme]: 'http',
		};
		if (route !== null) labels[A.httpRoute] = around.labels.of('declared', 'route', route);
		if (error !== null) labels[A.errorType] = error;
		around.meters.measure('http', (performance.now() - startedMs) / 1000, labels);
	};
}

/** Has the SDK tell its own faults in our log; its lines are not sent to the collector that they are about. */
function tellFaults(log: Log): void {
	const tell = (text: string): void => log.warn({ isOwn: true, fault: text.slice(0, 500) }, 'telemetry could not be sent');
	const quiet = (): void => undefined;
	diag.setLogger(
		{ error: tell, warn: tell, info: quiet, debug: quiet, verbose: quiet },
		{ logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
	);
}
