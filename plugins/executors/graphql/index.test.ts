// Requests and results of calls, against raw HTTP and a real GraphQL server.

import assert from 'node:assert/strict';
import type { OutgoingHttpHeaders } from 'node:http';
import { type TestContext, test } from 'node:test';
import { asGatewayError, type JsonObject, type OutboundRequest, type ToolResult } from '../../../core/index.ts';
import { apiAt, loopbackCall, type Recorder, recorder } from '../../../test/helpers/executor.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';
import graphql from './index.ts';

const QUERY = 'query ($id: ID!, $n: Int) { pet(id: $id, n: $n) { name } }';

async function run(
	t: TestContext,
	given: object,
	args: JsonObject = {},
	options: Parameters<typeof loopbackCall>[1] = {},
): Promise<ToolResult> {
	return graphql.execute(args, await graphql.config.validateAsync({ query: QUERY, ...given }), loopbackCall(t, options));
}

/** @returns the body that was sent */
async function sent(t: TestContext, upstream: Recorder, given: object, args: JsonObject): Promise<JsonObject> {
	await run(t, { endpoint: `${upstream.origin}/graphql`, ...given }, args);
	return JSON.parse(upstream.take().body.toString());
}

test('A call is one POST of query and variables as JSON', async (t) => {
	const upstream = await recorder(t);
	await run(t, { endpoint: `${upstream.origin}/graphql?v=1`, headers: { 'X-Team': 'pets', Accept: 'text/html' } }, { id: 'ü', n: null });
	const { line, headers, body } = upstream.take();
	assert.equal(line, 'POST /graphql?v=1 HTTP/1.1');
	assert.equal(body.toString(), JSON.stringify({ query: QUERY, variables: { id: 'ü', n: null } }));
	assert.deepEqual(
		[headers['content-type'], headers['accept'], headers['x-team']],
		['application/json', 'application/graphql-response+json, application/json', 'pets'],
	);
});

test('Variables are the arguments that the chosen operation declares, and no others', async (t) => {
	const upstream = await recorder(t);
	assert.deepEqual(await sent(t, upstream, {}, { id: 1, other: 2 }), { query: QUERY, variables: { id: 1 } });
	const query = 'query A($a: Int) { a(x: $a) } query B($b: Int, $constructor: Int) { b(x: $b, y: $constructor) }';
	assert.deepEqual(await sent(t, upstream, { query, operationName: 'B' }, { a: 1, b: 2 }), {
		query,
		variables: { b: 2 },
		operationName: 'B',
	});
});

test('Numbers that no double holds arrive: an integer with its digits, data with one beyond its range as text', async (t) => {
	const answers = ['{"data":{"id":1234567890123456789}}', '{"data":{"size":1e400}}'];
	const { origin } = await httpUpstream(t, (_request, response) => {
		response.setHeader('content-type', 'application/json').end(answers.shift());
	});
	const endpoint = `${origin}/graphql`;
	assert.deepEqual((await run(t, { endpoint })).structured, { id: '1234567890123456789' });
	const { structured, isError, content } = await run(t, { endpoint });
	assert.deepEqual([structured, isError, content[0]], [undefined, undefined, { type: 'text', text: '{"size":1e400}' }]);
});

test('A tool of an API goes to its base URL, signed', async (t) => {
	const upstream = await recorder(t);
	const asked: OutboundRequest[] = [];
	const signed = (request: OutboundRequest): OutboundRequest => {
		asked.push(request);
		return { ...request, headers: { ...request.headers, authorization: 'Bearer token' } };
	};
	await run(t, {}, { id: 1 }, { api: apiAt(`${upstream.origin}/graphql`), signed });
	const { line, headers } = upstream.take();
	assert.deepEqual(
		[line, headers['authorization'], asked[0]?.url],
		['POST /graphql HTTP/1.1', 'Bearer token', `${upstream.origin}/graphql`],
	);
	await assert.rejects(run(t, {}, { id: 1 }), (error) => asGatewayError(error)?.code === 'validation_failed');
});

