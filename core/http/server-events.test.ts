// Tests how events are written, as the standard reads them (https://html.spec.whatwg.org/multipage/server-sent-events.html).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Request } from '@hapi/hapi';
import { EventSource, type FetchLikeResponse } from 'eventsource';
import type { ServerEvent } from '../contract/server-events.ts';
import { frameEvent, HEARTBEAT, lastEventIdOf } from './server-events.ts';

interface Read {
	type: string;
	id: string;
	data: string;
}

/** Reads a text with a client after the standard. */
function readBack(text: string): Promise<Read[]> {
	const { promise, resolve } = Promise.withResolvers<Read[]>();
	const read: Read[] = [];
	const headers = { 'content-type': 'text/event-stream' };
	const source = new EventSource('http://events.example', { fetch: async () => new Response(text, { headers }) as FetchLikeResponse });
	for (const name of ['message', 'progress'])
		source.addEventListener(name, ({ type, lastEventId, data }) => void read.push({ type, id: lastEventId, data }));
	source.addEventListener('error', () => {
		source.close();
		resolve(read);
	});
	return promise;
}

const only = async (event: ServerEvent): Promise<Read | undefined> => (await readBack(frameEvent(event)))[0];

test('an event arrives with all of its members', async () => {
	const text = frameEvent({ event: 'progress', data: { done: 1 }, id: 'é-7', retry: 50, comment: 'so far' });
	assert.deepEqual(await readBack(text), [{ type: 'progress', id: 'é-7', data: '{"done":1}' }]);
	assert.equal(text, ': so far\nretry: 50\nid: é-7\nevent: progress\ndata: {"done":1}\n\n');
});

test('text is sent as it is, with each of its lines; every kind of line break arrives as one', async () => {
	for (const [data, read] of [
		['one\ntwo', 'one\ntwo'],
		['one\r\ntwo\rthree\n', 'one\ntwo\nthree\n'],
		[' indented', ' indented'],
		['data: not a field\nid: 1\n\nevent: x', 'data: not a field\nid: 1\n\nevent: x'],
		['\0\u2028✓', '\0\u2028✓'],
	] as const) {
		assert.deepEqual(await only({ data }), { type: 'message', id: '', data: read });
	}
	assert.equal(frameEvent({ data: '' }), 'data: \n\n');
});

test('anything but text is sent as JSON, in one line', async () => {
	for (const data of [null, 0, false, [], { text: 'a\nb' }]) assert.equal((await only({ data }))?.data, JSON.stringify(data));
});

test('a comment cannot become a field, whatever lines it has', async () => {
	const text = frameEvent({ comment: 'a\ndata: b\r\n\r\ndata: c' });
	assert.equal(text, ': a\n: data: b\n: \n: data: c\n\n');
	assert.deepEqual(await readBack(text + HEARTBEAT), []);
});

const WRONG: [title: string, event: unknown, fault: RegExp][] = [
	['nothing', undefined, /must be an object/],
	['text', 'data: x', /must be an object/],
	['no member', {}, /at least one member/],
	['an id of two lines', { id: 'a\nb' }, /the id of an event must be one line without NUL/],
	['an id with CR', { id: 'a\rb' }, /the id of an event must be one line/],
	['an id with NUL', { id: 'a\0b' }, /without NUL/],
	['a long id', { id: 'x'.repeat(257) }, /the id of an event may have at most 256 characters/],
	['an id that is a number', { id: 7 }, /the id of an event must be a string/],
	['a type of two lines', { event: 'a\ndata: b', data: '' }, /the event of an event must be one line/],
	['a time that is none', { retry: -1 }, /number of milliseconds/],
	['a time as text', { retry: '1\ndata: x' }, /number of milliseconds/],
	['a function as data', { data: () => 1 }, /a string or JSON/],
	['a comment that is no text', { comment: {} }, /the comment of an event must be a string/],
	['endless data', { data: 'x'.repeat(64 * 1024 * 1024) }, /at most 67108864 characters/],
];
for (const [title, event, fault] of WRONG) {
	test(`${title} cannot be sent`, () => {
		assert.throws(() => frameEvent(event as ServerEvent), fault);
	});
}

test('the id that a client names is read as it was sent, and null unless an event can have it', () => {
	const read = (header?: string) => lastEventIdOf({ raw: { req: { headers: { 'last-event-id': header } } } } as unknown as Request);
	const asHeader = (id: string): string => Buffer.from(id).toString('latin1');
	assert.equal(read(asHeader('é-7')), 'é-7');
	assert.equal(read(asHeader('x'.repeat(256))), 'x'.repeat(256));
	for (const none of [undefined, '', 'x'.repeat(257), '\xff', 'a\0b']) assert.equal(read(none), null);
});
