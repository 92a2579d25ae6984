// Sends the lines of the log by OTLP, with the official SDK: the lines as they are written, so without what redaction removed.

import { type AnyValue, type Context, ROOT_CONTEXT, SeverityNumber, TraceFlags, trace } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { LOG_FIELDS, OTHER_LOG_FIELDS } from './names.ts';
import { logsTo } from './otlp/exporters.ts';
import type { SharedLog } from './telemetry.ts';
import type { OtlpConfig } from './variables.ts';

const SEVERITIES: Readonly<Record<string, SeverityNumber>> = {
	trace: SeverityNumber.TRACE,
	debug: SeverityNumber.DEBUG,
	info: SeverityNumber.INFO,
	warn: SeverityNumber.WARN,
	error: SeverityNumber.ERROR,
	fatal: SeverityNumber.FATAL,
};
const LIMITS = { attributeValueLengthLimit: 4096, attributeCountLimit: 64 };

interface LogParts {
	resource: Resource;
	version: string;
	otlp: OtlpConfig;
	url: string;
}

/** @returns how to send the rest and end */
export function startLogs({ resource, version, otlp, url }: LogParts, log: Pick<SharedLog, 'tee'>): { close(): Promise<void> } {
	const exporter = logsTo(url, otlp);
	const provider = new LoggerProvider({ resource, logRecordLimits: LIMITS, processors: [new BatchLogRecordProcessor({ exporter })] });
	const logger = provider.getLogger('gatehouse', version);
	log.tee((line) => {
		// Our own log wrote it.
		const { level, time, msg, traceId, spanId, traceFlags, isOwn, ...fields } = JSON.parse(line) as Record<string, AnyValue>;
		if (isOwn === true) return;
		logger.emit({
			timestamp: new Date(String(time)),
			severityText: String(level),
			severityNumber: SEVERITIES[String(level)] ?? SeverityNumber.UNSPECIFIED,
			body: msg ?? '',
			attributes: Object.fromEntries(Object.entries(fields).map(([key, value]) => [LOG_FIELDS[key] ?? OTHER_LOG_FIELDS + key, value])),
			context: contextOf(traceId, spanId, traceFlags),
		});
	});
	return {
		async close() {
			log.tee(null);
			await provider.shutdown();
		},
	};
}

function contextOf(traceId: unknown, spanId: unknown, flags: unknown): Context {
	if (typeof traceId !== 'string' || typeof spanId !== 'string') return ROOT_CONTEXT;
	return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags === '01' ? TraceFlags.SAMPLED : TraceFlags.NONE });
}
