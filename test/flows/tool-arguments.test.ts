// Tests arguments of tools over REST and MCP: nothing is sent that the caller did not give, and no tenant's schema delays the others.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { connectApi } from '../helpers/connected.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	sharedService,
} from '../helpers/service.ts';

let service: SharedService;
let account: Account;
let tools: string;
let origin: string;
let last: { url: string; body: string } = { url: '', body: '' };
const upstream = createServer((request, response) => {
	let body = '';
	request.on('data', (chunk) => {
		body += chunk;
	});
	request.on('end', () => {
		last = { url: request.url ?? '', body };
		response.setHeader('content-type', 'application/json').end('{"ok":true}');
	});
});

before(async () => {
	upstream.listen(0, '127.0.0.1');
	service = await sharedService();
	account = await registerAccount(service.url);
	tools = `/organizations/${account.organization.id}/tools`;
	// The upstream is listening: the service took far longer to start.
	origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
});
after(async () => {
	await service.stop();
	upstream.close();
});

/** A schema like that of GitHub's `repos/update`, whose defaults made private repositories public. */
const REPOSITORY = {
	type: 'object',
	required: ['type'],
	properties: {
		description: { type: 'string' },
		private: { type: 'boolean', default: false },
		archived: { type: 'boolean', default: false },
		visibility: { type: 'string', enum: ['internal'] },
		type: { const: 'repository' },
	},
};
const parameters = [
	{ name: 'page', in: 'query', schema: { type: 'integer', default: 1 } },
	{ name: 'format', in: 'query', schema: { enum: ['full'] } },
	{ name: 'version', in: 'query', required: true, schema: { const: '3' } },
];
const paths = {
	'/repos': {
		patch: {
			operationId: 'update',
			parameters,
			requestBody: { content: { 'application/json': { schema: REPOSITORY } } },
			responses: { 200: { description: 'ok' } },
		},
	},
};

test('a tool made from an API sends what it was given, and what is required and can be one value only', async (t) => {
	const { toolIds, run } = await connectApi(account, origin, { paths });
	const id = String(toolIds['update']);
	const { parameters: told } = must(await account.get(`/tools/${id}`), 200).body.data;
	assert.equal(told.properties.body.properties.private.default, false, 'a default is told');
	const args = { body: { description: 'new text' } };
	must(await run('update', args), 200);
	assert.equal(last.url, '/repos?version=3');
	assert.deepEqual(JSON.parse(last.body), { description: 'new text', type: 'repository' });
	const shown = must(await run('update', args, '?dryRun=true'), 200).body.data.request;
	assert.deepEqual(JSON.parse(shown.body), { description: 'new text', type: 'repository' });
	const gateway = await publishGateway(account, { toolIds: [id] });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	assert.deepEqual((await callTool(client, 'update', { body: { private: true } }))[0], { ok: true });
	assert.deepEqual([last.url, JSON.parse(last.body)], ['/repos?version=3', { private: true, type: 'repository' }]);
});

const many = (count: number, make: (index: number) => object): object =>
	Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, make(index)]));

test('parameters that would hold up everybody are a 400 that names the place, when a tool is made and when it is changed', async () => {
	const id = await createHttpTool(account, { name: 'changed', url: origin });
	const wrong: [schema: object, path: string][] = [
		[{ type: 'object', properties: many(30_000, () => ({ type: 'string' })) }, ''],
		[{ type: 'object', properties: many(10, () => ({ properties: many(3000, () => ({ type: 'string' })) })) }, '/parameters'],
		[{ type: 'object', properties: { a: { oneOf: Object.values(many(10_000, (n) => ({ const: n }))) } } }, '/parameters'],
		[
			{ type: 'object', properties: many(5000, (n) => ({ type: 'string', pattern: `^(a|b${n}){1,900}$` })) },
			'/parameters/properties/p6/pattern',
		],
		[{ type: 'object', properties: many(900, (n) => ({ type: n === 899 ? 'text' : 'string' })) }, '/parameters/properties/p899/type'],
	];
	for (const [schema, path] of wrong) {
		const body = { name: 'evil', type: 'http', parameters: schema, executionConfig: { method: 'GET', url: origin } };
		assert.equal(must(await account.post(tools, body), 400).body.details[0].path, path);
		assert.equal(must(await account.patch(`/tools/${id}`, { parameters: schema }), 400).body.details[0].path, path);
	}
	assert.deepEqual(must(await account.get(`/tools/${id}`), 200).body.data.parameters, { type: 'object', properties: {} });
});

test('a tool with thousands of parameters is saved, and checks its arguments, over REST and MCP', async (t) => {
	const schema = { type: 'object', properties: many(4000, (n) => ({ type: 'integer', maximum: n, ...(n === 7 && { default: 5 }) })) };
	const id = await createHttpTool(account, { name: 'large', url: `${origin}/{p1}/{p7}`, parameters: schema });
	must(await account.post(`${tools}/${id}/execute`, { parameters: { p1: 1 } }), 200);
	assert.equal(last.url, '/1/5');
	const refused = must(await account.post(`${tools}/${id}/execute`, { parameters: { p1: 'x' } }), 400);
	assert.equal(refused.body.details[0].path, '/parameters/p1');
	const gateway = await publishGateway(account, { toolIds: [id] });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	assert.deepEqual((await callTool(client, 'large', { p1: 0 }))[0], { ok: true });
	const [, texts, isError] = await callTool(client, 'large', { p1: 2 });
	assert.ok(isError);
	assert.match(texts.join(), /p1.*<= 1/);
});

test('arguments that take more than a second to be checked are a 400', async () => {
	const schema = { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } };
	const id = await createHttpTool(account, { name: 'unique', url: origin, parameters: schema });
	const list = Array.from({ length: 60_000 }, (_, index) => ({ index }));
	const answer = must(await account.post(`${tools}/${id}/execute`, { parameters: { list } }), 400);
	assert.match(answer.body.message, /more than a second/);
});
