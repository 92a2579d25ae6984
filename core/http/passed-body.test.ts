// Tests event streams that a plugin writes itself, over real sockets: their place, and what ends them.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import Hapi from '@hapi/hapi';
import { until } from '../../test/helpers/clock.ts';
import { type StreamBounds, Streams } from './streams.ts';

interface Served {
	url: string;
	stopping: AbortController;
	sources: Readable[];
	leavings: AbortController[];
}

async function serve(t: TestContext, make: () => Readable, bounds: StreamBounds = {}): Promise<Served> {
	const [server, stopping] = [Hapi.server({ port: 0, host: '127.0.0.1' }), new AbortController()];
	const streams = new Streams(stopping.signal, bounds);
	const [sources, leavings]: [Readable[], AbortController[]] = [[], []];
	server.route({
		method: 'GET',
		path: '/{kind}',
		handler(request, h) {
			const leaving = new AbortController();
			const source = make();
			sources.push(source);
			leavings.push(leaving);
			try {
				const streaming = { account: 'a', leaving, log: { warn: () => undefined }, mayFinish: request.params['kind'] === 'finite' };
				return h.response(streams.pass(request, source, streaming) ?? undefined).type('text/event-stream');
			} catch (error) {
				source.destroy();
				return h.response(String(error)).code(429);
			}
		},
	});
	await server.start();
	t.after(async () => {
		stopping.abort();
		for (const source of sources) source.destroy();
		await server.stop({ timeout: 50_000 });
	});
	return { url: server.info.uri, stopping, sources, leavings };
}

async function open(url: string): Promise<{ request: ClientRequest; response: IncomingMessage; text(): string; over: Promise<string> }> {
	const request = get(url, { agent: false });
	request.on('error', () => undefined);
	const [response] = (await once(request, 'response')) as [IncomingMessage];
	let text = '';
	response.setEncoding('utf8').on('data', (chunk: string) => {
		text += chunk;
	});
	const over = new Promise<string>((resolve) => {
		response.once('end', () => resolve('ended'));
		response.once('error', () => resolve('broken'));
	});
	return { request, response, text: () => text, over };
}

/** A source that says one thing and stays open. */
function silent(): PassThrough {
	const source = new PassThrough();
	source.write('data: x\n\n');
	return source;
}

test('the stop ends such a stream in order and tells its source, unless it ends by itself', async (t) => {
	const { url, stopping, sources, leavings } = await serve(t, silent);
	const [endless, finite] = [await open(`${url}/endless`), await open(`${url}/finite`)];
	await until(() => endless.text() !== '' && finite.text() !== '', 'first bytes');
	stopping.abort();
	assert.equal(await endless.over, 'ended');
	assert.deepEqual([sources[0]?.destroyed, leavings[0]?.signal.aborted], [true, true]);
	assert.deepEqual([sources[1]?.destroyed, leavings[1]?.signal.aborted], [false, false]);
	(sources[1] as PassThrough).end('data: last\n\n');
	assert.equal(await finite.over, 'ended');
	assert.equal(finite.text(), 'data: x\n\ndata: last\n\n');
});

test('it takes one of the places of its account, and gives it back at its end, or when its client leaves', async (t) => {
	const { url, sources } = await serve(t, silent, { perAccount: 1 });
	const first = await open(`${url}/a`);
	assert.equal((await open(`${url}/a`)).response.statusCode, 429);
	first.request.destroy();
	await until(() => sources[0]?.destroyed === true, 'the source is told');
	const second = await open(`${url}/a`);
	assert.equal(second.response.statusCode, 200);
	(sources[2] as PassThrough).end();
	assert.equal(await second.over, 'ended');
	assert.equal((await open(`${url}/a`)).response.statusCode, 200);
});

test('a source that fails, or is destroyed, breaks the stream off: a part is not taken for the whole', async (t) => {
	for (const error of [new Error('broken'), undefined]) {
		const { url, sources } = await serve(t, silent);
		const { text, over } = await open(`${url}/a`);
		await until(() => text() !== '', 'a first byte');
		sources[0]?.destroy(error);
		assert.equal(await over, 'broken');
	}
});

test('a client that takes nothing is left, one that reads a silent source is not', async (t) => {
	const bounds = { unreadMs: 50 };
	const greedy = await serve(
		t,
		() =>
			new Readable({
				read() {
					this.push('x'.repeat(1024 * 1024));
				},
			}),
		bounds,
	);
	const quiet = await serve(t, silent, bounds);
	const reader = await open(`${quiet.url}/a`);
	const request = get(`${greedy.url}/a`, { agent: false });
	request.on('error', () => undefined);
	await once(request, 'response');
	await until(() => greedy.sources[0]?.destroyed === true, 'it is left');
	assert.equal(quiet.sources[0]?.destroyed, false);
	(quiet.sources[0] as PassThrough).end();
	assert.equal(await reader.over, 'ended');
});
