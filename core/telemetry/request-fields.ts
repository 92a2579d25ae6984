// The fields that the log's line of a request has besides those of HTTP: for whom it was, what it called, and the trace that it belongs to.

import type { Request } from '@hapi/hapi';
import type { LineNames, RequestRow } from '../store/store.ts';
import { activeSpan, type SpanIds, traceIdOf } from './spans.ts';

declare module '@hapi/hapi' {
	interface PluginsStates {
		/** The trace that the request belongs to: ours, or that of the client while telemetry is off. */
		trace?: Partial<SpanIds>;
	}
}

/** Keeps the trace of a request for its line: called while it is being answered. */
export function keepTrace(request: Request): void {
	const ids = activeSpan()?.ids;
	const traceId = ids ? null : traceIdOf(request.raw.req.headers['traceparent']);
	if (ids) request.plugins.trace = ids;
	else if (traceId !== null) request.plugins.trace = { traceId };
}

/** Tells the span of a request which gateway it is for, and by which route. */
export function tellGateway({ organization = '', gateway = '' }: LineNames, route: string | undefined): void {
	const span = activeSpan();
	if (!span?.isRecorded && !span?.isMeasured) return;
	span.route(`/{org}/{gateway}${route ?? ''}`);
	span.set({ organization, gateway });
}

/** Returns the fields; none that is not known. @param row the request's line of the request log, where it has one */
export function requestFields({ plugins, auth }: Request, row: RequestRow | undefined): Record<string, string> {
	const { organization, gateway, tool } = row?.names ?? {};
	const slug = organization ?? auth.credentials?.organization?.slug;
	const caller = row?.caller ?? (auth.credentials?.user ? `user:${auth.credentials.user.id}` : null);
	const fields: Record<string, string> = {};
	if (slug !== undefined) fields['organization'] = slug;
	if (gateway !== undefined) fields['gateway'] = gateway;
	if (tool !== undefined) fields['tool'] = tool;
	if (caller !== null) fields['caller'] = caller;
	return Object.assign(fields, plugins.trace);
}
