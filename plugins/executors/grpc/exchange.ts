// One call: messages out, messages and a status back. In gRPC every kind of method is the same exchange, of one message or of several.

import { type Client, type ClientDuplexStream, type Metadata, status as Status, type StatusObject } from '@grpc/grpc-js';
import { raceWith } from '../../../core/index.ts';
import { MAX_RECEIVED_BYTES } from './channels.ts';

export interface Exchange {
	/** Path of the call: `/package.Service/Method`. */
	path: string;
	messages: Buffer[];
	metadata: Metadata;
	timeoutMs: number;
	/** Told of each message of the server, with their number up to then. */
	received?: ((count: number) => void) | undefined;
	/** The call is cancelled after so many messages of the server. */
	maxMessages: number;
	signal: AbortSignal;
}

export interface Outcome {
	messages: Buffer[];
	status: StatusObject;
	/** Whether the server answered at all; if not, the status was made by our own library. */
	answered: boolean;
	/** Content type of the answer if it is not gRPC's, which explains why a call failed. */
	foreignType: string | null;
	tookMs: number;
	/** The limit for which the call was cancelled, if any. */
	cut: 'messages' | 'bytes' | null;
}

const same = (bytes: Buffer): Buffer => bytes;

/** @throws the reason of the aborted signal */
export function exchange(
	client: Client,
	{ path, messages, metadata, timeoutMs, maxMessages, received, signal }: Exchange,
): Promise<Outcome> {
	signal.throwIfAborted();
	const startedMs = performance.now();
	const stream = client.makeBidiStreamRequest(path, same, same, metadata, { deadline: Date.now() + timeoutMs });
	const { promise, resolve } = Promise.withResolvers<Outcome>();
	const outcome = { messages: [] as Buffer[], answered: false, foreignType: null as string | null, cut: null as Outcome['cut'] };
	let sizeBytes = 0;
	const cut = (reason: 'messages' | 'bytes'): void => {
		outcome.cut ??= reason;
		stream.cancel();
	};
	stream.on('metadata', (metadata) => {
		outcome.answered = true;
		outcome.foreignType = foreignTypeOf(metadata);
	});
	stream.on('data', (bytes: Buffer) => {
		if (outcome.cut !== null) return;
		// One message more than wanted shows that the stream had not ended.
		if (outcome.messages.length === maxMessages) return cut('messages');
		if (sizeBytes + bytes.length > MAX_RECEIVED_BYTES) return cut('bytes');
		sizeBytes += bytes.length;
		outcome.messages.push(bytes);
		received?.(outcome.messages.length);
	});
	stream.on('status', (given) => {
		const status = wellFormed(given);
		// The status already names any HTTP status other than 200.
		if (/^Received HTTP status code/.test(status.details)) outcome.foreignType = null;
		const answered = outcome.answered || Object.keys(status.metadata.getMap()).length > 0;
		resolve({ ...outcome, answered, status, tookMs: performance.now() - startedMs });
	});
	// The status reports the same error.
	stream.on('error', () => undefined);
	send(stream, messages);
	return raceWith(signal, promise, { leave: () => stream.cancel() });
}

/** Detects the page of a proxy: with HTTP status 200, the library would read its text as messages. */
function foreignTypeOf(metadata: Metadata): string | null {
	const [type] = metadata.get('content-type');
	return type === undefined || /^application\/grpc(?:[+;]|$)/i.test(String(type)) ? null : String(type);
}

/** Completes a status: a server may send an unknown code, and the library's own statuses may lack their text. */
function wellFormed({ code, details, metadata }: StatusObject): StatusObject {
	return { code: Status[code] === undefined ? Status.UNKNOWN : code, details: details ?? '', metadata };
}

/** Writes the messages as fast as the server accepts them. */
function send(stream: ClientDuplexStream<Buffer, Buffer>, messages: readonly Buffer[]): void {
	for (const [index, message] of messages.entries()) {
		if (stream.write(message)) continue;
		stream.once('drain', () => send(stream, messages.slice(index + 1)));
		return;
	}
	stream.end();
}

/** Whether the server failed: it could not be reached, or did not answer. An error that it returns on purpose is no failure. */
export const hasFailed = ({ status: { code }, messages }: Outcome): boolean =>
	code === Status.UNAVAILABLE || (code === Status.DEADLINE_EXCEEDED && messages.length === 0);

export const isOk = ({ code }: StatusObject): boolean => code === Status.OK;
