// Tests calls by gRPC against a real server: streams, statuses, deadlines, credentials, limits.

import assert from 'node:assert/strict';
import { createServer, type OutgoingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { status as Status } from '@grpc/grpc-js';
import type { ErrorCode, Json, JsonObject } from '../../../core/index.ts';
import { spanOf, until } from '../../../test/helpers/clock.ts';
import { failure } from '../../../test/helpers/egress.ts';
import { apiAt } from '../../../test/helpers/executor.ts';
import { grpcServer } from '../../../test/helpers/grpc.ts';
import { configOf, grpcCall, run, textOf } from '../../../test/helpers/grpc-run.ts';
import type { GrpcConfig } from './config.ts';
import grpc from './index.ts';

test('an Any of an unknown type is its bytes, also in an Any in an Any', async (t) => {
	const server = await grpcServer(t);
	const inner = { '@type': 'type.googleapis.com/shop.v1.Money', units: '1' };
	const nested = { any: { '@type': 'type.googleapis.com/google.protobuf.Any', value: inner } };
	assert.deepEqual((await run(t, server, 'Shop_Echo', nested)).structured, nested);
	const { structured } = await run(t, server, 'Shop_Sell', { name: 'x' });
	assert.deepEqual(structured, {
		name: 'op/1',
		done: true,
		response: { '@type': 'type.googleapis.com/shop.v1.Item', name: 'shelves/1/items/1', title: 'Sold' },
	});
});

test('a stream of the server is a list, cut where it reaches a limit, and then cancelled', async (t) => {
	const server = await grpcServer(t);
	const whole = (await run(t, server, 'Shop_Watch', { count: 3 })).structured as { messages: Json[] };
	assert.deepEqual(whole, { messages: [1, 2, 3].map((n) => ({ name: `item ${n}`, version: String(n) })) });
	assert.deepEqual(server.cancelled, []);
	const exact = (await run(t, server, 'Shop_Watch', { count: 3 }, { more: { maxMessages: 3 } })).structured as JsonObject;
	assert.equal(exact['cut'], undefined);
	const cut = (await run(t, server, 'Shop_Watch', { count: 1_000_000 }, { more: { maxMessages: 2 } })).structured as {
		messages: Json[];
		cut: string;
	};
	assert.deepEqual([cut.messages.length, cut.cut], [2, 'These are the first 2 messages: there were more.']);
	await until(async () => server.cancelled.length === 1, 'cancelled at the server');
	const call = Object.assign(grpcCall(t, { api: apiAt(`http://127.0.0.1:${server.port}`) }), { account: async () => 'account' });
	const large = textOf(await grpc.execute({ count: 100, size: 200_000 }, await configOf('Shop_Watch'), call));
	assert.match(large, /The answer was too long and is cut:/);
	await until(async () => server.cancelled.length === 2, 'cancelled at the server');
	const late = (await run(t, server, 'Shop_Watch', { count: 100, everyMs: 400 }, { more: { timeoutMs: 3000 } })).structured as {
		messages: Json[];
		cut: string;
	};
	assert.ok(late.messages.length > 0 && late.messages.length < 9);
	assert.match(late.cut, /first 3 s/);
});

test('a stream of the client is sent whole and in order, and both at once work', async (t) => {
	const server = await grpcServer(t);
	const messages = Array.from({ length: 300 }, (_, index) => ({ name: `n${index}`, picture: Buffer.alloc(3000).toString('base64') }));
	assert.deepEqual((await run(t, server, 'Shop_Upload', { messages })).structured, {
		count: 300,
		names: messages.slice(0, 100).map(({ name }) => name),
	});
	assert.deepEqual((await run(t, server, 'Shop_Upload', { messages: [] })).structured, {});
	const chat = await run(t, server, 'Shop_Chat', { messages: [{ title: 'a' }, { title: 'b' }] });
	assert.deepEqual(chat.structured, { messages: [{ title: 'Re: a' }, { title: 'Re: b' }] });
});

test('a status is a failed run with the name of its code, its message and its details, without stack traces', async (t) => {
	const server = await grpcServer(t);
	const result = await run(t, server, 'Shop_Fail', { code: 9, message: 'nö\u001b[31m', detailed: true });
	assert.deepEqual(textOf(result).split('\n'), [
		'FAILED_PRECONDITION (9): nö[31m',
		'{"reason":"SOLD_OUT","domain":"shop.example","@type":"type.googleapis.com/google.rpc.ErrorInfo"}',
		'{"value":"CgF4","@type":"type.googleapis.com/shop.v1.Nobody"}',
	]);
	assert.equal(result.isError, true);
	for (const [name, code] of Object.entries(Status).filter(([, code]) => typeof code === 'number' && code !== 0)) {
		const failed = await run(t, server, 'Shop_Fail', { code: Number(code), message: 'm' });
		assert.deepEqual([textOf(failed), failed.isError], [`${name} (${code}): m`, true]);
	}
	const long = await run(t, server, 'Shop_Fail', { code: 3, message: 'x'.repeat(5000) });
	assert.ok(textOf(long).length < 1100);
});

test('the deadline is sent to the server, and passing it is upstream_timeout', async (t) => {
	const server = await grpcServer(t);
	const waiting = () => failure(run(t, server, 'Shop_Wait', {}, { more: { timeoutMs: 200 } }), 'upstream_timeout');
	const { value: error, fromMs, toMs } = await spanOf(waiting);
	assert.match(error.message, /did not answer within 0\.2 s/);
	const deadlineMs = Number(server.deadlines[0]);
	assert.ok(deadlineMs >= fromMs && deadlineMs <= toMs + 200, `${deadlineMs - fromMs} ms after the call`);
	await until(async () => server.cancelled.join() === '/shop.v1.Shop/Wait', 'cancelled at the server');
});

test('a client that leaves cancels the call, which the server sees', async (t) => {
	const server = await grpcServer(t);
	const leaving = new AbortController();
	const call = run(t, server, 'Shop_Wait', {}, { signal: leaving.signal });
	await until(async () => server.metadata.length === 1, 'heard by the server');
	leaving.abort(new Error('gone'));
	await assert.rejects(call, /gone/);
	await until(async () => server.cancelled.join() === '/shop.v1.Shop/Wait', 'cancelled at the server');
	await assert.rejects(run(t, server, 'Shop_Wait', {}, { signal: leaving.signal }), /gone/);
	assert.equal(server.metadata.length, 1);
});

test('credentials for headers are metadata, and a key for the query is refused', async (t) => {
	const server = await grpcServer(t);
	const urls: string[] = [];
	await run(
		t,
		server,
		'Shop_GetItem',
		{ name: 'x' },
		{
			signed: (request) => {
				urls.push(request.url);
				return { ...request, headers: { ...request.headers, authorization: 'Bearer t', 'x-api-key': 'k' } };
			},
		},
	);
	assert.deepEqual(urls, [`http://127.0.0.1:${server.port}/shop.v1.Shop/GetItem`]);
	assert.deepEqual(
		['authorization', 'x-api-key', 'user-agent'].map((name) => String(server.metadata[0]?.get(name)).split(' ').slice(0, 2).join(' ')),
		['Bearer t', 'k', 'gatehouse grpc-node-js/1.14.7'],
	);
	const inQuery = run(t, server, 'Shop_GetItem', { name: 'x' }, { signed: (request) => ({ ...request, url: `${request.url}?key=1` }) });
	assert.match((await failure(inQuery, 'validation_failed')).message, /query, which gRPC does not have/);
	assert.equal(server.metadata.length, 1);
});

test('an answer above the limit fails, and says so', async (t) => {
	const server = await grpcServer(t);
	const result = await run(t, server, 'Shop_Watch', { count: 1, size: 2_000_000 });
	assert.match(textOf(result), /RESOURCE_EXHAUSTED \(8\): Received message larger than max/);
	assert.equal(result.isError, true);
});

test('an answer above the limit fails, too, if it is small only by compression', async (t) => {
	const server = await grpcServer(t, { gzip: true });
	assert.match(textOf(await run(t, server, 'Shop_Watch', { count: 1, size: 50_000_000 })), /^RESOURCE_EXHAUSTED/);
	assert.partialDeepStrictEqual((await run(t, server, 'Shop_Watch', { count: 1, size: 1000 })).structured, {
		messages: [{ name: 'item 1' }],
	});
});

const FRAME = Buffer.from([0, 0, 0, 0, 2, 10, 0]);
const GRPC = { ':status': 200, 'content-type': 'application/grpc' };
const ODD: [what: string, headers: OutgoingHttpHeaders, body: Buffer | null, code: ErrorCode | null, says: RegExp][] = [
	[
		'a page',
		{ ':status': 200, 'content-type': 'text/html' },
		Buffer.from('<html>hello'),
		'upstream_failed',
		/no[nt].* gRPC here.*"text\/html"/,
	],
	['an HTTP status', { ':status': 503, 'content-type': 'text/html' }, Buffer.from('<html>'), null, /^UNAVAILABLE \(14\): .*503/],
	['a code that is not a number', { ...GRPC, 'grpc-status': 'abc' }, null, null, /^UNKNOWN \(2\)/],
	['a code of no meaning', { ...GRPC, 'grpc-status': '99' }, null, null, /^UNKNOWN \(2\)/],
	['an unknown encoding', { ...GRPC, 'grpc-encoding': 'br' }, Buffer.from([1, ...FRAME.subarray(1)]), null, /^[A-Z]+ \(\d+\)/],
	['an encoding that it is not in', { ...GRPC, 'grpc-encoding': 'gzip' }, Buffer.from([1, ...FRAME.subarray(1)]), null, /^INTERNAL \(13\)/],
	[
		'bytes that are not a message',
		GRPC,
		Buffer.from([0, 0, 0, 0, 2, 0xff, 0xff]),
		'upstream_failed',
		/The answer is not a valid shop\.v1\.Item: premature EOF/,
	],
	['no status', GRPC, FRAME, null, /^INTERNAL \(13\): .*without gRPC status/],
	['no message', { ...GRPC, 'grpc-status': '0' }, null, 'upstream_failed', /answered without a message/],
	['two messages', GRPC, Buffer.concat([FRAME, FRAME]), 'upstream_failed', /several messages where one was expected/],
];
for (const [what, headers, body, code, says] of ODD)
	test(`a server that answers with ${what} is a failed run that says so`, async (t) => {
		const server = createServer().on('stream', (stream) => {
			stream.respond(headers, { endStream: body === null, waitForTrailers: body !== null && what !== 'no status' });
			stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
			if (body !== null) stream.end(body);
		});
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		t.after(() => server.close());
		// The server listens on TCP, so the address is not the name of a pipe.
		const call = run(t, server.address() as AddressInfo, 'Shop_GetItem', { name: 'x' }, { more: { timeoutMs: 5000 } });
		if (code !== null) return assert.match((await failure(call, code)).message, says);
		const result = await call;
		assert.match(textOf(result), says);
		assert.equal(result.isError, true);
	});

test('a preview shows path, metadata and messages, and sends nothing', async (t) => {
	const server = await grpcServer(t);
	const call = grpcCall(t, {
		api: apiAt(`http://127.0.0.1:${server.port}/prefix/`),
		signed: (request) => ({ ...request, headers: { authorization: '***' } }),
	});
	const preview = await grpc.preview({ anInt64: 5, at: '2024-01-01T01:00:00+01:00' }, await configOf('Shop_Echo'), call);
	assert.deepEqual(preview, {
		protocol: 'grpc',
		url: `http://127.0.0.1:${server.port}/prefix/shop.v1.Shop/Echo`,
		tls: false,
		metadata: { authorization: '***' },
		messages: [{ anInt64: '5', at: '2024-01-01T00:00:00Z' }],
		timeoutMs: 30_000,
	});
	await failure(grpc.preview({ nam: 1 }, await configOf('Shop_Echo'), call), 'validation_failed');
	assert.deepEqual([server.metadata.length, server.connections()], [0, 0]);
});

test('a config without its method is refused, and every field says what it is for', async () => {
	const save = async (more: Partial<GrpcConfig>) => grpc.check(await configOf('Shop_Echo', more));
	await save({});
	assert.match((await failure(save({ method: 'None' }), 'validation_failed')).message, /must hold the service and the method/);
	assert.match((await failure(save({ descriptors: 'AAAA' }), 'validation_failed')).message, /must be a FileDescriptorSet/);
	const keys: object = grpc.config.describe().keys ?? {};
	for (const [name, described] of Object.entries(keys) as [string, { flags?: { description?: string } }][])
		assert.ok(described.flags?.description, name);
});
