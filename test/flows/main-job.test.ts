// Tests the main job over the public interfaces: connect → import → generate → publish → protect → call, and requests that must be refused.

import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { mcpClient } from '../helpers/mcp-client.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, send, sharedService } from '../helpers/service.ts';

let service: SharedService;
let account: Account;
let upstream: ReturnType<typeof createServer>;
let origin: string;
const seen: { method: string; url: string; key: string | undefined; body: string }[] = [];

const pet = { type: 'object', required: ['id', 'name'], properties: { id: { type: 'integer' }, name: { type: 'string' } } };
const DOCUMENT = {
	openapi: '3.1.0',
	info: { title: 'Pets', version: '1.2.3' },
	servers: [{ url: '/v1' }],
	security: [{ key: [] }],
	components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Pet-Key' } }, schemas: { Pet: pet } },
	paths: {
		'/pets/{petId}': {
			get: {
				operationId: 'getPet',
				summary: 'One pet',
				tags: ['read'],
				parameters: [
					{ name: 'petId', in: 'path', required: true, schema: { type: 'integer' } },
					{ name: 'fields', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
				],
				responses: { 200: { description: 'ok', content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } } } },
			},
			delete: {
				operationId: 'deletePet',
				tags: ['write'],
				parameters: [{ name: 'petId', in: 'path', required: true, schema: { type: 'integer' } }],
				responses: { 204: { description: 'gone' } },
			},
		},
		'/pets': {
			post: {
				operationId: 'addPet',
				tags: ['write'],
				requestBody: { required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } } },
				responses: { 201: { description: 'made' } },
			},
		},
	},
};

function answer(request: IncomingMessage, response: ServerResponse): void {
	let body = '';
	request.on('data', (chunk) => {
		body += chunk;
	});
	request.on('end', () => {
		const url = request.url ?? '';
		if (url === '/openapi.json') return void response.setHeader('content-type', 'application/json').end(JSON.stringify(DOCUMENT));
		seen.push({ method: request.method ?? '', url, key: request.headers['x-pet-key']?.toString(), body });
		if (request.method === 'DELETE') return void response.writeHead(204).end();
		if (request.method === 'POST') return void response.writeHead(201, { 'content-type': 'application/json' }).end(body);
		if (url.startsWith('/v1/pets/404'))
			return void response.writeHead(404, { 'content-type': 'application/json' }).end('{"message":"no such pet"}');
		response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: 7, name: 'Rex' }));
	});
}

before(async () => {
	upstream = createServer(answer).listen(0, '127.0.0.1');
	await new Promise((resolve) => upstream.once('listening', resolve));
	const address = upstream.address();
	assert.ok(address !== null && typeof address === 'object');
	origin = `http://127.0.0.1:${address.port}`;
	service = await sharedService();
	account = await registerAccount(service.url, 'Pet Shop');
});
after(async () => {
	await service.stop();
	upstream.close();
});

async function connectApi(name: string): Promise<string> {
	return must(await account.post('/apis', { name, type: 'openapi', baseUrl: origin }), 201).body.data.id;
}

test('an account, its profile, and a second account of the same address', async () => {
	const profile = must(await account.get('/auth/profile'), 200).body.data;
	assert.equal(profile.email, account.email);
	assert.equal(profile.organizations[0].slug, account.organization.slug);
	const again = { email: account.email.toUpperCase(), password: account.password, firstName: 'A', lastName: 'B', organizationName: 'C' };
	assert.equal((await send(`${service.url}/auth/register`, 'POST', { body: again })).status, 409);
	const login = await send(`${service.url}/auth/login`, 'POST', { body: { email: account.email, password: account.password } });
	assert.equal(must(login, 200).body.data.user.firstName, 'Ada');
	const wrong = await send(`${service.url}/auth/login`, 'POST', { body: { email: account.email, password: 'Wrong1Horse' } });
	const nobody = await send(`${service.url}/auth/login`, 'POST', { body: { email: 'nobody@example.com', password: 'Wrong1Horse' } });
	assert.equal(wrong.status, 401);
	assert.deepEqual({ ...wrong.body, requestId: '' }, { ...nobody.body, requestId: '' });
});

