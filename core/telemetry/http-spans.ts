// The span of a request by the semantic conventions of HTTP (https://opentelemetry.io/docs/specs/semconv/http/http-spans/). The query is never
// told, since it may hold a key, and neither are headers.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { SPANS } from './names.ts';
import type { SpanAttributes, SpanDraft } from './spans.ts';

export const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE']);

/** A method that the conventions do not know is told as `_OTHER`. */
const methodOf = ({ method = '' }: IncomingMessage): string => (METHODS.has(method) ? method : '_OTHER');

export const requestDraft = (request: IncomingMessage): SpanDraft => ({
	// The specification's name for a request whose route is not known yet.
	name: METHODS.has(request.method ?? '') ? (request.method ?? '') : 'HTTP',
	kind: 'server',
	attributes: { httpMethod: methodOf(request), urlScheme: 'http', protocolVersion: request.httpVersion },
});

export interface RequestEnd {
	name: string;
	attributes: SpanAttributes;
	/** The status of a fault of ours, or `client_left`; null otherwise. */
	error: string | null;
}

export function requestEnd({
	request,
	response,
	route,
}: {
	request: IncomingMessage;
	response: ServerResponse;
	route: string | null;
}): RequestEnd {
	const { statusCode, writableFinished } = response;
	const error = writableFinished ? (statusCode >= 500 ? String(statusCode) : null) : 'client_left';
	return { name: SPANS.http(methodOf(request), route), attributes: { httpStatus: statusCode, httpRoute: route ?? undefined }, error };
}
