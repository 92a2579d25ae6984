// Limits and ends of an outbound exchange: size, time, failures, cancellation.

import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { elapsing, until } from '../../test/helpers/clock.ts';
import { failure, get, local, textOf } from '../../test/helpers/egress.ts';
import { httpUpstream, tcpUpstream } from '../../test/helpers/upstream.ts';
import type { OutboundRequest } from '../contract/outbound.ts';

test('Connections are kept for the next call', async (t) => {
	const upstream = await httpUpstream(t, (request, response) => response.end(request.url));
	const egress = local(t);
	for (let i = 0; i < 20; i++) assert.equal((await egress.request(get(`${upstream.origin}/a?b=${i}`))).body.toString(), `/a?b=${i}`);
	// Two, since a connection whose answer has just been read is free only in the next iteration of the event loop.
	assert.ok(upstream.connections() <= 2, `${upstream.connections()} connections`);
});

test('Method, headers and body arrive as they were given, with a user agent of ours unless another is given', async (t) => {
	const upstream = await httpUpstream(t, async (request, response) => {
		const { method, headers } = request;
		response.end(JSON.stringify({ method, agent: headers['user-agent'], mark: headers['x-mark'], body: await textOf(request) }));
	});
	const egress = local(t);
	const seen = async (options: OutboundRequest): Promise<unknown> => JSON.parse((await egress.request(options)).body.toString());
	const post = { method: 'POST', url: upstream.origin, headers: { 'X-Mark': 'é' }, body: 'hä' };
	assert.deepEqual(await seen(post), { method: 'POST', agent: 'gatehouse', mark: 'é', body: 'hä' });
	const agent = { method: 'QUERY', url: upstream.origin, headers: { 'User-Agent': 'mine' }, body: Buffer.from('q') };
	assert.deepEqual(await seen(agent), { method: 'QUERY', agent: 'mine', body: 'q' });
});

test('Headers that frame the message or break a line are refused before anything is sent', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.end());
	const bad: Record<string, string>[] = [
		{ Host: 'other.example' },
		{ 'content-LENGTH': '0' },
		{ 'Transfer-Encoding': 'chunked' },
		{ Connection: 'upgrade' },
		{ 'x-a': 'b\r\nx-c: d' },
		{ 'x-a': 'b\0' },
		{ 'x a': 'b' },
		{ 'x-a': '日' },
	];
	const egress = local(t);
	for (const headers of bad) await failure(egress.request(get(upstream.origin, { headers })), 'validation_failed');
	assert.equal(upstream.connections(), 0);
});

// ── size ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const CODINGS: Record<string, (body: Buffer) => Buffer> = {
	gzip: zlib.gzipSync,
	'x-gzip': zlib.gzipSync,
	deflate: zlib.deflateSync,
	br: zlib.brotliCompressSync,
	zstd: zlib.zstdCompressSync,
	'gzip, br': (body) => zlib.brotliCompressSync(zlib.gzipSync(body)),
};

for (const [coding, encode] of Object.entries(CODINGS))
	test(`A body in ${coding} is decoded, and a bomb in it stops at the cap`, async (t) => {
		const bodies: Record<string, Buffer> = { '/plain': Buffer.from('grüße'), '/bomb': Buffer.alloc(50_000_000) };
		const upstream = await httpUpstream(t, (request, response) => {
			const body = encode(bodies[request.url ?? ''] ?? Buffer.alloc(0));
			response.writeHead(200, { 'content-encoding': coding.toUpperCase(), 'content-length': body.length }).end(body);
		});
		const egress = local(t);
		const { body, headers } = await egress.request(get(`${upstream.origin}/plain`));
		assert.equal(body.toString(), 'grüße');
		assert.deepEqual([headers['content-encoding'], headers['content-length']], [undefined, undefined]);
		assert.match((await failure(egress.request(get(`${upstream.origin}/bomb`)), 'upstream_failed')).message, /more than 10485760 bytes/);
	});

test('Bare deflate is understood, other and broken codings are failures', async (t) => {
	const answers: Record<string, [string, Buffer]> = {
		'/raw': ['deflate', zlib.deflateRawSync('raw')],
		'/unknown': ['compress', Buffer.from('x')],
		'/proto': ['constructor', Buffer.from('x')],
		'/broken': ['gzip', Buffer.from('not gzip')],
		'/cut': ['gzip', zlib.gzipSync('a longer text').subarray(0, 15)],
		'/layers': ['gzip, gzip, gzip, gzip', Buffer.from('x')],
	};
	const upstream = await httpUpstream(t, (request, response) => {
		const [coding, body] = answers[request.url ?? ''] ?? assert.fail();
		response.writeHead(200, { 'content-encoding': coding }).end(body);
	});
	const egress = local(t);
	assert.equal((await egress.request(get(`${upstream.origin}/raw`))).body.toString(), 'raw');
	for (const path of ['/unknown', '/proto', '/broken', '/cut', '/layers'])
		assert.match((await failure(egress.request(get(upstream.origin + path)), 'upstream_failed')).message, /does not decode/);
});

test('An answer to HEAD, or of no body, that names a coding is not decoded', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end());
	assert.equal((await local(t).request({ method: 'HEAD', url: upstream.origin })).body.length, 0);
});

