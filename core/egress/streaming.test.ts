// Streamed answers through the real guard from real upstreams: when their parts arrive, how they end, and what stops them.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import zlib from 'node:zlib';
import { isBeforeTimer, turns, until } from '../../test/helpers/clock.ts';
import { failure, get, local, textOfBody } from '../../test/helpers/egress.ts';
import { httpUpstream, tcpUpstream, type Upstream } from '../../test/helpers/upstream.ts';
import type { StreamRequest } from '../contract/outbound.ts';
import type { OpenStream, StreamBody } from './streaming.ts';

const MiB = 1024 * 1024;

interface Streaming {
	upstream: Upstream;
	/** The response of the last request. */
	response(): ServerResponse;
	open(more?: Partial<StreamRequest>): Promise<OpenStream>;
}

/** Starts an upstream whose answer `begin` begins. */
async function streaming(t: TestContext, begin: (response: ServerResponse) => unknown): Promise<Streaming> {
	const responses: ServerResponse[] = [];
	const upstream = await httpUpstream(t, (_request, response) => {
		responses.push(response);
		begin(response);
	});
	const egress = local(t);
	return {
		upstream,
		response: () => responses.at(-1) ?? assert.fail('no request came'),
		open: (more = {}) => egress.stream(get(upstream.origin, more)),
	};
}

const textOf = (body: AsyncIterable<Uint8Array>): Promise<string> => textOfBody({ body });

async function part(body: StreamBody): Promise<string> {
	const { value, done } = await body.next();
	return done ? 'end' : Buffer.from(value).toString();
}

const isClosed = (upstream: Upstream): Promise<void> => until(() => upstream.open() === 0, 'the connection is closed', 5);

test('headers are there before the body, each part before the next, and the connection serves the next request', async (t) => {
	const { upstream, response, open } = await streaming(t, (answer) => answer.writeHead(201, { 'x-a': ['1', '2'] }).flushHeaders());
	const { status, headers, url, body } = await open();
	assert.deepEqual([status, headers['x-a'], url], [201, '1, 2', `${upstream.origin}/`]);
	for (const piece of ['one', 'two']) {
		response().write(piece);
		assert.equal(await part(body), piece);
	}
	response().end('three');
	assert.deepEqual([await part(body), await part(body), await part(body)], ['three', 'end', 'end']);
	assert.equal(await body.ended, 'whole');
	// undici takes the connection back in the next turn.
	await turns(2);
	const again = open();
	await until(() => !response().writableEnded, 'the second request', 5);
	response().end();
	assert.equal(await textOf((await again).body), '');
	assert.equal(upstream.connections(), 1);
});

test('an answer without a body, and one after an informational response, are whole', async (t) => {
	const { open } = await streaming(t, (answer) => answer.writeHead(204).end());
	assert.equal(await textOf((await open()).body), '');
	const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
	const early = await tcpUpstream(t, (socket) => socket.once('data', () => socket.write(hints)));
	const { status, body } = await local(t).stream(get(early.origin));
	assert.deepEqual([status, await textOf(body)], [200, 'ok']);
});

test('an upstream is paused while its answer is not asked for, and every byte arrives in order', async (t) => {
	const piece = Buffer.alloc(MiB, 'abcdefgh');
	const total = 48;
	let sent = 0;
	const flood = (response: ServerResponse): void => {
		while (sent < total && !response.destroyed) {
			sent += 1;
			if (!response.write(piece)) return void response.once('drain', () => flood(response));
		}
		response.end();
	};
	const { open } = await streaming(t, flood);
	const { body } = await open();
	const iterator = body[Symbol.asyncIterator]();
	let received = (await iterator.next()).value?.length ?? 0;
	let before = -1;
	await until(async () => {
		const isStill = sent === before;
		before = sent;
		await turns(50);
		return isStill && sent === before;
	}, 'the upstream waits');
	assert.ok(sent < total / 2, `it has sent ${sent} of ${total}`);
	for await (const more of iterator) {
		assert.equal(more[0], 'abcdefgh'.charCodeAt(received % 8));
		received += more.length;
	}
	assert.equal(received, total * MiB);
});

test('leaving a body closes its connection, also while a part is waited for', async (t) => {
	const { upstream, open } = await streaming(t, (answer) => answer.write('a'));
	for await (const _ of (await open()).body) break;
	await isClosed(upstream);
	const { body } = await open();
	assert.equal(await part(body), 'a');
	const waiting = [body.next(), body.next()];
	await body.return();
	assert.deepEqual(
		(await Promise.all(waiting)).map(({ done }) => done),
		[true, true],
	);
	await isClosed(upstream);
	assert.equal((await body.ended).constructor.name, 'Left');
});

