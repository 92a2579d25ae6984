// A run that sends nothing: the executor runs, or its preview is called, until its first request would be sent.

import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { GatewayError } from '../contract/errors.ts';
import type { Api, Json, JsonObject } from '../contract/nouns.ts';
import type { CheckedAddress, OutboundRequest, SocketProtocol, StreamRequest } from '../contract/outbound.ts';
import type { Egress } from '../egress/egress.ts';
import { HIDDEN } from '../registry/secret-walk.ts';
import type { CredentialRow } from '../store/store.ts';
import type { Signer } from '../upstreams/credentials.ts';
import type { Outbound } from '../upstreams/outbound.ts';
import { basic } from '../upstreams/signing.ts';

const AUTHORIZATION = /^(?:proxy-)?authorization$/;
const KEY = /^(?:x-)?(?:api-?key|(?:auth|access)-token)$/;

export interface DryRunParts {
	egress: Egress;
	signer: Signer;
	api: Api | null;
	credentials: readonly CredentialRow[];
}

/** Stops the executor at the point where it would have sent; even if it catches this, nothing is sent. */
class NotSent extends Error {}

export class DryRun implements Outbound {
	/** Replaces every secret until the request is shown: a text that any header, address or body accepts. */
	readonly mask = `hidden-${randomUUID()}`;
	readonly #parts: DryRunParts;
	#request: JsonObject | null = null;
	#isPreview = false;

	constructor(parts: DryRunParts) {
		this.#parts = parts;
	}

	/** Returns the first request of `execute`, or the result of `preview`. @throws their errors; not_implemented if there is neither */
	async show(execute: () => Promise<unknown>, preview: (() => Promise<JsonObject>) | null): Promise<JsonObject> {
		this.#isPreview = preview !== null;
		if (preview) return this.#shown(await preview()) as JsonObject;
		try {
			await execute();
		} catch (error) {
			if (this.#request === null) throw error;
		}
		if (this.#request === null) throw unseen('This tool sends no request that could be shown.');
		return this.#request;
	}

	async sign(request: OutboundRequest): Promise<OutboundRequest> {
		const { api, credentials, signer } = this.#parts;
		return api ? signer.preview(request, api, { credentials, hidden: this.mask }) : request;
	}

	/** Returns null: nothing is sent, so nothing was refused. */
	async renew(): Promise<null> {
		return null;
	}

	async request(options: OutboundRequest): Promise<never> {
		const { method, url, headers, body } = await this.#parts.egress.preview(options);
		const bytes = typeof body === 'string' ? Buffer.from(body) : body;
		const isText = bytes !== null && isUtf8(bytes);
		// Later requests depend on the answer, so only the first one is shown.
		this.#request ??= this.#shown({
			method,
			url,
			headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, hiddenIn(name, value)])),
			body: bytes?.toString(isText ? 'utf8' : 'base64') ?? null,
			bodyEncoding: bytes && (isText ? 'text' : 'base64'),
		}) as JsonObject;
		throw new NotSent('Nothing is sent in a dry run.');
	}

	stream(options: StreamRequest): Promise<never> {
		return this.request(options);
	}

	async fetch(url: string | URL, init: RequestInit): Promise<Response> {
		const asked = new Request(url, init);
		const body = asked.body === null ? null : Buffer.from(await asked.arrayBuffer());
		await this.request({ method: asked.method, url: String(url), headers: Object.fromEntries(asked.headers), body });
		throw new NotSent('Nothing is sent in a dry run.');
	}

	/** Refuses unless a preview runs: an executor that has the address could dial it; a preview must not. */
	async connect(host: string, port: number, options?: { protocol?: SocketProtocol }): Promise<CheckedAddress> {
		const address = await this.#parts.egress.connect(host, port, options);
		if (!this.#isPreview) throw unseen('This tool speaks a protocol whose requests cannot be shown.');
		return address;
	}

	async exchange(): Promise<never> {
		throw unseen('This tool speaks a protocol whose requests cannot be shown.');
	}

	/** Replaces every mask by `••••`, also inside Basic's base64. */
	#shown(value: Json): Json {
		if (typeof value === 'string') return value.replaceAll(basic(this.mask, this.mask), `Basic ${HIDDEN}`).replaceAll(this.mask, HIDDEN);
		if (Array.isArray(value)) return value.map((item) => this.#shown(item));
		if (value === null || typeof value !== 'object') return value;
		return Object.fromEntries(Object.entries(value).map(([key, item]) => [this.#shown(key), this.#shown(item)]));
	}
}

/** Hides headers that always hold a secret, since one that was typed into a config is not marked as secret. @param name in lower case */
function hiddenIn(name: string, value: string): string {
	if (name === 'cookie') return value.split(/; */).map(hiddenPair).join('; ');
	if (KEY.test(name)) return HIDDEN;
	return AUTHORIZATION.test(name) ? value.replace(/^([\w-]+ +)?.*$/s, (_, scheme = '') => `${scheme}${HIDDEN}`) : value;
}

const hiddenPair = (pair: string): string => `${pair.slice(0, pair.indexOf('=') + 1)}${HIDDEN}`;

const unseen = (message: string): GatewayError => new GatewayError('not_implemented', `${message} Run it without dryRun.`);
