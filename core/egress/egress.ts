// The guard for all outbound requests, whoever makes them. Addresses are checked in addresses.ts, sockets opened in
// dialer.ts; this file has the verbs.

import { isIPv6 } from 'node:net';
import { type Agent, fetch as undiciFetch } from 'undici';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { CheckedAddress, OutboundRequest, OutboundResponse, SocketProtocol, StreamRequest } from '../contract/outbound.ts';
import { addTrace, tracedRequest } from '../telemetry/outbound-spans.ts';
import type { TraceContext } from '../telemetry/spans.ts';
import { parseOpenings } from './addresses.ts';
import { decoded } from './decoding.ts';
import { Dialer, type Shares } from './dialer.ts';
import { networkError, refused, refusedField, shown, tooLarge } from './errors.ts';
import { Attempt, MAX_REDIRECTS, REQUEST_TIMEOUT_MS } from './exchange.ts';
import type { Lookup } from './names.ts';
import { urlParts } from './parsed-urls.ts';
import { type Extras, firstHop, type Hop, lowerCased, redirected, tooManyRedirects } from './redirects.ts';
import { type OpenStream, openStream } from './streaming.ts';
import { parseTarget, type Target } from './targets.ts';

export type { Lookup } from './names.ts';

export interface EgressPolicy {
	/**
	 * Origins, addresses and CIDRs (EGRESS_ALLOW). An origin opens itself, on its port, at whatever address it has; an address
	 * or CIDR opens these addresses on every port that is not refused. Cloud metadata is never opened.
	 */
	allow: string[];
	/** Default: `createLookup`. */
	lookup?: Lookup;
	/** The most connections of one owner, 1024 by default, and of bytes of its answers, 128 MiB. */
	shares?: Shares;
}

export interface PooledEgress {
	/**
	 * Sends a request over pooled connections and reads the whole answer into memory: the hot path. @throws egress_refused, upstream_failed,
	 * upstream_timeout
	 * @param onRedirect is called with the target of a redirect before it is followed, and may throw
	 */
	request(options: OutboundRequest, onRedirect?: (next: URL) => void): Promise<OutboundResponse>;
	/** Sends a request and reads its answer as it is asked for. @throws as `request`, and so does the body; `onRedirect` as for `request` */
	stream(options: StreamRequest, onRedirect?: (next: URL) => void): Promise<OpenStream>;
	/** Fetches through the same guard, for libraries; the answer streams, for at most 64 MiB and ten minutes. @throws as `request` */
	fetch(url: string | URL, init?: RequestInit): Promise<Response>;
}

export interface Egress extends PooledEgress {
	/** Returns connections of the organization's own: no other organization uses a connection that this one may have tampered with. */
	of(organizationId: string): PooledEgress;
	/** Returns what `request` would send, and sends nothing. @throws as `request` does before it sends */
	preview(options: OutboundRequest): Promise<PreviewedRequest>;
	/** Returns one checked address for a protocol with a socket of its own. @throws egress_refused, upstream_failed, upstream_timeout */
	connect(host: string, port: number, options?: { protocol?: SocketProtocol }): Promise<CheckedAddress>;
	/** Checks a host and a port that are saved for `connect`, as `check` does. @throws egress_refused, naming `at` */
	checkAddress(host: string, port: number, options?: { protocol?: SocketProtocol; at?: string }): Promise<void>;
	/**
	 * Checks a URL that is saved to be called later. A name that does not resolve yet passes. @throws egress_refused, naming `at`
	 * @param at JSON pointer into the request's body
	 */
	check(url: string, at?: string): Promise<void>;
	/** Aborts requests in progress. */
	close(): Promise<void>;
}

/** A request without its framing on the wire: host, connection and content-length. */
export type PreviewedRequest = Omit<Hop, 'url'> & { url: string };

/** The connections of the service itself. */
const OWN_POOL = '';
const MiB = 1024 * 1024;
const MAX_BYTES = 10 * MiB;
const FETCH_TIMEOUT_MS = 600_000;
const FETCH_MAX_BYTES = 64 * MiB;

