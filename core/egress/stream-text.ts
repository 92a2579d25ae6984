// Reads streamed bodies as text: events (https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation) and
// lines, as in newline-delimited JSON. A part of a body may end within a character, and no event or line is longer than its limit.

import { GatewayError } from '../contract/errors.ts';

/** An event as EventSource gives it: `event` is `message` by default, `id` the last one of the stream, which may be empty. */
export interface ServerSentEvent {
	event: string;
	data: string;
	id: string;
}

export interface TextLimits {
	/** The most characters of an event, or of a line. Default 1 Mi. */
	maxChars?: number;
}

const MAX_CHARS = 1024 * 1024;

/** Yields the events of a body. One that its empty line does not end is incomplete, and left out. @throws upstream_failed for a longer one */
export async function* eventsOf(
	body: AsyncIterable<Uint8Array>,
	{ maxChars = MAX_CHARS }: TextLimits = {},
): AsyncGenerator<ServerSentEvent> {
	const events = new Events(maxChars);
	let isAfterCr = false;
	let begun = '';
	for await (const part of textOf(body)) {
		// CR LF may be cut in two, and the CR alone has ended the line already.
		const text = isAfterCr && part.startsWith('\n') ? part.slice(1) : part;
		if (part !== '') isAfterCr = part.endsWith('\r');
		const lines = text.split(/\r\n|\r|\n/);
		lines[0] = begun + lines[0];
		begun = bounded(lines.pop() ?? '', maxChars);
		for (const line of lines) {
			const event = events.take(line);
			if (event) yield event;
		}
	}
}

/** Yields the lines of a body without their LF or CR LF, the last one also if it has none. @throws upstream_failed for a longer one */
export async function* linesOf(body: AsyncIterable<Uint8Array>, { maxChars = MAX_CHARS }: TextLimits = {}): AsyncGenerator<string> {
	let begun = '';
	for await (const text of textOf(body)) {
		const lines = text.split('\n');
		lines[0] = begun + lines[0];
		begun = bounded(lines.pop() ?? '', maxChars);
		for (const line of lines) yield bounded(line.endsWith('\r') ? line.slice(0, -1) : line, maxChars);
	}
	if (begun !== '') yield begun;
}

/** Decodes UTF-8, without a byte order mark at the beginning; what is no UTF-8 is replaced. */
async function* textOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
	const decoder = new TextDecoder();
	for await (const part of body) yield decoder.decode(part, { stream: true });
	yield decoder.decode();
}

/** The event that the lines of a stream are building. */
class Events {
	readonly #maxChars: number;
	#event = '';
	#data: string[] = [];
	#dataChars = 0;
	#id = '';

	constructor(maxChars: number) {
		this.#maxChars = maxChars;
	}

	/** Takes a line, and returns the event that it ends. */
	take(line: string): ServerSentEvent | null {
		if (line === '') return this.#ended();
		const colon = bounded(line, this.#maxChars).indexOf(':');
		const field = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
		if (field === 'event') this.#event = value;
		else if (field === 'data') this.#add(value);
		else if (field === 'id' && !value.includes('\0')) this.#id = value;
		return null;
	}

	#add(value: string): void {
		this.#data.push(value);
		this.#dataChars += value.length + 1;
		if (this.#dataChars > this.#maxChars + 1) throw tooLong(this.#maxChars);
	}

	#ended(): ServerSentEvent | null {
		const [event, data] = [this.#event || 'message', this.#data];
		this.#event = '';
		this.#data = [];
		this.#dataChars = 0;
		return data.length === 0 ? null : { event, data: data.join('\n'), id: this.#id };
	}
}

function bounded(text: string, maxChars: number): string {
	if (text.length > maxChars) throw tooLong(maxChars);
	return text;
}

const tooLong = (maxChars: number): GatewayError =>
	new GatewayError('upstream_failed', `The upstream sent a line or an event of more than ${maxChars} characters.`);
