// Tests event streams over real sockets: when events leave, what is asked of their source, and what ends them.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { createConnection } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Hapi, { type Request } from '@hapi/hapi';
import { turns, until } from '../../test/helpers/clock.ts';
import { GatewayError } from '../contract/errors.ts';
import type { ServerEvent } from '../contract/server-events.ts';
import { clientLeaving } from './client.ts';
import { InFlight } from './in-flight.ts';
import { type StreamBounds, type Streaming, Streams } from './streams.ts';

type Source = (signal: AbortSignal, request: Request) => AsyncIterable<ServerEvent>;

interface Given extends StreamBounds, Partial<Pick<Streaming, 'mayFinish' | 'maxMs' | 'headers'>> {}

interface Endpoint {
	url: string;
	/** Messages and errors of the log. */
	lines: string[];
	/** The refusals of the streams, and the errors of sources before they began. */
	refusals: GatewayError[];
	inFlight: InFlight;
	/** Begins the stop. */
	stopping: AbortController;
	/** Returns how many sources were asked for. */
	opened(): number;
	/** Lets requests in flight finish. */
	stop(): Promise<void>;
}

async function serve(t: TestContext, source: Source, { mayFinish = false, maxMs, headers, ...bounds }: Given = {}): Promise<Endpoint> {
	const [stopping, inFlight] = [new AbortController(), new InFlight()];
	const streams = new Streams(stopping.signal, bounds);
	const [lines, refusals]: [string[], GatewayError[]] = [[], []];
	const log = { warn: (fields: object, text: string) => void lines.push(`${text} ${JSON.stringify(fields)}`) };
	const server = Hapi.server({ port: 0, host: '127.0.0.1', debug: false });
	server.listener.keepAliveTimeout = 65_000;
	server.app.inFlight = inFlight;
	let opened = 0;
	server.route({
		method: 'GET',
		path: '/{account}',
		async handler(request, h) {
			const leaving = clientLeaving(request);
			opened++;
			const streaming: Streaming = { account: String(request.params['account']), leaving, log, mayFinish };
			if (maxMs !== undefined) streaming.maxMs = maxMs;
			if (headers) streaming.headers = headers;
			try {
				return await streams.answer(request, source(leaving.signal, request), streaming);
			} catch (thrown) {
				assert.ok(thrown instanceof GatewayError, String(thrown));
				refusals.push(thrown);
				return h.response().code(thrown.status);
			}
		},
	});
	await server.start();
	let stopped: Promise<void> | null = null;
	// A stream that is left holds the server for longer than the test may last.
	const stop = (): Promise<void> => (stopped ??= server.stop({ timeout: 50_000 }));
	t.after(async () => {
		stopping.abort();
		await stop();
	});
	return { url: server.info.uri, lines, refusals, inFlight, stopping, opened: () => opened, stop };
}

interface Client {
	request: ClientRequest;
	response: IncomingMessage;
	/** Returns what has arrived so far. */
	text(): string;
	/** Resolves when the answer is over; rejects when it breaks off. */
	ended: Promise<unknown>;
}

/** Opens a stream with a client that takes compressed answers. @param isReading otherwise what arrives stays in the socket */
async function open(url: string, isReading = true): Promise<Client> {
	const request = get(url, { headers: { 'accept-encoding': 'gzip, deflate, br' }, agent: false });
	request.on('error', () => undefined);
	const [response] = (await once(request, 'response')) as [IncomingMessage];
	let text = '';
	const ended = once(response, 'end');
	ended.catch(() => undefined);
	if (isReading)
		response.setEncoding('utf8').on('data', (chunk: string) => {
			text += chunk;
		});
	return { request, response, text: () => text, ended };
}

const never = (signal: AbortSignal): Promise<unknown> => once(signal, 'abort').catch(() => undefined);
const ticks = (text: string): number => text.split('\n').filter((line) => line === ':').length;

async function* silence(signal: AbortSignal): AsyncGenerator<ServerEvent> {
	await never(signal);
	yield* [];
}

test('an event arrives before the next one exists, also at a client that takes gzip', async (t) => {
	const { promise: read, resolve } = Promise.withResolvers<void>();
	const { url } = await serve(t, async function* () {
		yield { data: 'first' };
		await read;
		yield { data: 'second' };
	});
	const { response, text, ended } = await open(`${url}/a`);
	await until(() => text() === 'data: first\n\n', text);
	resolve();
	await ended;
	assert.equal(text(), 'data: first\n\ndata: second\n\n');
	const { statusCode, headers } = response;
	const { 'content-type': type, 'content-encoding': encoding, 'cache-control': caching, 'x-accel-buffering': buffering } = headers;
	assert.deepEqual([statusCode, type, encoding, buffering], [200, 'text/event-stream; charset=utf-8', 'identity', 'no']);
	assert.equal(caching, 'no-store, no-transform');
});

