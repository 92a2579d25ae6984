// The guard behind `fetch`, as libraries call it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { local } from '../../test/helpers/egress.ts';
import { httpUpstream } from '../../test/helpers/upstream.ts';
import { asGatewayError } from '../contract/errors.ts';

const withCode = (code: string) => (error: unknown) => asGatewayError(error)?.code === code;

test('fetch sends every kind of body, and answers with Node’s own Response', async (t) => {
	const upstream = await httpUpstream(t, async (request, response) => {
		let text = '';
		for await (const chunk of request) text += chunk;
		response.setHeader('x-type', String(request.headers['content-type'])).end(text);
	});
	const form = new FormData();
	form.set('a', 'b');
	const bodies: [NonNullable<RequestInit['body']>, RegExp, RegExp][] = [
		['text', /^text\/plain/, /^text$/],
		[new URLSearchParams({ a: 'b' }), /^application\/x-www-form-urlencoded/, /^a=b$/],
		[form, /^multipart\/form-data; boundary=/, /name="a"\r\n\r\nb\r\n/],
		[new Blob(['blob'], { type: 'text/css' }), /^text\/css/, /^blob$/],
		[new Uint8Array([65]), /^undefined$/, /^A$/],
	];
	for (const [body, type, text] of bodies) {
		const response = await local(t).fetch(upstream.origin, { method: 'POST', body });
		assert.ok(response instanceof Response);
		assert.equal(response.url, `${upstream.origin}/`);
		assert.match(response.headers.get('x-type') ?? '', type);
		assert.match(await response.text(), text);
	}
});

test('fetch streams the answer, and leaving it closes the upstream’s connection', async (t) => {
	const closed = Promise.withResolvers<void>();
	const upstream = await httpUpstream(t, (_request, response) => {
		response.write('first');
		response.on('close', closed.resolve);
	});
	const response = await local(t).fetch(new URL(upstream.origin));
	const reader = response.body?.getReader() ?? assert.fail();
	assert.equal(Buffer.from((await reader.read()).value ?? []).toString(), 'first');
	await reader.cancel();
	await closed.promise;
});

test('fetch keeps several cookies apart and returns empty answers', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.writeHead(204, { 'set-cookie': ['a=1', 'b=2'] }).end());
	const response = await local(t).fetch(upstream.origin);
	assert.deepEqual([response.status, response.body, response.headers.getSetCookie()], [204, null, ['a=1', 'b=2']]);
});

test('fetch takes a request for its options, as libraries may give one', async (t) => {
	const got: unknown[] = [];
	const upstream = await httpUpstream(t, (request, response) => {
		got.push(request.method, request.headers['x-own']);
		response.end();
	});
	await local(t).fetch(upstream.origin, new Request(upstream.origin, { method: 'DELETE', headers: { 'x-own': 'a' } }));
	assert.deepEqual(got, ['DELETE', 'a']);
});

test('fetch obeys its `redirect` option', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.writeHead(302, { location: '/there' }).end());
	const egress = local(t);
	const response = await egress.fetch(upstream.origin, { redirect: 'manual' });
	assert.deepEqual([response.status, response.headers.get('location')], [302, '/there']);
	await assert.rejects(egress.fetch(upstream.origin, { redirect: 'error' }), withCode('upstream_failed'));
});

test('fetch ends with its caller’s signal, before and after the headers', async (t) => {
	const asked = Promise.withResolvers<void>();
	const upstream = await httpUpstream(t, (request, response) => {
		if (request.url === '/headers') response.write('some');
		asked.resolve();
	});
	const egress = local(t);
	const before = new AbortController();
	const waiting = egress.fetch(upstream.origin, { signal: before.signal });
	await asked.promise;
	before.abort();
	await assert.rejects(waiting, { name: 'AbortError' });
	const after = new AbortController();
	const response = await egress.fetch(`${upstream.origin}/headers`, { signal: after.signal });
	after.abort();
	await assert.rejects(response.text(), { name: 'AbortError' });
	await assert.rejects(
		egress.fetch(`${upstream.origin}/headers`, { signal: AbortSignal.timeout(50) }).then((late) => late.text()),
		withCode('upstream_timeout'),
	);
});

test('fetch aborts an answer that decodes to more than 64 MiB', async (t) => {
	const bomb = gzipSync(Buffer.alloc(70 * 1024 * 1024));
	const upstream = await httpUpstream(t, (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
	const response = await local(t).fetch(upstream.origin);
	await assert.rejects(response.arrayBuffer(), withCode('upstream_failed'));
});
