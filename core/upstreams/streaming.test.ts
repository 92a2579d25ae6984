// Streamed requests of a run on real upstreams: retries until the answer is handed out, the lane that a body holds, and the breaker.

import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { turns, until } from '../../test/helpers/clock.ts';
import { allOf, failure, local, textOf, textOfBody } from '../../test/helpers/egress.ts';
import { localLanes } from '../../test/helpers/lanes.ts';
import { freePort } from '../../test/helpers/ports.ts';
import { silent } from '../../test/helpers/silent.ts';
import { httpUpstream } from '../../test/helpers/upstream.ts';
import type { StreamRequest, StreamResponse } from '../contract/outbound.ts';
import { LaneRun } from '../lanes/lane-run.ts';
import type { OutboundLimits } from '../store/store.ts';
import { Breakers } from './breakers.ts';
import { withoutSecret } from './hiding.ts';
import { OutboundRun } from './outbound.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown;

interface Options {
	/** Null: the API has no lane. */
	outbound?: OutboundLimits | null;
	signal?: AbortSignal;
	breakers?: Breakers;
}

/** Sets up an upstream that gives these answers in order, and the last one from then on, and a run of a tool that calls it. */
async function setUp(t: TestContext, answers: Answer[], options: Options = {}) {
	const { outbound = { maxConcurrent: 1 }, signal = new AbortController().signal, breakers = new Breakers() } = options;
	const bodies: string[] = [];
	const responses: ServerResponse[] = [];
	const upstream = await httpUpstream(t, async (request, response) => {
		const answer = answers[Math.min(responses.push(response), answers.length) - 1];
		bodies.push(await textOf(request));
		answer?.(response, request);
	});
	const lanes = localLanes(t);
	const api = { id: 'pets', name: 'Pets', version: 1, organizationId: 'acme', outbound: outbound ?? {} };
	const egress = local(t);
	const makeRun = (): OutboundRun => {
		const lane = outbound && new LaneRun({ lanes, api, signal, deadlineMs: 30_000 });
		const unsigned = () => assert.fail('nothing is signed');
		const signer = { sign: unsigned, preview: unsigned, places: unsigned };
		return new OutboundRun({ egress, breakers, log: silent, organizationId: 'acme', lane, signal, signer, api: null, credentials: [] });
	};
	const run = makeRun();
	const open = (more: Partial<StreamRequest> = {}, by = run): Promise<StreamResponse> =>
		by.stream({ method: 'GET', url: upstream.origin, signal, ...more });
	const isFree = async (): Promise<boolean> => {
		const leaving = new AbortController();
		const entering = lanes.enter(api, { signal: leaving.signal, holdMs: 100 });
		// A free lane is entered within a few turns of the event loop.
		void turns(40).then(() => leaving.abort());
		return entering.then(
			(leave) => {
				leave();
				return true;
			},
			() => false,
		);
	};
	return { upstream, bodies, responses, run, makeRun, open, isFree };
}

const whole =
	(status: number, headers: Record<string, string> = {}, text = String(status)): Answer =>
	(response) =>
		response.writeHead(status, headers).end(text);
const begun: Answer = (response) => response.write('begun ');

test('a body holds its place in the lane from the request until its last byte has come', async (t) => {
	const { open, responses, isFree } = await setUp(t, [begun]);
	const answer = await open();
	assert.equal(await isFree(), false);
	responses[0]?.end('ended');
	assert.equal(await textOfBody(answer), 'begun ended');
	assert.equal(await isFree(), true);
});

const ENDS: [id: string, end: (answer: StreamResponse, parts: { run: OutboundRun; response: ServerResponse }) => unknown][] = [
	['is left by its reader', ({ body }) => body[Symbol.asyncIterator]().return?.()],
	['breaks off', (_answer, { response }) => response.destroy()],
	['was not begun when the run ends', (_answer, { run }) => run.end()],
];
for (const [id, end] of ENDS)
	test(`a body that ${id} gives its place back, and its connection is closed`, async (t) => {
		const { open, run, responses, isFree, upstream } = await setUp(t, [begun]);
		const answer = await open();
		assert.equal(await isFree(), false);
		await end(answer, { run, response: responses[0] ?? assert.fail() });
		assert.equal(await isFree(), true);
		await until(() => upstream.open() === 0, 'the connection is closed', 5);
	});

test('a body that is still read when its run ends is an error, not a shorter body', async (t) => {
	const { open, run } = await setUp(t, [begun]);
	const reading = textOfBody(await open());
	await turns(2);
	run.end();
	assert.match((await failure(reading, 'upstream_failed')).message, /the run has ended/i);
	const late = open();
	assert.match((await failure(late.then(textOfBody), 'upstream_failed')).message, /the run has ended/i);
});

test('the signal of the call ends a body, its connection and its place, and a stream that waits for its turn', async (t) => {
	const caller = new AbortController();
	const { open, isFree, upstream, bodies } = await setUp(t, [begun], { signal: caller.signal });
	const reading = textOfBody(await open());
	const waiting = open();
	caller.abort(new Error('the client is gone'));
	await assert.rejects(reading, /the client is gone/);
	await assert.rejects(waiting, /the client is gone/);
	assert.equal(await isFree(), true);
	await until(() => upstream.open() === 0, 'the connection is closed', 5);
	assert.equal(bodies.length, 1);
});

