// Retries on real upstreams through the real guard: safe requests, and requests of which nothing was sent.

import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { elapsing, isBeforeTimer, type Marks, marks } from '../../test/helpers/clock.ts';
import { local, textOf } from '../../test/helpers/egress.ts';
import { freePort } from '../../test/helpers/ports.ts';
import { silent } from '../../test/helpers/silent.ts';
import { httpUpstream, tcpUpstream } from '../../test/helpers/upstream.ts';
import { GatewayError } from '../contract/errors.ts';
import type { OutboundRequest, OutboundResponse } from '../contract/outbound.ts';
import { LaneRun } from '../lanes/lane-run.ts';
import { createLanes } from '../lanes/lanes.ts';
import { Breakers } from './breakers.ts';
import { type SendingParts, send } from './sending.ts';

function sender(t: TestContext, parts: Partial<SendingParts> = {}): (options: Partial<OutboundRequest>) => Promise<OutboundResponse> {
	const log = { ...silent, debug: parts.log?.debug ?? silent.debug };
	const base: SendingParts = {
		...{ egress: local(t), breakers: new Breakers(), log, organizationId: 'acme', lane: null },
		...{ signal: new AbortController().signal, ...parts },
	};
	return (options) => send(base, { method: 'GET', url: '', ...options });
}

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown;

/** Starts an upstream that gives these responses in order, and then 200. */
async function answering(t: TestContext, ...answers: Answer[]): Promise<{ url: string; bodies: string[]; begun: Marks }> {
	const [bodies, begun]: [string[], Marks] = [[], marks()];
	const listener: RequestListener = async (request, response) => {
		const answer = answers[bodies.length];
		begun.mark();
		bodies.push('');
		const index = bodies.length - 1;
		bodies[index] = await textOf(request);
		if (answer) answer(response, request);
		else response.end('done');
	};
	const { origin } = await httpUpstream(t, listener);
	return { url: `${origin}/`, bodies, begun };
}

const status =
	(code: number, headers: Record<string, string> = {}): Answer =>
	(response) =>
		response.writeHead(code, headers).end(String(code));
const reset: Answer = (_response, { socket }) => socket.resetAndDestroy();
const cut: Answer = (response) => {
	response.writeHead(200, { 'content-length': '100' }).write('half');
	setTimeout(() => response.destroy(), 20);
};

const AGAIN: [id: string, method: string, more: Partial<OutboundRequest>, answer: Answer][] = [
	...['GET', 'HEAD', 'OPTIONS', 'QUERY', 'PUT', 'DELETE'].map((method): (typeof AGAIN)[number] => [
		`${method} after 503`,
		method,
		{},
		status(503),
	]),
	['GET after 502', 'GET', {}, status(502)],
	['GET after 504', 'get', {}, status(504)],
	['GET after 429 with Retry-After: 0', 'GET', {}, status(429, { 'retry-after': '0' })],
	['GET after a reset', 'GET', {}, reset],
	['GET after a truncated answer', 'GET', {}, cut],
	['a POST that may be repeated', 'POST', { repeatable: true }, status(503)],
	['a POST that may be repeated, after a reset', 'POST', { repeatable: true }, reset],
];

for (const [id, method, more, answer] of AGAIN)
	test(`retried: ${id}`, async (t) => {
		const { url, bodies } = await answering(t, answer);
		const body = method === 'PUT' || method === 'POST' ? Buffer.from('payload') : null;
		const { status: code } = await sender(t)({ method, url, body, ...more });
		assert.equal(code, 200);
		assert.deepEqual(bodies, [body?.toString() ?? '', body?.toString() ?? '']);
	});

const ONCE: [id: string, method: string, more: Partial<OutboundRequest>, answer: Answer, status: number | RegExp][] = [
	...[200, 204, 301, 400, 401, 404, 409, 500, 501].map((code): (typeof ONCE)[number] => [
		`GET after ${code}`,
		'GET',
		{},
		status(code),
		code,
	]),
	['POST after 503', 'POST', {}, status(503), 503],
	['PATCH after 502', 'PATCH', {}, status(502), 502],
	['POST after 429', 'POST', {}, status(429, { 'retry-after': '0' }), 429],
	['POST after a reset', 'POST', {}, reset, /closed the connection/],
	['a GET that may not be repeated', 'GET', { repeatable: false }, status(503), 503],
	['GET after 429 without Retry-After', 'GET', {}, status(429), 429],
	['GET after 429 with a Retry-After of three seconds', 'GET', {}, status(429, { 'retry-after': '3' }), 429],
	['GET after 429 with a Retry-After of two and a half seconds', 'GET', {}, status(429, { 'retry-after': '2.5' }), 429],
	['GET after 429 with an unreadable Retry-After', 'GET', {}, status(429, { 'retry-after': '-1' }), 429],
	['GET after 503 with a Retry-After date', 'GET', {}, status(503, { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }), 503],
	['GET after an oversize answer', 'GET', { maxBytes: 2 }, status(503), /more than 2 bytes/],
];

