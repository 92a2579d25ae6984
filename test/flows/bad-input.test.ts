// Tests bad input wherever a user's URL, document or argument enters the service, with every outbound address refused but one. The cases of
// the HTTP edge are in edge.test.ts, those of the guard itself in test/catalog.

import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, test } from 'node:test';
import pg from 'pg';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';

let service: TestService;
let account: Account;
let apiId: string;
/** An upstream that the service may call. */
let upstream: { server: Server; origin: string; urls: string[] };
/** A server that the service may not call: it must never see a connection. */
let canary: { server: Server; origin: string; connections: number };

async function listen(server: Server, host: string): Promise<string> {
	await new Promise<void>((resolve) => server.listen(0, host, resolve));
	const address = server.address();
	assert.ok(address !== null && typeof address === 'object');
	return `http://${host}:${address.port}`;
}

before(async () => {
	const urls: string[] = [];
	const open = createServer((request, response) => {
		urls.push(request.url ?? '');
		if (request.url === '/redirect') return void response.writeHead(302, { location: `${canary.origin}/openapi.json` }).end();
		response.setHeader('content-type', 'application/json').end('{"ok":true}');
	});
	const shut = createServer((_request, response) => void response.end('{}'));
	canary = { server: shut, origin: await listen(shut, '127.0.0.2'), connections: 0 };
	shut.on('connection', () => {
		canary.connections++;
	});
	upstream = { server: open, origin: await listen(open, '127.0.0.1'), urls };
	service = await startTestService({ env: { EGRESS_ALLOW: upstream.origin } });
	account = await registerAccount(service.url);
	apiId = must(await account.post('/apis', { name: 'a', type: 'openapi', baseUrl: upstream.origin }), 201).body.data.id;
});
after(async () => {
	await service.stop();
	upstream.server.close();
	canary.server.close();
});

const importing = (body: object | string): Promise<Answer> => account.post(`/apis/${apiId}/import-schema`, body);
const document = (paths: object, more: object = {}): string =>
	JSON.stringify({ openapi: '3.0.3', info: { title: 't', version: '1' }, paths, ...more });
const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghij'.replace(/./g, (name, at: number) => `${name}: &${name} [${`*${'abcdefghij'[at]},`.repeat(9)}]\n`)}openapi: 3.0.3\n`;

const IMPORTS: [id: string, body: () => object | string, error: string, message: RegExp][] = [
	['neither URL nor content', () => ({}), 'VALIDATION_FAILED', /schemaUrl.*schemaContent/],
	['both URL and content', () => ({ schemaUrl: upstream.origin, schemaContent: '{}' }), 'VALIDATION_FAILED', /only one of them/],
	['an unknown field', () => ({ schemaContent: '{}', force: true }), 'VALIDATION_FAILED', /force/],
	['a body that is not JSON', () => '{"schemaContent":', 'VALIDATION_FAILED', /JSON/],
	['empty content', () => ({ schemaContent: ' ' }), 'VALIDATION_FAILED', /empty/],
	['a document of no known format', () => ({ schemaContent: 'hello' }), 'SCHEMA_INVALID', /./],
	['Swagger 1.2', () => ({ schemaContent: '{"swaggerVersion":"1.2"}' }), 'SCHEMA_INVALID', /./],
	['files and content', () => ({ schemaContent: '{}', files: { 'a.json': '{}' } }), 'VALIDATION_FAILED', /only one of them/],
	['files that are no files', () => ({ files: [1] }), 'VALIDATION_FAILED', /files/],
	['a file above the others', () => ({ files: { '../a.json': '{}' } }), 'VALIDATION_FAILED', /\.\./],
	['a zip that is none', () => ({ files: 'aGVsbG8=' }), 'VALIDATION_FAILED', /zip/],
	['an option that the importer does not have', () => ({ schemaContent: '{}', options: { depth: 1 } }), 'VALIDATION_FAILED', /depth/],
	['a YAML bomb', () => ({ schemaContent: bomb }), 'SCHEMA_INVALID', /alias/i],
	['broken YAML', () => ({ schemaContent: 'openapi: 3.0.3\n  info: [' }), 'SCHEMA_INVALID', /line/],
	['100,000 levels of JSON', () => ({ schemaContent: `{"openapi":"3.0.3","x":${'['.repeat(100_000)}` }), 'SCHEMA_INVALID', /./],
	['schemaUrl to loopback', () => ({ schemaUrl: `${canary.origin}/openapi.json` }), 'EGRESS_REFUSED', /EGRESS_ALLOW/],
	[
		'schemaUrl to a name that resolves to loopback',
		() => ({ schemaUrl: `http://localhost:${new URL(canary.origin).port}/` }),
		'EGRESS_REFUSED',
		/localhost/,
	],
	['schemaUrl to decimal loopback', () => ({ schemaUrl: `http://2130706434:${new URL(canary.origin).port}/` }), 'EGRESS_REFUSED', /./],
	['schemaUrl to cloud metadata', () => ({ schemaUrl: 'http://169.254.169.254/latest/meta-data' }), 'EGRESS_REFUSED', /./],
	['schemaUrl that redirects to loopback', () => ({ schemaUrl: `${upstream.origin}/redirect` }), 'EGRESS_REFUSED', /./],
	['schemaUrl of another scheme', () => ({ schemaUrl: 'file:///etc/passwd' }), 'EGRESS_REFUSED', /http/],
	['schemaUrl with a password', () => ({ schemaUrl: 'http://a:b@example.com/' }), 'EGRESS_REFUSED', /./],
];

