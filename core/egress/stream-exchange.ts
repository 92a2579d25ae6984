// One request whose answer is read while it arrives, with its time limits and the ways in which it can be stopped, down to the socket.

import type { Agent, Dispatcher } from 'undici';
import { GatewayError } from '../contract/errors.ts';
import { Arrivals, type Ending } from './arrivals.ts';
import { fellSilent, NoAnswer, networkError, shown, tooLarge, unanswered } from './errors.ts';
import { type Headers, joined } from './exchange.ts';
import type { Hop } from './redirects.ts';

export interface StreamLimits {
	host: string;
	/** Until the response's headers. */
	timeoutMs: number;
	idleMs: number;
	bodyMs: number;
	/** The maximum of the body as received. */
	maxBytes: number;
	signal: AbortSignal | undefined;
}

export interface Head {
	status: number;
	headers: Record<string, string>;
}

/** A handler for undici. */
class StreamExchange implements Dispatcher.DispatchHandler {
	readonly head: Promise<Head>;
	/** Resolves when the connection is no longer used. */
	readonly ended: Promise<Ending>;
	readonly arrivals: Arrivals;
	readonly #head = Promise.withResolvers<Head>();
	readonly #ended = Promise.withResolvers<Ending>();
	readonly #hop: Hop;
	readonly #limits: Pick<StreamLimits, 'idleMs' | 'maxBytes'> & { isFirst: boolean };
	#sizeBytes = 0;
	/** Null until there is a connection to write to. */
	#controller: Dispatcher.DispatchController | null = null;
	#stopped: Error | null = null;
	#hasEnded = false;

	constructor(hop: Hop, limits: Pick<StreamLimits, 'idleMs' | 'maxBytes'> & { isFirst: boolean }) {
		this.head = this.#head.promise;
		this.ended = this.#ended.promise;
		this.#hop = hop;
		this.#limits = limits;
		this.arrivals = new Arrivals({ pause: () => this.#controller?.pause(), resume: () => this.#controller?.resume() });
	}

	/** Stops the exchange, down to the socket. If it still waits for a connection, nothing will be sent. */
	stop(reason: Error): void {
		if (this.#stopped) return;
		this.#stopped = reason;
		this.#head.reject(reason);
		this.arrivals.break(reason);
		this.#ended.resolve(reason);
		if (!this.#hasEnded) this.#controller?.abort(reason);
	}

	onRequestStart(controller: Dispatcher.DispatchController): void {
		this.#controller = controller;
		if (this.#stopped) controller.abort(this.#stopped);
	}

	onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
		// Informational responses precede the one that counts (RFC 9110 §15.2).
		if (status >= 200) this.#head.resolve({ status, headers: joined(headers) });
	}

	onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
		this.#sizeBytes += piece.length;
		if (this.#sizeBytes > this.#limits.maxBytes) this.stop(tooLarge(this.#hop.url.host, this.#limits.maxBytes));
		else this.arrivals.push(piece);
	}

	onResponseEnd(): void {
		this.#end('whole');
	}

	onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
		if (this.#stopped) return;
		const failure = this.#failure(error);
		this.#head.reject(failure);
		this.#end(failure);
	}

	#end(ending: Ending): void {
		this.#hasEnded = true;
		this.arrivals.end(ending);
		this.#ended.resolve(ending);
	}

	/** Creates a new error: when a connection fails, every request that waits for it gets the same one. */
	#failure(error: Error & { code?: unknown }): Error {
		const { host } = this.#hop.url;
		if (error.code === 'UND_ERR_BODY_TIMEOUT') return fellSilent(host, this.#limits.idleMs);
		const failure = networkError(error, host);
		if (!(failure instanceof NoAnswer)) return failure;
		return new NoAnswer(failure.code, failure.message, { cause: error, isUnsent: this.#limits.isFirst && this.#controller === null });
	}
}

/** The limits of one streamed answer and the redirects before it: until its headers, until it is read, and until its end. */
export class StreamAttempt {
	readonly #agent: Agent;
	readonly #limits: StreamLimits;
	#timer: NodeJS.Timeout;
	#running: StreamExchange | null = null;
	#stopped: Error | null = null;

	constructor(agent: Agent, limits: StreamLimits) {
		this.#agent = agent;
		this.#limits = limits;
		const { host, timeoutMs, signal } = limits;
		this.#timer = setTimeout(() => this.stop(unanswered(host, timeoutMs)), timeoutMs);
		if (signal?.aborted) this.#onAbort();
		else signal?.addEventListener('abort', this.#onAbort, { once: true });
	}

	/** Sends one request, in place of the one before. @throws upstream_failed, upstream_timeout, egress_refused, or the reason of the signal */
	send(hop: Hop): Promise<Head> {
		if (this.#stopped) return Promise.reject(this.#stopped);
		const { idleMs, maxBytes } = this.#limits;
		const exchange = new StreamExchange(hop, { idleMs, maxBytes, isFirst: this.#running === null });
		this.#running?.stop(new Error('The redirect is followed.'));
		this.#running = exchange;
		const { method, headers, body, url } = hop;
		this.#agent.dispatch(
			{
				...{ origin: url.origin, path: url.pathname + url.search, headers, body, headersTimeout: 0, bodyTimeout: idleMs },
				// `method` may be any token; undici's type lists only the common ones.
				method: method as Dispatcher.HttpMethod,
			},
			exchange,
		);
		return exchange.head;
	}

	/** Begins with the body of the last answer. @returns its bytes as received, and when its connection is no longer used */
	begin(): { arrivals: Arrivals; ended: Promise<Ending> } {
		const { host, idleMs } = this.#limits;
		const { arrivals, ended } = this.#running ?? noAnswer();
		this.#limit(idleMs, () => new GatewayError('upstream_failed', `The answer of ${shown(host)} was not read within ${idleMs} ms.`));
		void ended.then(() => this.#end());
		return { arrivals, ended };
	}

	/** Is called when the body is asked for. */
	read(): void {
		const { host, bodyMs } = this.#limits;
		const late = (): Error =>
			new GatewayError('upstream_timeout', `${shown(host)} did not end its answer within ${bodyMs / 60_000} minutes.`);
		if (!this.#stopped) this.#limit(bodyMs, late);
	}

	stop(reason: Error): void {
		this.#stopped ??= reason;
		this.#running?.stop(this.#stopped);
		this.#end();
	}

	#limit(ms: number, reason: () => Error): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.stop(reason()), ms);
	}

	#end(): void {
		this.#stopped ??= new Error('The answer has ended.');
		clearTimeout(this.#timer);
		this.#limits.signal?.removeEventListener('abort', this.#onAbort);
	}

	readonly #onAbort = (): void => {
		const reason: unknown = this.#limits.signal?.reason;
		this.stop(reason instanceof Error ? reason : new Error('The call was cancelled.', { cause: reason }));
	};
}

function noAnswer(): never {
	throw new Error('No request was sent.');
}