const reset: Answer = (_response, { socket }) => socket.resetAndDestroy();
const late: Answer = (response) => {
	response.writeHead(503).write('later ');
	setTimeout(() => response.end('ended'), 50);
};
const AGAIN: [id: string, more: Partial<StreamRequest>, answer: Answer][] = [
	...[502, 503, 504].map((status): (typeof AGAIN)[number] => [`a GET after ${status}`, {}, whole(status)]),
	['a GET after 429 with a time', {}, whole(429, { 'retry-after': '0' })],
	['a GET after a reset', {}, reset],
	['a GET after a 503 whose body comes later', {}, late],
	['a POST that may be repeated', { method: 'POST', body: 'payload', repeatable: true }, whole(503)],
	['a GET after 503 in gzip', {}, whole(503, { 'content-encoding': 'gzip' }, 'torn')],
];
for (const [id, more, answer] of AGAIN)
	test(`repeated in a lane of one, before a byte is handed out: ${id}`, async (t) => {
		const { open, bodies, isFree } = await setUp(t, [answer, whole(200, {}, 'done')]);
		assert.equal(await textOfBody(await open(more)), 'done');
		assert.deepEqual(bodies, [more.body ?? '', more.body ?? '']);
		assert.equal(await isFree(), true);
	});

const ONCE: [id: string, more: Partial<StreamRequest>, answer: Answer, status: number][] = [
	['a POST after 503', { method: 'POST' }, whole(503), 503],
	['a GET after 500', {}, whole(500), 500],
	['a GET after 401 without a token', {}, whole(401), 401],
	['a GET after 429 without a time', {}, whole(429), 429],
	['a GET after a 503 that is too long to be kept', {}, whole(503, {}, 'x'.repeat(8_000_000)), 503],
];
for (const [id, more, answer, status] of ONCE)
	test(`sent once, and handed out whole: ${id}`, async (t) => {
		// Without a lane, which would hold a further try up.
		const { open, bodies } = await setUp(t, [answer], { outbound: null });
		const given = await open(more);
		assert.equal(given.status, status);
		assert.ok((await textOfBody(given)).length >= 3);
		assert.equal(bodies.length, 1);
	});

test('an answer that breaks off after its headers is not repeated', async (t) => {
	const { open, bodies } = await setUp(t, [
		(response) => {
			response.write('a');
			setTimeout(() => response.destroy(), 20);
		},
	]);
	await failure(open().then(textOfBody), 'upstream_failed');
	assert.equal(bodies.length, 1);
});

test('a POST is repeated when nothing of it was sent, until the tries are over', async (t) => {
	const port = await freePort();
	const { open } = await setUp(t, []);
	const { message } = await failure(open({ method: 'POST', url: `http://127.0.0.1:${port}/` }), 'upstream_failed');
	assert.match(message, /refused the connection/);
});

test('when the lane has no turn for the next try, the last answer is handed out with its body', async (t) => {
	const { open, bodies } = await setUp(t, [whole(503, {}, 'busy')], { outbound: { minTimeMs: 9000 } });
	const answer = await open({ timeoutMs: 8000 });
	assert.deepEqual([answer.status, await textOfBody(answer), bodies.length], [503, 'busy', 1]);
});

for (const [id, answer, open] of [
	['with 503', whole(503), 10],
	['with nothing', reset, 10],
	['in the middle of its bodies', (response: ServerResponse) => response.write('a', () => response.destroy()), 10],
] as const)
	test(`an upstream that fails ${id} ten times in a row is left alone`, async (t) => {
		const { open: ask, upstream } = await setUp(t, [answer]);
		for (let count = 0; count < open; count++)
			await ask({ repeatable: false })
				.then(textOfBody)
				.catch(() => undefined);
		const before = upstream.connections();
		assert.match((await failure(ask(), 'upstream_failed')).message, /has failed 10 times in a row/);
		assert.equal(upstream.connections(), before);
	});

test('bodies that end, that are left, and callers who are gone count as no failures', async (t) => {
	const breakers = new Breakers();
	const { open, responses } = await setUp(t, [begun], { breakers, outbound: null });
	for (let count = 0; count < 12; count++) {
		for await (const _ of (await open()).body) break;
		const gone = new AbortController();
		const reading = open({ signal: gone.signal }).then(textOfBody);
		await until(() => responses.length === count * 2 + 2, 'the request', 5);
		gone.abort(new Error('gone'));
		await assert.rejects(reading, /gone/);
	}
	assert.equal((await open()).status, 200);
});

test('a probe that is answered lets the others through, while its body goes on', async (t) => {
	let nowMs = 0;
	const breakers = new Breakers(() => nowMs);
	const failing = Array<Answer>(10).fill(whole(503));
	const { open } = await setUp(t, [...failing, begun], { breakers, outbound: null });
	for (const _ of failing) await open({ repeatable: false }).then(textOfBody);
	await failure(open(), 'upstream_failed');
	nowMs = 60_000;
	await open();
	assert.equal((await open()).status, 200);
});

for (const cut of [1, 4, 9, 100])
	test(`a secret is hidden in a body of parts of ${cut} bytes, and the rest comes as it came`, async () => {
		const source = Buffer.from('a canary-ca canary-canary-1 [canary-canary-1canary-canary-1] canary-canary- ü');
		async function* parts(): AsyncGenerator<Uint8Array, undefined> {
			for (let at = 0; at < source.length; at += cut) yield source.subarray(at, at + cut);
		}
		const read = await allOf(withoutSecret(parts(), 'canary-canary-1'));
		assert.equal(Buffer.concat(read).toString(), 'a canary-ca [hidden] [[hidden][hidden]] canary-canary- ü');
	});

test('a body in which the secret may begin only at the end of a part is not held up', async () => {
	async function* parts(): AsyncGenerator<Uint8Array, undefined> {
		yield Buffer.from('data: 1\n\n');
		assert.fail('the next part was asked for');
	}
	assert.equal(String((await withoutSecret(parts(), 'canary').next()).value), 'data: 1\n\n');
});
