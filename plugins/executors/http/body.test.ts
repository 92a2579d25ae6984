// Every kind of request body, as the bytes that an upstream gets.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError, type Json } from '../../../core/index.ts';
import { loopbackCall, type Recorded, type Recorder, recorder } from '../../../test/helpers/executor.ts';
import type { Part } from './config.ts';
import http from './index.ts';

type Parts = Record<string, Part>;

async function send(
	t: Parameters<typeof loopbackCall>[0],
	upstream: Recorder,
	body: { contentType: string; value: Json; parts?: Parts },
): Promise<Recorded> {
	const { contentType, value, parts = {} } = body;
	const config = await http.config.validateAsync({
		method: 'POST',
		url: `${upstream.origin}/x`,
		requestBody: { arg: 'body', contentType, parts },
	});
	await http.execute({ body: value }, config, loopbackCall(t));
	return upstream.take();
}

const BODIES: [contentType: string, value: Json, sentAs: string, bytes: string, parts?: Parts][] = [
	['application/json', { a: 'ü', b: [1, null] }, 'application/json', '{"a":"ü","b":[1,null]}'],
	['application/json', null, 'application/json', 'null'],
	['application/json', 'text', 'application/json', '"text"'],
	['application/json; charset=utf-8', 1, 'application/json; charset=utf-8', '1'],
	['application/vnd.api+json', {}, 'application/vnd.api+json', '{}'],
	['*/*', { a: 1 }, 'application/json', '{"a":1}'],
	[
		'application/x-www-form-urlencoded',
		{ a: 'b c&d=é', n: 1, t: true, no: null },
		'application/x-www-form-urlencoded',
		'a=b%20c%26d%3D%C3%A9&n=1&t=true',
	],
	[
		'application/x-www-form-urlencoded',
		{ a: [1, 2], o: { p: 'q' } },
		'application/x-www-form-urlencoded',
		'a=1&a=2&o=%7B%22p%22%3A%22q%22%7D',
	],
	['application/x-www-form-urlencoded', { 'a[]': 'x' }, 'application/x-www-form-urlencoded', 'a%5B%5D=x'],
	[
		'application/x-www-form-urlencoded',
		{ m: { k: 'v', l: [1] } },
		'application/x-www-form-urlencoded',
		'm%5Bk%5D=v&m%5Bl%5D%5B0%5D=1',
		{ m: { style: 'deepObject', explode: true } },
	],
	[
		'application/x-www-form-urlencoded',
		{ a: [1, 2] },
		'application/x-www-form-urlencoded',
		'a=1,2',
		{ a: { style: 'form', explode: false } },
	],
	[
		'application/x-www-form-urlencoded',
		{ a: [1, 2] },
		'application/x-www-form-urlencoded',
		'a=%5B1%2C2%5D',
		{ a: { contentType: 'application/json' } },
	],
	['application/x-www-form-urlencoded', 'a=b', 'application/x-www-form-urlencoded', 'a=b'],
	['application/form-data', { a: 'b' }, 'application/x-www-form-urlencoded', 'a=b'],
	['text/plain', 'hällo', 'text/plain', 'hällo'],
	['text/plain', 7, 'text/plain', '7'],
	['text/csv; charset=utf-8', 'a,b\r\n1,2', 'text/csv; charset=utf-8', 'a,b\r\n1,2'],
	['application/xml', '<a b="c"/>', 'application/xml', '<a b="c"/>'],
	['application/soap+xml', '<e/>', 'application/soap+xml', '<e/>'],
	['application/yaml', 'a: 1', 'application/yaml', 'a: 1'],
	['application/octet-stream', Buffer.from([0, 255, 10]).toString('base64'), 'application/octet-stream', '\u0000\u00ff\n'],
	['application/octet-stream', Buffer.from([251, 255]).toString('base64url'), 'application/octet-stream', '\u00fb\u00ff'],
	['image/png', Buffer.from('png').toString('base64'), 'image/png', 'png'],
];

for (const [contentType, value, sentAs, bytes, parts] of BODIES)
	test(`${contentType} writes ${JSON.stringify(value)}${parts ? ` by ${JSON.stringify(parts)}` : ''}`, async (t) => {
		const { headers, body } = await send(t, await recorder(t), { contentType, value, ...(parts ? { parts } : {}) });
		const binary = /octet|image/.test(contentType);
		assert.deepEqual([headers['content-type'], body.toString(binary ? 'latin1' : 'utf8')], [sentAs, bytes]);
		assert.equal(headers['content-length'], String(body.length));
	});

