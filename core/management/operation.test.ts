// Tests of declared operations: the requests that their routes accept, and the responses.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { Request, ServerInjectResponse } from '@hapi/hapi';
import Joi from 'joi';
import { until } from '../../test/helpers/clock.ts';
import { startCore, type TestCore } from '../../test/helpers/core.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { GatewayError } from '../contract/errors.ts';
import { readBody } from '../http/body.ts';
import { claimKey } from './idempotency.ts';
import { expectedVersion } from './if-match.ts';
import { accept, type Endpoint, operation, setCookie, showPreferences, showVersion } from './operation.ts';
import { body } from './rest.ts';

/** The behaviour of every handler in the test that runs. */
let handle: (request: Request) => unknown;
let runs: number;
let core: TestCore;
let authorization: string;

const declared = (path: string, more: Partial<Endpoint> = {}): Endpoint => ({
	...{ method: 'POST', path, id: `do${path.slice(1)}`, summary: 'Does it.', need: 'self', answer: Joi.any() },
	handler(request) {
		runs += 1;
		return handle(request);
	},
	...more,
});

const NAMED = body({ name: Joi.string().required() });
const OPERATIONS: Endpoint[] = [
	declared('/plain', { body: NAMED, query: Joi.object({ limit: Joi.number() }) }),
	declared('/made', { status: 201, idempotent: true }),
	declared('/versioned', { versioned: true, method: 'PATCH' }),
	declared('/shown', { versioned: true, method: 'GET' }),
	declared('/conditional', { conditional: true }),
	declared('/unversioned'),
	declared('/optional', { body: body({ name: Joi.string() }), bodyIs: 'optional' }),
	declared('/unread', { body: NAMED, bodyIs: 'unread' }),
	declared('/read', { body: NAMED, bodyIs: 'unread', idempotent: true }),
	declared('/bare', { bare: true }),
	declared('/open', { need: 'public', method: 'GET' }),
	declared('/organizations/{orgId}/things', { need: 'gateway:read', method: 'GET' }),
];

before(async () => {
	core = await startCore({ routes: OPERATIONS.map(operation) });
	authorization = `Bearer ${await core.logIn(await addTenant(core.store))}`;
});
after(() => core[Symbol.asyncDispose]());
beforeEach(() => {
	handle = () => ({ done: true });
	runs = 0;
});

interface Asked {
	method?: string;
	payload?: object;
	headers?: Record<string, string>;
}

/** Builds the ETag of an answer of this version. */
const tagOf = (version: number): string => `"${version}.${'d'.repeat(22)}"`;
const ask = (url: string, { method = 'POST', payload, headers = {} }: Asked = {}): Promise<ServerInjectResponse> =>
	core.server.inject({ method, url, headers: { authorization, ...headers }, ...(payload && { payload }) });
const bodyOf = ({ payload }: ServerInjectResponse) => JSON.parse(payload);

test('a response is in the envelope, with the declared status; a bare one is sent as the handler made it', async () => {
	const plain = await ask('/plain', { payload: { name: 'a' } });
	assert.deepEqual([plain.statusCode, bodyOf(plain)], [200, { success: true, data: { done: true } }]);
	assert.equal((await ask('/made')).statusCode, 201);
	assert.deepEqual(bodyOf(await ask('/bare')), { done: true });
});

test('a parameter or a field that is not declared is refused, and the handler is not called', async () => {
	const faulty: [string, Asked, string][] = [
		['/plain?more=1', { payload: { name: 'a' } }, 'query/more'],
		['/made?limit=1', {}, 'query/limit'],
		['/plain', { payload: { name: 'a', more: 1 } }, '/more'],
		['/plain', { payload: {} }, '/name'],
		['/plain', { payload: { name: 1 } }, '/name'],
		['/plain?limit=x', { payload: { name: 'a' } }, 'query/limit'],
	];
	for (const [url, asked, path] of faulty) {
		const answer = await ask(url, asked);
		assert.deepEqual([answer.statusCode, bodyOf(answer).details?.[0].path], [400, path], url);
	}
	assert.equal(runs, 0);
});

test('a body may be absent if it is optional, and the handler reads it if it is declared as unread', async () => {
	handle = ({ payload }) => payload;
	assert.deepEqual(bodyOf(await ask('/optional')).data, {});
	assert.equal((await ask('/plain')).statusCode, 400);
	handle = ({ payload }) => ({ isStream: typeof (payload as { pipe?: unknown }).pipe });
	assert.equal(bodyOf(await ask('/unread', { payload: { nothing: 'of it' } })).data.isStream, 'function');
});

