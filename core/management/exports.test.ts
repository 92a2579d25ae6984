// Exports over real sockets: how many of an account run at once, and what ends them.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import Hapi from '@hapi/hapi';
import { until } from '../../test/helpers/clock.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Listed, Page } from '../store/store.ts';
import { exportRows } from './exports.ts';

interface Endpoint {
	url: string;
	/** The number of pages that were asked for. */
	read(): number;
	/** The number of exports whose connection is closed. */
	left(): number;
	/** Answers the pages that wait; those that come wait again. */
	go(): void;
}

/** Serves an export of a log without end in which nothing is found; after `most` pages it is over. */
async function serve(t: TestContext, most = Number.POSITIVE_INFINITY): Promise<Endpoint> {
	let waiting: (() => void)[] = [];
	let [read, left] = [0, 0];
	const page = (): Promise<Listed<{ id: string }>> =>
		new Promise((resolve) => {
			const nextCursor = ++read < most ? 'next' : null;
			waiting.push(() => resolve({ items: nextCursor === null ? [{ id: 'a' }] : [], nextCursor }));
		});
	const go = (): void => {
		const all = waiting;
		waiting = [];
		for (const answer of all) answer();
	};
	const server = Hapi.server({ port: 0, host: '127.0.0.1', debug: false });
	server.route({
		method: 'GET',
		path: '/{account}',
		handler(request, h) {
			const of = { name: 'rows', format: 'csv', columns: ['id'], most: 100, read: (_page: Page) => page() } as const;
			try {
				request.raw.res.once('close', () => left++);
				return exportRows(request, { ...of, account: String(request.params['account']), show: (row: { id: string }) => row });
			} catch (thrown) {
				assert.ok(thrown instanceof GatewayError, String(thrown));
				return h.response(thrown.message).code(thrown.status).header('retry-after', String(thrown.headers['retry-after']));
			}
		},
	});
	await server.start();
	t.after(async () => {
		go();
		await server.stop({ timeout: 10_000 });
	});
	return { url: server.info.uri, read: () => read, left: () => left, go };
}

test('an account runs two exports at once, a third is told to come again, and other accounts are not concerned', async (t) => {
	const { url, read, go } = await serve(t, 1);
	const first = [await fetch(`${url}/one`), await fetch(`${url}/one`)];
	const third = await fetch(`${url}/one`);
	assert.deepEqual([third.status, third.headers.get('retry-after')], [429, '10']);
	assert.match(await third.text(), /^2 exports are running, .*: retry after 10 seconds\.$/);
	const other = await fetch(`${url}/two`);
	await until(() => read() === 3, 'three pages are asked for');
	go();
	for (const response of [...first, other]) assert.deepEqual([response.status, await response.text()], [200, 'id\r\na\r\n']);
	// A request for headers alone gives its place back at once.
	for (let n = 0; n < 5; n++) assert.equal((await fetch(`${url}/one`, { method: 'HEAD' })).status, 200);
});

test('an export whose client has left reads no further page, and has its place until the one that it reads is there', async (t) => {
	const { url, read, left, go } = await serve(t);
	const leaving = new AbortController();
	for (let n = 0; n < 2; n++) assert.equal((await fetch(`${url}/three`, { signal: leaving.signal })).status, 200);
	await until(() => read() === 2, 'two pages are asked for');
	go();
	await until(() => read() === 4, 'the next two pages are asked for');
	leaving.abort();
	await until(() => left() === 2, 'the service sees that both have left');
	assert.equal((await fetch(`${url}/three`)).status, 429, 'both still read');
	go();
	const next = new AbortController();
	await until(async () => (await fetch(`${url}/three`, { signal: next.signal })).status === 200, 'a place is free');
	next.abort();
	assert.ok(read() <= 5, 'the two that were left read no more');
});