export function createEgress(policy: EgressPolicy): Egress {
	const dialer = new Dialer(parseOpenings(policy.allow), policy.lookup, policy.shares);
	const own = new Pooled(dialer, OWN_POOL);
	return {
		request: (options, onRedirect) => own.request(options, onRedirect),
		stream: (options, onRedirect) => own.stream(options, onRedirect),
		fetch: (url, init) => own.fetch(url, init),
		of: (organizationId) => new Pooled(dialer, organizationId),
		preview: (options) => preview(dialer, options),
		connect: (host, port, options) => connect(dialer, host, port, options),
		checkAddress: (host, port, { at, protocol } = {}) =>
			named(at, () => assertReachable(dialer, socketTarget(dialer, host, port, protocol))),
		check: (url, at) => check(dialer, url, at),
		close: () => dialer.close(),
	};
}

type OnRedirect = (next: URL) => void;
type Fetch = Parameters<PooledEgress['fetch']>;

/** A class, since one is made for every request: it costs one object instead of three functions. */
class Pooled implements PooledEgress {
	readonly #dialer: Dialer;
	readonly #pool: string;

	constructor(dialer: Dialer, pool: string) {
		this.#dialer = dialer;
		this.#pool = pool;
	}

	request(options: OutboundRequest, onRedirect?: OnRedirect): Promise<OutboundResponse> {
		return tracedRequest(options, (trace) => request(this.#dialer, this.#pool, options, { trace, onRedirect }));
	}

	stream(options: StreamRequest, onRedirect?: OnRedirect): Promise<OpenStream> {
		return tracedRequest(options, (trace) => openStream(this.#dialer, this.#pool, options, { trace, onRedirect }));
	}

	fetch(url: string | URL, init?: RequestInit): Promise<Response> {
		const { method = 'GET' } = init ?? {};
		return tracedRequest({ method, url: String(url) }, (trace) => guardedFetch(this.#dialer, this.#pool, [url, init], trace));
	}
}

async function request(dialer: Dialer, pool: string, options: OutboundRequest, { trace, onRedirect }: Extras): Promise<OutboundResponse> {
	const { timeoutMs = REQUEST_TIMEOUT_MS, maxBytes = MAX_BYTES, maxRedirects = MAX_REDIRECTS, signal } = options;
	const { url, host } = dialer.target(options.url);
	let hop = firstHop(url, options, trace);
	const attempt = new Attempt(dialer.owner(pool), { host, timeoutMs, maxBytes, signal });
	try {
		for (let count = 0; ; count++) {
			const answer = await attempt.send(hop);
			const next = maxRedirects === 0 ? null : redirected(hop, answer.status, answer.headers['location'] ?? null);
			if (next === null) {
				const whole = answer.headers['content-encoding'] === undefined ? answer : await decoded(answer, hop.url.host, maxBytes);
				return { status: whole.status, headers: whole.headers, body: whole.body, url: urlParts(hop.url).href };
			}
			if (count === maxRedirects) throw tooManyRedirects(host, maxRedirects);
			hop = { ...next, url: dialer.target(next.url.href).url };
			onRedirect?.(hop.url);
		}
	} finally {
		attempt.end();
	}
}

async function preview(dialer: Dialer, options: OutboundRequest): Promise<PreviewedRequest> {
	const target = dialer.target(options.url);
	const { url, ...hop } = firstHop(target.url, options);
	await assertReachable(dialer, target);
	return { ...hop, url: url.href };
}

async function guardedFetch(dialer: Dialer, pool: string, [input, init]: Fetch, trace: TraceContext | null): Promise<Response> {
	const { url, host } = dialer.target(String(input));
	// Node's own Request reads every kind of body; undici's package does not recognise Node's FormData.
	const asked = new Request(url, init);
	const body = asked.body === null ? null : Buffer.from(await asked.arrayBuffer());
	let hop: Hop = { url, method: asked.method, headers: addTrace(lowerCased(Object.fromEntries(asked.headers)), trace), body };
	const signal = AbortSignal.any([asked.signal, AbortSignal.timeout(FETCH_TIMEOUT_MS)]);
	for (let count = 0; ; count++) {
		const response = await fetchHop(dialer.agent(pool), hop, signal);
		const next = asked.redirect === 'manual' ? null : redirected(hop, response.status, response.headers.get('location'));
		if (next === null) return bounded(response, hop.url, signal);
		await response.body?.cancel();
		if (asked.redirect === 'error') throw new GatewayError('upstream_failed', `${shown(host)} answered with a redirect.`);
		if (count === MAX_REDIRECTS) throw tooManyRedirects(host, MAX_REDIRECTS);
		hop = { ...next, url: dialer.target(next.url.href).url };
	}
}

type UndiciResponse = Awaited<ReturnType<typeof undiciFetch>>;

async function fetchHop(dispatcher: Agent, hop: Hop, signal: AbortSignal): Promise<UndiciResponse> {
	const { url, ...init } = hop;
	try {
		return await undiciFetch(url, { ...init, redirect: 'manual', dispatcher, signal });
	} catch (error) {
		throw readable(error, url.host, signal);
	}
}

/** Wraps the bounded stream in Node's own Response: libraries check `instanceof Response`. */
function bounded(response: UndiciResponse, url: URL, signal: AbortSignal): Response {
	const { status, statusText } = response;
	const body = response.body === null ? null : ReadableStream.from(counted(response, url.host, signal));
	const answer = new Response(body, { status, statusText, headers: [...response.headers] });
	return Object.defineProperty(answer, 'url', { value: url.href });
}

/** @param response kept until it is read: undici cancels a body that nobody has begun to read once its response is garbage, and it would end empty */
async function* counted(response: UndiciResponse, host: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
	let sizeBytes = 0;
	try {
		for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
			sizeBytes += chunk.length;
			if (sizeBytes > FETCH_MAX_BYTES) throw tooLarge(host, FETCH_MAX_BYTES);
			yield chunk;
		}
	} catch (error) {
		throw readable(error, host, signal);
	}
}

/** Errors of the caller's own signal keep the name that `fetch` gives them; others become ours. */
function readable(error: unknown, host: string, signal: AbortSignal): unknown {
	const byName = error instanceof Error ? error.name : '';
	if (byName === 'TimeoutError') return new GatewayError('upstream_timeout', `${shown(host)} did not answer in time.`, { cause: error });
	return byName === 'AbortError' || error === signal.reason ? error : networkError(error, host);
}

async function connect(
	dialer: Dialer,
	host: string,
	port: number,
	{ protocol }: { protocol?: SocketProtocol } = {},
): Promise<CheckedAddress> {
	const [first] = await dialer.resolve(socketTarget(dialer, host, port, protocol));
	// `resolve` returns at least one address, each of family 4 or 6.
	const { address, family } = first as { address: string; family: 4 | 6 };
	return { address, family, port };
}

/** @throws egress_refused */
function socketTarget(dialer: Dialer, host: string, port: number, protocol: SocketProtocol | null = null): Target {
	if (!isIPv6(host) && !/^[^\s/?#@\\:[\]]+$/.test(host)) throw refused(`${shown(host)} is not a host name or an address.`);
	const origin = (scheme: string): string => `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${port}`;
	const opened = URL.canParse(origin('https')) && dialer.openings.origins.has(new URL(origin('https')).origin);
	// An origin includes its scheme, which a bare socket does not have: either scheme may be opened.
	return { ...parseTarget(origin(opened ? 'https' : 'http'), dialer.openings, protocol), host };
}

const check = (dialer: Dialer, url: string, at?: string): Promise<void> => named(at, () => assertReachable(dialer, dialer.target(url)));

/** Has a refusal name the field at fault. */
async function named(at: string | undefined, checked: () => Promise<void>): Promise<void> {
	try {
		await checked();
	} catch (error) {
		throw at === undefined ? error : refusedField(error, at);
	}
}

/** Checks a target if its name resolves. @throws egress_refused */
async function assertReachable(dialer: Dialer, target: Target): Promise<void> {
	try {
		await dialer.resolve(target);
	} catch (error) {
		if (asGatewayError(error)?.code === 'egress_refused') throw error;
	}
}
