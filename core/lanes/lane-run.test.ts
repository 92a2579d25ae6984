// Tests how long each kind of request holds its lane, with the real egress guard on real upstreams.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { turns, until } from '../../test/helpers/clock.ts';
import { silent } from '../../test/helpers/silent.ts';
import { httpUpstream } from '../../test/helpers/upstream.ts';
import { createEgress } from '../egress/egress.ts';
import { LaneRun } from './lane-run.ts';
import { createLanes } from './lanes.ts';

const api = { id: 'pets', name: 'Pets', version: 1, organizationId: 'acme', outbound: { maxConcurrent: 1 } };

/** Starts an upstream that sends the beginning of its answer at once and the end on request, and one run of a tool that calls it. */
async function setUp(t: TestContext) {
	const finish = new Set<() => void>();
	const { origin } = await httpUpstream(t, (request, response) => {
		if (request.url === '/empty') return void response.writeHead(204).end();
		response.write('begin ');
		finish.add(() => response.end('end'));
	});
	const egress = createEgress({ allow: ['127.0.0.1'] });
	const lanes = createLanes({ redis: null, log: silent });
	t.after(() => Promise.all([egress.close(), lanes.close()]));
	const deadline = new AbortController();
	const { signal } = deadline;
	const run = new LaneRun({ lanes, api, signal, deadlineMs: 30_000 });
	return {
		run,
		deadline,
		fetch: (path = '/', init: RequestInit = {}) => run.fetch(init.signal, () => egress.fetch(origin + path, { signal, ...init })),
		request: (own?: AbortSignal) => {
			const options = { method: 'GET', url: `${origin}/`, signal: own ?? signal };
			return run.request(options, () => egress.request(options));
		},
		finish: () => {
			for (const end of finish) end();
		},
		isFree: async () => {
			const leaving = new AbortController();
			const waited = lanes.enter(api, { signal: leaving.signal, holdMs: 100 });
			// A free lane is entered within a few turns of the event loop.
			void turns(40).then(() => leaving.abort());
			return waited.then(
				(leave) => {
					leave();
					return true;
				},
				() => false,
			);
		},
	};
}

test('a request holds its lane until the answer is complete', async (t) => {
	const { request, isFree, finish } = await setUp(t);
	const answer = request();
	await until(async () => !(await isFree()), 'it holds its lane');
	finish();
	assert.equal((await answer).body.toString(), 'begin end');
	assert.equal(await isFree(), true);
});

test('a request that is cancelled under way gives its place back', async (t) => {
	const { request, isFree } = await setUp(t);
	const controller = new AbortController();
	const answer = request(controller.signal);
	await sleep(50);
	controller.abort(new Error('enough'));
	await assert.rejects(answer, /enough/);
	assert.equal(await isFree(), true);
});

test('the deadline of the run ends the waiting of a request that has a signal of its own', async (t) => {
	const { request, deadline } = await setUp(t);
	const first = request();
	await sleep(20);
	const waiting = request(new AbortController().signal);
	deadline.abort(new Error('too late'));
	await assert.rejects(waiting, /too late/);
	await assert.rejects(first, /too late/);
});

test('fetch holds its lane until the body is read to its end', async (t) => {
	const { fetch, isFree, finish } = await setUp(t);
	const response = await fetch();
	assert.ok(response.url.startsWith('http://127.0.0.1:'));
	assert.equal(await isFree(), false);
	finish();
	assert.equal(await response.text(), 'begin end');
	assert.equal(await isFree(), true);
});

test('fetch gives its place back when there is no body, or it is cancelled, broken off, or left unread by a run that ends', async (t) => {
	const { fetch, isFree, run } = await setUp(t);
	assert.equal((await fetch('/empty')).status, 204);
	assert.equal(await isFree(), true);

	await (await fetch()).body?.cancel();
	assert.equal(await isFree(), true);

	const controller = new AbortController();
	const { body } = await fetch('/', { signal: controller.signal });
	const reading = body?.getReader();
	await reading?.read();
	controller.abort();
	await assert.rejects(async () => reading?.read(), { name: 'AbortError' });
	assert.equal(await isFree(), true);

	await fetch();
	assert.equal(await isFree(), false);
	run.end();
	assert.equal(await isFree(), true);
});

test('fetch gives its place back when the upstream cannot be reached', async (t) => {
	const { run, isFree } = await setUp(t);
	await assert.rejects(
		run.fetch(null, () => Promise.reject(new Error('unreachable'))),
		/unreachable/,
	);
	assert.equal(await isFree(), true);
});