test('the signal ends a body with its reason, down to the connection, whatever has arrived', async (t) => {
	const { upstream, open } = await streaming(t, (answer) => answer.write('a'));
	const leaving = new AbortController();
	const { body } = await open({ signal: leaving.signal });
	assert.equal(await part(body), 'a');
	const waiting = body.next();
	leaving.abort(new Error('the client is gone'));
	await assert.rejects(waiting, /the client is gone/);
	assert.equal((await body.next()).done, true);
	await isClosed(upstream);
	await assert.rejects(open({ signal: leaving.signal }), /the client is gone/);
	assert.equal(upstream.connections(), 1);
});

test('silence in the middle is upstream_timeout; a reader that takes its time is not silence', async (t) => {
	const { upstream, response, open } = await streaming(t, (answer) => answer.write('a'));
	const { body } = await open({ idleMs: 100 });
	assert.equal(await part(body), 'a');
	assert.match((await failure(body.next(), 'upstream_timeout')).message, /sent nothing for 100 ms in the middle/);
	await isClosed(upstream);
	const slow = await open({ idleMs: 100 });
	assert.equal(await part(slow.body), 'a');
	// More than what is read ahead.
	response().write(Buffer.alloc(200_000, 'b'));
	await turns(300);
	response().end('c');
	assert.equal((await textOf(slow.body)).length, 200_001);
});

test('a body that nobody reads is closed', async (t) => {
	const { upstream, open } = await streaming(t, (answer) => answer.write(Buffer.alloc(MiB)));
	const { body } = await open({ idleMs: 100 });
	await isClosed(upstream);
	assert.match((await failure(body.next(), 'upstream_failed')).message, /was not read within 100 ms/);
});

test('an upstream that does not begin to answer is upstream_timeout, and asked no more', async (t) => {
	const { upstream, open } = await streaming(t, () => undefined);
	assert.match((await failure(open({ timeoutMs: 100 }), 'upstream_timeout')).message, /did not begin to answer within 100 ms/);
	await isClosed(upstream);
});

test('the time limit of the headers is not one of the body', async (t) => {
	const { response, open } = await streaming(t, (answer) => answer.write('a'));
	const { body } = await open({ timeoutMs: 2000 });
	assert.equal(await part(body), 'a');
	assert.equal(await isBeforeTimer(2100, body.ended), false);
	response().end('b');
	assert.equal(await textOf(body), 'b');
});

test('a body over the limit is upstream_failed, after the parts before, and its connection is closed', async (t) => {
	const { upstream, open } = await streaming(t, (answer) => {
		answer.write('12345');
		setTimeout(() => answer.write('67890'), 20);
	});
	const { body } = await open({ maxBytes: 8 });
	assert.equal(await part(body), '12345');
	assert.match((await failure(body.next(), 'upstream_failed')).message, /more than 8 bytes/);
	await isClosed(upstream);
});

for (const [how, end] of [
	['breaks off', (response: ServerResponse) => response.destroy()],
	['resets', (response: ServerResponse) => response.socket?.resetAndDestroy()],
	['is no HTTP any more', (response: ServerResponse) => response.socket?.end('zz canary\r\n')],
] as const)
	test(`a body that ${how} in the middle is upstream_failed, without the upstream’s words`, async (t) => {
		const { response, open } = await streaming(t, (answer) => answer.write('a'));
		const { body } = await open();
		assert.equal(await part(body), 'a');
		end(response());
		const { message } = await failure(body.next(), 'upstream_failed');
		assert.ok(!message.includes('canary'), message);
		assert.equal((await body.next()).done, true);
	});

const CODERS = {
	gzip: () => zlib.createGzip({ flush: zlib.constants.Z_SYNC_FLUSH }),
	deflate: () => zlib.createDeflate({ flush: zlib.constants.Z_SYNC_FLUSH }),
	br: () => zlib.createBrotliCompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH }),
	zstd: () => zlib.createZstdCompress({ flush: zlib.constants.ZSTD_e_flush }),
} as const;

for (const [coding, coder] of Object.entries(CODERS))
	test(`each part of a body in ${coding} is decoded when it arrives`, async (t) => {
		const encode = coder();
		const { open } = await streaming(t, (answer) => encode.pipe(answer.writeHead(200, { 'content-encoding': coding })));
		encode.write('one');
		const { headers, body } = await open();
		assert.equal(headers['content-encoding'], undefined);
		assert.equal(await part(body), 'one');
		encode.write('two');
		assert.equal(await part(body), 'two');
		encode.end('three');
		assert.equal(await textOf(body), 'three');
	});

const answering = (headers: Record<string, string>, bytes: Buffer) => (answer: ServerResponse) => answer.writeHead(200, headers).end(bytes);
const zeros = (): Buffer => zlib.gzipSync(Buffer.alloc(64 * MiB));

