// Tests of the connections that one owner may have open.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { findPort } from '../../demo/ports.ts';
import { until } from '../../test/helpers/clock.ts';
import { failure, get } from '../../test/helpers/egress.ts';
import { httpUpstream, type Upstream } from '../../test/helpers/upstream.ts';
import { createEgress, type Egress } from './egress.ts';

function egressWith(t: TestContext, connections?: number): Egress {
	const egress = createEgress({ allow: ['127.0.0.1'], shares: { connections } });
	t.after(() => egress.close());
	return egress;
}

/** Starts an upstream that answers when it is told to. */
async function holding(t: TestContext): Promise<Upstream & { held: ServerResponse[] }> {
	const held: ServerResponse[] = [];
	const upstream = await httpUpstream(t, (_request, response) => void held.push(response.setHeader('connection', 'close')));
	return { ...upstream, held };
}

test('five hundred calls of one origin are under way at once', async (t) => {
	const [egress, upstream] = [egressWith(t).of('one'), await holding(t)];
	const calls = Array.from({ length: 500 }, () => egress.request(get(upstream.origin, { timeoutMs: 60_000 })));
	await until(() => upstream.held.length === 500, 'all calls have arrived');
	for (const response of upstream.held) response.end('{}');
	assert.ok((await Promise.all(calls)).every(({ status }) => status === 200));
});

test('an owner waits for its own connections to close, to whatever origin, and others do not', async (t) => {
	const egress = egressWith(t, 2);
	const [first, second] = [await holding(t), await holding(t)];
	const ask = (owner: string, { origin }: Upstream) => egress.of(owner).request(get(origin, { timeoutMs: 60_000 }));
	const busy = [ask('one', first), ask('one', first)];
	await until(() => first.held.length === 2, 'both are under way');
	const waiting = ask('one', second);
	const other = ask('another', second);
	await until(() => second.held.length === 1, 'the other owner is served');
	second.held[0]?.end('{}');
	await other;
	assert.equal(second.held.length, 1);
	first.held[0]?.end('{}');
	await until(() => second.held.length === 2, 'the next one has its turn');
	second.held[1]?.end('{}');
	first.held[1]?.end('{}');
	assert.equal((await waiting).status, 200);
	await Promise.all(busy);
});

test('a call that waits too long is refused and leaves no trace', async (t) => {
	const egress = egressWith(t, 1).of('one');
	const upstream = await holding(t);
	const busy = egress.request(get(upstream.origin, { timeoutMs: 60_000 }));
	await until(() => upstream.held.length === 1, 'one is under way');
	const { message } = await failure(egress.request(get(upstream.origin, { timeoutMs: 60_000 })), 'rate_limited');
	assert.match(message, /All 1 connections of the organization are in use/);
	upstream.held[0]?.end('{}');
	await busy;
	const next = egress.request(get(upstream.origin, { timeoutMs: 60_000 }));
	await until(() => upstream.held.length === 2, 'there is room again');
	upstream.held[1]?.end('{}');
	assert.equal((await next).status, 200);
});

test('a connection that fails gives its place back', async (t) => {
	const egress = egressWith(t, 1).of('one');
	const upstream = await holding(t);
	const rude = await httpUpstream(t, (request) => request.socket.destroy());
	const absent = `http://127.0.0.1:${await findPort('127.0.0.1', 0)}`;
	for (const origin of [rude.origin, absent, rude.origin, absent]) await failure(egress.request(get(origin)), 'upstream_failed');
	const call = egress.request(get(upstream.origin, { timeoutMs: 60_000 }));
	await until(() => upstream.held.length === 1, 'there is room');
	const [response] = upstream.held;
	response?.end('{}');
	if (response && !response.closed) await once(response, 'close');
	assert.equal((await call).status, 200);
});
