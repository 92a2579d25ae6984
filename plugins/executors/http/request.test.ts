// Requests of hand-written configs and of tools of an API, and changes that no argument may make to them.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { asGatewayError, type ErrorCode, type JsonObject } from '../../../core/index.ts';
import { apiAt, loopbackCall, type Recorded, type Recorder, recorder } from '../../../test/helpers/executor.ts';
import http from './index.ts';
import { buildRequest } from './request.ts';

type Written = Record<string, unknown>;

async function send(t: TestContext, upstream: Recorder, config: Written, args: JsonObject): Promise<Recorded> {
	const url = String(config['url'] ?? '/x');
	const parsed = await http.config.validateAsync({ method: 'GET', ...config, url: url.startsWith('/') ? upstream.origin + url : url });
	await http.execute(args, parsed, loopbackCall(t));
	return upstream.take();
}

const withCode =
	(code: ErrorCode, path?: string) =>
	(error: unknown): boolean => {
		const ours = asGatewayError(error);
		assert.equal(ours?.code, code, String(error));
		if (path !== undefined) assert.equal(ours.details[0]?.path, path);
		return true;
	};

const LINES: [what: string, config: Written, args: JsonObject, line: string][] = [
	['a placeholder in the path', { url: '/pets/{petId}/toys' }, { petId: 'a b/c' }, 'GET /pets/a%20b%2Fc/toys'],
	['a placeholder in the URL’s query', { url: '/pets?tag={tag}&fixed=a,b' }, { tag: 'x&y=z' }, 'GET /pets?tag=x%26y%3Dz&fixed=a,b'],
	['an absent one in the URL’s query', { url: '/pets?tag={tag}&page={page}' }, { page: 2 }, 'GET /pets?page=2'],
	['a query map', { query: { a: '{a}', b: 'p-{b}-q', c: 7, d: false } }, { a: [1, 2], b: 'x' }, 'GET /x?a=1&a=2&b=p-x-q&c=7&d=false'],
	['absent and null in a query map', { query: { a: '{a}', b: 'p-{b}', c: '{c}-{d}' } }, { a: null, d: 1 }, 'GET /x?c=-1'],
	['an object in a query map', { query: { filter: '{f}' } }, { f: { a: 1 } }, 'GET /x?filter=%7B%22a%22%3A1%7D'],
	['left-over arguments of GET', { url: '/x/{id}' }, { id: 1, q: 'a b', tags: ['x', 'y'], none: null }, 'GET /x/1?q=a%20b&tags=x&tags=y'],
	['left-over arguments of DELETE', { method: 'delete' }, { force: true }, 'DELETE /x?force=true'],
	['left-over arguments beside a query', { url: '/x?a=b' }, { c: 'd' }, 'GET /x?a=b&c=d'],
	['no left-over arguments once something says where they go', { query: { a: '{a}' } }, { a: 1, b: 2 }, 'GET /x?a=1'],
	['an argument used by a header', { headers: { 'x-a': '{a}' } }, { a: 1 }, 'GET /x'],
	['an argument named like a property of every object', { query: { a: '{constructor}', b: '{toString}' } }, {}, 'GET /x'],
];

for (const [what, config, args, line] of LINES)
	test(`The request line takes ${what}`, async (t) => {
		assert.equal((await send(t, await recorder(t), config, args)).line, `${line} HTTP/1.1`);
	});

