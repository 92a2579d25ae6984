// The span of an outbound request by the semantic conventions of HTTP, and the headers of its trace. The address tells host and port only: path
// and query may hold what a tenant sent, or a key.

import { METHODS } from './http-spans.ts';
import { ATTRIBUTES as A, SPANS } from './names.ts';
import { type Attributes, activeSpan, type SpanDraft, spanned, traceContext, withTrace } from './spans.ts';

/** Headers, or metadata, by name. */
type TraceHeaders = Readonly<Record<string, string>>;

interface Outgoing {
	method: string;
	url: string;
	headers?: Record<string, string>;
}

/** Sends a request with the context of the trace, in a span of its own where the trace is recorded. */
export function tracedRequest<R extends Outgoing, T extends { status: number }>(request: R, send: (request: R) => Promise<T>): Promise<T> {
	const around = activeSpan();
	if (!around?.context) return send(request);
	if (!around.isRecorded) return send(withTrace(request));
	return spanned(
		() => draftOf(request),
		async (span) => {
			const answer = await send(withTrace(request));
			span?.set({ [A.httpStatus]: answer.status });
			if (answer.status >= 400) span?.fail(String(answer.status));
			return answer;
		},
	);
}

/** Does the same for `fetch`. */
export function tracedFetch(
	url: string | URL,
	init: RequestInit | undefined,
	send: (init: RequestInit | undefined) => Promise<Response>,
): Promise<Response> {
	if (!activeSpan()?.context) return send(init);
	const headers = Object.fromEntries(new Headers(init?.headers));
	const request = { method: init?.method ?? 'GET', url: String(url), headers };
	return tracedRequest(request, (sent) => send({ ...init, headers: sent.headers }));
}

/** Does the same for protocols with a socket of their own. @param work is given the headers of the trace; none without one */
export function tracedExchange<T>(url: string, work: (trace: TraceHeaders) => Promise<T>): Promise<T> {
	const around = activeSpan();
	if (!around?.isRecorded) return work({ ...around?.context });
	return spanned(
		() => ({ name: SPANS.exchange, kind: 'client', attributes: addressOf(url) }),
		() => work({ ...traceContext() }),
	);
}

function draftOf({ method, url }: Outgoing): SpanDraft {
	const name = METHODS.has(method.toUpperCase()) ? method.toUpperCase() : '_OTHER';
	return { name: name === '_OTHER' ? 'HTTP' : name, kind: 'client', attributes: { [A.httpMethod]: name, ...addressOf(url) } };
}

function addressOf(url: string): Attributes {
	const { hostname = '', port = '', protocol = '' } = URL.parse(url) ?? {};
	return { [A.serverAddress]: hostname, [A.serverPort]: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) };
}
