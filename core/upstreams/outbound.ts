// The outbound requests of one run of a tool: signed with the credentials stored for its API, on its origin and no other, and with those
// that its caller passed for it.

import type { Api } from '../contract/nouns.ts';
import type {
	CheckedAddress,
	OutboundRequest,
	OutboundResponse,
	SocketProtocol,
	StreamRequest,
	StreamResponse,
} from '../contract/outbound.ts';
import { refused, shown } from '../egress/errors.ts';
import type { OpenStream } from '../egress/streaming.ts';
import { withoutSecrets } from '../kit/hidden-secrets.ts';
import { raceWith } from '../kit/race.ts';
import type { CredentialRow } from '../store/store.ts';
import { tracedExchange } from '../telemetry/outbound-spans.ts';
import type { HeldToken } from './access-tokens.ts';
import type { CredentialHealth } from './credential-health.ts';
import type { Signer } from './credentials.ts';
import { withoutSecret } from './hiding.ts';
import { withPassed } from './pass-through.ts';
import { type SendingParts, send, watched, watchedAnswer } from './sending.ts';
import { bearer, headerOf, withHeader } from './signing.ts';
import { OpenStreams, stream } from './streaming.ts';
import { isCredentialRefused } from './token-requests.ts';

/** The part of a call that an executor sends with. */
export interface Outbound {
	sign(request: OutboundRequest): Promise<OutboundRequest>;
	renew(refused: OutboundRequest): Promise<OutboundRequest | null>;
	request(options: OutboundRequest): Promise<OutboundResponse>;
	stream(options: StreamRequest): Promise<StreamResponse>;
	fetch(url: string | URL, init: RequestInit): Promise<Response>;
	connect(host: string, port: number, options?: { protocol?: SocketProtocol }): Promise<CheckedAddress>;
	exchange<T>(url: string, work: (failed: () => void, trace: Readonly<Record<string, string>>) => Promise<T>): Promise<T>;
}

export interface OutboundParts extends SendingParts {
	signer: Signer;
	api: Api | null;
	credentials: readonly CredentialRow[];
	/** The caller's own credentials for the API's origin: values by the headers that receive them. */
	passed?: readonly [to: string, value: string][];
	/** Learns whether the stored credentials of APIs work. */
	credentialHealth?: CredentialHealth;
}

export class OutboundRun implements Outbound {
	readonly #parts: OutboundParts;
	/** Secrets that the run's requests were signed with. */
	#secrets: Set<string> | null = null;
	#tokens: Map<string, HeldToken> | null = null;
	/** Tokens that replaced a refused one. */
	readonly #renewed: HeldToken[] = [];
	/** The streamed answers that hold a connection; made with the first. */
	#streams: OpenStreams | null = null;
	#hasEnded = false;
	#upstreamMs = 0;

	constructor(parts: OutboundParts) {
		this.#parts = parts;
	}

