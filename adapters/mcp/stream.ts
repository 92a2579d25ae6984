// Answers with progress: as JSON when the result is there at once, else as an event stream that ends with the result.

import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Call, Json, JsonObject, Reply } from '../../core/index.ts';

/** The stream opens after this time even without progress, so that something is sent while the tool works. */
const OPEN_AFTER_MS = 1000;
const KEEP_ALIVE_MS = 15_000;
/** A client that does not read misses progress rather than filling our memory. */
const MAX_UNREAD_BYTES = 65_536;

const STREAM_HEADERS = {
	'content-type': 'text/event-stream',
	'cache-control': 'no-cache, no-transform',
	// hapi compresses event streams without flushing: a client would see nothing until the end.
	'content-encoding': 'identity',
	'x-accel-buffering': 'no',
};

export interface Progressing {
	/** The token that the client gave, echoed in every report. */
	token: Json;
	/** Makes the complete message that answers. */
	run(call: Call): Promise<JsonObject>;
	/** The message that answers instead when `run` fails after the stream has begun. */
	fail(thrown: unknown): JsonObject;
}

/** @throws what `run` throws before the stream has begun */
export async function answerWithProgress(call: Call, { token, run, fail }: Progressing): Promise<Reply> {
	const events = new EventStream();
	const started = Promise.withResolvers<'stream'>();
	const report = progressReporter(token, (message) => {
		events.send(message);
		started.resolve('stream');
	});
	const timer = new AbortController();
	const patience = delay(OPEN_AFTER_MS, 'stream' as const, { signal: timer.signal }).catch(() => 'stream' as const);
	const outcome = run(call.with({ progress: report }));
	try {
		const first = await Promise.race([outcome, started.promise, patience]);
		if (first !== 'stream') return { status: 200, body: first };
	} finally {
		timer.abort();
	}
	events.keepAlive();
	outcome.catch(fail).then((message) => events.finish(message));
	return { status: 200, headers: STREAM_HEADERS, body: events.body };
}

/** "The progress value MUST increase with each notification" (utilities, "Progress"). */
function progressReporter(token: Json, send: (message: JsonObject) => void) {
	let last = Number.NEGATIVE_INFINITY;
	return (done: number, total?: number, message?: string): void => {
		if (!(done > last && Number.isFinite(done))) return;
		last = done;
		const params = {
			progressToken: token,
			progress: done,
			...(total !== undefined && { total }),
			...(message !== undefined && { message }),
		};
		send({ jsonrpc: '2.0', method: 'notifications/progress', params });
	};
}

class EventStream {
	readonly body = new Readable({ read: () => undefined });
	#keepAlive: NodeJS.Timeout | undefined;
	#isFinished = false;

	/** Sends comments until the stream is finished. */
	keepAlive(): void {
		this.#keepAlive = setInterval(() => this.#write(': keep-alive\n\n'), KEEP_ALIVE_MS).unref();
	}

	send(message: JsonObject): void {
		this.#write(event(message));
	}

	/** Nothing follows: "Progress notifications MUST stop after completion". */
	finish(message: JsonObject): void {
		clearInterval(this.#keepAlive);
		if (this.body.destroyed) return;
		this.#isFinished = true;
		this.body.push(event(message));
		this.body.push(null);
	}

	#write(text: string): void {
		if (!this.#isFinished && !this.body.destroyed && this.body.readableLength < MAX_UNREAD_BYTES) this.body.push(text);
	}
}

const event = (message: JsonObject): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`;
