// One call: messages out, messages and a status back. To gRPC every kind of method is the same exchange, of one message or of several.

import { type Client, type ClientDuplexStream, type Metadata, status as Status, type StatusObject } from '@grpc/grpc-js';
import { raceWith } from '../../../core/index.ts';
import { MAX_RECEIVED_BYTES } from './channels.ts';

export interface Exchange {
	/** `/package.Service/Method` */
	path: string;
	messages: Buffer[];
	metadata: Metadata;
	timeoutMs: number;
	/** After so many messages of the server the call is cancelled. */
	maxMessages: number;
	signal: AbortSignal;
}

export interface Outcome {
	messages: Buffer[];
	status: StatusObject;
	/** Whether the server was heard at all: if not, the status is our own side's. */
	answered: boolean;
	/** The type of what was answered, where it is not that of gRPC: it explains a call that failed. */
	foreignType: string | null;
	tookMs: number;
	/** What was reached, when the call was cancelled for it. */
	cut: 'messages' | 'bytes' | null;
}

const same = (bytes: Buffer): Buffer => bytes;

/** @throws what aborted the signal */
export function exchange(client: Client, { path, messages, metadata, timeoutMs, maxMessages, signal }: Exchange): Promise<Outcome> {
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
		// Of a stream, one more than what is wanted says that there was more.
		if (outcome.messages.length === maxMessages) return cut('messages');
		if (sizeBytes + bytes.length > MAX_RECEIVED_BYTES) return cut('bytes');
		sizeBytes += bytes.length;
		outcome.messages.push(bytes);
	});
	stream.on('status', (given) => {
		const status = wellFormed(given);
		// Of other HTTP statuses than 200 the library says which.
		if (/^Received HTTP status code/.test(status.details)) outcome.foreignType = null;
		const answered = outcome.answered || Object.keys(status.metadata.getMap()).length > 0;
		resolve({ ...outcome, answered, status, tookMs: performance.now() - startedMs });
	});
	// It is told by the status, too.
	stream.on('error', () => undefined);
	send(stream, messages);
	return raceWith(signal, promise, { leave: () => stream.cancel() });
}

/** A page of a proxy can have the HTTP status 200, and the library takes its text for messages. */
function foreignTypeOf(metadata: Metadata): string | null {
	const [type] = metadata.get('content-type');
	return type === undefined || /^application\/grpc(?:[+;]|$)/i.test(String(type)) ? null : String(type);
}

/** What a server sends for a code may be none, and the library's own statuses may lack their text. */
function wellFormed({ code, details, metadata }: StatusObject): StatusObject {
	return { code: Status[code] === undefined ? Status.UNKNOWN : code, details: details ?? '', metadata };
}

/** As fast as the server takes them. */
function send(stream: ClientDuplexStream<Buffer, Buffer>, messages: readonly Buffer[]): void {
	for (const [index, message] of messages.entries()) {
		if (stream.write(message)) continue;
		stream.once('drain', () => send(stream, messages.slice(index + 1)));
		return;
	}
	stream.end();
}

/** From the server's side: it could not be asked, or could not answer. What it says on purpose is no failure of it. */
export const hasFailed = ({ status: { code }, messages }: Outcome): boolean =>
	code === Status.UNAVAILABLE || (code === Status.DEADLINE_EXCEEDED && messages.length === 0);

export const isOk = ({ code }: StatusObject): boolean => code === Status.OK;