for (const [id, method, more, answer, expected] of ONCE)
	test(`not retried: ${id}`, async (t) => {
		const { url, bodies } = await answering(t, answer);
		const sending = sender(t)({ method, url, maxRedirects: 0, ...more });
		if (typeof expected === 'number') assert.equal((await sending).status, expected);
		else await assert.rejects(sending, { code: 'upstream_failed', message: expected });
		assert.equal(bodies.length, 1);
	});

test('a request is given up after three failures, and the caller gets the last response', async (t) => {
	const { url, bodies } = await answering(t, status(502), status(503), status(504), status(200));
	const logged: object[] = [];
	const log = { ...silent, debug: (fields: object) => void logged.push(fields) };
	assert.equal((await sender(t, { log })({ url })).status, 504);
	assert.equal(bodies.length, 3);
	assert.deepEqual(
		logged.map((fields) => (fields as { status: number }).status),
		[502, 503],
	);
});

test('a POST is retried when nothing of it was sent: the connection was refused', async (t) => {
	const port = await freePort();
	let attempts = 0;
	const debug = (): void => {
		attempts += 1;
	};
	const log = { ...silent, debug };
	const sending = sender(t, { log })({ method: 'POST', url: `http://127.0.0.1:${port}/`, body: 'x' });
	await assert.rejects(sending, { code: 'upstream_failed', message: /refused the connection/ });
	assert.equal(attempts, 2);
});

test('a POST is not retried when its redirect leads to a closed port: the first part of it was executed', async (t) => {
	const port = await freePort();
	const { url, bodies } = await answering(t, status(307, { location: `http://127.0.0.1:${port}/` }));
	await assert.rejects(sender(t)({ method: 'POST', url, body: 'x' }), /refused the connection/);
	assert.equal(bodies.length, 1);
});

test('a POST is not retried when the handshake was done and the connection broke', async (t) => {
	const upstream = await tcpUpstream(t, (socket) => socket.once('data', () => socket.resetAndDestroy()));
	await assert.rejects(sender(t)({ method: 'POST', url: upstream.origin, body: 'x' }), /closed the connection/);
	assert.equal(upstream.connections(), 1);
});

test('a GET is retried when its kept-alive connection is dead', async (t) => {
	let requests = 0;
	const upstream = await tcpUpstream(t, (socket) => {
		let onThis = 0;
		socket.on('data', () => {
			requests += 1;
			onThis += 1;
			// Each connection answers once.
			if (onThis > 1) socket.resetAndDestroy();
			else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok');
		});
	});
	const call = sender(t);
	for (const _ of [1, 2]) {
		assert.equal((await call({ url: upstream.origin })).body.toString(), 'ok');
		await sleep(20);
	}
	assert.deepEqual([requests, upstream.connections()], [3, 2]);
});

test('Retry-After is waited for', async (t) => {
	const { url, begun } = await answering(t, status(503, { 'retry-after': '1' }));
	assert.equal((await sender(t)({ url })).status, 200);
	assert.ok(begun.leastGapMs() >= 990, `${begun.leastGapMs()} ms`);
});

test('all attempts together take no longer than timeoutMs, and none begins without time left', async (t) => {
	const slow: Answer = (response) => setTimeout(() => response.writeHead(503).end(), 150);
	const { url, bodies } = await answering(t, slow, slow, slow);
	const ended = await sender(t)({ url, timeoutMs: 200 }).then(
		({ status: code }) => code,
		({ code }: { code: string }) => code,
	);
	// A second request that was begun is cut off: its response would come after 300 ms at the earliest.
	assert.ok(ended === 'upstream_timeout' ? bodies.length <= 2 : ended === 503 && bodies.length === 1, `${ended}, ${bodies.length}`);
	const asked = await answering(t, status(503, { 'retry-after': '2' }));
	const known = sender(t)({ url: asked.url, timeoutMs: 1500 });
	assert.ok(await isBeforeTimer(1500, known), 'it does not wait for its end');
	assert.equal((await known).status, 503);
	assert.equal(asked.bodies.length, 1);
});