const SELECTIONS: [selection: string, query: string][] = [
	['id owner { login }', '{ pet(id: $id) { id owner { login } } }'],
	['{ id }', '{ pet(id: $id) { id } }'],
	['a: id # comment', '{ pet(id: $id) { a: id } }'],
	[
		'items(first: 3, by: {x: [A, "b"]}) { ... on Dog { id } ... { n } }',
		'{ pet(id: $id) { items(first: 3, by: {x: [A, "b"]}) { ... on Dog { id } ... { n } } } }',
	],
];

for (const [selection, expected] of SELECTIONS)
	test(`_select ${JSON.stringify(selection)} replaces the selection of the field`, async (t) => {
		const given = { query: 'query ($id: ID!) { pet(id: $id) { name } }', selectArgument: '_select' };
		const { query, variables } = await sent(t, await recorder(t), given, { id: 1, _select: selection });
		assert.equal(String(query).replace(/\s+/g, ' '), `query ($id: ID!) ${expected}`);
		assert.deepEqual(variables, { id: 1 });
	});

const BAD_SELECTIONS: [selection: string, says: RegExp][] = [
	['', /not valid GraphQL/],
	['{ }', /not valid GraphQL: line 1, column 3/],
	['id ! name', /not valid GraphQL: line 1, column 4/],
	['id }', /not valid GraphQL: line 1, column 4|not valid GraphQL: line 2/],
	['id } query Other { secrets', /must be one selection/],
	['id } mutation { deletePet(id: 1) { id }', /must be one selection|not valid GraphQL/],
	['{ id } fragment F on Pet { id }', /must be one selection/],
	['...F', /no named fragments/],
	['id(x: $id)', /no variables/],
	['id @include(if: true)', /no directives/],
	['... @defer { id }', /no directives/],
	['a '.repeat(2_001), /not valid GraphQL: .*2000 tokens/],
	[`${'{a'.repeat(20_000)}${'}'.repeat(20_000)}`, /tokens/],
	[Array.from({ length: 50_000 }, (_, index) => `a${index}: id`).join(' '), /tokens/],
];

for (const [selection, says] of BAD_SELECTIONS)
	test(`_select ${JSON.stringify(selection.slice(0, 60))} is refused, and nothing is sent`, async (t) => {
		const upstream = await recorder(t);
		const given = { query: '{ pet { name } }', selectArgument: '_select', endpoint: upstream.origin };
		await assert.rejects(run(t, given, { _select: selection }), (error) => {
			const ours = asGatewayError(error);
			assert.match(ours?.message ?? String(error), says);
			return ours?.code === 'validation_failed' && ours.details[0]?.path === '/_select';
		});
		assert.equal(upstream.count(), 0);
	});

interface Answer {
	status?: number;
	type?: string;
	body?: string | Buffer | object;
	headers?: OutgoingHttpHeaders;
}

async function answer(t: TestContext, { status = 200, type = 'application/json', body = '', headers = {} }: Answer): Promise<ToolResult> {
	const upstream = await httpUpstream(t, (_request, response) => {
		const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
		response.writeHead(status, { 'content-type': type, ...headers }).end(bytes);
	});
	return run(t, { endpoint: upstream.origin }, { id: 1 });
}

const text = (value: string): ToolResult['content'][number] => ({ type: 'text', text: value });
const failed = (value: string): ToolResult => ({ content: [text(value)], isError: true });
const pet = { pet: { name: 'Rex' } };
const stack = { stacktrace: ['Error: at /srv/secret.js:1'], exception: { password: 'canary' } };

