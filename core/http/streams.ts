// Event streams of this process: their bounds, their headers, and their end with the client, the service or their time.

import type { Readable } from 'node:stream';
import type { Request, ResponseObject } from '@hapi/hapi';
import { GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import type { ServerEvent } from '../contract/server-events.ts';
import { describeThrown } from '../process/strays.ts';
import { type Answer, byHapi, lowerHeaders } from './answer.ts';
import { EventBody } from './event-body.ts';
import { PassedBody } from './passed-body.ts';

/** The most open streams of a process, and of one account in it. */
const MAX_STREAMS = 1000;
const MAX_OF_ACCOUNT = 100;
/** The share of both that only streams of running calls may have more: whoever listens must not take the places of those who work. */
const MORE_FOR_CALLS = 0.2;
const HEARTBEAT_MS = 15_000;
/** The longest stream. After it the client reconnects and is authenticated again. */
const MAX_STREAM_MS = 60 * 60_000;
/** The time in which a client must take some of what was sent; heartbeats count. */
const UNREAD_MS = 60_000;
/** The time for the last bytes of a stream that the service ends. */
const LAST_BYTES_MS = 500;
const RETRY_SECONDS = '10';

/** Compression would hold events back until there are enough of them, and so would the buffers of proxies. */
const HEADERS = {
	'content-type': 'text/event-stream',
	'content-encoding': 'identity',
	'cache-control': 'no-store, no-transform',
	'x-accel-buffering': 'no',
	// Else a client that does not read would keep its connection after the end, and with it the service from stopping.
	connection: 'close',
};

export interface StreamBounds {
	perProcess?: number;
	perAccount?: number;
	heartbeatMs?: number;
	unreadMs?: number;
}

/** The reason of a refusal: the account or the process has as many streams as it may. */
export class NoMoreStreams extends GatewayError {}

export interface Streaming {
	/** The account whose share of streams it takes. */
	account: string;
	/** Aborted when the service ends the stream; the source of the events has its signal. */
	leaving: AbortController;
	log: Pick<Log, 'warn'>;
	/** The stream does not end when the stop begins: its events end by themselves. */
	mayFinish?: boolean;
	maxMs?: number;
	/** Ends the stream in order when it aborts. */
	until?: AbortSignal;
	/** Further headers of the answer; those of an event stream win. */
	headers?: Readonly<Record<string, string>>;
}

/** A body that the service can end in order. */
type Endable = Readable & { finish(): void };

interface OpenStream {
	end(reason: unknown): void;
	mayFinish: boolean;
}

export class Streams {
	readonly #open = new Set<OpenStream>();
	readonly #counts = new Map<string, number>();
	readonly #stopping: AbortSignal;
	readonly #bounds: Required<StreamBounds>;

	/** The number of open streams. */
	get count(): number {
		return this.#open.size;
	}

	/** @param stopping aborts when the service stops: streams end then */
	constructor(stopping: AbortSignal, bounds: StreamBounds = {}) {
		this.#stopping = stopping;
		this.#bounds = { perProcess: MAX_STREAMS, perAccount: MAX_OF_ACCOUNT, heartbeatMs: HEARTBEAT_MS, unreadMs: UNREAD_MS, ...bounds };
		stopping.addEventListener('abort', () => this.#stop(), { once: true });
	}

	/** Has hapi answer with the events of a source. @throws as `events` */
	async answer(request: Request, events: AsyncIterable<ServerEvent>, streaming: Streaming): Promise<ResponseObject> {
		return byHapi(request, await this.events(request, events, streaming));
	}

	/**
	 * Answers with the events of a source, which is asked for each when the client has taken the one before.
	 * @throws NoMoreStreams; what the source throws at once
	 */
	async events(request: Request, events: AsyncIterable<ServerEvent>, streaming: Streaming): Promise<Answer> {
		// Nothing is asked of the source.
		if (request.method === 'head') return withHeaders(null, streaming);
		const leave = this.#enter(streaming.account, streaming.mayFinish ?? false);
		try {
			const body = new EventBody(events, this.#bounds.heartbeatMs);
			body.once('close', leave);
			await body.begin();
			// Node ends a connection without progress; hapi does not end a stream that nobody reads.
			request.raw.res.socket?.setTimeout(this.#bounds.unreadMs);
			this.#follow(request, body, streaming);
			return withHeaders(body, streaming);
		} catch (thrown) {
			leave();
			throw thrown;
		}
	}

	/**
	 * Passes on an event stream that a plugin writes itself: it takes a place, and ends with the client, the service or its time as the others
	 * do. There are no heartbeats in it.
	 * @throws NoMoreStreams
	 */
	pass(request: Request, source: Readable, streaming: Streaming): Readable | null {
		if (request.method === 'head') {
			source.destroy();
			return null;
		}
		const leave = this.#enter(streaming.account, streaming.mayFinish ?? false);
		const body = new PassedBody(source);
		body.once('close', leave);
		this.#leaveIdle(request, body);
		this.#follow(request, body, streaming);
		return body;
	}

	/** Leaves a client that takes nothing of what waits for it. A silent source is none of its faults. */
	#leaveIdle({ raw: { res } }: Request, body: Readable): void {
		let taken = -1;
		const watch = setInterval(() => {
			const now = res.socket?.bytesWritten ?? 0;
			if (res.writableNeedDrain && now === taken) res.destroy();
			taken = now;
		}, this.#bounds.unreadMs).unref();
		body.once('close', () => clearInterval(watch));
	}

	/** @returns a function that gives the place back. @throws NoMoreStreams */
	#enter(account: string, mayFinish: boolean): () => void {
		const own = this.#counts.get(account) ?? 0;
		const refusal = this.#refusal(own, mayFinish);
		if (refusal) throw refusal;
		this.#counts.set(account, own + 1);
		let isIn = true;
		return () => {
			if (isIn) this.#leave(account);
			isIn = false;
		};
	}

	#refusal(own: number, mayFinish: boolean): NoMoreStreams | null {
		const share = mayFinish ? 1 + MORE_FOR_CALLS : 1;
		const [perProcess, perAccount] = [this.#bounds.perProcess * share, this.#bounds.perAccount * share];
		const headers = { 'retry-after': RETRY_SECONDS };
		const refuse = (code: 'rate_limited' | 'unavailable', message: string) => new NoMoreStreams(code, message, { headers });
		if (this.#stopping.aborted && !mayFinish) return refuse('unavailable', 'The service is stopping.');
		if (own >= perAccount) return refuse('rate_limited', `Too many event streams are open: retry after ${RETRY_SECONDS} seconds.`);
		const all = [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
		return all >= perProcess ? refuse('unavailable', 'As many event streams are open as the service can have.') : null;
	}

	#leave(account: string): void {
		const left = (this.#counts.get(account) ?? 1) - 1;
		if (left > 0) this.#counts.set(account, left);
		else this.#counts.delete(account);
	}

	/** Ends the body with the client, its time or the service. */
	#follow({ raw: { res } }: Request, body: Endable, { leaving, log, mayFinish = false, maxMs = MAX_STREAM_MS, until }: Streaming): void {
		const end = (reason: unknown): void => {
			body.finish();
			leaving.abort(reason);
			// A client that does not read would never receive the end.
			if (res.writableNeedDrain) res.destroy();
			else setTimeout(() => res.closed || res.destroy(), LAST_BYTES_MS).unref();
		};
		const stream: OpenStream = { end, mayFinish };
		const tooLong = setTimeout(() => end(new GatewayError('unavailable', 'The stream has lasted as long as one may.')), maxMs).unref();
		const onEnd = (): void => end(until?.reason);
		until?.addEventListener('abort', onEnd, { once: true });
		this.#open.add(stream);
		body.on('error', (error) => log.warn({ error: describeThrown(error) }, 'the source of an event stream failed'));
		body.once('close', () => {
			clearTimeout(tooLong);
			until?.removeEventListener('abort', onEnd);
			this.#open.delete(stream);
		});
		if (res.closed) body.destroy();
		else res.once('close', () => body.destroy());
		// The stop may have come while the source was asked for its first event.
		if (this.#stopping.aborted && !mayFinish) end(stopped());
		if (until?.aborted) onEnd();
	}

	#stop(): void {
		for (const stream of this.#open) if (!stream.mayFinish) stream.end(stopped());
	}
}

const stopped = (): GatewayError => new GatewayError('unavailable', 'The service is stopping.');

const withHeaders = (body: Readable | null, { headers = {} }: Streaming): Answer => ({
	status: 200,
	headers: { ...lowerHeaders(headers), ...HEADERS },
	body,
});
