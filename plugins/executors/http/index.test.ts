// Results and failures of calls, and the parts of an answer that must not leave.

import assert from 'node:assert/strict';
import type { OutgoingHttpHeaders } from 'node:http';
import { type TestContext, test } from 'node:test';
import { asGatewayError, type OutboundRequest, type ToolResult } from '../../../core/index.ts';
import { loopbackCall, recorder } from '../../../test/helpers/executor.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';
import http from './index.ts';
import { readResponse } from './response.ts';

interface Answer {
	status?: number;
	type?: string;
	body?: string | Buffer;
	headers?: OutgoingHttpHeaders;
}

async function answer(t: TestContext, { status = 200, type, body, headers = {} }: Answer, method = 'GET'): Promise<ToolResult> {
	const upstream = await httpUpstream(t, (_request, response) => {
		response.writeHead(status, { ...(type === undefined ? {} : { 'content-type': type }), ...headers }).end(body);
	});
	return http.execute({}, await http.config.validateAsync({ method, url: upstream.origin }), loopbackCall(t));
}

const text = (...lines: string[]): ToolResult['content'] => [{ type: 'text', text: lines.join('\n') }];
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0]);

const RESULTS: [what: string, Answer, ToolResult][] = [
	['JSON', { type: 'application/json', body: '{"a": 1}' }, { content: text('{"a": 1}'), structured: { a: 1 } }],
	[
		'JSON of a vendor, with charset',
		{ type: 'application/vnd.x+json; charset=utf-8', body: '[1]' },
		{ content: text('[1]'), structured: [1] },
	],
	['JSON null', { type: 'application/json', body: 'null' }, { content: text('null'), structured: null }],
	['JSON that is none', { type: 'application/json', body: '{"a":' }, { content: text('{"a":') }],
	['JSON with a byte order mark', { type: 'application/json', body: '\ufeff{}' }, { content: text('{}'), structured: {} }],
	['JSON without content type', { body: '{"a":1}' }, { content: text('{"a":1}'), structured: { a: 1 } }],
	['text without content type', { body: 'grüße' }, { content: text('grüße') }],
	['plain text', { type: 'text/plain', body: '{"a":1}' }, { content: text('{"a":1}') }],
	['HTML', { type: 'text/html', body: '<p>' }, { content: text('<p>') }],
	['XML', { type: 'application/xml', body: '<a/>' }, { content: text('<a/>') }],
	['XML of a vendor', { type: 'application/atom+xml', body: '<a/>' }, { content: text('<a/>') }],
	['Latin-1 text', { type: 'text/plain; charset=iso-8859-1', body: Buffer.from([0xfc]) }, { content: text('ü') }],
	['text of an unknown charset', { type: 'text/plain; charset=nonsense', body: 'ü' }, { content: text('ü') }],
	['an image', { type: 'image/png', body: PNG }, { content: [{ type: 'image', data: PNG.toString('base64'), mimeType: 'image/png' }] }],
	['an SVG image', { type: 'image/svg+xml', body: 'x' }, { content: [{ type: 'image', data: 'eA==', mimeType: 'image/svg+xml' }] }],
	['audio', { type: 'Audio/MPEG; x=y', body: 'x' }, { content: [{ type: 'audio', data: 'eA==', mimeType: 'audio/mpeg' }] }],
	['no content', { status: 204 }, { content: text('HTTP 204 No Content') }],
	['an empty body', { status: 201, type: 'application/json', body: '' }, { content: text('HTTP 201 Created') }],
	['an answer to a redirect that names no place', { status: 304 }, { content: text('HTTP 304 Not Modified') }],
];

for (const [what, given, expected] of RESULTS)
	test(`A result is made of ${what}`, async (t) => {
		assert.deepEqual(await answer(t, given), expected);
	});