for (const [id, body, error, message] of IMPORTS) {
	test(`import: ${id} is a 400 ${error} that says why, and nothing is kept`, async () => {
		const answer = await importing(body());
		assert.equal(answer.status, 400, JSON.stringify(answer.body));
		assert.equal(answer.body.error, error, answer.body.message);
		assert.match(answer.body.message, message);
		assert.deepEqual(must(await account.get(`/apis/${apiId}/operations`), 200).body.data.operations, []);
		assert.deepEqual(must(await account.get(`/apis/${apiId}/schemas`), 200).body.data.schemas, []);
	});
}

for (const [id, ref] of Object.entries({
	'a file': '/etc/passwd',
	'a file URL': 'file:///etc/passwd',
	'a private address': 'http://127.0.0.2:1/s.json',
})) {
	test(`import: a $ref to ${id} is not followed; the report says so`, async () => {
		const own = must(await account.post('/apis', { name: 'r', type: 'openapi', baseUrl: upstream.origin }), 201).body.data.id;
		const schema = { $ref: ref === 'http://127.0.0.2:1/s.json' ? `${canary.origin}/s.json` : ref };
		const paths = {
			'/x': {
				post: { operationId: 'x', requestBody: { content: { 'application/json': { schema } } }, responses: { 200: { description: 'ok' } } },
			},
		};
		const { report } = must(await account.post(`/apis/${own}/import-schema`, { schemaContent: document(paths) }), 200).body.data;
		assert.equal(report.counts.converted, 0);
		assert.match(JSON.stringify(report.operations), /xternal reference/);
		const { operations } = must(await account.get(`/apis/${own}/operations`), 200).body.data;
		assert.ok(!JSON.stringify(operations).includes('root:'));
	});
}

const SHUT = [
	'http://127.0.0.2/',
	'http://localhost:1/',
	'http://[::1]/',
	'http://10.0.0.1/',
	'http://169.254.169.254/',
	'http://user:pw@example.com/',
];
for (const url of SHUT) {
	test(`what is saved to be called later may not lead to ${url}`, async () => {
		const api = await account.post('/apis', { name: 'x', type: 'openapi', baseUrl: url });
		assert.equal(api.status, 400, 'baseUrl of an API');
		assert.equal((await account.patch(`/apis/${apiId}`, { baseUrl: url })).status, 400, 'changed baseUrl');
		const credentials = { tokenUrl: url, clientId: 'c', clientSecret: 's' };
		assert.equal(
			(await account.post(`/apis/${apiId}/credentials`, { type: 'oauth2', credentials })).status,
			400,
			'tokenUrl of a credential',
		);
		const tool = { name: 't', type: 'http', executionConfig: { method: 'GET', url } };
		assert.equal((await account.post(`/organizations/${account.organization.id}/tools`, tool)).status, 400, 'url of a tool');
	});
}

