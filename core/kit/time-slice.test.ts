// Tests that texts decoded in slices are those that are decoded at once, and that other work runs meanwhile.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeGradually } from './time-slice.ts';

const LENGTH = 300_000;
const CHARSETS = [
	'utf-8',
	'utf-16le',
	'utf-16be',
	'windows-1252',
	'iso-8859-2',
	'shift_jis',
	'euc-jp',
	'iso-2022-jp',
	'gb18030',
	'big5',
	'euc-kr',
];

/** Bytes of all values, in an order that is the same in each run. */
function noise(): Buffer {
	let state = 1;
	const bytes = Buffer.alloc(LENGTH);
	for (let at = 0; at < LENGTH; at++) {
		state = (state * 48_271) % 2_147_483_647;
		bytes[at] = state;
	}
	return bytes;
}

for (const charset of CHARSETS)
	test(`${charset} is the same in slices as at once`, async () => {
		for (const bytes of [noise(), Buffer.alloc(LENGTH, 0x1b), Buffer.alloc(LENGTH + 1, 0xff), Buffer.from('\ufeffx'), Buffer.alloc(0)])
			assert.ok((await decodeGradually(bytes, charset)) === new TextDecoder(charset).decode(bytes));
	});

test('other work runs while bytes that fit no charset are decoded', async () => {
	let turns = 0;
	const count = (): void => {
		turns++;
		next = setImmediate(count);
	};
	let next = setImmediate(count);
	await decodeGradually(Buffer.alloc(4_000_000, 0x1b), 'iso-2022-jp');
	clearImmediate(next);
	assert.ok(turns > 3, `${turns} turns`);
});
