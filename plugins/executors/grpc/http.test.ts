// JSON over HTTP by google.api.http: the request that a rule makes of arguments, to the byte, and the result.

import assert from 'node:assert/strict';
import { before, type TestContext, test } from 'node:test';
import type { JsonObject, ToolDraft } from '../../../core/index.ts';
import importer from '../../../importers/protobuf/index.ts';
import { failure } from '../../../test/helpers/egress.ts';
import { apiAt, type Recorded, recorder } from '../../../test/helpers/executor.ts';
import { shopFiles } from '../../../test/helpers/grpc.ts';
import { grpcCall, importTools } from '../../../test/helpers/grpc-run.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';
import type { GrpcConfig, HttpBinding } from './config.ts';
import grpc from './index.ts';

let tools: Map<string, ToolDraft>;
before(async () => {
	tools = await importTools(importer, shopFiles(), { protocol: 'http' });
});

const configOf = (name: string, more: Partial<GrpcConfig> = {}): Promise<GrpcConfig> =>
	grpc.config.validateAsync({ ...tools.get(name)?.executionConfig, ...more });

async function sent(t: TestContext, name: string, args: JsonObject, bindings?: HttpBinding[]): Promise<Recorded> {
	const upstream = await recorder(t);
	const config = await configOf(name, bindings ? { bindings } : {});
	await grpc.execute(args, config, grpcCall(t, { api: apiAt(`${upstream.origin}/base/`) }));
	return upstream.take();
}

const LINES: [name: string, args: JsonObject, line: string, body?: JsonObject][] = [
	['Shop_GetItem', { name: 'shelves/1/items/a b' }, 'GET /base/v1/shelves/1/items/a%20b'],
	['Shop_GetItem', { name: 'other/ü' }, 'GET /base/v1/items/other/%C3%BC:find'],
	['Shop_ListItems', { parent: 'a/b' }, 'GET /base/v1/a%2Fb/items'],
	[
		'Shop_ListItems',
		{ parent: 'x', pageSize: 5, tags: ['a', 'b&c'], filter: { text: 'd e', sold: false } },
		'GET /base/v1/x/items?pageSize=5&tags=a&tags=b%26c&filter.text=d%20e&filter.sold=false',
	],
	[
		'Shop_CreateItem',
		{ parent: 'shelves/1', itemId: 'i', item: { title: 'T', picture: 'AA==' } },
		'POST /base/v1/shelves/1/items?itemId=i',
		{ title: 'T', picture: 'AA==' },
	],
	['Shop_CreateItem', { parent: 'shelves/1' }, 'POST /base/v1/shelves/1/items', {}],
	[
		'Shop_UpdateItem',
		{ item: { name: 'shelves/1/items/2', title: 'T' }, allowMissing: true },
		'PATCH /base/v1/shelves/1/items/2',
		{ item: { title: 'T' }, allowMissing: true },
	],
];
for (const [name, args, line, body] of LINES)
	test(`${name} of ${JSON.stringify(args)} is ${line}`, async (t) => {
		const request = await sent(t, name, args);
		assert.equal(request.line, `${line} HTTP/1.1`);
		assert.deepEqual(request.body.length === 0 ? undefined : JSON.parse(request.body.toString()), body);
		assert.equal(request.headers['content-type'], body === undefined ? undefined : 'application/json');
	});

test('a zero that was given is part of the path, by either name of the field, and one that was not is reported as missing', async (t) => {
	const bindings = [{ method: 'GET', path: '/v1/{page_size}/{filter.text}' }];
	for (const name of ['pageSize', 'page_size'])
		assert.equal((await sent(t, 'Shop_ListItems', { [name]: 0, filter: { text: 'a' } }, bindings)).line, 'GET /base/v1/0/a HTTP/1.1');
	const flag = [{ method: 'PATCH', path: '/v1/{allow_missing}', body: '*' }];
	const { line, body } = await sent(t, 'Shop_UpdateItem', { allowMissing: false, item: { title: 'T' } }, flag);
	assert.deepEqual([line, JSON.parse(body.toString())], ['PATCH /base/v1/false HTTP/1.1', { item: { title: 'T' } }]);
	for (const missing of [{}, { pageSize: null }]) {
		const error = await failure(sent(t, 'Shop_ListItems', { filter: { text: 'a' }, ...missing }, bindings), 'validation_failed');
		assert.equal(error.details[0]?.path, '/pageSize');
	}
});

test('a missing body is the default of its type', async (t) => {
	const bodies: [field: string, body: unknown][] = [
		['tags', []],
		['labels', {}],
		['page_size', 0],
		['parent', ''],
		['filter', {}],
	];
	for (const [field, body] of bodies) {
		const request = await sent(t, 'Shop_ListItems', {}, [{ method: 'POST', path: '/v1/x', body: field }]);
		assert.deepEqual([request.line, JSON.parse(request.body.toString())], ['POST /base/v1/x HTTP/1.1', body]);
	}
});

