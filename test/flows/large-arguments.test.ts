// Tests bodies that are larger than a model can read, and bodies whose members lie beside the other arguments, over REST and MCP.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { connectApi } from '../helpers/connected.ts';
import { readDocument } from '../helpers/document.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';

let service: SharedService;
let account: Account;
let origin: string;
let last: { url: string; body: string; type: string } = { url: '', body: '', type: '' };
const upstream = createServer((request, response) => {
	let body = '';
	request.on('data', (chunk) => {
		body += chunk;
	});
	request.on('end', () => {
		last = { url: request.url ?? '', body, type: request.headers['content-type'] ?? '' };
		response.setHeader('content-type', 'application/json').end('{"ok":true}');
	});
});

before(async () => {
	upstream.listen(0, '127.0.0.1');
	service = await sharedService();
	account = await registerAccount(service.url);
	// The upstream is listening: the service took far longer to start.
	origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
});
after(async () => {
	await service.stop();
	upstream.close();
});

const posting = (operationId: string, schema: object, more: object = {}, mediaType = 'application/json'): object => ({
	post: {
		operationId,
		requestBody: { required: true, content: { [mediaType]: { schema } } },
		responses: { 200: { description: 'ok' } },
		...more,
	},
});

const refTo = (name: string): object => ({ $ref: `#/components/schemas/${name}` });
const METHODS = Array.from({ length: 120 }, (_, index) => `Method${index}`);

/** Schemas like that of Adyen's `/payments`: 100 kB, so that the parts farthest from the body, such as an address, are not shown. */
const schemasOf = (street: object = { type: 'string' }): Record<string, object> => ({
	Payment: {
		type: 'object',
		required: ['amount'],
		properties: {
			amount: { type: 'integer' },
			holder: refTo('Holder'),
			...Object.fromEntries(METHODS.map((name) => [name, refTo(name)])),
		},
	},
	...Object.fromEntries(METHODS.map((name) => [name, { type: 'object', description: 'Of one payment method. '.repeat(35) }])),
	Holder: { type: 'object', properties: { address: refTo('Address') } },
	Address: { type: 'object', description: 'Where the holder lives. '.repeat(40), required: ['street'], properties: { street } },
});
const documentOf = (paths: object, schemas = schemasOf()): string =>
	JSON.stringify({ openapi: '3.1.0', info: { title: 'Upstream', version: '2' }, paths, components: { schemas } });
const LARGE = { '/payments': posting('pay', refTo('Payment')) };

const REASON = /^Models are shown the schema without “Method72”, .* and 39 more: arguments are checked against the whole one\.$/;

test('arguments are checked against the whole schema where models are shown less, and the report says so', async (t) => {
	const { apiId, toolIds, run } = await connectApi(account, origin, { paths: LARGE, schemas: schemasOf() });
	const [operation] = must(await account.get(`/apis/${apiId}/operations`), 200).body.data.operations;
	assert.equal(operation.outcome, 'degraded');
	assert.match(operation.reasons.join(), REASON);
	const { parameters } = must(await account.get(`/tools/${toolIds['pay']}`), 200).body.data;
	assert.deepEqual(parameters.$defs.Address, { description: 'Too large to be shown here.' });
	assert.ok(JSON.stringify(parameters).length < 70 * 1024);

	const wrong = { body: { amount: 1, holder: { address: 'abc' } } };
	const refused = must(await run('pay', wrong), 400).body;
	assert.deepEqual(refused.details, [{ path: '/parameters/body/holder/address', message: 'must be object, got string "abc".' }]);
	must(await run('pay', wrong, '?dryRun=true'), 400);
	const right = { amount: 1, holder: { address: { street: 'x' } } };
	must(await run('pay', { body: right }), 200);
	assert.deepEqual(JSON.parse(last.body), right);

	const gateway = await publishGateway(account, { toolIds: [String(toolIds['pay'])] });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	const { isError, content } = await client.callTool({ name: 'pay', arguments: wrong });
	assert.equal(isError, true);
	assert.match(JSON.stringify(content), /\/body\/holder\/address must be object/);
	assert.deepEqual((await callTool(client, 'pay', { body: right }))[0], { ok: true });

	// The gateway is notified of the new schema, and the compiled old one is not used any more.
	const schemaContent = documentOf(LARGE, schemasOf({ type: 'integer' }));
	const { changes } = must(await account.post(`/apis/${apiId}/import-schema`, { schemaContent }), 200).body.data;
	assert.deepEqual([changes.breaking, changes.toolsUpdated], [1, 1]);
	assert.match(changes.operations[0].reasons.join(), /body\.holder\.address\.street/);
	const isRefused = async () => (await client.callTool({ name: 'pay', arguments: { body: right } })).isError === true;
	await until(isRefused, 'the gateway knows the new schema');
	must(await run('pay', { body: { amount: 1, holder: { address: { street: 7 } } } }), 200);
});

const FLAT = {
	'/pets/{id}': posting(
		'addPet',
		{
			type: 'object',
			required: ['name'],
			properties: { name: { type: 'string' }, kind: { const: 'dog' }, tags: { type: 'array', items: { type: 'string' } } },
		},
		{ parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }] },
	),
	'/clash': posting(
		'clash',
		{ type: 'object', properties: { id: { type: 'string' } } },
		{ parameters: [{ name: 'id', in: 'query', schema: {} }] },
	),
	'/photos': posting('photo', { type: 'object', properties: { photo: { type: 'string', format: 'binary' } } }, {}, 'multipart/form-data'),
	...LARGE,
};

