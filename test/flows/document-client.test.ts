// Tests the uses of the document: a typed client is generated from it and works at once, and Gatehouse imports it as an API, so that a
// gateway manages Gatehouse.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { freePort } from '../helpers/ports.ts';
import { must, publishGateway, registerAccount, startTestService, type TestService } from '../helpers/service.ts';

const TEST = fileURLToPath(new URL('..', import.meta.url));
const ROOT = join(TEST, '..');

/** The exports of `test/fixtures/document-client`, which compiles only beside the generated types. */
interface DocumentClient {
	work(baseUrl: string): Promise<{
		made: { id: string; name: string; toolCount: number; status: string };
		renamed: { name: string };
		names: string[];
		lost: number;
		removed: string;
		limit: number | null;
	}>;
}

let service: TestService;
let folder: string;
before(async () => {
	// The service has to reach itself under the address that its document names.
	const port = await freePort();
	const url = `http://127.0.0.1:${port}`;
	service = await startTestService({ env: { PORT: String(port), PUBLIC_URL: url, EGRESS_ALLOW: url } });
	folder = mkdtempSync(join(TEST, 'generated-'));
});
after(async () => {
	await service.stop();
	rmSync(folder, { recursive: true, force: true });
});

/** openapi-typescript prints through the compiler's JavaScript API, which TypeScript 7 does not have any more. */
async function typesOf(document: URL): Promise<string> {
	const hooks = registerHooks({ resolve: (name, context, next) => next(name === 'typescript' ? 'typescript5' : name, context) });
	try {
		const { default: openapiTS, astToString } = await import('openapi-typescript');
		return astToString(await openapiTS(document));
	} finally {
		hooks.deregister();
	}
}

test('openapi-typescript makes a client of the document, which compiles, works, and lets no mistake compile', async () => {
	cpSync(new URL('../fixtures/document-client', import.meta.url), folder, { recursive: true });
	writeFileSync(join(folder, 'schema.d.ts'), await typesOf(new URL(`${service.url}/openapi.json`)));
	const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions: { noEmit: true }, include: [folder], exclude: [] };
	writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
	execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8', stdio: ['ignore', 'inherit', 'inherit'] });

	const client = (await import(pathToFileURL(join(folder, 'client.ts')).href)) as DocumentClient;
	const { made, renamed, names, lost, removed, limit } = await client.work(service.url);
	assert.deepEqual([made.name, made.toolCount, made.status], ['First', 0, 'active']);
	assert.deepEqual([renamed.name, names, lost, removed, limit], ['Second', ['Second'], 412, made.id, 2]);
});

test('Gatehouse imports its own document, and a gateway over it manages Gatehouse', async () => {
	const account = await registerAccount(service.url);
	const path = `/organizations/${account.organization.id}/tools`;
	const api = must(await account.post('/apis', { name: 'Gatehouse', type: 'openapi', baseUrl: service.url }), 201).body.data.id;
	const { key } = must(await account.post('/access-keys', { name: 'itself' }), 201).body.data;
	must(await account.post(`/apis/${api}/credentials`, { type: 'bearer_token', credentials: { token: key } }), 201);
	const imported = must(
		await account.post(`/apis/${api}/import-schema`, { schemaUrl: `${service.url}/openapi.json`, generateTools: true }),
		200,
	);
	const { counts } = imported.body.data.report;
	assert.equal(counts.skipped, 0);
	assert.ok(counts.converted + counts.degraded >= 50, JSON.stringify(counts));

	const tools: { id: string; name: string }[] = [];
	for (const wanted of ['createGateway', 'listGateways', 'deleteGateway', 'listMembers']) {
		const { body } = must(await account.get(`${path}?q=${wanted}`), 200);
		tools.push(...body.data.tools.filter(({ name }: { name: string }) => name === wanted));
	}
	assert.equal(tools.length, 4);
	const gateway = await publishGateway(account, { toolIds: tools.map(({ id }) => id) });
	const client = new Client({ name: 'test', version: '1' });
	await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url), { requestInit: { headers: { 'x-api-key': gateway.key } } }));
	const call = async (name: string, args: object) => {
		const result = await client.callTool({ name, arguments: { ...args } });
		assert.notEqual(result.isError, true, JSON.stringify(result.content));
		// biome-ignore lint/suspicious/noExplicitAny: the management API's answer, whose shape is what is looked at
		return (result.structuredContent as any).data;
	};
	const made = await call('createGateway', { body: { name: 'Made by an agent', type: 'mcp', endpoint: '/made' } });
	assert.equal(must(await account.get(`/gateways/${made.id}`), 200).body.data.name, 'Made by an agent');
	const listed = await call('listGateways', { q: 'agent' });
	assert.deepEqual(
		listed.gateways.map(({ name }: { name: string }) => name),
		['Made by an agent'],
	);
	assert.equal((await call('listMembers', { orgId: account.organization.id })).members.length, 1);
	await call('deleteGateway', { id: made.id });
	assert.equal((await account.get(`/gateways/${made.id}`)).status, 404);
	await client.close();
});