test('only versioned resources have an ETag', async () => {
	handle = (request) => {
		showVersion(request, 3);
		return null;
	};
	assert.match(String((await ask('/versioned', { method: 'PATCH' })).headers['etag']), /^"3\.[\w-]{22}"$/);
	assert.equal((await ask('/unversioned')).headers['etag'], undefined);
});

test('an ETag stands for the whole answer: what changes while the version does not is no 304', async () => {
	let count = 0;
	handle = (request) => {
		showVersion(request, 3);
		return { count };
	};
	const tag = String((await ask('/shown', { method: 'GET' })).headers['etag']);
	const again = async (tags: string) => (await ask('/shown', { method: 'GET', headers: { 'if-none-match': tags } })).statusCode;
	for (const tags of [tag, `W/${tag}`, `"other", ${tag}`]) assert.equal(await again(tags), 304, tags);
	count = 1;
	for (const tags of [tag, `W/${tag}`]) assert.equal(await again(tags), 200, tags);
	handle = (request) => ({ version: expectedVersion(request) });
	const changed = await ask('/versioned', { method: 'PATCH', headers: { 'if-match': tag } });
	assert.equal(bodyOf(changed).data.version, 3, 'a change is compared with the version alone');
});

test('a POST that takes If-Match takes a list, as a PATCH does; an operation that does not declare it cannot read it', async () => {
	const tried: unknown[] = [];
	handle = (request) => {
		const version = expectedVersion(request);
		tried.push(version);
		if (version !== 9) throw new GatewayError('precondition_failed', 'Changed since.');
		return null;
	};
	assert.equal((await ask('/conditional', { headers: { 'if-match': `${tagOf(9)}, ${tagOf(4)}` } })).statusCode, 200);
	assert.deepEqual(tried, [4, 9]);
	assert.equal((await ask('/conditional', { headers: { 'if-match': `W/${tagOf(9)}` } })).statusCode, 412);
	assert.equal((await ask('/unversioned')).statusCode, 500);
});

test('If-Match is an ETag of the service, `*` or absent; any other value matches nothing', async () => {
	handle = (request) => ({ version: expectedVersion(request) ?? null });
	const asked = (tag: string) => ask('/versioned', { method: 'PATCH', headers: { 'if-match': tag } });
	for (const [tag, version] of [
		[tagOf(3), 3],
		[` ${tagOf(17)} `, 17],
		['*', null],
	] as const)
		assert.equal(bodyOf(await asked(tag)).data.version, version, tag);
	const mine = tagOf(3);
	for (const tag of ['3', '"3"', `W/${mine}`, '"a"', `${mine}, 4`, `"a,${mine.slice(1)}`, `W/${mine}, "b"`, tagOf(9_999_999_999), ''])
		assert.equal((await asked(tag)).statusCode, 412, tag);
	assert.equal(bodyOf(await ask('/versioned', { method: 'PATCH' })).data.version, null);
});

test('If-Match with several versions is met by any of them, and by no more than ten', async () => {
	const tried: unknown[] = [];
	handle = (request) => {
		tried.push(expectedVersion(request));
		if (expectedVersion(request) !== 4) throw new GatewayError('precondition_failed', 'changed');
		return null;
	};
	const asked = async (tags: string) => (await ask('/versioned', { method: 'PATCH', headers: { 'if-match': tags } })).statusCode;
	assert.deepEqual([await asked(`${tagOf(5)},W/${tagOf(1)} , ${tagOf(4)}, "x,y",${tagOf(3)}`), tried.splice(0)], [200, [3, 4]]);
	assert.deepEqual([await asked(`${tagOf(7)},${tagOf(6)}`), tried.splice(0)], [412, [6, 7]]);
	assert.deepEqual([await asked(Array.from({ length: 11 }, (_none, at) => tagOf(at)).join()), tried], [400, []]);
});

test('deferred work is a 202 with the URL of its state and the time after which to retry', async () => {
	handle = (request) => {
		accept(request, { location: '/jobs/1', 'retry-after': '2' });
		showPreferences(request, ['respond-async', 'wait=1']);
		return { id: 1 };
	};
	const { statusCode, headers } = await ask('/made');
	assert.deepEqual(
		[statusCode, headers['location'], headers['retry-after'], headers['preference-applied']],
		[202, '/jobs/1', '2', 'respond-async, wait=1'],
	);
});

test('a response with a cookie is not stored', async () => {
	handle = (request) => setCookie(request, 'a=1');
	const { headers } = await ask('/unversioned');
	assert.deepEqual([String(headers['set-cookie']), headers['cache-control']], ['a=1', 'no-store']);
});

