// Tests of content codings: those that a route takes, and bodies that are inflated within their bound.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { GatewayError } from '../contract/errors.ts';
import { codingOf, inflated } from './codings.ts';

const MEBIBYTE = 1024 * 1024;

for (const [header, taken] of [
	['gzip', 'gzip'],
	['GZIP', 'gzip'],
	[' x-gzip ', 'gzip'],
	['identity', null],
	[undefined, null],
] as const)
	test(`Content-Encoding ${header} is ${taken ?? 'none'}`, () => assert.equal(codingOf(header, ['gzip']), taken));

for (const header of ['br', 'gzip, gzip', 'deflate', 'identity, gzip', '', 'x-identity'])
	test(`Content-Encoding "${header}" is refused with the codings that would be taken`, () => {
		const refused = (taken: 'gzip'[]) => (error: unknown) => {
			assert.ok(error instanceof GatewayError);
			assert.deepEqual([error.status, error.headers['accept-encoding']], [415, taken[0] ?? 'identity']);
			return true;
		};
		assert.throws(() => codingOf(header, ['gzip']), refused(['gzip']));
		assert.throws(() => codingOf(header), refused([]));
	});

test('a body is inflated up to its bound, to the byte', async () => {
	const body = gzipSync(Buffer.alloc(1000, 'x'));
	assert.equal((await inflated(body, 1000)).toString(), 'x'.repeat(1000));
	await assert.rejects(inflated(body, 999), { code: 'payload_too_large' });
	// RFC 1952 §2.2: a file is a series of members.
	assert.equal((await inflated(Buffer.concat([gzipSync('a'), gzipSync('b')]), 2)).toString(), 'ab');
});

const whole = gzipSync('{"a":1}');
for (const [what, body] of [
	['without anything', Buffer.alloc(0)],
	['of text', Buffer.from('{"a":1}')],
	['that ends early', whole.subarray(0, -4)],
	['with a wrong checksum', Buffer.concat([whole.subarray(0, -8), Buffer.alloc(8)])],
	['with something after it', Buffer.concat([whole, Buffer.from('x')])],
] as const)
	test(`gzip ${what} is a bad request`, async () => {
		await assert.rejects(inflated(body, MEBIBYTE), { code: 'validation_failed' });
	});

test('a bomb is stopped at the bound: it costs less than an honest body a quarter of its size', async () => {
	const [bomb, honest] = [gzipSync(Buffer.alloc(256 * MEBIBYTE)), gzipSync(Buffer.alloc(64 * MEBIBYTE))];
	const cost = async (work: () => Promise<unknown>): Promise<number> => {
		const before = process.cpuUsage();
		await work();
		const { user, system } = process.cpuUsage(before);
		return user + system;
	};
	const ofHonest = await cost(() => inflated(honest, 64 * MEBIBYTE));
	const ofBomb = await cost(() => assert.rejects(inflated(bomb, MEBIBYTE), { code: 'payload_too_large' }));
	assert.ok(ofBomb < ofHonest, `${ofBomb} µs of ${ofHonest} µs`);
});