for (const status of [300, 301, 302, 307, 399])
	test(`A redirect that cannot be followed (${status}) is a failure`, async (t) => {
		const { isError, content } = await answer(t, { status, type: 'text/plain', body: 'gone' });
		assert.equal(isError, true);
		assert.match(JSON.stringify(content), new RegExp(`HTTP ${status}.*gone`));
	});

test('An answer without a body tells where it leads, and nothing else of its headers', async (t) => {
	for (const [status, headers] of [
		[201, { location: '/orders/7' }],
		[202, { 'operation-location': 'https://api.example/jobs/1' }],
		[204, { 'content-location': '/orders/7', location: '/orders' }],
	] as const) {
		const told = { status, headers };
		const result = await answer(t, { status, headers: { ...headers, etag: '"7"', 'set-cookie': 'sid=1' } }, 'POST');
		assert.deepEqual(result.structured, told);
		assert.deepEqual(result.content, text(JSON.stringify(told)));
	}
	const withBody = await answer(t, { status: 201, type: 'application/json', body: '{"id":7}', headers: { location: '/orders/7' } }, 'POST');
	assert.deepEqual(withBody, { content: text('{"id":7}'), structured: { id: 7 } });
	const empty = { url: 'https://api.example/orders', status: 201, headers: { location: '/orders/7?key=s3cret' }, body: Buffer.alloc(0) };
	const promised = await readResponse(empty, { method: 'POST', schema: { type: 'object', required: ['id'] }, secrets: ['s3cret'] });
	assert.equal(promised.structured, undefined, 'the schema of a body is not broken');
	assert.match(JSON.stringify(promised), /orders\/7\?key=/);
	assert.doesNotMatch(JSON.stringify(promised), /s3cret/);
});

test('The headers are the answer to HEAD, and to OPTIONS without content, except those meant for the holder of the credential', async (t) => {
	const headers = { etag: '"7"', allow: 'GET, HEAD', 'set-cookie': 'sid=1', 'www-authenticate': 'Basic' };
	for (const method of ['HEAD', 'OPTIONS']) {
		const { structured, isError } = await answer(t, { headers, type: 'text/plain' }, method);
		const told = structured as { status: number; headers: Record<string, string> };
		assert.equal(isError, undefined);
		assert.deepEqual([told.status, told.headers['etag'], told.headers['allow']], [200, '"7"', 'GET, HEAD'], method);
		assert.deepEqual([told.headers['set-cookie'], told.headers['www-authenticate']], [undefined, undefined]);
	}
	assert.deepEqual((await answer(t, { headers, type: 'text/plain', body: 'all of it' }, 'OPTIONS')).content, text('all of it'));
	assert.equal((await answer(t, { status: 404 }, 'HEAD')).isError, true);
});

for (const type of ['application/pdf', undefined])
	test(`Bytes of type ${type ?? 'unknown'} become a resource without the URL`, async (t) => {
		const { content } = await answer(t, { ...(type ? { type } : {}), body: PNG });
		const [block] = content;
		assert.ok(block?.type === 'resource');
		const { uri, mimeType, blob } = block.resource;
		assert.match(uri, /^urn:uuid:/);
		assert.deepEqual([mimeType, blob], [type ?? 'application/octet-stream', PNG.toString('base64')]);
	});

test('A long text is cut and says so', async (t) => {
	const body = 'x'.repeat(2 * 1024 * 1024);
	const { content, structured } = await answer(t, { type: 'text/plain', body });
	const shown = content[0]?.type === 'text' ? content[0].text : assert.fail();
	assert.equal(shown, `${body.slice(0, 1_048_576)}\n[cut: the first 1048576 of 2097152 characters]`);
	assert.equal(structured, undefined);
});