const TEMPLATES: [what: string, config: Written, args: JsonObject, type: string | undefined, body: string][] = [
	['left-over arguments as JSON', { url: '/x/{id}' }, { id: 1, name: 'Rex', no: null }, 'application/json', '{"name":"Rex","no":null}'],
	['nothing when no argument is left', { url: '/x/{id}' }, { id: 1 }, undefined, ''],
	[
		'arguments as they are, texts filled in',
		{ body: { n: '{n}', t: 'a-{n}', l: ['{l}', 'x'], k: 1 } },
		{ n: 5, l: { a: 1 } },
		'application/json',
		'{"n":5,"t":"a-5","l":[{"a":1},"x"],"k":1}',
	],
	[
		'nothing of absent arguments',
		{ body: { a: '{a}', b: 'p{b}', l: ['{c}', 1], n: '{n}' } },
		{ n: null },
		'application/json',
		'{"l":[1],"n":null}',
	],
	['quotes inside arguments safely', { body: { a: 'say {a}' } }, { a: '"}' }, 'application/json', '{"a":"say \\"}"}'],
	['the argument alone', { body: '{all}' }, { all: [1] }, 'application/json', '[1]'],
	['a text', { body: 'Hello {who}', headers: { 'Content-Type': 'text/plain' } }, { who: 'you' }, 'text/plain', 'Hello you'],
	[
		'a form',
		{ body: { a: '{a}' }, headers: { 'content-type': 'application/x-www-form-urlencoded' } },
		{ a: 'b c' },
		'application/x-www-form-urlencoded',
		'a=b%20c',
	],
	[
		'left-over arguments as the form that the headers ask for',
		{ headers: { 'content-type': 'application/x-www-form-urlencoded' } },
		{ a: 'b' },
		'application/x-www-form-urlencoded',
		'a=b',
	],
];

for (const [what, config, args, type, body] of TEMPLATES)
	test(`A body takes ${what}`, async (t) => {
		const sent = await send(t, await recorder(t), { method: 'POST', ...config }, args);
		assert.deepEqual([sent.headers['content-type'], sent.body.toString()], [type, body]);
	});

test('Headers are filled in, and left out when their argument is absent', async (t) => {
	const headers = { 'X-A': 'v {a}', 'X-B': '{b}', 'X-C': 'fixed', Accept: 'text/csv' };
	const sent = await send(t, await recorder(t), { headers }, { a: 1 });
	const { 'x-a': a, 'x-b': b, 'x-c': c, accept } = sent.headers;
	assert.deepEqual([a, b, c, accept], ['v 1', undefined, 'fixed', 'text/csv']);
});

test('A cookie of the config and cookies of arguments go in one header', async (t) => {
	const parameters = [{ arg: 'b', name: 'b', in: 'cookie' }];
	const sent = await send(t, await recorder(t), { headers: { cookie: 'a=1' }, parameters }, { b: 2 });
	assert.equal(sent.headers['cookie'], 'a=1; b=2');
});

// ── tools of an API ────────────────────────────────────────────────────────────────────────────────────────────────

const BASES: [base: string, url: string, line: string][] = [
	['', '/pets/{id}', 'GET /pets/7'],
	['/', '/pets/{id}', 'GET /pets/7'],
	['/v1', '/pets/{id}', 'GET /v1/pets/7'],
	['/v1/', '/pets/{id}', 'GET /v1/pets/7'],
	['/v1?key=a', '/pets/{id}?x=y', 'GET /v1/pets/7?key=a&x=y'],
	['/a/../v2', '/', 'GET /v2/?id=7'],
];

for (const [base, url, line] of BASES)
	test(`A path ${url} goes after an API’s base ${base || 'without a path'}`, async (t) => {
		const upstream = await recorder(t);
		const config = await http.config.validateAsync({ method: 'GET', url });
		await http.execute({ id: 7 }, config, loopbackCall(t, { api: apiAt(upstream.origin + base) }));
		assert.equal(upstream.take().line, `${line} HTTP/1.1`);
	});

test('A frozen config, whose URL is split once, follows the base URL of its API', async () => {
	const config = Object.freeze(await http.config.validateAsync({ method: 'GET', url: '/pets/{id}?a=b' }));
	for (const base of ['https://a.example/v1', 'https://a.example/v1', 'https://b.example?c=d', 'https://a.example/v1']) {
		const { origin, pathname, search } = new URL(base);
		const query = search === '' ? '?a=b' : `${search}&a=b`;
		assert.equal(buildRequest(config, { id: 7 }, apiAt(base)).url, `${origin}${pathname.replace(/\/$/, '')}/pets/7${query}`);
	}
	assert.throws(() => buildRequest(config, { id: 7 }, null), withCode('validation_failed', '/url'));
});

test('A path without an API to go after is refused', async (t) => {
	const config = await http.config.validateAsync({ method: 'GET', url: '/pets' });
	await assert.rejects(http.execute({}, config, loopbackCall(t)), withCode('validation_failed', '/url'));
});

