// Answers with progress: as JSON when the result is there at once, else as an event stream that ends with the result.

import { setTimeout as delay } from 'node:timers/promises';
import { type Call, Feed, type GatewayError, type Json, type JsonObject, type Reply, type ServerEvent } from '../../core/index.ts';
import { noResponse } from './listening/cancelling.ts';
import { ProtocolError } from './messages.ts';

/** The stream opens after this time even without progress, so that something is sent while the tool works. */
const OPEN_AFTER_MS = 1000;
/** A client that does not read misses progress rather than filling our memory. */
const MAX_UNREAD_CHARS = 65_536;

/** The way to the client while its answer is being made. */
export interface MessageStream {
	/** Sends a message before the answer, and opens the stream for it. @returns false when it was refused: the client reads too little, or has left */
	send(message: JsonObject): boolean;
	/** Aborts, with the error that says why, when there is no stream: what was sent is never seen. */
	unseen: AbortSignal;
}

export interface Progressing {
	/** The token that the client gave, echoed in every report; null when it asked for none. */
	token: Json;
	/** Makes the complete message that answers; null when there must be none. */
	run(call: Call, stream: MessageStream): Promise<JsonObject | null>;
	/** The message that answers instead when `run` fails after the stream has begun. */
	fail(thrown: unknown): JsonObject;
}

/** @throws what `run` throws before the stream has begun */
export async function answerWithProgress(call: Call, { token, run, fail }: Progressing): Promise<Reply> {
	const events = new Feed<ServerEvent>(MAX_UNREAD_CHARS);
	const started = Promise.withResolvers<'stream'>();
	const unseen = new AbortController();
	const send = (message: JsonObject): boolean => {
		const data = JSON.stringify(message);
		started.resolve('stream');
		return events.give({ event: 'message', data }, data.length);
	};
	const timer = new AbortController();
	const waits: Promise<JsonObject | null | 'stream'>[] = [started.promise];
	if (token !== null) waits.push(delay(OPEN_AFTER_MS, 'stream' as const, { signal: timer.signal }).catch(() => 'stream' as const));
	const stream = { send, unseen: unseen.signal };
	const outcome = run(token === null ? call : call.with({ progress: progressReporter(token, send) }), stream);
	try {
		const first = await Promise.race([outcome, ...waits]);
		if (first === null) return noResponse(true);
		if (first !== 'stream') return { status: 200, body: first };
	} finally {
		timer.abort();
	}
	// Nothing follows: "Progress notifications MUST stop after completion".
	outcome.catch(fail).then((data) => (data === null ? events.end() : events.end({ event: 'message', data })));
	const whenFull = async (refused: GatewayError): Promise<Reply> => {
		unseen.abort(refused);
		const body = await outcome.catch((thrown: unknown) => {
			// Any other error is HTTP's, which can still carry it.
			if (thrown instanceof ProtocolError) return fail(thrown);
			throw thrown;
		});
		return body ? { status: 200, body } : noResponse(false);
	};
	return { status: 200, body: events, stream: { finite: true, whenFull } };
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
