import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inRanges, parseAddress, parseRange, parseRanges } from './ip-addresses.ts';

const RANGES: [address: string, range: string, inside: boolean][] = [
	['10.1.2.3', '10.0.0.0/8', true],
	['11.1.2.3', '10.0.0.0/8', false],
	['::ffff:10.1.2.3', '10.0.0.0/8', true],
	['10.1.2.3', '::ffff:10.0.0.0/104', true],
	['203.0.113.9', '203.0.113.9', true],
	['2001:db8::1', '2001:db8::/32', true],
	['10.1.2.3', '::/0', false],
	['not an address', '0.0.0.0/0', false],
];

for (const [address, range, inside] of RANGES) {
	test(`${address} is ${inside ? '' : 'not '}in ${range}`, () => assert.equal(inRanges(address, [range]), inside));
}

test('what is no range is told apart', () => {
	for (const text of ['10.0.0.0/33', '10.0.0.0/-1', 'nonsense', '', '10.0.0/8x']) assert.equal(parseRange(text), null, text);
});

test('ranges that the service is told are all used or refused', () => {
	assert.equal(parseRanges(['10.0.0.0/8', '::1']).length, 2);
	assert.throws(() => parseRanges(['10.0.0.0/8', '10/8']), /"10\/8" is neither an address nor a range/);
});

test('a text that comes again is read as before, and after many others', () => {
	const texts = ['10.1.2.3', '[2001:db8::1]', 'fe80::1%eth0', '10.1.2', ''];
	const read = (): (string | null)[] => texts.map((text) => parseAddress(text)?.toString() ?? null);
	const first = read();
	assert.deepEqual(first, ['10.1.2.3', '2001:db8::1', 'fe80::1', null, null]);
	assert.deepEqual(read(), first);
	for (let at = 0; at < 2000; at++) parseAddress(`10.9.${at >> 8}.${at & 255}`);
	assert.deepEqual(read(), first);
});
