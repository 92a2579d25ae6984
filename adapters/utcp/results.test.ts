// Tests the answers for results that are files, texts, data and several blocks.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContentBlock } from '../../core/index.ts';
import { rawReply } from './results.ts';

const DOT = Buffer.from([0, 1, 2, 255]);
const base64 = DOT.toString('base64');
const of = (...content: ContentBlock[]) => rawReply({ content });

for (const [what, block, type, expected] of [
	['an image', { type: 'image', data: base64, mimeType: 'image/png' }, 'image/png', DOT],
	['a sound', { type: 'audio', data: base64, mimeType: 'audio/wav' }, 'audio/wav', DOT],
	['bytes', { type: 'resource', resource: { uri: 'a:b', blob: base64, mimeType: 'application/pdf' } }, 'application/pdf', DOT],
	['bytes of no type', { type: 'resource', resource: { uri: 'a:b', blob: base64 } }, 'application/octet-stream', DOT],
	['bytes of a type that is none', { type: 'image', data: base64, mimeType: 'x\r\nset-cookie: a=b' }, 'application/octet-stream', DOT],
	[
		'a page',
		{ type: 'resource', resource: { uri: 'a:b', text: '<p>é', mimeType: 'text/html' } },
		'text/html; charset=utf-8',
		Buffer.from('<p>é'),
	],
	['a text of no type', { type: 'resource', resource: { uri: 'a:b', text: 'é' } }, 'text/plain; charset=utf-8', Buffer.from('é')],
] as const)
	test(`${what} is the body, as an attachment in a sandbox`, () => {
		const { status, headers = {}, body } = of(block);
		assert.deepEqual([status, headers['content-type'], headers['content-disposition'], body], [200, type, 'attachment', expected]);
		assert.match(headers['content-security-policy'] ?? '', /^default-src 'none';.*sandbox$/);
	});

test('a file of a megabyte comes byte for byte', () => {
	const large = Buffer.alloc(1_500_000, 'abc');
	const { body } = of({ type: 'image', data: large.toString('base64'), mimeType: 'image/webp' });
	assert.ok(Buffer.isBuffer(body) && body.equals(large));
});

test('several blocks, and a link, are JSON; texts are one text', () => {
	const image = { type: 'image', data: base64, mimeType: 'image/png' } as const;
	const link = { type: 'resource_link', uri: 'a:b', name: 'b' } as const;
	assert.deepEqual(JSON.parse(String(of(image, image).body)), { content: [image, image] });
	assert.deepEqual(JSON.parse(String(of(link).body)), { content: [link] });
	assert.equal(of({ type: 'text', text: 'a' }, { type: 'text', text: 'b' }).body, 'a\nb');
});

test('what was cut of data is said in a header that no text can break', () => {
	const notes = { type: 'text', text: 'Cut:\r\nset-cookie: é' } as const;
	const { headers = {} } = rawReply({ content: [{ type: 'text', text: '{}' }, notes], structured: {} });
	assert.equal(headers['x-result-notes'], 'Cut: set-cookie: ?');
});