const RESULTS: [what: string, Answer, ToolResult][] = [
	['data', { body: { data: pet } }, { content: [text('{"pet":{"name":"Rex"}}')], structured: pet }],
	[
		'data of the new media type, and what stands beside it left out',
		{ type: 'application/graphql-response+json; charset=utf-8', body: { data: pet, extensions: { cost: 1 } } },
		{ content: [text('{"pet":{"name":"Rex"}}')], structured: pet },
	],
	['null without an error', { body: { data: { pet: null } } }, { content: [text('{"pet":null}')], structured: { pet: null } }],
	['an empty list of errors', { body: { data: pet, errors: [] } }, { content: [text('{"pet":{"name":"Rex"}}')], structured: pet }],
	['errors and no data', { body: { errors: [{ message: 'no such pet' }] } }, failed('no such pet')],
	['errors and null', { body: { data: null, errors: [{ message: 'no such pet', path: ['pet'] }] } }, failed('no such pet (at pet)')],
	[
		'errors where all that was asked for is null',
		{ body: { data: { pet: null }, errors: [{ message: 'no', extensions: { code: 'NOT_FOUND', ...stack } }] } },
		failed('no [NOT_FOUND]'),
	],
	[
		'data and errors',
		{
			body: { data: { pet: { name: 'Rex', owner: null } }, errors: [{ message: 'hidden', path: ['pet', 'owner', 0], extensions: stack }] },
		},
		{
			content: [
				text('{"pet":{"name":"Rex","owner":null}}'),
				text('The answer is incomplete, what failed is null:\nhidden (at pet.owner.0)'),
			],
			structured: { pet: { name: 'Rex', owner: null } },
		},
	],
	[
		'400 with errors',
		{ status: 400, body: { errors: [{ message: 'Unknown argument "n"' }] } },
		failed('HTTP 400 Bad Request\nUnknown argument "n"'),
	],
	[
		'401 in JSON without errors',
		{ status: 401, body: { message: 'Bad credentials' } },
		failed('HTTP 401 Unauthorized\n{"message":"Bad credentials"}'),
	],
	['500 in HTML', { status: 500, type: 'text/html', body: '<h1>Oops</h1>' }, failed('HTTP 500 Internal Server Error\nOops')],
	['500 with data', { status: 500, body: { data: pet } }, failed('HTTP 500 Internal Server Error\n{"data":{"pet":{"name":"Rex"}}}')],
	['HTML', { type: 'text/html', body: '<p>Log in' }, failed('HTTP 200 OK, but the answer is not a GraphQL response.\nLog in')],
	['no body', { status: 204 }, failed('HTTP 204 No Content, but the answer is not a GraphQL response.')],
	['other JSON', { body: { pets: [] } }, failed('HTTP 200 OK, but the answer is not a GraphQL response.\n{"pets":[]}')],
	[
		'a list',
		{ body: [{ data: pet }] },
		failed('HTTP 200 OK, but the answer is not a GraphQL response.\n[{"data":{"pet":{"name":"Rex"}}}]'),
	],
	['data that is not an object', { body: { data: 'x' } }, failed('HTTP 200 OK, but the answer is not a GraphQL response.\n{"data":"x"}')],
	[
		'errors of no shape',
		{ body: { errors: ['x', { message: 7 }, null] } },
		failed(Array(3).fill('An error without a message.').join('\n')),
	],
	[
		'messages that would move a cursor',
		{ body: { errors: [{ message: 'a\u001b[2Jb\u202ec', path: ['\u001bx'], extensions: { code: 'A B' } }] } },
		failed('a[2Jbc (at x)'),
	],
	[
		'many long messages',
		{ body: { errors: Array(12).fill({ message: 'é'.repeat(900) }) } },
		failed(
			`${Array(10)
				.fill(`${'é'.repeat(500)}…`)
				.join('\n')}\n… and 2 more errors.`,
		),
	],
];

for (const [what, given, expected] of RESULTS)
	test(`A result is made of ${what}`, async (t) => {
		assert.deepEqual(await answer(t, given), expected);
	});

test('Headers, cookies and extensions of the upstream do not leave', async (t) => {
	const headers = { 'set-cookie': 'session=canary', 'x-internal': 'canary' };
	for (const body of [{ data: pet, extensions: { canary: 1 } }, { errors: [{ message: 'x', extensions: { canary: 'canary' } }] }])
		assert.ok(!JSON.stringify(await answer(t, { headers, body })).includes('canary'));
});