test('the headers and a first byte arrive while the source is silent, and then a sign of life after each interval', async (t) => {
	const { url } = await serve(t, silence);
	const quiet = await open(`${url}/a`);
	await until(() => quiet.text() !== '', 'a first byte');
	assert.equal(quiet.text(), ':\n\n');
	const beating = await serve(t, silence, { heartbeatMs: 5 });
	const { text } = await open(`${beating.url}/a`);
	await until(() => ticks(text()) > 3, 'signs of life');
	assert.equal(text().replaceAll(':\n\n', ''), '');
});

test('headers of the reply are sent, but for those that make it a stream', async (t) => {
	const headers = { 'X-Version': '2', 'Content-Type': 'text/plain', 'Content-Encoding': 'gzip' };
	const { url } = await serve(t, silence, { headers });
	const { response } = await open(`${url}/a`);
	assert.deepEqual(
		['x-version', 'content-type', 'content-encoding'].map((name) => response.headers[name]),
		['2', 'text/event-stream; charset=utf-8', 'identity'],
	);
});

test('a source is asked no more while its client reads nothing, and again when it does', async (t) => {
	let asked = 0;
	const { url } = await serve(t, async function* () {
		for (;;) yield { data: `${asked++} ${'x'.repeat(256 * 1024)}` };
	});
	const { response, request } = await open(`${url}/a`, false);
	let last = -1;
	await until(async () => {
		const isSame = last === asked && asked > 0;
		last = asked;
		await turns(50);
		return isSame && last === asked;
	}, 'a source that rests');
	// The buffers of both ends of the connection hold some megabytes.
	assert.ok(asked < 200, `${asked} events were asked for`);
	response.resume();
	await until(() => asked > last + 200, 'more events');
	request.destroy();
});

test('a client that takes nothing is left, and its place is free', async (t) => {
	const { promise: left, resolve } = Promise.withResolvers<void>();
	const bounds = { unreadMs: 100, heartbeatMs: 20, perAccount: 1 };
	let isGreedy = true;
	const { url } = await serve(
		t,
		async function* (signal) {
			if (!isGreedy) return yield* silence(signal);
			try {
				for (;;) yield { data: 'x'.repeat(1024 * 1024) };
			} finally {
				resolve();
			}
		},
		bounds,
	);
	await open(`${url}/a`, false);
	await left;
	isGreedy = false;
	// A client that reads stays, however silent the source is.
	const { text } = await open(`${url}/a`);
	await until(() => ticks(text()) > 20, 'signs of life');
});

test('when the client leaves, the signal aborts and the source is told to end', async (t) => {
	const told: string[] = [];
	const { url } = await serve(t, async function* (signal) {
		signal.addEventListener('abort', () => told.push('signal'));
		try {
			for (;;) {
				yield { data: 'x' };
				await sleep(1);
			}
		} finally {
			told.push('return');
		}
	});
	const { request, text } = await open(`${url}/a`);
	await until(() => text() !== '', 'an event');
	request.destroy();
	await until(
		() => told.length === 2,
		() => `only ${told}`,
	);
	assert.deepEqual(told.toSorted(), ['return', 'signal']);
});

test('HEAD gets the headers and opens no stream', async (t) => {
	let asked = 0;
	const { url } = await serve(
		t,
		async function* () {
			asked++;
			yield { data: 'x' };
		},
		{ perAccount: 1 },
	);
	for (let time = 0; time < 3; time++) {
		const { status, headers } = await fetch(`${url}/a`, { method: 'HEAD' });
		assert.deepEqual([status, headers.get('content-type')], [200, 'text/event-stream; charset=utf-8']);
	}
	assert.equal(asked, 0);
});

test('an error before the first event is an answer of its own; a later one is logged and breaks the answer off', async (t) => {
	const { url, refusals, lines } = await serve(
		t,
		async function* (_signal, { params }) {
			if (params['account'] === 'missing') throw new GatewayError('not_found', 'There is none.');
			yield { data: 'x' };
			if (params['account'] === 'wrong') yield { id: 'a\nb' };
			throw new Error('The source broke.');
		},
		{ perAccount: 1 },
	);
	assert.equal((await fetch(`${url}/missing`)).status, 404);
	assert.equal((await fetch(`${url}/missing`)).status, 404, 'its place was given back');
	assert.equal(refusals[0]?.message, 'There is none.');
	for (const [account, fault] of [
		['broken', /failed .*The source broke\./],
		['wrong', /failed .*the id of an event must be one line/],
	] as const) {
		const { text, ended } = await open(`${url}/${account}`);
		await assert.rejects(ended, { code: 'ECONNRESET' });
		assert.equal(text(), 'data: x\n\n');
		assert.match(lines.at(-1) ?? '', fault);
	}
	assert.equal(lines.length, 2);
});

