// Events and lines of streamed bodies. The cases of events are those of web-platform-tests, eventsource/format-*.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longestTurnMs, threadCpuMs } from '../../test/helpers/clock.ts';
import { allOf, failure } from '../../test/helpers/egress.ts';
import { eventsOf, linesOf } from './stream-text.ts';

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
	for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const message = (data: string, id = '', event = 'message') => ({ event, data, id });

const EVENTS: [id: string, stream: string, events: object[]][] = [
	['a byte order mark', '\uFEFFdata:1\n\ndata:2\n\n', [message('1'), message('2')]],
	['a second byte order mark', '\uFEFF\uFEFFdata:1\n\ndata:2\n\n', [message('2')]],
	['comments', 'data:1\r:\0\n:\r\ndata:2\n:{}\rdata:3\n\n', [message('1\n2\n3')]],
	['one leading space', 'data:   \ndata: data\ndata:test\n\n', [message('  \ndata\ntest')]],
	['empty data', 'data:\n\ndata\ndata\n\ndata:test\n\n', [message(''), message('\n'), message('test')]],
	['no data', 'event: a\n\ndata:b\n\n', [message('b')]],
	['names', 'event:test\ndata:x\n\ndata:x\n\nevent\ndata:y\n\n', [message('x', '', 'test'), message('x'), message('y')]],
	['unknown fields', 'data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:\n\n', [message('test\n\n')]],
	['upper case', 'DATA:a\ndata:b\n\n', [message('b')]],
	['ends of lines', 'data:1\r\rdata:2\r\n\r\ndata:3\n\n', [message('1'), message('2'), message('3')]],
	['an end without its empty line', 'data:1\n\ndata:2\n', [message('1')]],
	['an id that stays', 'id:1\ndata:a\n\ndata:b\n\nid\ndata:c\n\n', [message('a', '1'), message('b', '1'), message('c')]],
	['an id without data', 'id: 7\n\ndata:a\n\n', [message('a', '7')]],
	['an id with NUL', 'id: 7\0\ndata:a\n\n', [message('a')]],
	['retry', 'retry:1000\ndata:a\n\n', [message('a')]],
	['what is no UTF-8', 'data:\u{1f600} ü\n\n', [message('\u{1f600} ü')]],
];

for (const [id, stream, events] of EVENTS)
	test(`events are read however their bytes are cut: ${id}`, async () => {
		const bytes = Buffer.from(stream);
		for (const size of [1, 2, 3, 7, 1000]) assert.deepEqual(await allOf(eventsOf(cut(bytes, size))), events, `parts of ${size}`);
	});

test('an event is yielded when its empty line has come, whatever ends its lines, and leaving ends the body', async () => {
	for (const end of ['\n', '\r', '\r\n']) {
		let isLeft = false;
		async function* body() {
			try {
				yield Buffer.from(`data: a${end}${end}`);
				assert.fail('the next part was asked for');
			} finally {
				isLeft = true;
			}
		}
		for await (const event of eventsOf(body())) {
			assert.deepEqual(event, message('a'));
			break;
		}
		assert.ok(isLeft);
	}
});

test('lines are read however their bytes are cut, the last also without its end', async () => {
	for (const [text, lines] of [
		['{"a":"ü"}\n\r\n{"b":1}\r\n{}', ['{"a":"ü"}', '', '{"b":1}', '{}']],
		['a\rb\n', ['a\rb']],
		['', []],
	] as const)
		for (const size of [1, 2, 3, 100]) assert.deepEqual(await allOf(linesOf(cut(Buffer.from(text), size))), lines);
});

async function* endless(text: string): AsyncGenerator<Uint8Array> {
	const bytes = Buffer.from(text);
	for (;;) yield bytes;
}

test('a line and an event without end are upstream_failed, and a stream of many events goes on', async () => {
	for (const text of ['x', 'data: x\n', 'data\n', 'event: ', ': x'])
		await failure(allOf(eventsOf(endless(text), { maxChars: 1000 })), 'upstream_failed');
	await failure(allOf(linesOf(endless('x'), { maxChars: 1000 })), 'upstream_failed');
	assert.equal((await allOf(linesOf(cut(Buffer.from('x'.repeat(1000)), 10), { maxChars: 1000 }))).length, 1);
	let count = 0;
	for await (const _ of eventsOf(endless('data: x\n\n'), { maxChars: 10 })) if (++count === 5000) break;
});

test('a megabyte in parts of one byte blocks nobody', async () => {
	const bytes = Buffer.alloc(1024 * 1024, 'x');
	async function* parts() {
		for await (const part of cut(bytes, 16)) {
			yield part;
			await new Promise((resolve) => setImmediate(resolve));
		}
	}
	// It is compared with the whole work, since a slow machine lengthens both; what blocks would be most of it.
	let longestMs = 0;
	const wholeMs = await threadCpuMs(async () => {
		longestMs = await longestTurnMs(() => allOf(linesOf(parts())));
	});
	assert.ok(longestMs < wholeMs / 5, `${longestMs} of ${wholeMs} ms`);
});
