// Tests a gRPC API over the public interfaces: connect → import → generate → publish → call, against a real gRPC server.

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { zipSync } from 'fflate';
import { readDescription } from '../../importers/protobuf/document.ts';
import { elapsing } from '../helpers/clock.ts';
import { type GrpcServer, grpcServer, shopFiles } from '../helpers/grpc.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';
import { silent } from '../helpers/silent.ts';
import { httpUpstream } from '../helpers/upstream.ts';

/** The part of the server's services that fits one file. */
const SCHEMA = `syntax = "proto3";
package shop.v1;
import "google/protobuf/empty.proto";
import "google/protobuf/wrappers.proto";
service Shop {
  // Finds one item.
  rpc GetItem(GetItemRequest) returns (Item);
  rpc Watch(WatchRequest) returns (stream Item);
  rpc Upload(stream Item) returns (Summary);
  rpc Fail(FailRequest) returns (google.protobuf.Empty);
  rpc Upper(google.protobuf.StringValue) returns (google.protobuf.StringValue);
}
message Item { string name = 1; string title = 2; int64 version = 3; }
message GetItemRequest { string name = 1; }
message WatchRequest { int32 count = 1; int32 every_ms = 2; }
message Summary { int32 count = 1; repeated string names = 2; }
message FailRequest { int32 code = 1; string message = 2; }
`;

let service: SharedService;
let account: Account;

before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

interface Connected {
	apiId: string;
	tools: { id: string; name: string }[];
	client: Client;
}

