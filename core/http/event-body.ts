// The body of an event stream: asks the source for an event only when the client has taken the one before, and sends heartbeats in between.

import { Readable } from 'node:stream';
import type { ServerEvent } from '../contract/server-events.ts';
import { inTime } from '../kit/race.ts';
import { frameEvent, HEARTBEAT } from './server-events.ts';

/** The time in which the source may still refuse the request instead of beginning. */
const FIRST_MS = 10;

type Next = IteratorResult<ServerEvent, unknown>;
const NOT_YET = Symbol('not yet');

export class EventBody extends Readable {
	readonly #events: AsyncIterator<ServerEvent, unknown>;
	readonly #heartbeat: NodeJS.Timeout;
	/** The first event as far as `begin` asked for it. */
	#first: Promise<Next> | null = null;
	#isFirstHere = false;
	#isAsking = false;
	/** The client has taken everything. */
	#isWanted = false;
	#isQuiet = true;
	#hasEnded = false;

	/** @param heartbeatMs time after which a silent stream says that it lives */
	constructor(events: AsyncIterable<ServerEvent>, heartbeatMs: number) {
		// Nothing is kept: what was not taken waits in the source.
		super({ highWaterMark: 0 });
		this.#events = events[Symbol.asyncIterator]();
		this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs).unref();
	}

	/** Asks for the first event. @throws what the source throws before anything was sent */
	async begin(): Promise<void> {
		try {
			const first = this.#ask();
			first.catch(() => undefined);
			this.#first = first;
			await inTime(first, FIRST_MS, () => NOT_YET);
			this.#isFirstHere = true;
		} catch (thrown) {
			if (thrown === NOT_YET) return;
			this.destroy();
			throw thrown;
		}
	}

	/** Ends the stream in order, whatever the source would still yield. */
	finish(): void {
		if (this.#hasEnded || this.destroyed) return;
		this.#end();
		this.#leave();
	}

	override _read(): void {
		this.#isWanted = true;
		if (this.#isAsking || this.#hasEnded) return;
		this.#isAsking = true;
		const asked = this.#first ?? this.#ask();
		// Sends the headers, too.
		if (this.#first && !this.#isFirstHere) this.#send(HEARTBEAT);
		this.#first = null;
		asked.then(
			(next) => this.#take(next),
			(error: unknown) => this.#fail(error),
		);
	}

	override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
		clearInterval(this.#heartbeat);
		this.#leave();
		callback(error);
	}

	#take(next: Next): void {
		this.#isAsking = false;
		if (this.#hasEnded || this.destroyed) return;
		try {
			if (next.done) return void this.#end();
			this.#isQuiet = false;
			this.#send(frameEvent(next.value));
		} catch (error) {
			this.#fail(error);
		}
	}

	/** Breaks the connection off, so that nobody takes a part for the whole. */
	#fail(thrown: unknown): void {
		if (this.#hasEnded || this.destroyed) return;
		this.destroy(thrown instanceof Error ? thrown : new Error('The source of events threw something that is no Error.', { cause: thrown }));
	}

	#beat(): void {
		if (this.#isQuiet && this.#isWanted && !this.#hasEnded) this.#send(HEARTBEAT);
		this.#isQuiet = true;
	}

	#send(text: string): void {
		this.#isWanted = false;
		this.push(text);
	}

	#end(): void {
		this.#hasEnded = true;
		clearInterval(this.#heartbeat);
		this.push(null);
	}

	async #ask(): Promise<Next> {
		return this.#events.next();
	}

	/** Tells the source that nobody listens; its fault would be nobody's news. */
	async #leave(): Promise<void> {
		this.#hasEnded = true;
		try {
			await this.#events.return?.();
		} catch {}
	}
}