for (const [id, encoding, bytes] of [
	['one layer', 'gzip', zeros],
	['two layers', 'gzip, br', () => zlib.brotliCompressSync(zeros())],
	['a layer inside the last', 'gzip, gzip', () => zlib.gzipSync(zlib.gzipSync(Buffer.alloc(4 * MiB)))],
] as const)
	test(`a body of few bytes that become many is bounded, in ${id}`, async (t) => {
		const { upstream, open } = await streaming(t, answering({ 'content-encoding': encoding }, bytes()));
		const { body } = await open({ maxBytes: MiB });
		let received = 0;
		const reading = (async () => {
			for await (const piece of body) received += piece.length;
		})();
		assert.match((await failure(reading, 'upstream_failed')).message, /more than 1048576 bytes/);
		assert.ok(received <= MiB);
		await until(() => upstream.open() <= 1, 'at most an idle connection', 5);
	});

for (const [id, encoding, bytes] of [
	['that is none', 'gzip', Buffer.from('not gzip at all')],
	['that is cut off', 'gzip', zlib.gzipSync('hello hello').subarray(0, 15)],
] as const)
	test(`a coding ${id} is upstream_failed`, async (t) => {
		const { open } = await streaming(t, answering({ 'content-encoding': encoding }, bytes));
		assert.match((await failure(textOf((await open()).body), 'upstream_failed')).message, /does not decode as gzip/);
	});

test('an unknown coding, and too many, are upstream_failed at once, and close the connection', async (t) => {
	for (const encoding of ['compress', 'gzip, gzip, gzip, gzip']) {
		const { upstream, open } = await streaming(t, (answer) => answer.writeHead(200, { 'content-encoding': encoding }).write('x'));
		await failure(open(), 'upstream_failed');
		await isClosed(upstream);
	}
});

test('a broken connection is told as such in a compressed body, and leaving one closes it', async (t) => {
	const encode = CODERS.gzip();
	const { upstream, response, open } = await streaming(t, (answer) => {
		encode.pipe(answer.writeHead(200, { 'content-encoding': 'gzip' }), { end: false });
		encode.write('one');
	});
	const { body } = await open();
	assert.equal(await part(body), 'one');
	response().destroy();
	assert.match((await failure(body.next(), 'upstream_failed')).message, /closed the connection/);
	const left = CODERS.gzip();
	const other = await streaming(t, (answer) => {
		left.pipe(answer.writeHead(200, { 'content-encoding': 'gzip' }));
		left.write('one');
	});
	const second = await other.open();
	assert.equal(await part(second.body), 'one');
	const waiting = second.body.next();
	await second.body.return();
	assert.equal((await waiting).done, true);
	await isClosed(other.upstream);
	await isClosed(upstream);
});

test('a redirect is followed without its body and without secrets, and its target is asked about and checked', async (t) => {
	const seen: unknown[] = [];
	const target = await httpUpstream(t, ({ headers }, response) => {
		seen.push([headers.authorization, headers.accept]);
		response.end('there');
	});
	const { upstream, open } = await streaming(t, (answer) => answer.writeHead(307, { location: `${target.origin}/x` }).write('endless'));
	const { url, body } = await open({ headers: { Authorization: 'Bearer canary', Accept: 'text/event-stream' } });
	assert.deepEqual([url, await textOf(body), seen], [`${target.origin}/x`, 'there', [[undefined, 'text/event-stream']]]);
	await isClosed(upstream);
	const { status, body: own } = await open({ maxRedirects: 0 });
	assert.equal(status, 307);
	await own.return();
	const refused = local(t).stream(get(upstream.origin), () => {
		throw new Error('not there');
	});
	await assert.rejects(refused, /not there/);
	await isClosed(upstream);
	const inside = await streaming(t, (answer) => answer.writeHead(302, { location: 'http://10.0.0.1/' }).end());
	await failure(inside.open(), 'egress_refused');
	const round = await streaming(t, (answer) => answer.writeHead(302, { location: '/' }).end());
	assert.match((await failure(round.open(), 'egress_refused')).message, /more than 3 times/);
});

test('what the guard refuses is not connected to', async (t) => {
	const egress = local(t);
	for (const url of ['http://10.0.0.1/', 'http://169.254.169.254/', 'ftp://example.com/', 'http://127.0.0.1:6379/'])
		await failure(egress.stream(get(url)), 'egress_refused');
	await failure(egress.stream(get('http://127.0.0.1/', { headers: { host: 'x' } })), 'validation_failed');
});

test('closing the guard ends the bodies that are read', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.write('a'));
	const egress = local(t);
	const { body } = await egress.stream(get(upstream.origin));
	assert.equal(await part(body), 'a');
	const waiting = body.next();
	await egress.close();
	assert.match((await failure(waiting, 'upstream_failed')).message, /service is stopping/);
});
