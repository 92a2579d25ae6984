// Writes server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), and reads the id that a client names.

import type { Request } from '@hapi/hapi';
import type { ServerEvent } from '../contract/server-events.ts';
import { isObject } from '../kit/json.ts';

/** The most characters of an event, as of a body in memory. */
const MAX_CHARS = 64 * 1024 * 1024;
const MAX_ID_CHARS = 256;
/** A client ignores an id with NUL; line breaks would begin another field. */
const NOT_IN_A_LINE = /[\0\r\n]/;
const LINE_BREAK = /\r\n|[\r\n]/;

/** A line that clients ignore: it shows that the connection lives. */
export const HEARTBEAT = ':\n\n';

/** @throws TypeError naming the member that cannot be sent */
export function frameEvent(event: ServerEvent): string {
	if (!isObject(event)) throw new TypeError('an event must be an object');
	const { event: type, id, retry, comment, data } = event as ServerEvent;
	const text =
		(comment === undefined ? '' : lines('', textOf(comment, 'comment'))) +
		(retry === undefined ? '' : `retry: ${wholeNumber(retry)}\n`) +
		(id === undefined ? '' : `id: ${lineOf(id, 'id', MAX_ID_CHARS)}\n`) +
		(type === undefined ? '' : `event: ${lineOf(type, 'event', MAX_CHARS)}\n`) +
		(data === undefined ? '' : dataLines(data));
	if (text === '') throw new TypeError('an event must have at least one member of event, data, id, retry and comment');
	if (text.length > MAX_CHARS) throw new TypeError(`an event may have at most ${MAX_CHARS} characters`);
	return `${text}\n`;
}

/** JSON has no line breaks. */
function dataLines(data: unknown): string {
	if (typeof data === 'string') return lines('data', data);
	const text: string | undefined = JSON.stringify(data);
	if (text === undefined) throw new TypeError('the data of an event must be a string or JSON');
	return `data: ${text}\n`;
}

const lines = (field: string, text: string): string =>
	text
		.split(LINE_BREAK)
		.map((line) => `${field}: ${line}\n`)
		.join('');

function textOf(value: unknown, member: string): string {
	if (typeof value === 'string') return value;
	throw new TypeError(`the ${member} of an event must be a string`);
}

function lineOf(value: unknown, member: string, max: number): string {
	const text = textOf(value, member);
	if (text.length > max) throw new TypeError(`the ${member} of an event may have at most ${max} characters`);
	if (NOT_IN_A_LINE.test(text)) throw new TypeError(`the ${member} of an event must be one line without NUL`);
	return text;
}

function wholeNumber(value: unknown): number {
	if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
	throw new TypeError('the retry of an event must be a number of milliseconds');
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Returns the id that a reconnecting client names in `Last-Event-ID`; null for one that no event can have. */
export function lastEventIdOf({ raw: { req } }: Request): string | null {
	const header = req.headers['last-event-id']?.toString();
	if (header === undefined || header === '') return null;
	try {
		// Clients encode the id as UTF-8, and Node decodes headers as Latin-1.
		const id = utf8.decode(Buffer.from(header, 'latin1'));
		return id.length > MAX_ID_CHARS || NOT_IN_A_LINE.test(id) ? null : id;
	} catch {
		// It is not UTF-8, so no event had it.
		return null;
	}
}