test('an account has so many streams and the process so many; one that ends makes room', async (t) => {
	const { url, refusals } = await serve(t, silence, { perAccount: 2, perProcess: 3 });
	const [first] = await Promise.all([open(`${url}/a`), open(`${url}/a`)]);
	const statusOf = async (account: string): Promise<number> => (await fetch(`${url}/${account}`)).status;
	assert.equal(await statusOf('a'), 429);
	await open(`${url}/b`);
	assert.equal(await statusOf('c'), 503);
	assert.deepEqual(
		refusals.map(({ code, headers }) => [code, headers['retry-after']]),
		[
			['rate_limited', '10'],
			['unavailable', '10'],
		],
	);
	first.request.destroy();
	await until(async () => {
		const client = await open(`${url}/c`);
		return client.response.statusCode === 200;
	}, 'room for another account');
});

test('the stop ends streams in order, but not those that end by themselves', async (t) => {
	const reasons: unknown[] = [];
	const following = await serve(t, async function* (signal) {
		yield { data: 'x' };
		await never(signal);
		reasons.push(signal.reason);
	});
	const { text, ended } = await open(`${following.url}/a`);
	await until(() => text() !== '', 'an event');
	following.stopping.abort();
	await ended;
	await following.stop();
	assert.deepEqual(
		reasons.map((reason) => (reason as GatewayError).message),
		['The service is stopping.'],
	);

	const { promise: worked, resolve } = Promise.withResolvers<void>();
	const working = await serve(
		t,
		async function* (signal) {
			yield { data: 'working' };
			await worked;
			yield { data: `done, ${signal.aborted ? 'aborted' : 'in time'}` };
		},
		{ mayFinish: true },
	);
	const tool = await open(`${working.url}/a`);
	await until(() => tool.text() !== '', 'an event');
	working.stopping.abort();
	const stopped = working.stop();
	await turns(20);
	resolve();
	await tool.ended;
	assert.equal(tool.text(), 'data: working\n\ndata: done, in time\n\n');
	await stopped;
});

test('a stream that would begin after the stop is refused', async (t) => {
	const { url, refusals, stopping } = await serve(t, silence);
	stopping.abort();
	assert.equal((await fetch(`${url}/a`)).status, 503);
	assert.equal(refusals[0]?.message, 'The service is stopping.');
});

test('a stream that begins while the service stops ends at once', async (t) => {
	const endpoint = await serve(t, async function* (signal) {
		endpoint.stopping.abort();
		yield* silence(signal);
	});
	const { ended } = await open(`${endpoint.url}/a`);
	await ended;
});

test('neither a client that reads nothing nor a source that hears nothing holds the stop', async (t) => {
	const greedy = await serve(t, async function* () {
		for (;;) yield { data: 'x'.repeat(1024 * 1024) };
	});
	const { request } = await open(`${greedy.url}/a`, false);
	await turns(50);
	greedy.stopping.abort();
	await greedy.stop();
	request.destroy();
	const idle = await serve(t, silence);
	const client = createConnection(Number(new URL(idle.url).port), '127.0.0.1').pause();
	client.write('GET /a HTTP/1.1\r\nHost: x\r\n\r\n');
	await until(() => idle.opened() === 1, 'its stream');
	await turns(50);
	idle.stopping.abort();
	// It would see the end of the connection only if it read.
	await idle.stop();
	client.destroy();
	const deaf = await serve(t, async function* () {
		yield { data: 'x' };
		await new Promise(() => undefined);
	});
	const { ended } = await open(`${deaf.url}/a`);
	deaf.stopping.abort();
	await deaf.stop();
	await ended;
});

test('a stream ends when it has lasted long enough, and its client is told nothing false', async (t) => {
	const { url } = await serve(t, silence, { maxMs: 20, heartbeatMs: 5 });
	const { text, ended } = await open(`${url}/a`);
	await ended;
	assert.equal(text().replaceAll(':\n\n', ''), '');
});

test('a call in flight is told when its time is over; one that comes later finds it so', async (t) => {
	const reasons: unknown[] = [];
	const { url, inFlight } = await serve(
		t,
		async function* (signal) {
			if (!signal.aborted) await never(signal);
			reasons.push(signal.reason);
			yield { data: 'told' };
		},
		{ mayFinish: true },
	);
	const first = await open(`${url}/a`);
	const over = new GatewayError('unavailable', 'The service is stopping.');
	inFlight.end(over);
	await first.ended;
	await (await open(`${url}/a`)).ended;
	assert.deepEqual(reasons, [over, over]);
	assert.equal(inFlight.over.reason, over);
});

test('an answer that was complete is forgotten: its call is not told', async (t) => {
	const signals: AbortSignal[] = [];
	const { url, inFlight } = await serve(t, async function* (signal) {
		signals.push(signal);
		yield { data: 'x' };
	});
	await (await open(`${url}/a`)).ended;
	await turns(5);
	inFlight.end(new GatewayError('unavailable', 'The service is stopping.'));
	assert.deepEqual(
		signals.map(({ aborted }) => aborted),
		[false],
	);
});
