import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientAddress } from './addresses.ts';

const FORWARDED: [id: string, peer: string | undefined, header: string | undefined, trusted: string[], address: string][] = [
	['no proxy is trusted', '127.0.0.1', '10.1.2.3', [], '127.0.0.1'],
	['a mapped peer', '::ffff:127.0.0.1', undefined, [], '127.0.0.1'],
	['the peer is no proxy', '203.0.113.9', '10.1.2.3', ['127.0.0.1'], '203.0.113.9'],
	['one proxy', '127.0.0.1', '203.0.113.9', ['127.0.0.1'], '203.0.113.9'],
	['a client that forged its own hop', '127.0.0.1', '10.9.9.9, 203.0.113.9', ['127.0.0.1'], '203.0.113.9'],
	['two proxies', '127.0.0.1', '203.0.113.9, 10.0.0.2', ['127.0.0.1', '10.0.0.0/8'], '203.0.113.9'],
	['a hop that is no address', '127.0.0.1', '203.0.113.9, unknown', ['127.0.0.1'], '127.0.0.1'],
	['a socket that is closed', undefined, '203.0.113.9', ['127.0.0.1'], ''],
	['a hop with its port', '127.0.0.1', '203.0.113.9:51000', ['127.0.0.1'], '203.0.113.9'],
	['proxies with their ports', '127.0.0.1', '203.0.113.9:51000, 10.0.0.2:443', ['127.0.0.1', '10.0.0.0/8'], '203.0.113.9'],
	['a hop of IPv6 with its port', '::1', '[2001:db8::7]:51000', ['::1'], '2001:db8::7'],
	['an address of IPv6 that ends like a port', '::1', '2001:db8::7:443', ['::1'], '2001:db8::7:443'],
	['a port that is none', '127.0.0.1', '203.0.113.9:http', ['127.0.0.1'], '127.0.0.1'],
	['IPv6', '::1', '2001:db8::7', ['::1'], '2001:db8::7'],
];

for (const [id, peer, header, trusted, address] of FORWARDED) {
	test(`the client's address: ${id}`, () => assert.equal(clientAddress(peer, header, trusted), address));
}