test('A parameter’s name in the path, and behind its ?, may differ from its argument’s', async (t) => {
	const parameters = [{ arg: 'pet-id_path', name: 'pet id', in: 'path' }];
	const upstream = await recorder(t);
	const config = await http.config.validateAsync({ method: 'GET', url: '/{pet id}', parameters }).catch(() => null);
	assert.equal(config, null, 'a space in the URL is refused');
	const dotted = [{ arg: 'a_path', name: '$pet.id', in: 'path' }];
	assert.equal((await send(t, upstream, { url: '/p/{$pet.id}', parameters: dotted }, { a_path: 1 })).line, 'GET /p/1 HTTP/1.1');
	const behind = await send(t, upstream, { url: '/p?a=b&k={$pet.id}', parameters: dotted }, { a_path: 'x&y' });
	assert.equal(behind.line, 'GET /p?a=b&k=x%26y HTTP/1.1');
});

// ── what arguments may not do ──────────────────────────────────────────────────────────────────────────────────────

for (const value of ['..', '.', ''])
	for (const style of ['simple', 'label', undefined])
		test(`A path argument ${JSON.stringify(value)} in style ${style ?? 'of a hand-written URL'} is refused by its name`, async (t) => {
			const upstream = await recorder(t);
			const parameters = style ? [{ arg: 'id', name: 'id', in: 'path', style }] : undefined;
			const failing = send(t, upstream, { url: '/a/{id}', ...(parameters ? { parameters } : {}) }, { id: value });
			if (style === 'label' && value === '..') return assert.equal((await failing).line, 'GET /a/... HTTP/1.1');
			await assert.rejects(failing, withCode('validation_failed', '/id'));
			assert.equal(upstream.count(), 0);
		});

const CLIMBING: [value: string, segment: string][] = [
	['%2e%2e', '%252e%252e'],
	['../b', '..%2Fb'],
	['a?x', 'a%3Fx'],
	['a#b', 'a%23b'],
	['\\', '%5C'],
	['a;b', 'a%3Bb'],
	['@other.example', '%40other.example'],
	['\u0000\r\n', '%00%0D%0A'],
];

for (const [value, segment] of CLIMBING)
	test(`A path argument ${JSON.stringify(value)} stays one segment`, async (t) => {
		assert.equal((await send(t, await recorder(t), { url: '/a/{id}' }, { id: value })).line, `GET /a/${segment} HTTP/1.1`);
	});

test('A path argument with allowReserved may be several segments, and may not climb', async (t) => {
	const upstream = await recorder(t);
	const config = { url: '/{scope}/roles', parameters: [{ arg: 'scope', name: 'scope', in: 'path', allowReserved: true }] };
	for (const [scope, path] of [
		['subscriptions/a b/groups/c:d', '/subscriptions/a%20b/groups/c:d/roles'],
		['/subscriptions/a', '//subscriptions/a/roles'],
		['a?x#y', '/a%3Fx%23y/roles'],
		['a/..;/b', '/a/..%3B/b/roles'],
		['a/%2e%2e%2fb', '/a/%252e%252e%252fb/roles'],
		['a\\..\\b', '/a%5C..%5Cb/roles'],
	])
		assert.equal((await send(t, upstream, config, { scope: scope ?? '' })).line, `GET ${path} HTTP/1.1`);
	for (const scope of ['a/../b', '..', '../b', 'a/.', 'a/./b', ''])
		await assert.rejects(send(t, upstream, config, { scope }), withCode('validation_failed'), scope);
	assert.equal(upstream.count(), 0);
});

test('Dots that become a segment only together are refused', async (t) => {
	const upstream = await recorder(t);
	for (const url of ['/a/.{id}/b', '/a/{id}{id}'])
		for (const id of ['.', [null]]) await assert.rejects(send(t, upstream, { url }, { id }), withCode('validation_failed'));
	const api = apiAt(`${upstream.origin}/v1`);
	const config = await http.config.validateAsync({
		method: 'GET',
		url: '/%2e{id}',
		parameters: [{ arg: 'id', name: 'id', in: 'path', style: 'matrix' }],
	});
	await http.execute({ id: 'x' }, config, loopbackCall(t, { api }));
	assert.equal(upstream.take().line, 'GET /v1/%2e;id=x HTTP/1.1');
});

