// Telemetry as the service holds it: while nothing is configured it does nothing and loads nothing; else `sdk.ts` brings OpenTelemetry.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../contract/nouns.ts';
import type { RequestRow } from '../store/store.ts';
import type { Sources } from './gauges.ts';
import type { Span, SpanDraft, TraceContext } from './spans.ts';
import type { TelemetryConfig } from './variables.ts';

/** A run that outlives requests: the trace that it belongs to, or of its own. */
export interface TracedRun {
	id: string;
	/** The context that was stored with the run; undefined for one that nothing traced began. */
	trace: TraceContext | undefined;
	/** Resolves when the attempt is over, where its work may be left unfinished: its spans end then. */
	over?: Promise<void>;
}

export interface Telemetry {
	/** Begins the span of a request, which ends with its answer or its connection. @returns undefined without telemetry */
	begin(request: IncomingMessage, response: ServerResponse): Span | undefined;
	/** Counts a line of the request log. */
	line(row: RequestRow): void;
	/** Runs an attempt of a run in a span of its own. */
	run<T>(run: TracedRun, draft: () => SpanDraft, work: () => Promise<T>): Promise<T>;
	/** Tells what gauges look at. */
	observe(sources: Omit<Sources, 'inFlight'>): void;
	/** Returns the metrics of this process as Prometheus reads them. */
	scrape(): Promise<string>;
	/** Sends what is held, and ends. */
	close(): Promise<void>;
}

export const OFF: Telemetry = {
	begin: () => undefined,
	line: () => undefined,
	run: (_run, _draft, work) => work(),
	observe: () => undefined,
	scrape: async () => '',
	close: async () => undefined,
};

/** A log that gives its lines to somebody else, too. */
export interface SharedLog extends Log {
	tee(sink: ((line: string) => void) | null): void;
}

export interface TelemetryParts {
	log: SharedLog;
	version: string;
	/** The time for what is held when it is closed. Default 5,000. */
	closeMs?: number;
}

/** Nothing of OpenTelemetry is loaded unless the configuration asks for it. */
export async function createTelemetry(config: Pick<TelemetryConfig, 'metrics' | 'otlp'>, parts: TelemetryParts): Promise<Telemetry> {
	if (config.metrics === null && config.otlp === null) return OFF;
	const { startTelemetry } = await import('./sdk.ts');
	return startTelemetry(config, parts);
}
