import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientAddress, inRanges, parseRange } from './addresses.ts';

const FORWARDED: [id: string, peer: string, header: string | undefined, trusted: string[], address: string][] = [
	['nobody is trusted', '127.0.0.1', '10.1.2.3', [], '127.0.0.1'],
	['a mapped peer', '::ffff:127.0.0.1', undefined, [], '127.0.0.1'],
	['the peer is no proxy', '203.0.113.9', '10.1.2.3', ['127.0.0.1'], '203.0.113.9'],
	['one proxy', '127.0.0.1', '203.0.113.9', ['127.0.0.1'], '203.0.113.9'],
	['a client that forged its own hop', '127.0.0.1', '10.9.9.9, 203.0.113.9', ['127.0.0.1'], '203.0.113.9'],
	['two proxies', '127.0.0.1', '203.0.113.9, 10.0.0.2', ['127.0.0.1', '10.0.0.0/8'], '203.0.113.9'],
	['a hop that is no address', '127.0.0.1', '203.0.113.9, unknown', ['127.0.0.1'], '127.0.0.1'],
	['IPv6', '::1', '2001:db8::7', ['::1'], '2001:db8::7'],
];

for (const [id, peer, header, trusted, address] of FORWARDED) {
	test(`the client's address: ${id}`, () => assert.equal(clientAddress(peer, header, trusted), address));
}

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
