// The span of an outbound request by the semantic conventions of HTTP, and the headers of its trace. The address tells host and port only: path
// and query may hold what a tenant sent, or a key.

import { METHODS } from './http-spans.ts';
import { SPANS } from './names.ts';
import { activeSpan, ended, errorTypeOf, type SpanAttributes, type SpanDraft, spanned, type TraceContext, traceContext } from './spans.ts';

interface Outgoing {
	method: string;
	url: string;
}

/**
 * Sends a request in a span of its own, where the trace is recorded. Nothing that is done to send it has a span, so none is around it.
 * @param send is given the context of the trace; null without one
 */
export function tracedRequest<T extends { status: number }>(
	request: Outgoing,
	send: (trace: TraceContext | null) => Promise<T>,
): Promise<T> {
	const around = activeSpan();
	if (!around?.isRecorded) return send(around?.context ?? null);
	const span = around.child(draftOf(request), null);
	return ended(
		() => send(span.context),
		({ status }) => {
			span.set({ httpStatus: status });
			if (status >= 400) span.fail(String(status));
			span.end();
		},
		(thrown) => {
			span.fail(errorTypeOf(thrown));
			span.end();
		},
	);
}

/** Adds the headers of a trace, unless there are some. @param headers their names in lower case */
export function addTrace(headers: Record<string, string>, trace: TraceContext | null): Record<string, string> {
	if (!trace || headers['traceparent'] !== undefined || headers['tracestate'] !== undefined) return headers;
	headers['traceparent'] = trace.traceparent;
	if (trace.tracestate !== undefined) headers['tracestate'] = trace.tracestate;
	return headers;
}

/** Runs an exchange in a protocol with a socket of its own in a span. @param work is given the headers of the trace; none without one */
export function tracedExchange<T>(url: string, work: (trace: Readonly<Record<string, string>>) => Promise<T>): Promise<T> {
	const around = activeSpan();
	if (!around?.isRecorded) return work({ ...around?.context });
	return spanned(
		() => ({ name: SPANS.exchange, kind: 'client', attributes: () => addressOf(url) }),
		() => work({ ...traceContext() }),
	);
}

function draftOf({ method, url }: Outgoing): SpanDraft {
	const name = METHODS.has(method.toUpperCase()) ? method.toUpperCase() : '_OTHER';
	return { name: name === '_OTHER' ? 'HTTP' : name, kind: 'client', attributes: () => ({ httpMethod: name, ...addressOf(url) }) };
}

function addressOf(url: string): SpanAttributes {
	const { hostname = '', port = '', protocol = '' } = URL.parse(url) ?? {};
	return { serverAddress: hostname, serverPort: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) };
}