async function connect(t: TestContext, { port }: Pick<GrpcServer, 'port'>, credentials: object[] = []): Promise<Connected> {
	const baseUrl = `http://127.0.0.1:${port}`;
	const apiId = must(await account.post('/apis', { name: 'Shop', type: 'protobuf', baseUrl }), 201).body.data.id;
	for (const credential of credentials) must(await account.post(`/apis/${apiId}/credentials`, credential), 201);
	const imported = must(await account.post(`/apis/${apiId}/import-schema`, { schemaContent: SCHEMA, generateTools: true }), 200).body.data;
	assert.deepEqual(imported.report.counts, { operations: 5, converted: 5, degraded: 0, skipped: 0 });
	assert.deepEqual([imported.schema.format, imported.tools.created], ['protobuf proto3', 5]);
	const list = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${apiId}`), 200);
	const { tools } = list.body.data;
	const gateway = await publishGateway(account, { toolIds: tools.map(({ id }: { id: string }) => id) });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	return { apiId, tools, client };
}

test('a .proto becomes tools, and a real client calls every kind of method', async (t) => {
	const server = await grpcServer(t);
	const { client } = await connect(t, server);
	const { tools } = await client.listTools();
	assert.deepEqual(tools.map(({ name }) => name).toSorted(), ['Shop_Fail', 'Shop_GetItem', 'Shop_Upload', 'Shop_Upper', 'Shop_Watch']);
	assert.equal(tools.find(({ name }) => name === 'Shop_GetItem')?.description, 'Finds one item.');
	// The client checks each answer against the tool's output schema.
	assert.deepEqual((await callTool(client, 'Shop_GetItem', { name: 'x' }))[0], { name: 'x', title: 'A chair', version: '3' });
	const [stream] = await callTool(client, 'Shop_Watch', { count: 2 });
	assert.deepEqual(stream, { messages: [1, 2].map((n) => ({ name: `item ${n}`, version: `${n}` })) });
	assert.deepEqual((await callTool(client, 'Shop_Upload', { messages: [{ name: 'a' }, { name: 'b' }] }))[0], {
		count: 2,
		names: ['a', 'b'],
	});
	assert.deepEqual((await callTool(client, 'Shop_Upper', { request: 'abc' }))[1], ['"ABC"']);
	const [, texts, isError] = await callTool(client, 'Shop_Fail', { code: 5, message: 'no such item' });
	assert.deepEqual([texts, isError], [['NOT_FOUND (5): no such item'], true]);
});

test('invalid arguments are refused with the fault, and nothing is sent', async (t) => {
	const server = await grpcServer(t);
	const { tools } = await connect(t, server);
	const id = tools.find(({ name }) => name === 'Shop_GetItem')?.id;
	const path = `/organizations/${account.organization.id}/tools/${id}/execute`;
	const answer = await account.post(path, { parameters: { nam: 'x' } });
	assert.equal(answer.status, 400);
	assert.match(JSON.stringify(answer.body), /nam/);
	assert.equal(server.metadata.length, 0);
});

test('a request is checked against the whole of which models are shown a part, and sent', async (t) => {
	const server = await grpcServer(t);
	const depth = 470;
	const links = Array.from({ length: depth }, (_, index) => `message C${index} { C${index + 1} n = 1; }`).join('\n');
	const chain = `${links} message C${depth} { string end = 1; }`;
	const schemaContent = SCHEMA.replace(
		'message GetItemRequest { string name = 1;',
		`${chain} message GetItemRequest { string name = 1; C0 c = 99;`,
	);
	const apiId = must(await account.post('/apis', { name: 'Deep', type: 'protobuf', baseUrl: `http://127.0.0.1:${server.port}` }), 201).body
		.data.id;
	must(await account.post(`/apis/${apiId}/import-schema`, { schemaContent, generateTools: true }), 200);
	const [operation] = must(await account.get(`/apis/${apiId}/operations`), 200).body.data.operations;
	assert.match(
		operation.reasons.join(),
		/^Models are shown the schema without “shop\.v1\.C60”: arguments are checked against the whole one\.$/,
	);
	const list = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${apiId}`), 200).body.data.tools;
	const { id } = list.find(({ name }: { name: string }) => name === 'Shop_GetItem');
	const run = (parameters: object) => account.post(`/organizations/${account.organization.id}/tools/${id}/execute`, { parameters });
	const nested = (levels: number, inside: object): object => (levels === 0 ? inside : { n: nested(levels - 1, inside) });
	const refused = must(await run({ name: 'x', c: nested(60, { wrong: 1 }) }), 400).body;
	assert.match(refused.details[0].path, /^\/parameters\/c(?:\/n){60}\/wrong$/);
	assert.match(refused.message, /is not a known parameter\. Known: n\./);
	assert.equal(server.requests.length, 0);
	assert.deepEqual(must(await run({ name: 'x', c: nested(61, {}) }), 200).body.data.result, { name: 'x', title: 'A chair', version: '3' });
});

for (const [type, credentials, expected] of [
	['bearer_token', { token: 'secret-token' }, ['authorization', 'Bearer secret-token']],
	['basic_auth', { username: 'u', password: 'p' }, ['authorization', `Basic ${Buffer.from('u:p').toString('base64')}`]],
	['api_key', { key: 'secret-key', name: 'X-Key', in: 'header' }, ['x-key', 'secret-key']],
	['api_key', { key: 'secret-key', name: 'sid', in: 'cookie' }, ['cookie', 'sid=secret-key']],
] as [string, object, [string, string]][])
	test(`a stored ${type} ${JSON.stringify(Object.keys(credentials))} travels as metadata: ${expected[0]}`, async (t) => {
		const server = await grpcServer(t);
		const { client } = await connect(t, server, [{ type, credentials }]);
		assert.equal((await callTool(client, 'Shop_GetItem', { name: 'x' }))[2], false);
		assert.deepEqual(
			server.metadata.map((metadata) => metadata.get(expected[0])),
			[[expected[1]]],
		);
	});

test('an oauth2 token is fetched and travels as metadata', async (t) => {
	const tokens = await httpUpstream(t, (_request, response) => {
		response.setHeader('content-type', 'application/json').end('{"access_token":"fetched","token_type":"Bearer"}');
	});
	const server = await grpcServer(t);
	const credentials = { tokenUrl: `${tokens.origin}/token`, clientId: 'c', clientSecret: 's' };
	const { client } = await connect(t, server, [{ type: 'oauth2', credentials }]);
	await callTool(client, 'Shop_GetItem', { name: 'x' });
	assert.deepEqual(server.metadata[0]?.get('authorization'), ['Bearer fetched']);
});

/** @returns the credential of a token server that issues another token each time, and the number of its requests */
async function tokenCredential(t: TestContext): Promise<{ asked(): number; credential: object }> {
	let asked = 0;
	const tokens = await httpUpstream(t, (_request, response) => {
		response
			.setHeader('content-type', 'application/json')
			.end(`{"access_token":"token-${++asked}","token_type":"Bearer","expires_in":3600}`);
	});
	const credentials = { tokenUrl: `${tokens.origin}/token`, clientId: 'c', clientSecret: 's' };
	return { asked: () => asked, credential: { type: 'oauth2', credentials } };
}

test('an access token that the server refuses is renewed once, and the call is sent again unchanged', async (t) => {
	const { asked, credential } = await tokenCredential(t);
	const server = await grpcServer(t, { refuses: (authorization) => authorization === 'Bearer token-1' });
	const { client } = await connect(t, server, [credential]);
	const expected = { name: 'x', title: 'A chair', version: '3' };
	assert.deepEqual((await callTool(client, 'Shop_GetItem', { name: 'x' }))[0], expected);
	const sent = server.metadata.map((metadata) => metadata.get('authorization')[0]);
	assert.deepEqual([sent, server.requests, asked()], [['Bearer token-1', 'Bearer token-2'], [{ name: 'x' }, { name: 'x' }], 2]);
	assert.deepEqual((await callTool(client, 'Shop_GetItem', { name: 'x' }))[0], expected);
	assert.deepEqual([server.requests.length, asked()], [3, 2]);
});

test('an access token that is refused although it is new is reported to the caller, and is not requested over and over', async (t) => {
	const { asked, credential } = await tokenCredential(t);
	const server = await grpcServer(t, { refuses: () => true });
	const { client } = await connect(t, server, [credential]);
	const [, texts, isError] = await callTool(client, 'Shop_GetItem', { name: 'x' });
	assert.equal(isError, true);
	assert.match(texts.join(), /UNAUTHENTICATED/);
	assert.doesNotMatch(texts.join(), /token-/);
	assert.deepEqual([server.requests.length, asked()], [2, 2]);
	await callTool(client, 'Shop_GetItem', { name: 'x' });
	assert.deepEqual([server.requests.length, asked()], [3, 2]);
});

const files = shopFiles();
const texts = Object.fromEntries([...files].map(([path, bytes]) => [path, Buffer.from(bytes).toString()]));
const { registry } = readDescription({ text: '', files }, silent);
const protos = [...registry.files].map(({ proto }) => proto).filter(({ name }) => files.has(name));
const set = Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: protos })));
const UPLOADS: [what: string, operations: number, make: (t: TestContext) => object | Promise<object>][] = [
	['a map of files', 15, () => ({ files: { ...texts, 'README.md': 'Not a description.' } })],
	['one file of several', 1, () => ({ files: texts, entry: 'legacy.proto' })],
	[
		'a zip',
		15,
		() => ({
			files: Buffer.from(zipSync(Object.fromEntries([...files].map(([path, bytes]) => [`repo/${path}`, bytes])))).toString('base64'),
		}),
	],
	['a descriptor set in base64', 15, () => ({ files: { 'shop.binpb': { base64: set.toString('base64') } } })],
	[
		'a descriptor set by URL',
		15,
		async (t) => ({ schemaUrl: `${(await httpUpstream(t, (_request, response) => response.end(set))).origin}/shop` }),
	],
];
for (const [what, operations, make] of UPLOADS)
	test(`${what} is imported over REST`, async (t) => {
		const server = await grpcServer(t);
		const baseUrl = `http://127.0.0.1:${server.port}`;
		const apiId = must(await account.post('/apis', { name: 'Shop', type: 'protobuf', baseUrl }), 201).body.data.id;
		const { report, tools } = must(await account.post(`/apis/${apiId}/import-schema`, { ...(await make(t)), generateTools: true }), 200)
			.body.data;
		assert.deepEqual([report.counts.operations, report.counts.skipped, tools.created], [operations, 0, operations]);
		const list = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${apiId}`), 200).body.data.tools;
		const tool = list.find(({ name }: { name: string }) => name === 'Library_Echo');
		const parameters = { request: { id: 'x' } };
		const { data } = must(
			await account.post(`/organizations/${account.organization.id}/tools/${tool.id}/execute`, { parameters }),
			200,
		).body;
		assert.equal(data.status, 'success', JSON.stringify(data));
		assert.deepEqual(server.requests[0]?.['id'], 'x');
	});

test('the options of an import say how its tools call, and stay when they are made again', async (t) => {
	const upstream = await httpUpstream(t, (request, response) => {
		response.setHeader('content-type', 'application/json').end(JSON.stringify({ title: request.url }));
	});
	const apiId = must(await account.post('/apis', { name: 'Shop', type: 'protobuf', baseUrl: upstream.origin }), 201).body.data.id;
	const options = { protocol: 'http', timeoutMs: 4321 };
	const bad: [object, RegExp][] = [
		[{ protocol: 'soap' }, /"protocol" must be one of/],
		[{ rootCertificates: 'x' }, /"rootCertificates" must be PEM certificates/],
		[{ nope: 1 }, /"nope" is not allowed/],
	];
	for (const [wrong, says] of bad) {
		const { status, body } = await account.post(`/apis/${apiId}/import-schema`, { files: texts, options: wrong });
		assert.deepEqual([status, says.test(body.message)], [400, true], JSON.stringify(body));
	}
	must(await account.post(`/apis/${apiId}/import-schema`, { files: texts, options, generateTools: true }), 200);
	const read = async () => {
		const { tools } = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${apiId}`), 200).body.data;
		const { id } = tools.find(({ name }: { name: string }) => name === 'Shop_GetItem');
		return must(await account.get(`/tools/${id}`), 200).body.data;
	};
	const before = await read();
	assert.deepEqual([before.executionConfig.protocol, before.executionConfig.timeoutMs], ['http', 4321]);
	const { data } = must(
		await account.post(`/organizations/${account.organization.id}/tools/${before.id}/execute`, {
			parameters: { name: 'shelves/1/items/2' },
		}),
		200,
	).body;
	assert.match(JSON.stringify(data), /v1\/shelves\/1\/items\/2/);
	must(await account.post(`/apis/${apiId}/generate-tools`, {}), 200);
	const after = await read();
	assert.deepEqual([after.id, after.executionConfig.protocol, after.executionConfig.timeoutMs], [before.id, 'http', 4321]);
});

test('the calls of an API with a lane go one after the other, and a dry run shows one that is not sent', async (t) => {
	const server = await grpcServer(t);
	const { apiId, tools } = await connect(t, server);
	must(await account.patch(`/apis/${apiId}`, { outbound: { maxConcurrent: 1 } }), 200);
	const id = tools.find(({ name }) => name === 'Shop_Watch')?.id;
	const path = `/organizations/${account.organization.id}/tools/${id}/execute`;
	const dry = must(await account.post(`${path}?dryRun=true`, { parameters: { count: 2 } }), 200).body.data;
	assert.match(JSON.stringify(dry), /shop\.v1\.Shop\/Watch/);
	assert.equal(server.metadata.length, 0);
	const isTime = elapsing(600);
	await Promise.all([1, 2, 3].map(async () => must(await account.post(path, { parameters: { count: 3, everyMs: 100 } }), 200)));
	// The third message of each call comes 200 ms after the first.
	assert.ok(isTime(), 'two went at once');
	assert.equal(server.metadata.length, 3);
});
