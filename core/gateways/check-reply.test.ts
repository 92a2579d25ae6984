// Tests which replies of a handler are accepted, and how their bodies are sent.

import assert from 'node:assert/strict';
import { PassThrough, Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { checkReply } from './check-reply.ts';

const COOKIE = 'gatehouse_token=abc; Path=/';
const check = (value: unknown) => checkReply(value, { plugin: 'transport:acme', gaveCookie: (cookie) => cookie === COOKIE });

const circular: { self?: unknown } = {};
circular.self = circular;
const ended = Readable.from([]).destroy();

async function* events() {
	yield { data: 'x' };
}

const WRONG: [title: string, value: unknown, fault: RegExp][] = [
	['nothing', undefined, /must be an object with a status/],
	['null', null, /must be an object with a status/],
	['a text', 'hello', /must be an object with a status/],
	['a list', [], /must be an object with a status/],
	['an empty object', {}, /status from 200 to 599, not a value of type undefined/],
	['status 999', { status: 999 }, /status from 200 to 599, not 999/],
	['status 100', { status: 100 }, /not 100/],
	['status 200.5', { status: 200.5 }, /not 200\.5/],
	['a status as text', { status: '200' }, /not a value of type string/],
	['headers as a list', { status: 200, headers: [] }, /must have an object as headers/],
	['a header without a value', { status: 200, headers: { a: undefined } }, /"a" is a value of type undefined/],
	['a header of lists', { status: 200, headers: { a: ['b'] } }, /"a" is a value of type object/],
	['a header with a line break', { status: 200, headers: { a: 'b\r\nc: d' } }, /a header that cannot be sent: "a"/],
	['a header beyond Latin-1', { status: 200, headers: { a: '✓' } }, /a header that cannot be sent: "a"/],
	['a name that is none', { status: 200, headers: { 'a b': 'c' } }, /a header that cannot be sent: "a b"/],
	['a length', { status: 200, headers: { 'Content-Length': '5' } }, /may not have the header "Content-Length"/],
	['a header of the connection', { status: 200, headers: { 'transfer-encoding': 'chunked' } }, /may not have the header/],
	['Gatehouse’s cookie', { status: 200, headers: { 'Set-Cookie': 'gatehouse_token=evil' } }, /may not set the cookie gatehouse_token/],
	['Gatehouse’s cookie over https', { status: 200, headers: { 'set-cookie': ' __HOST-Gatehouse_Token =evil' } }, /may not set the cookie/],
	['a cookie without a name', { status: 200, headers: { 'set-cookie': '=gatehouse_token=evil' } }, /a Set-Cookie without a name/],
	['a number as body', { status: 200, body: 7 }, /must be an object, a string, a Buffer, a stream or events, not a number/],
	['a function as body', { status: 200, body: () => 1 }, /not a function/],
	['a bigint inside', { status: 200, body: { a: [1n] } }, /must be JSON: it \/a\/0 is a bigint/],
	['a body that contains itself', { status: 200, body: circular }, /contains itself/],
	['a promise as body', { status: 200, body: Promise.resolve('x') }, /an instance of Promise/],
	['a map as body', { status: 200, body: new Map() }, /an instance of Map/],
	['events with another status', { status: 201, body: events() }, /with events must have the status 200, not 201/],
	['options of events as a text', { status: 200, body: events(), stream: 'finite' }, /an object as stream/],
	['events that are finite perhaps', { status: 200, body: events(), stream: { finite: 1 } }, /a boolean as stream\.finite/],
	['another answer that is no function', { status: 200, body: events(), stream: { whenFull: {} } }, /a function as stream\.whenFull/],
	['events with a header that cannot be sent', { status: 200, body: events(), headers: { a: '✓' } }, /cannot be sent: "a"/],
	['a stream that has ended', { status: 200, body: ended }, /must be a stream that can still be read/],
	['a stream to write to', { status: 200, body: new Writable() }, /must be a stream that can still be read/],
	['endless text', { status: 200, body: 'x'.repeat(64 * 1024 * 1024 + 1) }, /at most 67108864 characters or bytes/],
];
for (const [title, value, fault] of WRONG) {
	test(`${title} is no reply, and the fault names the plugin`, () => {
		assert.throws(
			() => check(value),
			({ name, message }: Error) => name === 'PluginFault' && message.startsWith('transport:acme: ') && fault.test(message),
		);
	});
}

test('bodies are sent by their type; text is plain text', () => {
	const sent = (body: unknown) => {
		const { body: given, type } = check({ status: 200, body });
		return [given, type];
	};
	assert.deepEqual(sent(undefined), [undefined, undefined]);
	assert.deepEqual(sent(null), [undefined, undefined]);
	assert.deepEqual(sent('<b>'), ['<b>', 'text/plain']);
	assert.deepEqual(sent({ a: 1 }), ['{"a":1}', 'application/json']);
	assert.deepEqual(sent([1]), ['[1]', 'application/json']);
	assert.deepEqual(sent(Buffer.from('x')), [Buffer.from('x'), undefined]);
	assert.deepEqual(sent(new Uint8Array([120])), [Buffer.from('x'), undefined]);
	assert.ok(sent(new PassThrough())[0] instanceof Readable);
});

test('a stream of the web is read like one of Node', async () => {
	const { body } = check({ status: 200, body: new Blob(['web']).stream() });
	assert.equal(await text(body as Readable), 'web');
});

test('an iterable is a source of events; a stream is none, though one can iterate over it', () => {
	const source = events();
	const whenFull = async () => ({ status: 200 });
	assert.deepEqual(check({ status: 200, body: source, stream: { finite: true, whenFull } }).events, { source, finite: true, whenFull });
	for (const body of [new PassThrough(), new Blob(['web']).stream(), { a: 1 }, null])
		assert.equal(check({ status: 200, body }).events, undefined);
});

test('the cookie of a login that core gave for this answer passes, and so do others', () => {
	for (const cookie of [COOKIE, 'other=1; Path=/']) check({ status: 303, headers: { 'set-cookie': cookie } });
});