test('a tool’s url is absolute, and holds placeholders in its path and query only', async () => {
	for (const url of ['/pets', 'http://{host}/', 'ftp://example.com/', '{url}', 'http://example.com/../x', 'http://example.com/#a']) {
		const tool = { name: 't', type: 'http', executionConfig: { method: 'GET', url } };
		const answer = await account.post(`/organizations/${account.organization.id}/tools`, tool);
		assert.equal(answer.status, 400, url);
		assert.match(JSON.stringify(answer.body.details), /url/);
	}
});

test('arguments stay where they belong: no `..`, everything else encoded, header values on one line', async () => {
	const parameters = { type: 'object', properties: { id: { type: 'string' }, tag: { type: 'string' } }, required: ['id'] };
	const executionConfig = { method: 'GET', url: `${upstream.origin}/items/{id}`, headers: { 'x-tag': '{tag}' } };
	const made = await account.post(`/organizations/${account.organization.id}/tools`, {
		name: 'item',
		type: 'http',
		parameters,
		executionConfig,
	});
	const toolId = must(made, 201).body.data.id;
	const gateway = await publishGateway(account, { toolIds: [toolId] });
	const call = async (args: object) => {
		const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'item', arguments: args } };
		const headers = { 'x-api-key': gateway.key, accept: 'application/json, text/event-stream' };
		return (await send(gateway.url, 'POST', { body, headers })).body.result;
	};
	const before = upstream.urls.length;
	for (const id of ['..', '.', '']) assert.equal((await call({ id })).isError, true, JSON.stringify(id));
	for (const tag of ['a\r\nx-evil: 1', 'a\nb', 'a\0b'])
		assert.equal((await call({ id: '1', tag }))?.isError ?? true, true, JSON.stringify(tag));
	assert.equal(upstream.urls.length, before, 'none of these was sent');
	const kept: Record<string, string> = {
		'a/b': '/items/a%2Fb',
		'%2e%2e': '/items/%252e%252e',
		'a?x=1': '/items/a%3Fx%3D1',
		'a#b': '/items/a%23b',
		'a\\b': '/items/a%5Cb',
	};
	for (const [id, url] of Object.entries(kept)) {
		assert.notEqual((await call({ id })).isError, true, id);
		assert.equal(upstream.urls.at(-1), url);
	}
});

test('a credential follows only its own origin, and is gone when the API moves to another', async () => {
	const own = must(await account.post('/apis', { name: 'c', type: 'openapi', baseUrl: upstream.origin }), 201).body.data.id;
	must(await account.post(`/apis/${own}/credentials`, { type: 'bearer_token', credentials: { token: 'canary-bearer' } }), 201);
	assert.equal(must(await account.get(`/apis/${own}`), 200).body.data.credentials.length, 1);
	must(await account.patch(`/apis/${own}`, { baseUrl: 'https://example.com' }), 200);
	assert.deepEqual(must(await account.get(`/apis/${own}`), 200).body.data.credentials, []);
	for (const [type, credentials] of [
		['bearer_token', {}],
		['bearer_token', { token: 'a\nb' }],
		['api_key', { key: 'k' }],
		['api_key', { key: 'k', name: 'n', in: 'body' }],
		['basic_auth', { username: 'u' }],
		['digest', { token: 't' }],
	] as const) {
		assert.equal(
			(await account.post(`/apis/${own}/credentials`, { type, credentials })).status,
			400,
			`${type} ${JSON.stringify(credentials)}`,
		);
	}
});

test('no secret lies in the database as text', async () => {
	must(
		await account.post(`/apis/${apiId}/credentials`, {
			type: 'basic_auth',
			credentials: { username: 'canary-user', password: 'canary-password' },
		}),
		201,
	);
	const gateway = await publishGateway(account);
	const { database } = service.config;
	assert.ok(database);
	const client = new pg.Client({
		host: database.host,
		port: database.port,
		user: database.username,
		password: database.password,
		database: database.name,
	});
	await client.connect();
	const tables = await client.query("SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'");
	let dump = '';
	for (const { name } of tables.rows) dump += JSON.stringify((await client.query(`SELECT * FROM "${name}"`)).rows);
	await client.end();
	assert.ok(dump.includes(account.email), 'the dump holds what is no secret');
	for (const secret of ['canary-user', 'canary-password', 'canary-bearer', gateway.key, account.password, account.token]) {
		assert.ok(!dump.includes(secret), secret);
	}
});

test('nothing ever knocked at the address that is shut', () => assert.equal(canary.connections, 0));