test('a silent upstream is not retried', async (t) => {
	const { url, bodies } = await answering(t, () => undefined);
	await assert.rejects(sender(t)({ url, timeoutMs: 200 }), { code: 'upstream_timeout' });
	assert.equal(bodies.length, 1);
});

test('a caller who disconnects between two attempts ends the wait at once, with the given reason', async (t) => {
	const { url, bodies } = await answering(t, status(503, { 'retry-after': '2' }));
	const leaving = new AbortController();
	const reason = new Error('the deadline of the call');
	setTimeout(() => leaving.abort(reason), 200);
	const gone = assert.rejects(sender(t, { signal: leaving.signal })({ url }), (error) => error === reason);
	assert.ok(await isBeforeTimer(2000, gone), 'before it would be sent again');
	await gone;
	assert.equal(bodies.length, 1);
});

test('each attempt takes a slot in the lane of the API, and returns it while it waits', async (t) => {
	const { url, begun } = await answering(t, status(503), status(503));
	const api = { id: 'pets', name: 'Pets', version: 1, organizationId: 'acme', outbound: { minTimeMs: 400 } };
	const lanes = createLanes({ redis: null, log: silent });
	t.after(() => lanes.close());
	const { signal } = new AbortController();
	const lane = new LaneRun({ lanes, api, signal, deadlineMs: 30_000 });
	const isTime = elapsing(2 * 400);
	assert.equal((await sender(t, { lane })({ url })).status, 200);
	assert.ok(isTime(), 'the last one was too early');
	assert.equal(begun.count, 3);
});

test('when a slot would come too late, the caller gets the last response', async (t) => {
	const { url, begun } = await answering(t, status(503));
	const api = { id: 'pets', name: 'Pets', version: 1, organizationId: 'acme', outbound: { minTimeMs: 9000 } };
	const lanes = createLanes({ redis: null, log: silent });
	t.after(() => lanes.close());
	const lane = new LaneRun({ lanes, api, signal: new AbortController().signal, deadlineMs: 30_000 });
	assert.equal((await sender(t, { lane })({ url, timeoutMs: 8000 })).status, 503);
	assert.equal(begun.count, 1);
});

test('no packet is sent to an upstream that keeps failing', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.writeHead(503).end());
	const call = sender(t);
	for (let n = 0; n < 4; n++) await call({ url: upstream.origin }).catch(() => undefined);
	const before = upstream.connections();
	await assert.rejects(call({ url: upstream.origin }), {
		code: 'upstream_failed',
		message: /has failed 10 times in a row: it is tried again in/,
	});
	assert.equal(upstream.connections(), before);
});

/** Starts an upstream that answers with the status named in its path, or not at all. */
async function breaking(t: TestContext) {
	const upstream = await httpUpstream(t, ({ url }, response) => {
		const code = Number(url?.slice(1));
		if (code > 0) response.writeHead(code).end();
	});
	const breakers = new Breakers();
	const egress = local(t);
	const call = (path: string, signal = new AbortController().signal) =>
		sender(t, { breakers, egress, signal })({ url: upstream.origin + path, signal });
	return call;
}

test('answers of 4xx and 500, and callers who leave, do not count as failures', async (t) => {
	const call = await breaking(t);
	for (const code of [400, 401, 403, 404, 429, 500, 501]) {
		for (let n = 0; n < 12; n++) assert.equal((await call(`/${code}`)).status, code);
	}
	for (let n = 0; n < 12; n++) await assert.rejects(call('/hang', AbortSignal.timeout(10)), { name: 'TimeoutError' });
	assert.equal((await call('/200')).status, 200);
});

test('runs that wait for the upstream until their deadline count as failures', async (t) => {
	const call = await breaking(t);
	for (let n = 0; n < 10; n++) {
		const deadline = new AbortController();
		setTimeout(() => deadline.abort(new GatewayError('upstream_timeout', 'The tool took longer than 120 s.')), 10);
		await assert.rejects(call('/hang', deadline.signal), { code: 'upstream_timeout' });
	}
	await assert.rejects(call('/200'), /has failed 10 times in a row/);
});
