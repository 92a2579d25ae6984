// Tests the importer, the executors and the feature of strangers in a real service, each with a real counterpart.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { after, before, type TestContext, test } from 'node:test';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { until } from '../helpers/clock.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { type OutsideService, startOutside } from '../helpers/outside-service.ts';
import { administer, type TestDatabase, testDatabase } from '../helpers/postgres.ts';
import { type Account, must, publishGateway, registerAccount } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let service: OutsideService;
let account: Account;
before(async () => {
	service = await startOutside(1);
	account = await registerAccount(service.urls[0] ?? '');
});
after(() => service?.stop());

async function createTool(type: string, executionConfig: object, properties: object = {}): Promise<string> {
	const body = { name: type, type, description: `Runs ${type}.`, parameters: { type: 'object', properties }, executionConfig };
	return must(await account.post(`/organizations/${account.organization.id}/tools`, body), 201).body.data.id;
}

const execute = async (id: string, parameters: object, query = '') =>
	must(await account.post(`/organizations/${account.organization.id}/tools/${id}/execute${query}`, { parameters }), 200).body.data;

test('acme-postman: a collection is recognized and imported, and its tools call the API', async (t) => {
	const seen: string[] = [];
	const { origin } = await httpUpstream(t, async (request, response) => {
		seen.push(`${request.method} ${request.url} ${await textOf(request)}`);
		response.setHeader('content-type', 'application/json').end('{"name":"Rex"}');
	});
	const collection = {
		info: { name: 'Pets', schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json' },
		variable: [{ key: 'base', value: origin }],
		item: [
			{ name: 'Get pet', request: { method: 'GET', url: { raw: '{{base}}/pets/:id?full=1', query: [{ key: 'full' }] } } },
			{ name: 'Add pet', request: { method: 'POST', url: '{{base}}/pets', body: { mode: 'raw', raw: '{"name":"Rex"}' } } },
		],
	};
	const api = must(await account.post('/apis', { name: 'Pets', type: 'acme_postman', baseUrl: origin }), 201).body.data;
	const imported = must(await account.post(`/apis/${api.id}/import-schema`, { schemaContent: JSON.stringify(collection) }), 200).body.data;
	assert.deepEqual(imported.report.counts, { operations: 2, converted: 2, degraded: 0, skipped: 0 });
	must(await account.post(`/apis/${api.id}/generate-tools`, {}), 200);
	const { tools } = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${api.id}`), 200).body.data;
	const gateway = await publishGateway(account, { toolIds: tools.map(({ id }: { id: string }) => id) });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	assert.deepEqual((await callTool(client, 'Get_pet', { id: 'a b', full: '1' }))[0], { name: 'Rex' });
	await callTool(client, 'Add_pet', { body: { name: 'Tom' } });
	assert.deepEqual(seen, ['GET /pets/a%20b?full=1 ', 'POST /pets {"name":"Tom"}']);
});

test('acme-sql: a query of a real PostgreSQL answers rows, refuses what it refuses, and is shown by a dry run', async (t) => {
	const made: TestDatabase = await testDatabase({ empty: true });
	t.after(() => made.drop());
	await administer(made.database, 'CREATE TABLE pets (id int, name text)', "INSERT INTO pets VALUES (1, 'Rex'), (2, 'Tom'), (3, 'Ada')");
	const { host, port, username, password, name, ssl } = made.database;
	const at = { host, port, database: name, user: username, tls: ssl, ...(password && { password }) };
	const query = { ...at, query: 'SELECT id, name FROM pets WHERE name <> $1 ORDER BY id', parameters: ['not'], maxRows: 2 };
	const id = await createTool('acme_sql', query, { not: { type: 'string' } });
	const { result } = await execute(id, { not: "Rex'; DROP TABLE pets --" });
	const rows = [
		{ id: 1, name: 'Rex' },
		{ id: 2, name: 'Tom' },
	];
	assert.deepEqual(result, { rows, isCut: true });
	const broken = await createTool('acme_sql', { ...at, query: 'SELECT * FROM none' });
	assert.match((await execute(broken, {})).error.message, /relation .*none.* does not exist.*42P01/);
	assert.deepEqual((await execute(id, { not: 'Rex' }, '?dryRun=true')).request.parameters, ['Rex']);
	const refused = await account.post(`/organizations/${account.organization.id}/tools`, {
		...{ name: 'inside', type: 'acme_sql', description: 'x', parameters: { type: 'object', properties: {} } },
		executionConfig: { ...query, host: '10.0.0.1' },
	});
	assert.deepEqual([refused.status, refused.body.details[0].path], [400, '/executionConfig/host']);
});

/** A real MCP server with one tool, which greets and tells its progress; a session for each client. */
async function greeter(t: TestContext): Promise<{ origin: string; sessions: Map<string, StreamableHTTPServerTransport> }> {
	const sessions = new Map<string, StreamableHTTPServerTransport>();
	const { origin } = await httpUpstream(t, async (request, response) => {
		const known = sessions.get(String(request.headers['mcp-session-id']));
		if (known) return known.handleRequest(request, response);
		const transport = new StreamableHTTPServerTransport({
			sessionIdGenerator: () => crypto.randomUUID(),
			onsessioninitialized: (id) => void sessions.set(id, transport),
			onsessionclosed: (id) => void sessions.delete(id),
		});
		const server = new McpServer({ name: 'greeter', version: '1' });
		server.registerTool('greet', { inputSchema: { name: z.string() } }, ({ name }) => ({
			content: [{ type: 'text', text: `Hello, ${name}.` }],
		}));
		// The SDK's own transport does not match its interface under exactOptionalPropertyTypes.
		await server.connect(transport as never);
		await transport.handleRequest(request, response);
	});
	return { origin, sessions };
}

test('acme-mcp-upstream: a tool of a real MCP server is called through ours, in a session that is ended', async (t) => {
	const { origin, sessions } = await greeter(t);
	const id = await createTool('acme_mcp_upstream', { url: `${origin}/mcp`, tool: 'greet' }, { name: {} });
	const gateway = await publishGateway(account, { toolIds: [id] });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	assert.deepEqual((await callTool(client, 'acme_mcp_upstream', { name: 'Ada' }))[1], ['Hello, Ada.']);
	const [, [said], isError] = await callTool(client, 'acme_mcp_upstream', { name: 7 });
	assert.ok(isError);
	assert.match(said ?? '', /name/);
	await until(() => sessions.size === 0, 'the sessions are ended');
});

test('acme-model and acme-node: the service shows their configs, and the installed command finds nothing wrong with one', async () => {
	const { plugins } = must(await account.get('/plugins'), 200).body.data;
	const { bin, project } = service.packages;
	const report = JSON.parse(execFileSync(process.execPath, [bin, 'check', 'acme-model', '--json'], { cwd: project, encoding: 'utf8' }));
	assert.deepEqual([report.faults, report.plugins[0].kind, report.plugins.length], [[], 'provider', 1]);
	for (const [name, kind] of Object.entries({ 'acme-model': 'provider', 'acme-node': 'node' })) {
		const shown = plugins.find((plugin: { name: string }) => plugin.name === name.replace('-', '_'));
		assert.equal(shown.config.type, 'object');
		assert.equal(shown.config.properties.key?.writeOnly, kind === 'provider' ? true : undefined);
	}
});

test('acme-webhooks: the operator’s bound holds, and an event arrives signed, though its receiver has failed once', async (t) => {
	const secret = 'a key of more than twenty-four characters';
	const seen: { headers: IncomingHttpHeaders; text: string }[] = [];
	const { origin } = await httpUpstream(t, async (request, response) => {
		seen.push({ headers: request.headers, text: await textOf(request) });
		response.writeHead(seen.length === 1 ? 503 : 200).end();
	});
	for (const [event, status] of Object.entries({ 'order.paid': 201, 'order.sent': 201, 'order.lost': 201, 'order.late': 409 }))
		assert.equal((await account.post('/acme-webhooks', { url: origin, events: [event], secret })).status, status);
	const { id } = must(await account.post('/acme-webhooks/events', { event: 'order.paid', payload: { order: 7 } }), 201).body.data;
	const stateOf = async () => must(await account.get(`/acme-webhooks/events/${id}`), 200).body.data;
	await until(async () => (await stateOf()).deliveries[0]?.status === 'succeeded', service.output);
	const { id: _id, ...delivery } = (await stateOf()).deliveries[0];
	assert.deepEqual(delivery, { status: 'succeeded', attempts: 2, lastStatus: 200 });
	assert.equal(seen.length, 2);
	const [first, second] = seen.map(({ headers, text }) => ({ id: headers['webhook-id'], text }));
	assert.deepEqual(first, second);
	for (const { headers, text } of seen) {
		const signed = createHmac('sha256', secret).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`);
		assert.equal(headers['webhook-signature'], `v1,${signed.digest('base64')}`);
	}
	const { entries } = must(await account.get('/audit-log?resourceType=acme_event'), 200).body.data;
	assert.deepEqual([entries.length, entries[0].resourceId], [1, id]);
});
