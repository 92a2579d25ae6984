// The guard's streamed request: redirects as everywhere, then a body that is decoded as it is read, and can be left at any time.

import type { StreamRequest, StreamResponse } from '../contract/outbound.ts';
import { inTime } from '../kit/race.ts';
import type { Ending } from './arrivals.ts';
import { codingsOf, decodedHeaders } from './decoding.ts';
import type { Dialer } from './dialer.ts';
import { MAX_REDIRECTS, REQUEST_TIMEOUT_MS } from './exchange.ts';
import { type Extras, firstHop, redirected, tooManyRedirects } from './redirects.ts';
import { decodedStream } from './stream-decoding.ts';
import { StreamAttempt } from './stream-exchange.ts';

export interface OpenStream extends StreamResponse {
	body: StreamBody;
}

const MAX_BYTES = 64 * 1024 * 1024;
const IDLE_MS = 30_000;
/** The usual and the longest time of one body. */
const BODY = { usualMs: 600_000, longestMs: 3_600_000 };
const OVER = Object.freeze<IteratorReturnResult<undefined>>({ done: true, value: undefined });

export async function openStream(dialer: Dialer, pool: string, options: StreamRequest, { trace, onRedirect }: Extras): Promise<OpenStream> {
	const { timeoutMs = REQUEST_TIMEOUT_MS, idleMs = IDLE_MS, maxBytes = MAX_BYTES, maxRedirects = MAX_REDIRECTS, signal } = options;
	const bodyMs = Math.min(Math.max(1, options.bodyMs ?? BODY.usualMs), BODY.longestMs);
	const { url, host } = dialer.target(options.url);
	let hop = firstHop(url, options, trace);
	// A limit of 0 would be none.
	const attempt = new StreamAttempt(dialer.agent(pool), {
		host,
		timeoutMs,
		idleMs: Math.min(Math.max(1, idleMs), bodyMs),
		bodyMs,
		maxBytes,
		signal,
	});
	try {
		for (let count = 0; ; count++) {
			const { status, headers } = await attempt.send(hop);
			const next = maxRedirects === 0 ? null : redirected(hop, status, headers['location'] ?? null);
			if (next === null) return { ...answerOf(attempt, { headers, host: hop.url.host, maxBytes }), status, url: hop.url.href };
			if (count === maxRedirects) throw tooManyRedirects(host, maxRedirects);
			hop = { ...next, url: dialer.target(next.url.href).url };
			onRedirect?.(hop.url);
		}
	} catch (error) {
		attempt.stop(error as Error);
		throw error;
	}
}

interface Received {
	headers: Record<string, string>;
	host: string;
	maxBytes: number;
}

function answerOf(attempt: StreamAttempt, { headers, host, maxBytes }: Received): Pick<OpenStream, 'headers' | 'body'> {
	const encoding = headers['content-encoding'];
	const codings = codingsOf(encoding, host);
	const { arrivals, ended } = attempt.begin();
	const source = codings.length === 0 ? arrivals : decodedStream(arrivals, codings, { host, maxBytes });
	return { headers: encoding === undefined ? headers : decodedHeaders(headers), body: new StreamBody(attempt, source, ended) };
}

/** A body that is read once. Leaving it ends its connection, also while a part of it is waited for. */
export class StreamBody implements AsyncIterableIterator<Uint8Array, undefined> {
	/** Resolves when the connection is no longer used. */
	readonly ended: Promise<Ending>;
	readonly #attempt: StreamAttempt;
	readonly #source: AsyncIterator<Uint8Array, undefined>;
	#isRead = false;
	#isOver = false;
	#hasArrived = false;

	constructor(attempt: StreamAttempt, source: AsyncIterator<Uint8Array, undefined>, ended: Promise<Ending>) {
		this.#attempt = attempt;
		this.#source = source;
		this.ended = ended.then((ending) => {
			this.#hasArrived = true;
			return ending;
		});
	}

	/** The connection is no longer used; what has arrived can still be read. */
	get hasArrived(): boolean {
		return this.#hasArrived;
	}

	async next(): Promise<IteratorResult<Uint8Array, undefined>> {
		if (this.#isOver) return OVER;
		if (!this.#isRead) this.#attempt.read();
		this.#isRead = true;
		try {
			const next = await this.#source.next();
			if (next.done) this.#isOver = true;
			return this.#isOver ? OVER : next;
		} catch (error) {
			if (this.#isOver) return OVER;
			this.#isOver = true;
			this.#attempt.stop(error as Error);
			throw error;
		}
	}

	async return(): Promise<IteratorReturnResult<undefined>> {
		this.leave();
		return OVER;
	}

	leave(): void {
		this.#isOver = true;
		this.stop(new Left());
		// A decoder that is not waited for is freed.
		this.#source.return?.().catch(() => undefined);
	}

	/** Ends the connection; the reader gets the reason. */
	stop(reason: Error): void {
		this.#attempt.stop(reason);
	}

	/** Tells whether the whole body, or what there was of it, arrives in this time and fits into memory. */
	arrives(withinMs: number): Promise<boolean> {
		return inTime(
			this.ended.then(() => true),
			withinMs,
			() => null,
		).catch(() => false);
	}

	[Symbol.asyncIterator](): this {
		return this;
	}
}

/** Ends a body that its reader has left. */
export class Left extends Error {
	constructor() {
		super('The rest of the answer is not wanted.');
		this.name = 'Left';
	}
}