test('Long JSON is cut to less JSON of the same shape, and says what was cut', async (t) => {
	const pets = Array.from({ length: 60_000 }, (_, id) => ({ id, name: `Pet number ${id}` }));
	const { content, structured } = await answer(t, { type: 'application/json', body: JSON.stringify({ pets, total: 60_000 }) });
	const [shown, note] = content.map((block) => (block.type === 'text' ? block.text : assert.fail()));
	const kept = structured as { pets: object[]; total: number };
	assert.deepEqual([JSON.parse(shown ?? ''), kept.total, kept.pets], [kept, 60_000, pets.slice(0, kept.pets.length)]);
	assert.equal(note, `The answer was too long and is cut:\n/pets: the first ${kept.pets.length.toLocaleString('en')} of 60,000 items`);
});

test('Data that is cut still fits the tool’s output schema, or is not structured', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) =>
		response.setHeader('content-type', 'application/json').end(JSON.stringify({ list: Array(700_000).fill('x') })),
	);
	const config = await http.config.validateAsync({ method: 'GET', url: upstream.origin });
	for (const [minItems, isStructured] of [
		[1, true],
		[600_000, false],
	] as const) {
		const outputSchema = { type: 'object', properties: { list: { type: 'array', minItems } }, required: ['list'] };
		const call = Object.assign(loopbackCall(t), { tool: { outputSchema } });
		assert.equal((await http.execute({}, config, call)).structured !== undefined, isStructured);
	}
});

test('A file is handed over whole, or not at all if it is too long', async (t) => {
	const fits = await answer(t, { type: 'image/png', body: Buffer.alloc(4 * 1024 * 1024) });
	assert.equal(fits.content[0]?.type, 'image');
	for (const type of ['image/png', 'application/zip'])
		assert.deepEqual(await answer(t, { type, body: Buffer.alloc(4 * 1024 * 1024 + 1) }), {
			content: text(
				`HTTP 200 OK, but the answer is left out: it is ${type} of 4,194,305 bytes, and a result takes files of up to 4,194,304.`,
			),
			isError: true,
		});
});

test('An answer of more than 10 MiB is a failure, whatever it is', async (t) => {
	for (const type of ['application/json', 'text/plain', 'image/png'])
		await assert.rejects(answer(t, { type, body: Buffer.alloc(10 * 1024 * 1024 + 1, 32) }), (error) => {
			const ours = asGatewayError(error);
			return ours?.code === 'upstream_failed' && /answered with more than 10485760 bytes/.test(ours.message);
		});
});

test('JSON that is nested too deeply to be written again is emptied below the limit', async (t) => {
	const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
	const { content, structured } = await answer(t, { type: 'application/json', body: deep(100_000) });
	assert.deepEqual([content[0], JSON.stringify(structured)], [{ type: 'text', text: deep(129) }, deep(129)]);
	assert.match(JSON.stringify(content[1]), /emptied, nested more than 128 levels deep/);
	assert.deepEqual((await answer(t, { type: 'application/json', body: deep(100) })).content, text(deep(100)));
});

test('A credential that an upstream repeats is hidden, in answers and in failures', async (t) => {
	const secret = 'sk-"0123456789';
	const upstream = await httpUpstream(t, (request, response) => {
		const said = { authorization: request.headers.authorization, url: request.url, cookie: request.headers.cookie };
		response.writeHead(request.url?.startsWith('/fail') ? 401 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(said));
	});
	const signed = (request: OutboundRequest): OutboundRequest => ({
		...request,
		url: `${request.url}?key=${encodeURIComponent(secret)}`,
		headers: { ...request.headers, authorization: `Bearer ${secret}`, cookie: `a=shown; s=${secret}` },
	});
	for (const path of ['/fail', '/echo']) {
		const config = await http.config.validateAsync({ method: 'GET', url: upstream.origin + path, headers: { cookie: 'a=shown' } });
		const result = await http.execute({}, config, loopbackCall(t, { signed }));
		assert.doesNotMatch(JSON.stringify(result), /0123456789/);
		assert.match(JSON.stringify(result), /Bearer \[hidden\].*key=\[hidden\].*a=shown; s=\[hidden\]/);
		assert.equal(result.structured !== undefined, path === '/echo');
	}
});