const CLIMBING = ['shelves/../items/1', 'shelves/./items/1', 'shelves//items/1', 'shelves/1', '..', '', 'shelves/1/items/..'];
for (const name of CLIMBING)
	test(`the path cannot be left by ${JSON.stringify(name)}`, async (t) => {
		const upstream = await recorder(t);
		const config = await configOf('Shop_GetItem', { bindings: [{ method: 'GET', path: '/v1/{name=shelves/*/items/*}' }] });
		const error = await failure(grpc.execute({ name }, config, grpcCall(t, { api: apiAt(upstream.origin) })), 'validation_failed');
		assert.equal(error.details[0]?.path, '/name');
		assert.equal(upstream.count(), 0);
	});

test('a value that is percent-encoded already is encoded once more, so that its text is kept', async (t) => {
	assert.equal((await sent(t, 'Shop_ListItems', { parent: '%2e%2e' })).line, 'GET /base/v1/%252e%252e/items HTTP/1.1');
	assert.equal((await sent(t, 'Shop_ListItems', { parent: 'a?b#c' })).line, 'GET /base/v1/a%3Fb%23c/items HTTP/1.1');
});

test('maps and lists of messages, which the URL has no form for, are refused by name', async (t) => {
	const error = await failure(sent(t, 'Shop_ListItems', { parent: 'x', labels: { a: 'b' } }), 'validation_failed');
	assert.equal(error.details[0]?.path, '/labels');
});

test('a message that only has the name of a wrapper goes into the query by its fields', async (t) => {
	const text = `syntax = "proto3"; import "google/api/annotations.proto"; import "google/protobuf/type.proto"; import "google/protobuf/wrappers.proto";
		service S { rpc Find(M) returns (M) { option (google.api.http).get = "/v1/x"; } }
		message M { google.protobuf.EnumValue value = 1; google.protobuf.UInt64Value count = 2; }`;
	const find = (await importTools(importer, new Map([['a.proto', Buffer.from(text)]]), { protocol: 'http' })).get('S_Find');
	const upstream = await recorder(t);
	const args = { value: { name: 'A', number: 3 }, count: '7' };
	await grpc.execute(args, await grpc.config.validateAsync(find?.executionConfig), grpcCall(t, { api: apiAt(upstream.origin) }));
	assert.equal(upstream.take().line, 'GET /v1/x?value.name=A&value.number=3&count=7 HTTP/1.1');
});

test('arguments are checked as for gRPC, and written as the server would', async (t) => {
	assert.match((await failure(sent(t, 'Shop_ListItems', { parent: 'x', size: 1 }), 'validation_failed')).message, /"size" is unknown/);
	const { body } = await sent(t, 'Shop_CreateItem', { parent: 'shelves/1', item: { title: 'T', version: 5, picture: '_-8' } });
	assert.deepEqual(JSON.parse(body.toString()), { title: 'T', version: '5', picture: '/+8=' });
});

test('JSON is data, text is text, all else is a resource, and a status is a failed run', async (t) => {
	const answers: [number, string, string][] = [
		[200, 'application/json', '{"name":"x"}'],
		[200, 'text/csv', 'a,b'],
		[200, 'application/pdf', '%PDF'],
		[200, 'application/json', ''],
		[404, 'application/json', '{"error":{"code":404,"message":"gone"}}'],
	];
	const upstream = await httpUpstream(t, (_request, response) => {
		const [status, type, text] = answers.shift() ?? [500, '', ''];
		response.writeHead(status, { 'content-type': type }).end(text);
	});
	const config = await configOf('Shop_GetItem');
	const call = grpcCall(t, { api: apiAt(upstream.origin) });
	const run = () => grpc.execute({ name: 'shelves/1/items/1' }, config, call);
	assert.deepEqual((await run()).structured, { name: 'x' });
	assert.deepEqual((await run()).content, [{ type: 'text', text: 'a,b' }]);
	assert.partialDeepStrictEqual((await run()).content[0], {
		type: 'resource',
		resource: { mimeType: 'application/pdf', blob: 'JVBERg==' },
	});
	assert.deepEqual((await run()).content, [{ type: 'text', text: 'HTTP 200 OK' }]);
	const failed = await run();
	assert.deepEqual(
		[failed.isError, failed.content],
		[true, [{ type: 'text', text: 'HTTP 404 Not Found\n{"error":{"code":404,"message":"gone"}}' }]],
	);
});

test('the credential signs what is sent, and a preview shows it without sending', async (t) => {
	const upstream = await recorder(t);
	const call = grpcCall(t, {
		api: apiAt(upstream.origin),
		signed: (request) => ({ ...request, headers: { ...request.headers, authorization: 'Bearer t' } }),
	});
	const preview = await grpc.preview({ parent: 'shelves/1', item: { title: 'T' } }, await configOf('Shop_CreateItem'), call);
	assert.partialDeepStrictEqual(preview, {
		protocol: 'http',
		method: 'POST',
		url: `${upstream.origin}/v1/shelves/1/items`,
		headers: { authorization: 'Bearer t' },
		body: '{"title":"T"}',
	});
	assert.equal(upstream.count(), 0);
	await grpc.execute({ parent: 'shelves/1' }, await configOf('Shop_CreateItem'), call);
	assert.equal(upstream.take().headers['authorization'], 'Bearer t');
});