test('Data that is too long or nested too deeply is cut there, and the result says so beside the errors', async (t) => {
	const long = await answer(t, {
		body: { errors: [{ message: 'one is missing' }], data: { pets: Array(700_000).fill({ a: 1 }), total: 7 }, extensions: {} },
	});
	const { pets, total } = long.structured as { pets: object[]; total: number };
	const [shown, note, warning] = long.content.map((block) => (block.type === 'text' ? block.text : ''));
	assert.deepEqual([JSON.parse(shown ?? ''), total], [long.structured, 7]);
	assert.equal(note, `The answer was too long and is cut:\n/pets: the first ${pets.length.toLocaleString('en')} of 700,000 items`);
	assert.match(warning ?? '', /incomplete.*\none is missing/);
	const deep = await answer(t, { body: `{"data":{"pet":${'['.repeat(100_000)}${']'.repeat(100_000)}}}` });
	assert.deepEqual(
		[JSON.stringify(deep.structured), deep.isError, deep.content.length],
		[`{"pet":${'['.repeat(128)}${']'.repeat(128)}}`, undefined, 2],
	);
});

test('A text that is not JSON is not a GraphQL response, however long', async (t) => {
	const bodies = [
		'{"data":{bad}}',
		'{"data":{"a":1}',
		'{"data":{"a":1}}}',
		'{"data":{"a":1} "errors":[]}',
		'{"errors":[x],"data":{"a":1}}',
		`{${'"a":1,'.repeat(1e6)}"data":{}}`,
	];
	for (const body of bodies) {
		const { content, isError } = await answer(t, { body });
		assert.equal(isError, true, body.slice(0, 40));
		assert.match(JSON.stringify(content), /the answer is not a GraphQL response/);
	}
});

test('A credential that an endpoint repeats is hidden, in data and in errors', async (t) => {
	const upstream = await httpUpstream(t, (request, response) => {
		const said = request.headers.authorization;
		const body = request.url === '/fail' ? { errors: [{ message: `no user ${said}` }] } : { data: { said } };
		response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
	});
	const signed = (request: OutboundRequest): OutboundRequest => ({
		...request,
		headers: { ...request.headers, authorization: 'Bearer canary-token' },
	});
	for (const path of ['/fail', '/data']) {
		const said = JSON.stringify(await run(t, { endpoint: upstream.origin + path }, { id: 1 }, { signed }));
		assert.ok(!said.includes('canary') && said.includes('Bearer [hidden]'), said);
	}
});

test('Failures of the network and refusals of the guard are thrown, with their code', async (t) => {
	const upstream = await httpUpstream(t, (request, response) => {
		if (request.url === '/private') response.writeHead(307, { location: 'http://10.0.0.1/' }).end();
		if (request.url === '/reset') response.socket?.destroy();
		if (request.url === '/large') response.end(Buffer.alloc(10 * 1024 * 1024 + 1, 32));
	});
	const codes: [url: string, code: string][] = [
		[`${upstream.origin}/private`, 'egress_refused'],
		[`${upstream.origin}/reset`, 'upstream_failed'],
		[`${upstream.origin}/large`, 'upstream_failed'],
		[`${upstream.origin}/hang`, 'upstream_timeout'],
		['http://127.0.0.2:8080/', 'egress_refused'],
	];
	for (const [endpoint, code] of codes) {
		const timeoutMs = code === 'upstream_timeout' ? 500 : 20_000;
		await assert.rejects(run(t, { endpoint, timeoutMs }, { id: 1 }), (error) => asGatewayError(error)?.code === code, endpoint);
	}
});

test('An aborted call stops the request', async (t) => {
	const closed = Promise.withResolvers<void>();
	const caller = new AbortController();
	const upstream = await httpUpstream(t, (request) => {
		request.socket.on('close', closed.resolve);
		caller.abort(new Error('client gone'));
	});
	await assert.rejects(run(t, { endpoint: upstream.origin }, { id: 1 }, { signal: caller.signal }), /client gone/);
	await closed.promise;
});

test('Data with more names than are parsed at once is a text', async (t) => {
	const data = { pets: Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`pet${at}`, at])) };
	const { origin } = await httpUpstream(t, (_request, response) => void response.end(JSON.stringify({ data })));
	const texts = [JSON.stringify(data), 'The answer has more than 10000 different names of members, so it is not read as data.'];
	const content = texts.map((text) => ({ type: 'text', text }));
	assert.deepEqual(await run(t, { endpoint: `${origin}/graphql` }, { id: 1 }), { content });
});
