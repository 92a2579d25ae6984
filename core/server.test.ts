// Tests of the rules for every response, whichever route sends it: the one error body, headers, and the log line.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer, Socket } from 'node:net';
import { after, before, test } from 'node:test';
import type { ResponseObject, ResponseToolkit, ServerInjectResponse, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { until } from '../test/helpers/clock.ts';
import { startCore, type TestCore } from '../test/helpers/core.ts';
import { GatewayError } from './contract/errors.ts';

const failing = (path: string, error: () => unknown): ServerRoute => ({
	method: 'GET',
	path,
	options: { auth: false },
	handler: () => {
		throw error();
	},
});

const answering = (path: string, handler: (h: ResponseToolkit) => ResponseObject): ServerRoute => ({
	method: 'GET',
	path,
	options: { auth: false },
	handler: (_request, h) => handler(h),
});
const circular: { self?: unknown } = {};
circular.self = circular;

/** An error of a package that has its own copy of the class. */
const foreign = () => Object.assign(new Error('The pet is taken.'), { code: 'conflict', details: [{ path: '/pet', message: 'taken' }] });

/** The callers whose requests have begun. */
const begun: unknown[] = [];

const ROUTES: ServerRoute[] = [
	{
		method: 'GET',
		path: '/apis',
		options: { auth: false, validate: { query: Joi.object({ limit: Joi.number() }) } },
		handler: () => ({ ok: 1 }),
	},
	{ method: 'POST', path: '/apis', options: { auth: false }, handler: () => ({ ok: 1 }) },
	{ method: 'GET', path: '/apis/begun', options: { auth: false }, handler: ({ query }) => begun.push(query['by']) },
	failing('/apis/bug', () => new Error('canary')),
	failing('/apis/foreign', foreign),
	failing('/apis/odd-cause', () => new Error('canary', { cause: Object.create(null) })),
	failing('/apis/internal', () => new GatewayError('internal', 'It has to be entered again.', { cause: new Error('canary') })),
	failing('/apis/away', () => new GatewayError('unavailable', 'Not now.')),
	failing('/apis/away-for-long', () => new GatewayError('unavailable', 'Not now.', { headers: { 'retry-after': '30' } })),
	failing('/apis/many', () => new GatewayError('rate_limited', 'Too many.')),
	failing('/apis/many-for-long', () => new GatewayError('rate_limited', 'Too many.', { headers: { 'retry-after': '30' } })),
	failing('/apis/odd-error', () =>
		Object.assign(new Error('It is taken.'), { code: 'conflict', headers: { 'x-a': 'b\nc', 'x-b': 'd' }, details: [{ path: 1n }] }),
	),
	answering('/apis/bigint', (h) => h.response({ a: 1n })),
	answering('/apis/circular', (h) => h.response(circular)),
	answering('/apis/header', (h) => h.response({ ok: 1 }).header('x-a', 'b\nc')),
];

let core: TestCore;
before(async () => {
	core = await startCore({ routes: ROUTES });
});
after(() => core[Symbol.asyncDispose]());

const ask = (url: string, method = 'GET', headers: Record<string, string> = {}): Promise<ServerInjectResponse> =>
	core.server.inject({ method, url, headers });
const told = async (url: string, method?: string) => {
	const { statusCode, payload } = await ask(url, method);
	return { statusCode, ...JSON.parse(payload) };
};

test('every response has an id and the security headers: a success, a refusal, and one before routing', async () => {
	for (const [url, status] of [
		['/apis', 200],
		['/apis/bug', 500],
		['/nothing', 404],
		['/%zz', 400],
	] as const) {
		const { statusCode, headers } = await ask(url);
		assert.equal(statusCode, status, url);
		assert.match(String(headers['x-request-id']), /^[\da-f-]{36}$/, url);
		assert.deepEqual(
			[headers['x-content-type-options'], headers['x-frame-options'], headers['referrer-policy']],
			['nosniff', 'DENY', 'no-referrer'],
		);
		assert.match(String(headers['content-security-policy']), /default-src 'none'/);
		assert.match(String(headers['strict-transport-security']), /^max-age=/, 'where the public address is https');
		assert.equal(headers['cache-control'], status === 200 ? 'no-cache' : 'no-store');
	}
});

test('a client’s own request id is kept, unless it could do harm in a log', async () => {
	for (const id of ['a', 'trace:1.2_3-4', 'x'.repeat(128)])
		assert.equal((await ask('/nothing', 'GET', { 'x-request-id': id })).headers['x-request-id'], id);
	for (const id of ['', 'a b', 'a\tb', 'x'.repeat(129), '{"a":1}'])
		assert.match(String((await ask('/nothing', 'GET', { 'x-request-id': id })).headers['x-request-id']), /^[\da-f-]{36}$/, id);
});

test('an unknown path is not found; a known path with another method lists the methods it takes', async () => {
	assert.equal((await told('/nothing')).error, 'NOT_FOUND');
	const { statusCode, headers, payload } = await ask('/apis', 'DELETE');
	assert.deepEqual([statusCode, headers['allow'], JSON.parse(payload).message], [405, 'GET, POST', 'This path takes GET, POST.']);
	assert.equal((await ask('/apis', 'TRACE')).statusCode, 405);
	assert.equal((await ask('/apis/')).statusCode, 200, 'a slash at the end is the same place');
});

test('a preflight is answered without looking at routes', async () => {
	const origin = { origin: 'http://localhost:3002', 'access-control-request-method': 'POST' };
	for (const url of ['/apis', '/nothing']) assert.equal((await ask(url, 'OPTIONS', origin)).statusCode, 204, url);
});

test('faults that a schema finds are reported with their path', async () => {
	const { statusCode, error, message, details } = await told('/apis?limit=many');
	assert.deepEqual([statusCode, error, details.length, details[0].path], [400, 'VALIDATION_FAILED', 1, 'query/limit']);
	assert.equal(message, details[0].message);
});

test('an unexpected error is a 500 without details; the log has it, with the request id', async () => {
	for (const [path, said] of Object.entries({
		'/apis/bug': /our side/,
		'/apis/odd-cause': /our side/,
		'/apis/internal': /It has to be entered again/,
	})) {
		core.lines.length = 0;
		const { statusCode, requestId, ...body } = await told(path);
		assert.deepEqual([statusCode, body.error], [500, 'INTERNAL']);
		assert.match(body.message, said);
		assert.doesNotMatch(JSON.stringify(body), /canary/);
		const line = core.lines.find(([level]) => level === 'error') ?? assert.fail('no line');
		assert.match(JSON.stringify(line), /canary/);
		assert.equal((line[1] as { requestId: string }).requestId, requestId);
	}
});

test('an error of another copy of the class is recognized by its code', async () => {
	const { statusCode, error, message, details } = await told('/apis/foreign');
	assert.deepEqual([statusCode, error, message, details], [409, 'CONFLICT', 'The pet is taken.', [{ path: '/pet', message: 'taken' }]]);
});

test('a 503 and a 429 say when to retry: in a second, unless the error names a time', async () => {
	const waits = ['/apis/away', '/apis/away-for-long', '/apis/many', '/apis/many-for-long'].map(
		async (path) => (await ask(path)).headers['retry-after'],
	);
	assert.deepEqual(await Promise.all(waits), ['1', '30', '1', '30']);
	const { headers } = await ask('/apis/many');
	assert.equal(headers['x-ratelimit-remaining'], '0');
	assert.equal((await ask('/apis/bug')).headers['retry-after'], undefined);
});

test('a 429 has four fields, and its message names the default wait if the error names none (specification 7)', async () => {
	const [many, forLong] = [await ask('/apis/many'), await ask('/apis/many-for-long')].map(({ payload }) => JSON.parse(payload));
	assert.deepEqual(many, { success: false, message: 'Too many. Retry after 1 seconds.', error: 'RATE_LIMITED', statusCode: 429 });
	assert.equal(forLong.message, 'Too many.');
});

test('each request is one log line, which never contains the query', async () => {
	core.lines.length = 0;
	await ask('/apis?limit=1&canary=2');
	await ask('/nothing?canary=2');
	const lines = core.lines.filter(([, , text]) => text === 'request').map(([, fields]) => fields as { path: string; status: number });
	assert.deepEqual(
		lines.map(({ path, status }) => [path, status]),
		[
			['/apis', 400],
			['/nothing', 404],
		],
	);
	assert.doesNotMatch(JSON.stringify(lines), /canary/);
});

test('an answer that cannot be sent is a 500 of ours, never hapi’s', async () => {
	for (const path of ['bigint', 'circular', 'header']) {
		core.lines.length = 0;
		const { statusCode, success, error, requestId } = await told(`/apis/${path}`);
		assert.deepEqual([statusCode, success, error, typeof requestId], [500, false, 'INTERNAL', 'string'], path);
		assert.equal(core.lines.find(([level]) => level === 'error')?.[2], 'request failed');
	}
});

test('an error with headers and details that cannot be sent keeps its status and its sentence', async () => {
	const { statusCode, headers, payload } = await ask('/apis/odd-error');
	const { message, details } = JSON.parse(payload);
	assert.deepEqual([statusCode, message, details, headers['x-a'], headers['x-b']], [409, 'It is taken.', undefined, undefined, 'd']);
});

test('the requests of a turn begin together at its end, and one whose client has left by then does not', async () => {
	const receive = (by: string): IncomingMessage => {
		const request = new IncomingMessage(new Socket());
		Object.assign(request, { httpVersion: '1.1', method: 'GET', url: `/apis/begun?by=${by}`, headers: { host: 'gatehouse.example' } });
		core.server.listener.emit('request', request, new ServerResponse(request));
		return request;
	};
	receive('one');
	receive('gone').destroy();
	receive('another');
	await Promise.resolve();
	assert.deepEqual(begun, []);
	await until(() => begun.length > 1, 'they begin');
	assert.deepEqual(begun, ['one', 'another']);
});

test('a request that arrives in the turn in which the server stops is answered', async () => {
	await using own = await startCore({ routes: ROUTES });
	await own.server.start();
	const stopped = new Promise<void>((resolve) =>
		// It is told after the server, in the same turn.
		own.server.listener.once('request', () => resolve(own.server.stop({ timeout: 10_000 }))),
	);
	const answer = await fetch(`${own.server.info.uri}/apis`);
	assert.deepEqual([answer.status, await answer.json()], [200, { ok: 1 }]);
	await stopped;
});

test('a connection that was opened and not used is closed without an answer, unless something has just been sent on it', async (t) => {
	const serving = createServer().listen(0, '127.0.0.1');
	t.after(() => serving.close());
	await once(serving, 'listening');
	const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
	const open = async () => {
		const client = connect((serving.address() as AddressInfo).port, '127.0.0.1');
		const [side] = (await once(serving, 'connection')) as [Socket];
		t.after(() => client.destroy());
		// The listener of a refused connection hears its errors, as Node's does.
		side.resume().on('error', () => undefined);
		client.on('error', () => undefined);
		const seen = { client, side, heard: '', isClosed: false };
		client.on('data', (data) => (seen.heard += data)).on('close', () => (seen.isClosed = true));
		return seen;
	};
	const [unused, used, begunOne] = [await open(), await open(), await open()];
	begunOne.client.write('GET /apis HT');
	await until(() => begunOne.side.bytesRead > 0, 'the half of a request has come');
	used.client.write('GET /apis HTTP/1.1');
	for (const { side } of [unused, used, begunOne]) core.server.listener.emit('clientError', late, side);
	await until(() => unused.isClosed && begunOne.isClosed, 'both are closed');
	assert.deepEqual([unused.heard, used.heard, used.isClosed], ['', '', false]);
	assert.match(begunOne.heard, /^HTTP\/1\.1 408 /);
});