const FAILURES: [what: string, Answer, expected: string][] = [
	[
		'404 in JSON',
		{ status: 404, type: 'application/json', body: '{"message":"no such pet"}' },
		'HTTP 404 Not Found\n{"message":"no such pet"}',
	],
	[
		'500 in HTML, as what a browser would show',
		{ status: 500, type: 'text/html', body: '<style>h1 {}</style><h1>Oops</h1><p>See <b>the log</b></p>' },
		'HTTP 500 Internal Server Error\nOops\nSee the log',
	],
	['400 of nothing', { status: 400 }, 'HTTP 400 Bad Request'],
	['a status without a name', { status: 499, body: 'x' }, 'HTTP 499\nx'],
	['502 with an image', { status: 502, type: 'image/png', body: PNG }, 'HTTP 502 Bad Gateway'],
	[
		'control characters and hidden text',
		{ status: 400, type: 'text/plain', body: 'a\u001b[2Jb\u202ec\u200b\u0000d\te\nf' },
		'HTTP 400 Bad Request\na[2Jbcd\te\nf',
	],
	['a long body', { status: 400, type: 'text/plain', body: 'é'.repeat(5000) }, `HTTP 400 Bad Request\n${'é'.repeat(2048)}…`],
];

for (const [what, given, expected] of FAILURES)
	test(`A status of 400 and above is an error that shows ${what}`, async (t) => {
		assert.deepEqual(await answer(t, given), { content: text(expected), isError: true });
	});

test('Headers and cookies of the upstream do not leave', async (t) => {
	const headers = { 'set-cookie': 'session=canary', 'x-internal': 'canary', etag: '"canary"' };
	for (const status of [200, 204, 403]) assert.ok(!JSON.stringify(await answer(t, { status, headers })).includes('canary'));
});

test('The request is sent as `sign` returns it, which receives the alternatives of credentials', async (t) => {
	const upstream = await recorder(t);
	const asked: OutboundRequest[] = [];
	const signed = (request: OutboundRequest): OutboundRequest => {
		asked.push(request);
		return { ...request, headers: { ...request.headers, authorization: 'Bearer token' } };
	};
	const config = await http.config.validateAsync({ method: 'GET', url: `${upstream.origin}/a`, security: [['bearer_token'], []] });
	await http.execute({ q: 1 }, config, loopbackCall(t, { signed }));
	assert.deepEqual([asked[0]?.url, asked[0]?.security], [`${upstream.origin}/a?q=1`, [['bearer_token'], []]]);
	assert.equal(upstream.take().headers['authorization'], 'Bearer token');
});

test('Failures of the network and refusals of the guard are thrown, with their code', async (t) => {
	const upstream = await httpUpstream(t, (request, response) => {
		if (request.url === '/private') response.writeHead(302, { location: 'http://10.0.0.1/' }).end();
		if (request.url === '/reset') response.socket?.destroy();
	});
	const codes: [url: string, code: string][] = [
		[`${upstream.origin}/private`, 'egress_refused'],
		[`${upstream.origin}/reset`, 'upstream_failed'],
		[`${upstream.origin}/hang`, 'upstream_timeout'],
		['http://127.0.0.2:8080/', 'egress_refused'],
	];
	for (const [url, code] of codes) {
		const config = await http.config.validateAsync({ method: 'GET', url, timeoutMs: 200 });
		await assert.rejects(http.execute({}, config, loopbackCall(t)), (error) => asGatewayError(error)?.code === code);
	}
});

test('An aborted call stops the request', async (t) => {
	const closed = Promise.withResolvers<void>();
	const caller = new AbortController();
	const upstream = await httpUpstream(t, (request) => {
		request.socket.on('close', closed.resolve);
		caller.abort(new Error('client gone'));
	});
	const config = await http.config.validateAsync({ method: 'GET', url: upstream.origin });
	await assert.rejects(http.execute({}, config, loopbackCall(t, { signal: caller.signal })), /client gone/);
	await closed.promise;
});