test('an API is imported by URL, its operations become tools, and a real client calls them through a gateway', async () => {
	const apiId = await connectApi('Pets');
	must(
		await account.post(`/apis/${apiId}/credentials`, {
			type: 'api_key',
			credentials: { key: 's3cret-pet', name: 'X-Pet-Key', in: 'header' },
		}),
		201,
	);
	const imported = must(await account.post(`/apis/${apiId}/import-schema`, { schemaUrl: `${origin}/openapi.json` }), 200).body.data;
	assert.deepEqual(imported.report.counts, { operations: 3, converted: 3, degraded: 0, skipped: 0 });
	assert.equal(imported.schema.title, 'Pets');
	const generated = must(await account.post(`/apis/${apiId}/generate-tools`, {}), 200).body.data;
	assert.deepEqual(generated, { created: 3, updated: 0, unchanged: 0, total: 3 });
	assert.equal(must(await account.post(`/apis/${apiId}/generate-tools`, {}), 200).body.data.unchanged, 3);

	const { tools } = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${apiId}`), 200).body.data;
	assert.deepEqual(new Set(tools.map((tool: { type: string }) => tool.type)), new Set(['api']));
	const gateway = await publishGateway(account, { endpoint: '/pets', toolIds: tools.map((tool: { id: string }) => tool.id) });
	assert.equal(gateway.url, `${service.url}/pet-shop/pets`);

	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key });
	const listed = await client.listTools();
	assert.deepEqual(listed.tools.map(({ name }) => name).sort(), ['addPet', 'deletePet', 'getPet']);
	const read = await client.callTool({ name: 'getPet', arguments: { petId: 7, fields: ['id', 'name'] } });
	assert.deepEqual(read.structuredContent, { id: 7, name: 'Rex' });
	assert.deepEqual(seen.at(-1), { method: 'GET', url: '/v1/pets/7?fields=id&fields=name', key: 's3cret-pet', body: '' });
	await client.callTool({ name: 'addPet', arguments: { body: { id: 8, name: 'Tom' } } });
	assert.deepEqual(JSON.parse(seen.at(-1)?.body ?? ''), { id: 8, name: 'Tom' });
	const missing = await client.callTool({ name: 'getPet', arguments: { petId: 404 } });
	assert.equal(missing.isError, true);
	assert.match(JSON.stringify(missing.content), /404.*no such pet/);
	const wrong = await client.callTool({ name: 'getPet', arguments: { petId: 'seven' } });
	assert.equal(wrong.isError, true);
	assert.match(JSON.stringify(wrong.content), /petId.*integer/);
	await client.close();
});

test('what was stored as a secret is in no answer', async () => {
	const { apis } = must(await account.get('/apis'), 200).body.data;
	for (const path of ['/apis', `/apis/${apis[0].id}`, `/apis/${apis[0].id}/schemas`, `/apis/${apis[0].id}/operations`, '/gateways']) {
		assert.ok(!JSON.stringify((await account.get(path)).body).includes('s3cret-pet'), path);
	}
});

test('a re-import keeps ids and the users’ own names, and marks what is gone', async () => {
	const apiId = await connectApi('Pets again');
	const content = (document: object) => ({ schemaContent: JSON.stringify(document), generateTools: true });
	must(await account.post(`/apis/${apiId}/import-schema`, content(DOCUMENT)), 200);
	const filtered = must(await account.post(`/apis/${apiId}/generate-tools`, { methods: ['get'], tags: ['read'] }), 200).body.data;
	assert.equal(filtered.total, 1, 'filters narrow what is generated');
	assert.equal((await account.post(`/apis/${apiId}/generate-tools`, { verbs: ['get'] })).status, 400);
	const toolsPath = `/organizations/${account.organization.id}/tools?apiId=${apiId}`;
	const before = must(await account.get(toolsPath), 200).body.data.tools;
	const get = before.find((tool: { name: string }) => tool.name === 'getPet');
	must(await account.patch(`/tools/${get.id}`, { name: 'my_pet', description: 'Mine.' }), 200);
	const { delete: _gone, ...kept } = DOCUMENT.paths['/pets/{petId}'];
	const changed = { ...DOCUMENT, paths: { ...DOCUMENT.paths, '/pets/{petId}': { get: { ...kept.get, summary: 'Another text' } } } };
	const { operations, ...changes } = must(await account.post(`/apis/${apiId}/import-schema`, content(changed)), 200).body.data.changes;
	const counts = { added: 0, changed: 1, unchanged: 1, removed: 1, restored: 0, breaking: 1, additive: 0, text: 1, toolsUpdated: 1 };
	assert.deepEqual(changes, { ...counts, unlisted: 0 });
	assert.deepEqual(
		operations.map(({ name, change, reasons }: { name: string; change: string; reasons: string[] }) => [name, change, ...reasons]),
		[
			['deletePet', 'removed'],
			['getPet', 'changed', 'The title changed.', 'The description changed.'],
		],
	);
	const afterwards = must(await account.get(toolsPath), 200).body.data.tools;
	assert.deepEqual(afterwards.map((tool: { id: string }) => tool.id).sort(), before.map((tool: { id: string }) => tool.id).sort());
	const mine = afterwards.find((tool: { id: string }) => tool.id === get.id);
	assert.deepEqual([mine.name, mine.description, mine.status], ['my_pet', 'Mine.', 'active']);
	assert.equal(afterwards.find((tool: { name: string }) => tool.name === 'deletePet').status, 'removed');
	const refused = await account.patch(`/tools/${get.id}`, { parameters: { type: 'object' } });
	assert.equal(refused.status, 400);
	assert.equal(refused.body.details[0].path, '/parameters');
});

test('a tool written by hand is executed over the management API: success, failure, bad parameters (decisions, 8)', async () => {
	const tool = {
		name: 'pet',
		type: 'http',
		parameters: {
			type: 'object',
			properties: { id: { type: 'integer' }, lang: { type: 'string', default: 'en' } },
			required: ['id'],
			additionalProperties: false,
		},
		executionConfig: { method: 'GET', url: `${origin}/v1/pets/{id}`, query: { lang: '{lang}' } },
	};
	const base = `/organizations/${account.organization.id}/tools`;
	const { id } = must(await account.post(base, tool), 201).body.data;
	const good = must(await account.post(`${base}/${id}/execute`, { parameters: { id: 7 } }), 200).body.data;
	assert.equal(good.status, 'success');
	assert.deepEqual(good.result, { id: 7, name: 'Rex' });
	assert.equal(seen.at(-1)?.url, '/v1/pets/7?lang=en');
	const failed = must(await account.post(`${base}/${id}/execute`, { parameters: { id: 404 } }), 200).body.data;
	assert.deepEqual([failed.status, failed.result], ['failed', null]);
	assert.match(failed.error.message, /404/);
	const bad = await account.post(`${base}/${id}/execute`, { parameters: { id: 'x', more: 1 } });
	assert.equal(bad.status, 400);
	assert.deepEqual(bad.body.details.map(({ path }: { path: string }) => path).sort(), ['/parameters/id', '/parameters/more']);
});

test('every verb of gateways, tools and APIs answers as decided: 201, 200, and 404 after a removal', async () => {
	const apiId = await connectApi('Short-lived');
	must(await account.post(`/apis/${apiId}/import-schema`, { schemaContent: JSON.stringify(DOCUMENT), generateTools: true }), 200);
	const tools = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${apiId}`), 200).body.data.tools;
	const gateway = await publishGateway(account);
	const assigned = must(await account.post(`/gateways/${gateway.id}/tools`, { toolId: tools[0].id }), 201).body.data;
	assert.deepEqual(Object.keys(assigned).sort(), [
		'confirm',
		'createdAt',
		'gatewayToolId',
		'maxResultBytes',
		'name',
		'rateLimit',
		'toolId',
	]);
	assert.equal(must(await account.get(`/gateways/${gateway.id}`), 200).body.data.toolCount, 1);
	const available = must(await account.get(`/gateways/${gateway.id}/tools/available`), 200).body.data.tools;
	assert.ok(!available.some((tool: { id: string }) => tool.id === tools[0].id));
	assert.equal(
		must(await account.patch(`/gateways/${gateway.id}/tools/${assigned.gatewayToolId}`, { rateLimit: 5 }), 200).body.data.rateLimit,
		5,
	);
	assert.equal((await account.del(`/apis/${apiId}?ifUnused=true`)).status, 409);
	const removed = must(await account.del(`/apis/${apiId}`), 200).body.data;
	assert.equal(removed.id, apiId);
	assert.equal(removed.removed.tools, 3);
	assert.equal((await account.del(`/apis/${apiId}`)).status, 404);
	assert.equal((await account.get(`/tools/${tools[0].id}`)).status, 404);
	assert.equal(must(await account.get(`/gateways/${gateway.id}`), 200).body.data.toolCount, 0);
	must(await account.patch(`/gateways/${gateway.id}`, { status: 'inactive' }), 200);
	assert.equal((await send(gateway.url, 'POST', { body: {}, headers: { 'x-api-key': gateway.key } })).status, 404);
	const gone = await Promise.all(Array.from({ length: 5 }, () => account.del(`/gateways/${gateway.id}`)));
	assert.deepEqual(gone.map(({ status }) => status).sort(), [200, 404, 404, 404, 404]);
});

test('fifty parallel creations of one endpoint: one 201, forty-nine 409', async () => {
	const made = await Promise.all(
		Array.from({ length: 50 }, (_, index) => account.post('/gateways', { name: `g${index}`, type: 'mcp', endpoint: '/race' })),
	);
	const statuses = made.map(({ status }) => status).sort();
	assert.deepEqual([statuses[0], statuses.filter((status) => status === 409).length], [201, 49]);
});

test('GET /plugins lists every plugin with its summary and its config as JSON Schema', async () => {
	const { plugins } = must(await account.get('/plugins'), 200).body.data;
	const names = plugins.map(({ kind, name }: { kind: string; name: string }) => `${kind}:${name}`);
	for (const expected of ['auth:none', 'auth:api_key', 'transport:mcp', 'importer:openapi', 'executor:http', 'feature:gateways']) {
		assert.ok(names.includes(expected), expected);
	}
	for (const plugin of plugins) {
		assert.equal(plugin.config.type, 'object');
		assert.ok(plugin.summary.endsWith('.'), plugin.name);
	}
});