test('An endless answer is broken off at the cap, and the connection closed', async (t) => {
	const closed = Promise.withResolvers<void>();
	const upstream = await httpUpstream(t, (_request, response) => {
		const timer = setInterval(() => response.write(Buffer.alloc(16_384)), 1);
		response.on('close', () => {
			clearInterval(timer);
			closed.resolve();
		});
	});
	const error = await failure(local(t).request(get(upstream.origin, { maxBytes: 100_000 })), 'upstream_failed');
	assert.match(error.message, /more than 100000 bytes/);
	await closed.promise;
});

test('A body of exactly the cap passes', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.end(Buffer.alloc(1000)));
	assert.equal((await local(t).request(get(upstream.origin, { maxBytes: 1000 }))).body.length, 1000);
});

// ── time and failures ──────────────────────────────────────────────────────────────────────────────────────────────

const SLOW: Record<string, RequestListener> = {
	'never answers': () => {},
	'never ends its answer': (_request, response) => void response.write('some'),
	'drips a byte at a time': (_request, response) => {
		const timer = setInterval(() => response.write('.'), 10);
		response.on('close', () => clearInterval(timer));
	},
	'redirects to itself slowly': (_request, response) => {
		setTimeout(() => response.writeHead(302, { location: '/' }).end(), 80);
	},
};

for (const [what, listener] of Object.entries(SLOW))
	test(`An upstream that ${what} is aborted after timeoutMs, and its connection closed`, async (t) => {
		const upstream = await httpUpstream(t, listener);
		const isTime = elapsing(150);
		// Nothing but the deadline ends it: each of them would go on for ever.
		const error = await failure(local(t).request(get(upstream.origin, { timeoutMs: 150 })), 'upstream_timeout');
		assert.match(error.message, /within 150 ms/);
		assert.ok(isTime(), 'too early');
		await until(() => upstream.open() === 0, 'its connection is closed');
	});

const BROKEN: Record<string, { bytes: string; end: 'reset' | 'end'; message: RegExp }> = {
	'resets the connection in the middle of its body': {
		bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf',
		end: 'reset',
		message: /closed the connection/,
	},
	'sends less than it announced': {
		bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf',
		end: 'end',
		message: /closed the connection|length differs/,
	},
	'ends in the middle of a chunk': {
		bytes: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n64\r\nhalf',
		end: 'end',
		message: /closed the connection/,
	},
	'closes before it answers': { bytes: '', end: 'end', message: /closed the connection/ },
	'does not speak HTTP': { bytes: 'SSH-2.0-OpenSSH_9.6\r\n', end: 'end', message: /valid HTTP/ },
	'announces two lengths': {
		bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
		end: 'end',
		message: /length differs/,
	},
	'sends endless headers': {
		bytes: `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
		end: 'end',
		message: /headers that are too large/,
	},
};

for (const [what, { bytes, end, message }] of Object.entries(BROKEN))
	test(`An upstream that ${what} is upstream_failed`, async (t) => {
		const upstream = await tcpUpstream(t, (socket) => {
			socket.once('data', () =>
				socket.write(bytes, () => (end === 'reset' ? setTimeout(() => socket.resetAndDestroy(), 20) : socket.end())),
			);
		});
		const egress = local(t);
		assert.match((await failure(egress.request(get(upstream.origin)), 'upstream_failed')).message, message);
		await failure(
			egress.fetch(upstream.origin).then((response) => response.text()),
			'upstream_failed',
		);
	});

test('A closed port is upstream_failed and says so', async (t) => {
	const error = await failure(local(t).request(get('http://127.0.0.1:9998/')), 'upstream_failed');
	assert.equal(error.message, '127.0.0.1:9998 refused the connection.');
});

test('A call that its caller aborts ends with the reason, down to the upstream’s socket', async (t) => {
	const closed = Promise.withResolvers<void>();
	const asked = Promise.withResolvers<void>();
	const upstream = await httpUpstream(t, (request) => {
		request.socket.on('close', closed.resolve);
		asked.resolve();
	});
	const caller = new AbortController();
	const call = local(t).request(get(upstream.origin, { signal: caller.signal }));
	await asked.promise;
	caller.abort(new Error('client gone'));
	await assert.rejects(call, /client gone/);
	await closed.promise;
});

test('A call that was aborted before it began sends nothing', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.end());
	const call = local(t).request(get(upstream.origin, { signal: AbortSignal.abort(new Error('too late')) }));
	await assert.rejects(call, /too late/);
	assert.equal(upstream.connections(), 0);
});

test('A call that is aborted in the turn in which it begins sends nothing', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.end());
	const caller = new AbortController();
	const call = local(t).request(get(upstream.origin, { signal: caller.signal }));
	caller.abort(new Error('too late'));
	await assert.rejects(call, /too late/);
	// The connection of a later call is the only one.
	await local(t).request(get(upstream.origin));
	assert.equal(upstream.connections(), 1);
});

test('Closing aborts running calls and refuses later ones', async (t) => {
	const egress = local(t);
	const upstream = await httpUpstream(t, () => void egress.close());
	await failure(egress.request(get(upstream.origin)), 'upstream_failed');
	assert.match((await failure(egress.request(get(upstream.origin)), 'upstream_failed')).message, /service is stopping/);
});