	/** The time for which the run waited for upstreams until their answers began, and for turns in the lane. */
	get spentMs(): { upstreamMs: number; waitingMs: number } {
		const waitingMs = this.#parts.lane?.waitedMs ?? 0;
		return { upstreamMs: Math.max(0, this.#upstreamMs - waitingMs), waitingMs };
	}

	async sign(request: OutboundRequest): Promise<OutboundRequest> {
		const { api, credentials, signer, signal } = this.#parts;
		if (!api) return request;
		if (credentials.length === 0) return this.#withPassed(request, api);
		const signature = await raceWith(signal, signer.sign(request, api, credentials)).catch((thrown: unknown) => this.#unsigned(thrown));
		for (const secret of signature.secrets) this.#keepSecret(secret);
		if (signature.token) this.#keepToken(signature.token);
		return this.#withPassed(signature.request, api);
	}

	/** Adds the caller's own credentials, which replace the stored ones. */
	#withPassed(request: OutboundRequest, { baseUrl }: Api): OutboundRequest {
		const { passed = [] } = this.#parts;
		if (passed.length === 0 || new URL(request.url).origin !== URL.parse(baseUrl)?.origin) return request;
		for (const [, value] of passed) this.#keepSecret(value);
		return withPassed(request, passed);
	}

	/**
	 * Sends a request. After a refused token, a new one is obtained and the request sent again, once and whatever its method, since the first
	 * was not executed. The second request has `timeoutMs` for itself; the deadline of the run covers both.
	 */
	async request(options: OutboundRequest): Promise<OutboundResponse> {
		const startedMs = performance.now();
		try {
			const first = await this.#send(options);
			const answer = first.status === 401 ? await this.#again(first, options) : first;
			this.#judge(answer.status);
			return answer;
		} finally {
			this.#upstreamMs += performance.now() - startedMs;
		}
	}

	/** Sends a request again whose token was refused. @returns the refusal where there is no other token */
	async #again(refused: OutboundResponse, options: OutboundRequest): Promise<OutboundResponse> {
		if (new URL(refused.url).origin !== new URL(options.url).origin) return refused;
		const again = await this.renew(options);
		if (again === null) return refused;
		const second = await this.#send(again);
		if (second.status === 401) await this.renew(again);
		return withoutToken(second, this.#tokenIn(again)?.accessToken ?? '');
	}

	/** Tells by an answer whether the stored credentials work. */
	#judge(status: number): void {
		const { api, passed = [], credentialHealth } = this.#parts;
		if (api && this.#secrets !== null && passed.length === 0) credentialHealth?.answered(api, status);
	}

	#unsigned(thrown: unknown): never {
		const { api, credentialHealth } = this.#parts;
		if (api && isCredentialRefused(thrown)) credentialHealth?.refused(api);
		throw thrown;
	}

	/** Does what `request` does. An answer that is repeated gives back its place in the lane before. */
	stream(options: StreamRequest): Promise<StreamResponse> {
		return this.#timed(async () => {
			const answer = await this.#streamOnce(options);
			this.#judge(answer.status);
			return answer;
		});
	}

	async #streamOnce(options: StreamRequest): Promise<StreamResponse> {
		const answer = await this.#stream(options);
		if (answer.status !== 401 || new URL(answer.url).origin !== new URL(options.url).origin) return answer;
		const again = await this.renew(options);
		if (again === null) return answer;
		answer.body.leave();
		// Its place in the lane is free then.
		await answer.body.ended;
		const second = await this.#stream({ ...options, ...again });
		if (second.status === 401) await this.renew(again);
		return { ...second, body: withoutSecret(second.body, this.#tokenIn(again)?.accessToken ?? '') };
	}

	/** Ends what the run has left open: streamed answers, and their places in the lane. */
	end(): void {
		this.#hasEnded = true;
		this.#streams?.end();
		this.#parts.lane?.end();
	}

	async renew(refused: OutboundRequest): Promise<OutboundRequest | null> {
		const token = this.#tokenIn(refused);
		if (!token) return null;
		if (this.#renewed.includes(token)) {
			token.refused();
			return null;
		}
		const next = await raceWith(this.#parts.signal, token.renew()).catch((thrown: unknown) => this.#unsigned(thrown));
		if (next === null) return null;
		this.#keepSecret(next.accessToken);
		this.#renewed.push(next);
		return withHeader(refused, 'authorization', this.#keepToken(next));
	}

	#keepSecret(secret: string): void {
		if (secret === '') return;
		this.#secrets ??= new Set();
		this.#secrets.add(secret);
	}

	/** @returns the value of the header that carries the token */
	#keepToken(token: HeldToken): string {
		const authorization = bearer(token.accessToken);
		this.#tokens ??= new Map();
		this.#tokens.set(authorization, token);
		return authorization;
	}

	#tokenIn(request: OutboundRequest): HeldToken | undefined {
		return this.#tokens?.get(headerOf(request, 'authorization') ?? '');
	}

	/**
	 * Sends once only: the answer streams and the body may, so neither can be repeated, and libraries that take a `fetch` have retry rules of
	 * their own.
	 */
	async fetch(url: string | URL, init: RequestInit): Promise<Response> {
		const { egress, lane, breakers, organizationId } = this.#parts;
		const target = URL.parse(String(url));
		if (target) breakers.assertClosed(organizationId, target);
		const once = (): Promise<Response> => watchedAnswer(this.#parts, target, () => egress.of(organizationId).fetch(url, init));
		return this.#timed(() => (lane ? lane.fetch(init.signal, once) : once()));
	}

	/** Opens a socket that the executor uses as it likes: its use is counted by `exchange`. */
	connect(host: string, port: number, options?: { protocol?: SocketProtocol }): Promise<CheckedAddress> {
		return this.#parts.egress.connect(host, port, options);
	}

	/** Runs once only, like `fetch`: whether a repetition is harmless is known to the protocol's implementation. */
	async exchange<T>(url: string, work: (failed: () => void, trace: Readonly<Record<string, string>>) => Promise<T>): Promise<T> {
		const { lane, breakers, organizationId } = this.#parts;
		const target = URL.parse(url);
		if (target) breakers.assertClosed(organizationId, target);
		const once = (): Promise<T> => tracedExchange(url, (trace) => watched(this.#parts, target, (failed) => work(failed, trace)));
		return this.#timed(() => (lane ? lane.turn(once) : once()));
	}

	#send(options: OutboundRequest): Promise<OutboundResponse> {
		return send(this.#parts, options, this.#onRedirect(options));
	}

	async #stream(options: StreamRequest): Promise<OpenStream> {
		const answer = await stream(this.#parts, options, this.#onRedirect(options));
		this.#streams ??= new OpenStreams();
		this.#streams.add(answer.body);
		if (this.#hasEnded) this.#streams.end();
		return answer;
	}

	/** Counts the time of `work`. */
	async #timed<T>(work: () => Promise<T>): Promise<T> {
		const startedMs = performance.now();
		try {
			return await work();
		} finally {
			this.#upstreamMs += performance.now() - startedMs;
		}
	}

	#onRedirect(options: OutboundRequest): (next: URL) => void {
		return (next) => {
			if (next.origin !== new URL(options.url).origin) this.#assertKept(next);
		};
	}

	/**
	 * Refuses a redirect that carries a secret: a server may repeat in `Location` what it received, above all a key in the query. @throws
	 * egress_refused
	 */
	#assertKept(next: URL): void {
		const shownPart = next.href.slice(next.origin.length);
		const readable = decoded(shownPart);
		for (const secret of this.#secrets ?? []) {
			if (readable.includes(secret) || shownPart.includes(encodeURIComponent(secret)))
				throw refused(`A redirect to ${shown(next.host)} carries the API’s credential in its address, and is not followed.`);
		}
	}
}

/** Removes a renewed token from the answer: executors hide only the secrets that they signed with. */
function withoutToken(answer: OutboundResponse, token: string): OutboundResponse {
	if (!answer.body.includes(token)) return answer;
	return { ...answer, body: Buffer.from(withoutSecrets(answer.body.toString('latin1'), [token]), 'latin1') };
}

/** Decodes a query, in which `+` is a space. */
function decoded(text: string): string {
	const spaced = text.replaceAll('+', ' ');
	try {
		return `${decodeURIComponent(text)} ${decodeURIComponent(spaced)}`;
	} catch {
		// An invalid percent-encoding is compared as it is.
		return text;
	}
}