test('bodies are flat where that was asked for and can be, and what is sent is the same', async (t) => {
	const { apiId, toolIds, run } = await connectApi(account, origin, { paths: FLAT, schemas: schemasOf() });
	const propertiesOf = async (name: string): Promise<string[]> =>
		Object.keys(must(await account.get(`/tools/${toolIds[name]}`), 200).body.data.parameters.properties);
	assert.deepEqual(await propertiesOf('addPet'), ['id', 'body']);

	const judge = await readDocument(service.url);
	const generated = must(await account.post(`/apis/${apiId}/generate-tools`, { bodies: 'flat' }), 200);
	assert.equal(judge.fault('POST /apis/{id}/generate-tools', generated), null);
	assert.deepEqual([generated.body.data.updated, generated.body.data.total], [4, 4]);
	assert.deepEqual(await propertiesOf('addPet'), ['id', 'name', 'kind', 'tags']);
	assert.deepEqual(await propertiesOf('clash'), ['id', 'body']);
	assert.equal(must(await account.get(`/tools/${toolIds['addPet']}`), 200).body.data.bodies, 'flat');

	must(await run('addPet', { id: 7, name: 'Rex', tags: '["a"]' }), 200);
	assert.deepEqual([last.url, JSON.parse(last.body)], ['/pets/7', { name: 'Rex', tags: ['a'] }]);
	assert.deepEqual(must(await run('addPet', { id: 7, name: 'Rex', tags: [1] }), 400).body.details[0].path, '/parameters/tags/0');
	assert.deepEqual(must(await run('addPet', { id: 7 }), 400).body.details[0].path, '/parameters/name');
	const shown = must(await run('addPet', { id: 7, name: 'Rex' }, '?dryRun=true'), 200).body.data.request;
	assert.deepEqual(JSON.parse(shown.body), { name: 'Rex' });
	must(await run('photo', { photo: { data: 'aGk=' } }), 200);
	assert.match(last.type, /^multipart\/form-data/);
	assert.equal(must(await run('photo', { photo: { data: 'no base64' } }), 400).body.details[0].path, '/parameters/photo');
	const address = must(await run('pay', { amount: 1, holder: { address: 'abc' } }), 400).body;
	assert.equal(address.details[0].path, '/parameters/holder/address');
	must(await run('pay', { amount: 1, holder: { address: { street: 'x' } } }), 200);
	assert.deepEqual(JSON.parse(last.body), { amount: 1, holder: { address: { street: 'x' } } });

	const gateway = await publishGateway(account, { toolIds: [String(toolIds['addPet'])] });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	assert.deepEqual((await callTool(client, 'addPet', { id: 8, name: 'Ada' }))[0], { ok: true });
	assert.deepEqual([last.url, JSON.parse(last.body)], ['/pets/8', { name: 'Ada' }]);

	// A re-import keeps the form of the existing tools, even if it generates tools for new operations.
	const paths = { ...FLAT, '/more': posting('more', { type: 'object', properties: { x: {} } }) };
	const described = structuredClone(paths) as Record<string, { post: { summary?: string } }>;
	for (const item of Object.values(described)) item.post.summary = 'Says more.';
	const schemaContent = documentOf(described);
	must(await account.post(`/apis/${apiId}/import-schema`, { schemaContent, generateTools: true }), 200);
	assert.deepEqual(await propertiesOf('addPet'), ['id', 'name', 'kind', 'tags']);
	const tools = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${apiId}`), 200).body.data.tools;
	assert.deepEqual(
		tools.map(({ name, bodies }: { name: string; bodies: string }) => [name, bodies]).sort(),
		[...['addPet', 'clash', 'pay', 'photo'].map((name) => [name, 'flat']), ['more', 'nested']].sort(),
	);
	must(await run('addPet', { id: 7, name: 'Rex' }), 200);

	must(await account.post(`/apis/${apiId}/generate-tools`, { bodies: 'nested', operationIds: ['addPet'] }), 200);
	assert.deepEqual(await propertiesOf('addPet'), ['id', 'body']);
	must(await run('addPet', { id: 9, body: { name: 'Rex' } }), 200);
	const refused = must(await account.post(`/apis/${apiId}/generate-tools`, { bodies: 'beside' }), 400).body;
	assert.deepEqual(refused.details, [{ path: '/bodies', message: '"bodies" must be one of [nested, flat]' }]);
});

test('an import makes flat tools where it is asked to, also where it goes on as a job', async () => {
	const { id } = must(await account.post('/apis', { name: 'Flat', type: 'openapi', baseUrl: origin }), 201).body.data;
	const schemaContent = documentOf(FLAT);
	const body = { schemaContent, generateTools: true, bodies: 'flat', methods: ['POST'] };
	must(await account.post(`/apis/${id}/import-schema`, body), 200);
	const { tools } = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${id}`), 200).body.data;
	assert.equal(tools.find(({ name }: { name: string }) => name === 'addPet').parameters.properties.body, undefined);
});
