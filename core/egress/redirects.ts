// The first request of an exchange, and the one after a redirect: https://fetch.spec.whatwg.org/#http-redirect-fetch, without headers
// that could carry a secret elsewhere.

import { GatewayError } from '../contract/errors.ts';
import type { OutboundRequest } from '../contract/outbound.ts';
import { addTrace } from '../telemetry/outbound-spans.ts';
import type { TraceContext } from '../telemetry/spans.ts';
import { refused, shown } from './errors.ts';
import { headerNameFault, headerValueFault } from './headers.ts';

/** One of the requests of an exchange with redirects. */
export interface Hop {
	/** Already checked by the guard. */
	url: Readonly<URL>;
	method: string;
	/** Names in lower case. */
	headers: Record<string, string>;
	body: string | Buffer | null;
}

/** Options of an exchange, beside those of its first request. */
export interface Extras {
	trace: TraceContext | null;
	/** Called with the target of a redirect before it is followed; it may throw. */
	onRedirect: ((next: URL) => void) | undefined;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const NO_HEADERS: Record<string, string> = {};

/** Headers that are sent to another origin too; any other one might be a credential. */
const HARMLESS: ReadonlySet<string> = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

/** @param url the checked one of the options. @param trace the context of the trace, whose headers are added. @throws validation_failed */
export const firstHop = (
	url: Readonly<URL>,
	{ method, headers = NO_HEADERS, body = null }: OutboundRequest,
	trace: TraceContext | null = null,
): Hop => ({ url, method: method.toUpperCase(), headers: addTrace(lowerCased(headers), trace), body });

/** Converts names to lower case, and adds a user agent, without which some APIs answer nothing. @throws validation_failed */
export function lowerCased(headers: Record<string, string>): Record<string, string> {
	const result: Record<string, string> = { 'user-agent': 'gatehouse' };
	for (const name in headers) {
		const value = headers[name] ?? '';
		const fault = headerNameFault(name) ?? headerValueFault(value);
		if (fault !== null) throw new GatewayError('validation_failed', `Header ${shown(name)} ${fault}.`);
		result[name.toLowerCase()] = value;
	}
	return result;
}

/** Returns the next request, not yet checked; null when the answer is not a redirect. @throws egress_refused, upstream_failed */
export function redirected(hop: Hop, status: number, location: string | null): Hop | null {
	if (!REDIRECTS.has(status) || location === null) return null;
	if (!URL.canParse(location, hop.url.href))
		throw new GatewayError('upstream_failed', `${shown(hop.url.host)} redirected to something that is not a URL.`);
	const url = new URL(location, hop.url.href);
	if (hop.url.protocol === 'https:' && url.protocol === 'http:')
		throw refused(`${shown(hop.url.host)} redirected from https to http, which is not followed.`);
	const next = becomesGet(hop.method, status) ? { method: 'GET', body: null } : { method: hop.method, body: hop.body };
	return { ...next, url, headers: keep(hop, url, next.body) };
}

export function tooManyRedirects(host: string, maxRedirects: number): GatewayError {
	return refused(`${shown(host)} redirected more than ${maxRedirects} times.`);
}

function becomesGet(method: string, status: number): boolean {
	if (status === 303) return method !== 'GET' && method !== 'HEAD';
	return method === 'POST' && (status === 301 || status === 302);
}

function keep(hop: Hop, url: URL, body: Hop['body']): Record<string, string> {
	const sameOrigin = hop.url.origin === url.origin;
	const droppedBody = hop.body !== null && body === null;
	return Object.fromEntries(
		Object.entries(hop.headers).filter(([name]) => (sameOrigin || HARMLESS.has(name)) && !(droppedBody && name.startsWith('content-'))),
	);
}