test('Without its argument there is no body and no content type', async (t) => {
	const upstream = await recorder(t);
	const requestBody = { arg: 'body', contentType: 'application/json' };
	await http.execute({}, await http.config.validateAsync({ method: 'POST', url: upstream.origin, requestBody }), loopbackCall(t));
	const { headers, body } = upstream.take();
	assert.deepEqual([headers['content-type'], headers['content-length'], body.length], [undefined, '0', 0]);
});

const MULTIPART: Record<string, { value: Json; parts?: Parts; pieces: string[] }> = {
	'texts, numbers and truth values': {
		value: { a: 'é', n: 1, t: true, no: null },
		pieces: [
			'Content-Disposition: form-data; name="a"\r\n\r\né',
			'Content-Disposition: form-data; name="n"\r\n\r\n1',
			'Content-Disposition: form-data; name="t"\r\n\r\ntrue',
		],
	},
	'objects as JSON, and lists once per item': {
		value: { o: { a: 1 }, l: ['x', 'y'], k: [1] },
		parts: { k: { contentType: 'application/json' } },
		pieces: [
			'Content-Disposition: form-data; name="o"\r\nContent-Type: application/json\r\n\r\n{"a":1}',
			'Content-Disposition: form-data; name="l"\r\n\r\nx',
			'Content-Disposition: form-data; name="l"\r\n\r\ny',
			'Content-Disposition: form-data; name="k"\r\nContent-Type: application/json\r\n\r\n[1]',
		],
	},
	'a file with its name and type': {
		value: { f: { data: 'AP8=', filename: 'a.png', contentType: 'image/png' } },
		parts: { f: { binary: true } },
		pieces: ['Content-Disposition: form-data; name="f"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n\u0000\u00ff'],
	},
	'files by their base64 alone, several under one name': {
		value: { f: ['YQ==', 'Yg=='] },
		parts: { f: { binary: true, contentType: 'image/png, image/jpeg' } },
		pieces: [
			'Content-Disposition: form-data; name="f"; filename="f"\r\nContent-Type: image/png\r\n\r\na',
			'Content-Disposition: form-data; name="f"; filename="f"\r\nContent-Type: image/png\r\n\r\nb',
		],
	},
	'names that would end the header': {
		value: { 'a"b\r\nc': { data: 'YQ==', filename: '"\r\nX: y' } },
		parts: { 'a"b\r\nc': { binary: true } },
		pieces: [
			'Content-Disposition: form-data; name="a%22b%0D%0Ac"; filename="%22%0D%0AX: y"\r\nContent-Type: application/octet-stream\r\n\r\na',
		],
	},
	nothing: { value: {}, pieces: [] },
};

for (const [what, { value, parts, pieces }] of Object.entries(MULTIPART))
	test(`multipart/form-data writes ${what}`, async (t) => {
		const { headers, body } = await send(t, await recorder(t), { contentType: 'multipart/form-data', value, ...(parts ? { parts } : {}) });
		const boundary =
			/^multipart\/form-data; boundary=(gatehouse-[0-9a-f]{32})$/.exec(headers['content-type'] ?? '')?.[1] ??
			assert.fail(headers['content-type']);
		const expected = `${pieces.map((piece) => `--${boundary}\r\n${piece}\r\n`).join('')}--${boundary}--\r\n`;
		assert.equal(body.toString(parts?.['f'] ? 'latin1' : 'utf8'), expected);
	});

test('Two multipart bodies have different boundaries', async (t) => {
	const upstream = await recorder(t);
	const types = [];
	for (let i = 0; i < 2; i++)
		types.push((await send(t, upstream, { contentType: 'multipart/form-data', value: { a: 1 } })).headers['content-type']);
	assert.notEqual(types[0], types[1]);
});

const BAD: [contentType: string, value: Json, path: string, parts?: Parts][] = [
	['application/octet-stream', 'not base64!', '/body'],
	['application/octet-stream', { a: 1 }, '/body'],
	['application/x-www-form-urlencoded', [1], '/body'],
	['multipart/form-data', 'text', '/body'],
	['multipart/form-data', { f: 7 }, '/body/f', { f: { binary: true } }],
	['multipart/form-data', { f: { data: '%%%' } }, '/body/f', { f: { binary: true } }],
	['multipart/form-data', { f: { data: 'YQ==', contentType: 'a/b\r\nX: y' } }, '/body/f/contentType', { f: { binary: true } }],
];

for (const [contentType, value, path, parts] of BAD)
	test(`${contentType} refuses ${JSON.stringify(value)}, naming ${path}, and sends nothing`, async (t) => {
		const upstream = await recorder(t);
		const failing = send(t, upstream, { contentType, value, ...(parts ? { parts } : {}) });
		await assert.rejects(failing, (error) => {
			const ours = asGatewayError(error);
			return ours?.code === 'validation_failed' && ours.details[0]?.path === path;
		});
		assert.equal(upstream.count(), 0);
	});