test('a handler that reads the body itself is repeated under an idempotency key only when it fails', async () => {
	let fault: GatewayError | null = new GatewayError('conflict', 'Not now.');
	let done = 0;
	handle = async (request) => {
		await claimKey(request, (await readBody(request.raw.req, 10_000_000)) ?? Buffer.alloc(0));
		if (fault) throw fault;
		done += 1;
		return { done };
	};
	const keyed = (payload: object) => ask('/read', { headers: { 'idempotency-key': 'read' }, payload });
	const large = { name: 'a'.repeat(3_000_000) };
	assert.equal((await keyed(large)).statusCode, 409);
	fault = null;
	for (const replayed of [undefined, 'true']) {
		const answer = await keyed(large);
		assert.deepEqual([bodyOf(answer).data, answer.headers['idempotency-replayed']], [{ done: 1 }, replayed]);
	}
	assert.equal((await keyed({ name: `${large.name}b` })).statusCode, 422);
	assert.equal((await ask('/read', { headers: { 'idempotency-key': '' }, payload: {} })).statusCode, 400);
});

test('a repeated request with the same idempotency key gets the first response; another request with that key does not', async () => {
	const keyed = (key: string, payload?: object) => ask('/made', { headers: { 'idempotency-key': key }, ...(payload && { payload }) });
	handle = (request) => {
		accept(request, { location: '/jobs/1', 'retry-after': '2' });
		return { at: runs };
	};
	const [first, again] = [await keyed('a'), await keyed('a')];
	assert.deepEqual([bodyOf(first).data, bodyOf(again).data, runs], [{ at: 1 }, { at: 1 }, 1]);
	assert.deepEqual(
		[first, again].map(({ headers }) => headers['idempotency-replayed']),
		[undefined, 'true'],
	);
	assert.deepEqual([again.statusCode, again.headers['location']], [202, '/jobs/1']);
	assert.equal((await keyed('a', { another: 1 })).statusCode, 422);
	assert.deepEqual(bodyOf(await keyed('b')).data, { at: 2 });
	for (const key of ['', ' a', 'ä', 'x'.repeat(256)]) assert.equal((await keyed(key)).statusCode, 400, JSON.stringify(key));
});

test('a failed request did nothing: its key may be used again, also after an unexpected error', async () => {
	const headers = { 'idempotency-key': 'failing' };
	for (const error of [new GatewayError('conflict', 'taken'), new Error('broken')]) {
		handle = () => Promise.reject(error);
		assert.ok((await ask('/made', { headers })).statusCode >= 400);
	}
	handle = () => ({ done: true });
	assert.equal((await ask('/made', { headers })).statusCode, 201);
	assert.equal(runs, 3);
});

/** Lets handlers wait until `end`; `begun` resolves when one waits. */
function held(): { begun: Promise<void>; end(): void } {
	const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
	const { promise: ended, resolve: end } = Promise.withResolvers<void>();
	handle = async () => {
		begin();
		await ended;
		return null;
	};
	return { begun, end };
}

test('a second request with a key is told that the first is still running', async () => {
	const { begun, end } = held();
	const headers = { 'idempotency-key': 'slow' };
	const first = ask('/made', { headers });
	await begun;
	const second = await ask('/made', { headers });
	end();
	assert.deepEqual([second.statusCode, second.headers['retry-after']], [409, '1']);
	assert.equal((await first).statusCode, 201);
});

test('a request that takes longer than ten minutes is not run a second time', async (t) => {
	t.mock.timers.enable({ apis: ['setInterval'] });
	const { begun, end } = held();
	const headers = { 'idempotency-key': 'hours' };
	const [first] = [ask('/made', { headers }), await begun];
	const ageBy = (interval: string) =>
		administer(core.store.database, `UPDATE idempotency_keys SET started_at = started_at - interval '${interval}' WHERE key = 'hours'`);
	const isRenewed = async (): Promise<boolean> => {
		const fresh = `SELECT FROM idempotency_keys WHERE key = 'hours' AND started_at > now() - interval '1 minute'`;
		return (await administer(core.store.database, fresh)).length > 0;
	};
	for (let passed = 0; passed < 20; passed += 5) {
		await ageBy('5 minutes');
		t.mock.timers.tick(60_000);
		await until(isRenewed, 'renewed');
	}
	assert.equal((await ask('/made', { headers })).statusCode, 409);
	end();
	assert.deepEqual([(await first).statusCode, runs], [201, 1]);
});

test('a route declares its access: public routes need no caller, others the organization of their path if there is one', async () => {
	const settings = (path: string) => core.server.table().find((route) => route.path === path)?.settings.plugins?.gatehouse;
	assert.deepEqual(settings('/open'), {});
	assert.deepEqual(settings('/organizations/{orgId}/things'), { need: 'gateway:read', organization: 'path' });
	assert.deepEqual(settings('/optional'), { need: 'self', organization: 'context', body: 'optional' });
	assert.equal((await core.server.inject({ method: 'GET', url: '/open' })).statusCode, 200);
});
