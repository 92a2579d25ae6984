// One request and its whole answer over a pooled connection, with a size limit and a way to stop it at any time.

import type { Agent, Dispatcher } from 'undici';
import { atTurnEnd } from '../process/turn-end.ts';
import { NoAnswer, networkError, timedOut, tooLarge, tooMuchHeld } from './errors.ts';
import type { HeldBytes } from './held-bytes.ts';
import { urlParts } from './parsed-urls.ts';
import type { Hop } from './redirects.ts';

/** Default time limit of a request. */
export const REQUEST_TIMEOUT_MS = 30_000;
export const MAX_REDIRECTS = 3;

/** An answer as received, still compressed. */
export interface RawAnswer {
	status: number;
	/** Names in lower case; repeated headers are joined by a comma. */
	headers: Record<string, string>;
	body: Buffer;
}

/** Headers as undici gives them. */
export type Headers = Record<string, string | string[] | undefined>;

/** Those whose request it is: their connections, and the count of the bytes that they hold. */
export interface Owner {
	name: string;
	agent: Agent;
	held: HeldBytes;
}

/** Answers of one part, as most are, count nothing. */
const UNCOUNTED_BYTES = 64 * 1024;

/** A handler for undici, without the stream that undici's own `request` adds. */
class Exchange implements Dispatcher.DispatchHandler {
	readonly answer: Promise<RawAnswer>;
	readonly #settle: { resolve(answer: RawAnswer): void; reject(reason: unknown): void };
	readonly #hop: Hop;
	readonly #maxBytes: number;
	readonly #owner: Owner;
	/** The first request of its call; later ones follow redirects. */
	readonly #isFirst: boolean;
	#chunks: Buffer[] = [];
	#sizeBytes = 0;
	/** The bytes of it that count as held. */
	#heldBytes = 0;
	#status = 0;
	#headers: Headers = {};
	/** Null until there is a connection to write to. */
	#controller: Dispatcher.DispatchController | null = null;
	#stopped: Error | null = null;

	constructor(hop: Hop, owner: Owner, { maxBytes, isFirst }: { maxBytes: number; isFirst: boolean }) {
		const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
		this.answer = promise;
		this.#settle = { resolve, reject };
		this.#hop = hop;
		this.#owner = owner;
		this.#maxBytes = maxBytes;
		this.#isFirst = isFirst;
	}

	/** Sends the request, with all others of this turn. */
	begin(): void {
		const { agent } = this.#owner;
		const { method, headers, body, url } = this.#hop;
		const { origin, target: path } = urlParts(url);
		atTurnEnd(() => {
			if (this.#stopped) return;
			try {
				// `method` may be any token; undici's type lists only the common ones.
				agent.dispatch({ origin, path, method: method as Dispatcher.HttpMethod, headers, body }, this);
			} catch (thrown) {
				this.#settle.reject(thrown);
			}
		});
	}

	/** Stops the exchange, down to the socket. If it still waits for a connection, nothing will be sent. */
	stop(reason: Error): void {
		this.#stopped ??= reason;
		this.#chunks = [];
		this.#release();
		this.#settle.reject(this.#stopped);
		this.#controller?.abort(this.#stopped);
	}

	onRequestStart(controller: Dispatcher.DispatchController): void {
		this.#controller = controller;
		if (this.#stopped) controller.abort(this.#stopped);
	}

	onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
		this.#status = status;
		this.#headers = headers;
	}

	onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
		this.#sizeBytes += chunk.length;
		if (this.#stopped) return;
		if (this.#sizeBytes > this.#maxBytes) this.stop(tooLarge(this.#hop.url.host, this.#maxBytes));
		else if (this.#sizeBytes > UNCOUNTED_BYTES && !this.#hold()) this.stop(tooMuchHeld());
		else this.#chunks.push(chunk);
	}

	/** Counts what has come since. @returns false when its owner holds too much */
	#hold(): boolean {
		const { held, name } = this.#owner;
		if (!held.add(name, this.#sizeBytes - this.#heldBytes)) return false;
		this.#heldBytes = this.#sizeBytes;
		return true;
	}

	#release(): void {
		if (this.#heldBytes > 0) this.#owner.held.remove(this.#owner.name, this.#heldBytes);
		this.#heldBytes = 0;
	}

	/** Hands the answer over, with all others of this turn: what follows is then done for all of them in a row. */
	onResponseEnd(): void {
		this.#release();
		const [first] = this.#chunks;
		const body = first && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks, this.#sizeBytes);
		atTurnEnd(() => this.#settle.resolve({ status: this.#status, headers: joined(this.#headers), body }));
	}

	onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
		this.#release();
		this.#settle.reject(this.#stopped ?? this.#failure(error));
	}

	/** Creates a new error: when a connection fails, every request that waits for it gets the same one. */
	#failure(error: Error): Error {
		const failure = networkError(error, this.#hop.url.host);
		if (!(failure instanceof NoAnswer)) return failure;
		return new NoAnswer(failure.code, failure.message, { cause: error, isUnsent: this.#isFirst && this.#controller === null });
	}
}

/** The time limit and the abort signal of one call, over all its redirects. */
export class Attempt {
	readonly #owner: Owner;
	readonly #maxBytes: number;
	readonly #signal: AbortSignal | undefined;
	readonly #timer: NodeJS.Timeout;
	#running: Exchange | null = null;
	#stopped: Error | null = null;

	constructor(owner: Owner, limits: { host: string; timeoutMs: number; maxBytes: number; signal: AbortSignal | undefined }) {
		this.#owner = owner;
		this.#maxBytes = limits.maxBytes;
		this.#signal = limits.signal;
		this.#timer = setTimeout(() => this.#stop(timedOut(limits.host, limits.timeoutMs)), limits.timeoutMs);
		if (limits.signal?.aborted) this.#onAbort();
		else limits.signal?.addEventListener('abort', this.#onAbort, { once: true });
	}

	/** Sends one request. @throws upstream_failed, upstream_timeout, egress_refused, or the reason of the signal */
	send(hop: Hop): Promise<RawAnswer> {
		if (this.#stopped) return Promise.reject(this.#stopped);
		const exchange = new Exchange(hop, this.#owner, { maxBytes: this.#maxBytes, isFirst: this.#running === null });
		this.#running = exchange;
		exchange.begin();
		return exchange.answer;
	}

	end(): void {
		clearTimeout(this.#timer);
		this.#signal?.removeEventListener('abort', this.#onAbort);
	}

	readonly #onAbort = (): void => {
		const reason: unknown = this.#signal?.reason;
		this.#stop(reason instanceof Error ? reason : new Error('The call was cancelled.', { cause: reason }));
	};

	#stop(reason: Error): void {
		this.#stopped ??= reason;
		this.#running?.stop(this.#stopped);
	}
}

export function joined(headers: Headers): Record<string, string> {
	const flat: Record<string, string> = {};
	for (const name in headers) {
		const value = headers[name];
		if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ');
	}
	return flat;
}
