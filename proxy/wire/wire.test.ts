// Tests of reading lines, events and messages, however they are cut into chunks.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEvents, type ServerEvent } from './events.ts';
import { readLines } from './lines.ts';
import { MessageFault, type ResponseMessage, readMessage } from './messages.ts';

/** Cuts bytes into chunks of a length. */
const cut = (bytes: Buffer, length: number): Buffer[] =>
	Array.from({ length: Math.ceil(bytes.length / length) }, (_none, at) => bytes.subarray(at * length, (at + 1) * length));

const EVENTS = ': hello\r\nid: 7\r\ndata: {"a":\r\ndata: 1}\r\n\r\nevent: x\ndata:zwei ü\n\nid: 8\n\ndata: 3\r\rdata: lost';

for (const length of [1, 2, 3, 5, 1000]) {
	test(`events in chunks of ${length} bytes are read`, async () => {
		const chunks = cut(Buffer.from(EVENTS), length);
		const found: ServerEvent[] = [];
		for await (const event of readEvents(ReadableStream.from(chunks))) found.push(event);
		assert.deepEqual(found, [
			{ data: '{"a":\n1}', id: '7' },
			{ data: 'zwei ü', id: '7' },
			{ data: '3', id: '8' },
		]);
	});

	test(`lines in chunks of ${length} bytes are read; one that is too long is left out`, () => {
		const lines: string[] = [];
		let tooLong = 0;
		const reader = readLines(
			(line) => lines.push(line),
			() => tooLong++,
			12,
		);
		for (const chunk of cut(Buffer.from('one\r\n\n  zwei ü\nmuch too long a line\n\nthree\nunfinished'), length)) reader.take(chunk);
		assert.deepEqual([lines, tooLong], [['one', 'zwei ü', 'three'], 1]);
	});
}

const FAULTS: [text: string, code: number, id: string | number | null][] = [
	['{', -32700, null],
	['[]', -32600, null],
	['7', -32600, null],
	['{"jsonrpc":"2.0","id":1}', -32600, null],
	['{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', -32600, null],
	['{"id":"a","method":"ping"}', -32600, 'a'],
	['{"jsonrpc":"2.0","id":3,"method":[]}', -32600, 3],
	['{"jsonrpc":"2.0","id":3,"method":"x","params":1}', -32602, 3],
	['{"jsonrpc":"2.0","id":null,"method":"x"}', -32600, null],
];

for (const [text, code, id] of FAULTS) {
	test(`${text} is no message: ${code}`, () => {
		assert.throws(
			() => readMessage(text),
			(error) => error instanceof MessageFault && error.code === code && error.id === id,
		);
	});
}

test('null counts as left out beside what is there', () => {
	const read = (members: object) => readMessage(JSON.stringify({ jsonrpc: '2.0', id: 1, ...members })) as Partial<ResponseMessage>;
	const fault = { code: 1, message: 'no' };
	assert.deepEqual([read({ result: {}, error: null }).result, read({ result: {}, error: null }).error], [{}, null]);
	assert.deepEqual([read({ result: null, error: fault }).result, read({ result: null, error: fault }).error?.message], [undefined, 'no']);
	assert.deepEqual([read({ result: null }).result, read({ result: null, error: null }).result], [null, null]);
});