test('A URL that climbs is refused at the call too, should its config never have been validated', async (t) => {
	const upstream = await recorder(t);
	const api = apiAt(`${upstream.origin}/v1`);
	for (const url of [`${upstream.origin}/a/../b`, '/../admin', '/%2e%2e/admin', '/a/%2E'])
		await assert.rejects(
			http.execute({}, { method: 'GET', url, timeoutMs: 1000 }, loopbackCall(t, { api })),
			withCode('validation_failed'),
		);
	assert.equal(upstream.count(), 0);
});

test('A path argument that is absent or null is refused by its name', async (t) => {
	const upstream = await recorder(t);
	for (const args of [{}, { id: null }])
		await assert.rejects(send(t, upstream, { url: '/a/{id}' }, args), withCode('validation_failed', '/id'));
});

test('A header value with a line break, or beyond Latin-1, is refused', async (t) => {
	const upstream = await recorder(t);
	for (const value of ['a\r\nX-Injected: 1', 'a\nb', 'a\u0000', '日本']) {
		await assert.rejects(send(t, upstream, { headers: { 'x-a': '{a}' } }, { a: value }), withCode('validation_failed'));
		await assert.rejects(
			send(t, upstream, { parameters: [{ arg: 'a', name: 'x-a', in: 'header' }] }, { a: value }),
			withCode('validation_failed'),
		);
	}
	assert.equal(upstream.count(), 0);
});

test('Half of a surrogate pair is refused where it would have to be percent-encoded', async (t) => {
	const upstream = await recorder(t);
	for (const url of ['/a/{id}', '/a?b={id}', '/a'])
		await assert.rejects(send(t, upstream, { url }, { id: 'a\ud800' }), withCode('validation_failed'));
});

test('a list of any length that fits into a URL is sent', async () => {
	const parameters = [{ arg: 'a', name: 'a', in: 'query' }];
	const config = await http.config.validateAsync({ method: 'GET', url: 'https://example.com/x', parameters });
	const { url } = buildRequest(config, { a: new Array(200_000).fill(1) }, null);
	assert.equal(url.length, 'https://example.com/x?'.length + 4 * 200_000 - 1);
});

const LONG = 'x'.repeat(4_000);
const MANY = new Array(50_000).fill(1);
const body = (contentType: string, parts: object = {}): Written => ({ method: 'POST', requestBody: { arg: 'a', contentType, parts } });
/** Requests that would be a hundred times as long as their arguments. */
const MULTIPLIED: [what: string, config: Written, args: JsonObject][] = [
	['a key of a query', { parameters: [{ arg: 'a', name: 'a', in: 'query', style: 'deepObject' }] }, { a: { [LONG]: MANY } }],
	['a key of a form', body('application/x-www-form-urlencoded', { a: { style: 'deepObject' } }), { a: { a: { [LONG]: MANY } } }],
	['a key of a multipart body', body('multipart/form-data', { a: { style: 'deepObject' } }), { a: { a: { [LONG]: MANY } } }],
	['a name of a form', body('application/x-www-form-urlencoded'), { a: { [LONG]: MANY } }],
	['a name of a multipart body', body('multipart/form-data'), { a: { [LONG]: MANY } }],
	['a name of a query', { url: '/x' }, { [LONG]: MANY }],
	['an argument in a URL', { url: `/x?${'{a}'.repeat(1_000)}` }, { a: LONG }],
	['an argument in a header', { headers: { 'x-a': '{a}'.repeat(1_000) } }, { a: LONG }],
	['an argument in a query', { query: { a: '{a}'.repeat(1_000) } }, { a: LONG }],
	['a text in a body', { method: 'POST', body: { a: '{a}-'.repeat(2_000) } }, { a: LONG }],
	['a value in a body', { method: 'POST', body: { a: new Array(2_000).fill('{a}') } }, { a: { b: LONG } }],
];

for (const [what, config, args] of MULTIPLIED)
	test(`a request that repeats ${what} beyond all bounds is refused`, async () => {
		const url = `https://example.com${config['url'] ?? '/x'}`;
		const parsed = await http.config.validateAsync({ method: 'GET', ...config, url });
		assert.throws(() => buildRequest(parsed, args, null), withCode('validation_failed', ''));
	});
