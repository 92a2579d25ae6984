// The universal endpoint with credentials of its own service: which organization a request is for, what each credential reaches there, and
// that two replicas agree.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Client as DualClient, StreamableHTTPClientTransport as DualTransport } from '@modelcontextprotocol/client';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { methodsOf, openGet } from '../helpers/mcp-streams.ts';
import { addMember, join } from '../helpers/members.ts';
import {
	type Account,
	type Answer,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';

let service: TestService;
let replica: TestService;
let upstream: Server;
/** An organization with two gateways; its owner is a member of `other`, too. */
let acme: Account;
let other: Account;
/** A member of `acme` and of nothing that has tools, besides their own organization. */
let ada: Account;
let cats: { id: string; url: string; key: string };

before(async () => {
	upstream = createServer((request, response) =>
		response.setHeader('content-type', 'application/json').end(JSON.stringify({ path: request.url })),
	);
	upstream.listen(0, '127.0.0.1');
	await once(upstream, 'listening');
	service = await startTestService();
	replica = await startTestService({ replicaOf: service });
	acme = await registerAccount(service.url, 'Acme');
	other = await registerAccount(service.url, 'Other');
	cats = await publishGateway(acme, { toolIds: [await tool(acme, 'cats'), await tool(acme, 'shared')] });
	await publishGateway(acme, { toolIds: [await tool(acme, 'dogs'), await tool(acme, 'cats')] });
	await publishGateway(other, { toolIds: [await tool(other, 'birds')] });
	ada = await addMember(acme, 'viewer');
});
after(async () => {
	await replica?.stop();
	await service?.stop();
	upstream?.closeAllConnections();
	upstream?.close();
});

const tool = (account: Account, name: string): Promise<string> =>
	// The server listens on TCP, so the address is not a pipe's name.
	createHttpTool(account, { name, url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/${name}` });

const keyOf = async (account: Account, more: object = {}): Promise<{ id: string; key: string }> =>
	must(await account.post('/access-keys', { name: 'test', ...more }), 201).body.data;

const inOrganization = ({ organization }: Account) => ({ 'x-organization-id': organization.id });

let turn = 0;
/** Sends a message to the two replicas in turn. */
function ask(secret: string | null, method: string, params: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
	const { url } = turn++ % 2 === 0 ? service : replica;
	const authorization: Record<string, string> = secret === null ? {} : { authorization: `Bearer ${secret}` };
	return send(`${url}/mcp`, 'POST', {
		body: { jsonrpc: '2.0', id: 1, method, params },
		headers: { accept: 'application/json, text/event-stream', ...authorization, ...headers },
	});
}

const namesOf = ({ body }: Answer): string[] => body.result.tools.map(({ name }: { name: string }) => name);
const list = async (secret: string, headers: Record<string, string> = {}): Promise<string[]> =>
	namesOf(must(await ask(secret, 'tools/list', {}, headers), 200));
const call = (secret: string, name: string, headers: Record<string, string> = {}): Promise<Answer> =>
	ask(secret, 'tools/call', { name, arguments: {} }, headers);

describe('the credential', () => {
	test('of an access key or a login lists all tools, each under a name of its own, and calls each at its gateway', async () => {
		const { key } = await keyOf(acme);
		for (const secret of [key, acme.token]) {
			const names = await list(secret);
			assert.match(names.join(' '), /^cats shared dogs cats_[0-9a-f]{8}$/);
			for (const [name, path] of [
				['dogs', '/dogs'],
				[names[3] ?? '', '/cats'],
			] as const) {
				const { body } = must(await call(secret, name), 200);
				assert.deepEqual(body.result.structuredContent, { path });
			}
		}
		must(await send(`${service.url}/mcp`, 'POST', { body: PING, headers: { 'x-api-key': key } }), 200);
	});

	test('that is missing, unknown, a gateway’s key or a session’s cookie is a 401 that leads to the metadata', async () => {
		for (const [secret, error] of [
			[null, ''],
			['ak_live_none', 'error="invalid_token", '],
			['nonsense', 'error="invalid_token", '],
			[cats.key, 'error="invalid_token", '],
			[`svc_at_${'x'.repeat(22)}.${'y'.repeat(43)}`, 'error="invalid_token", '],
			[`svc_at_${'x'.repeat(22)}.${'y'.repeat(43)}~${'z'.repeat(22)}`, 'error="invalid_token", '],
		] as const) {
			const { headers } = must(await ask(secret, 'tools/list'), 401);
			const metadata = `resource_metadata="${service.url}/mcp/.well-known/oauth-protected-resource"`;
			assert.ok(
				[service, replica].some(
					({ url }) => headers.get('www-authenticate') === `Bearer ${error}${metadata.replace(service.url, url)}, ${SCOPE}`,
				),
				`${secret}: ${headers.get('www-authenticate')}`,
			);
		}
		must(await ask(null, 'tools/list', {}, { cookie: `token=${acme.token}` }), 401);
	});

	test('of a key for one gateway lists that gateway, and one that may only read runs nothing', async () => {
		const one = await keyOf(acme, { scope: { type: 'gateway', id: cats.id } });
		assert.deepEqual(await list(one.key), ['cats', 'shared']);
		assert.equal((await call(one.key, 'dogs')).body.error.code, -32602);
		const reader = await keyOf(acme, { permissions: ['tools:read'] });
		assert.equal((await list(reader.key)).length, 4);
		const refused = must(await call(reader.key, 'dogs'), 403);
		assert.equal(refused.body.error, 'INSUFFICIENT_SCOPE');
	});
});

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const SCOPE = 'scope="tools:read tools:execute"';

describe('the organization', () => {
	test('is named by a user of several, by header; without it, or with another one, the answer is NO_ORGANIZATION', async () => {
		const { key } = await keyOf(ada);
		for (const headers of [{}, inOrganization(other), { 'x-organization-id': 'acme' }]) {
			const { body } = must(await ask(key, 'tools/list', {}, headers), 400);
			assert.equal(body.error, 'NO_ORGANIZATION');
		}
		assert.equal((await list(key, inOrganization(acme))).length, 4);
		assert.deepEqual(await list(key, inOrganization(ada)), []);
		must(await call(key, 'dogs', inOrganization(acme)), 403);
		must(await ask(key, 'tools/list', {}, { 'x-organization-id': acme.organization.id.toUpperCase() }), 200);
	});

	test('of a key for one gateway is that gateway’s', async () => {
		const { key } = await keyOf(ada, { scope: { type: 'gateway', id: cats.id } });
		assert.deepEqual(await list(key), ['cats', 'shared']);
		assert.equal(must(await ask(key, 'tools/list', {}, inOrganization(ada)), 400).body.error, 'NO_ORGANIZATION');
	});

	test('of a user of one is that one, and another one’s tools are nowhere', async () => {
		const { key } = await keyOf(other);
		assert.deepEqual(await list(key), ['birds']);
		assert.equal((await call(key, 'dogs')).body.error.code, -32602);
		assert.equal(must(await ask(key, 'tools/list', {}, inOrganization(acme)), 400).body.error, 'NO_ORGANIZATION');
	});

	test('can be used as soon as the user has joined it, and no more when they have left, on every replica', async () => {
		const guest = await registerAccount(service.url);
		const { key } = await keyOf(guest);
		must(await ask(key, 'tools/list', {}, inOrganization(acme)), 400);
		await join(acme, guest, 'member');
		for (let times = 0; times < 2; times++) must(await call(key, 'dogs', inOrganization(acme)), 200);
		const { members } = must(await acme.get(`/organizations/${acme.organization.id}/members`), 200).body.data;
		const { userId } = members.find(({ email }: { email: string }) => email === guest.email);
		must(await acme.del(`/organizations/${acme.organization.id}/members/${userId}`), 200);
		const statuses = async () =>
			new Set([
				(await ask(key, 'tools/list', {}, inOrganization(acme))).status,
				(await ask(key, 'tools/list', {}, inOrganization(acme))).status,
			]);
		await soon(async () => [...(await statuses())].join() === '400', 'neither replica admits them');
	});
});

test('the rules of a gateway hold: the address, the headers, the limit of an assignment', async () => {
	const owner = await registerAccount(service.url);
	const gateway = await publishGateway(owner, { toolIds: [await tool(owner, 'limited')] });
	must(await owner.patch(`/gateways/${gateway.id}/tools/${await assignmentOf(owner, gateway.id)}`, { rateLimit: 1 }), 200);
	const { key } = await keyOf(owner);
	assert.deepEqual([(await call(key, 'limited')).status, (await call(key, 'limited')).status], [200, 429]);
	const [method] = must(await owner.get(`/gateways/${gateway.id}/auth`), 200).body.data.authMethods;
	must(await owner.del(`/gateways/${gateway.id}/auth/${method.id}`), 200);
	const validationRules = { requiredHeaders: ['x-mark'] };
	must(await owner.post(`/gateways/${gateway.id}/auth`, { type: 'api_key', validationRules }), 201);
	await soon(async () => (await list(key)).length === 0 && (await list(key)).length === 0, 'the gateway is left out');
	assert.deepEqual(await list(key, { 'x-mark': '1' }), ['limited']);
});

async function assignmentOf(owner: Account, gatewayId: string): Promise<string> {
	return must(await owner.get(`/gateways/${gatewayId}/tools`), 200).body.data.tools[0].gatewayToolId;
}

test('clients of both eras list and call', async (t) => {
	const { key } = await keyOf(acme);
	const headers = { authorization: `Bearer ${key}` };
	const legacy = await mcpClient(`${service.url}/mcp`, headers, t);
	assert.equal((await legacy.listTools()).tools.length, 4);
	assert.deepEqual((await callTool(legacy, 'dogs'))[0], { path: '/dogs' });
	for (const mode of ['auto', { pin: '2026-07-28' }] as const) {
		const client = new DualClient({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
		await client.connect(new DualTransport(new URL(`${replica.url}/mcp`), { requestInit: { headers } }));
		t.after(() => client.close());
		assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
		assert.deepEqual((await client.callTool({ name: 'dogs', arguments: {} })).structuredContent, { path: '/dogs' });
	}
});

test('an organization chooses what clients list, on both replicas; open streams hear of it, and other organizations do not', async (t) => {
	const { key } = await keyOf(acme);
	const theirs = await keyOf(other);
	const choose = async (account: Account, settings: object) => account.patch(`/organizations/${account.organization.id}`, { settings });
	const legacy = await mcpClient(`${service.url}/mcp`, { authorization: `Bearer ${key}` }, t);
	const connect = async (): Promise<DualClient> => {
		const client = new DualClient({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
		await client.connect(
			new DualTransport(new URL(`${replica.url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${key}` } } }),
		);
		t.after(() => client.close());
		return client;
	};
	const stream = await openGet(`${replica.url}/mcp`, { authorization: `Bearer ${key}` });
	t.after(() => stream.leave());
	const own = { search: ['search_tools', 'execute_tool'], code: ['search_tools', 'run_code'] };
	for (const toolExposure of ['search', 'code', 'full'] as const) {
		const heard = methodsOf(stream).length;
		assert.equal(must(await choose(acme, { toolExposure }), 200).body.data.settings.toolExposure, toolExposure);
		// A client of 2026-07-28 keeps a list for a minute.
		for (const its of [async () => legacy, connect])
			await soon(async () => {
				const { tools } = await (await its()).listTools();
				const names = tools.map(({ name }) => name);
				return toolExposure === 'full' ? names.length === 4 : names.join() === own[toolExposure].join();
			}, `${toolExposure} is listed`);
		await soon(async () => methodsOf(stream).slice(heard).includes('notifications/tools/list_changed'), 'the stream tells of it');
		assert.deepEqual(await list(theirs.key, inOrganization(other)), ['birds']);
		const asked = { _meta: { 'gatehouse/exposure': 'full' } };
		assert.equal(namesOf(must(await ask(key, 'tools/list', asked), 200)).length, 4, 'a client may still ask for all');
	}
	const found = await legacy.callTool({ name: 'search_tools', arguments: { query: 'dogs' } });
	assert.equal((found.structuredContent as { tools: { name: string }[] }).tools[0]?.name, 'dogs');
	const ran = await legacy.callTool({ name: 'execute_tool', arguments: { name: 'dogs', arguments: {} } });
	assert.deepEqual(ran.structuredContent, { path: '/dogs' });
	const code = { code: 'return (await tools.dogs({})).path + (await tools.shared({})).path;' };
	const { content } = await (await connect()).callTool({ name: 'run_code', arguments: code });
	assert.deepEqual(content, [{ type: 'text', text: '/dogs/shared' }]);
	for (const [settings, field] of [
		[{ toolExposure: 'some' }, 'settings/toolExposure'],
		[{ toolExposure: null }, 'settings/toolExposure'],
	] as const) {
		const refused = must(await choose(acme, settings), 400);
		assert.match(JSON.stringify(refused.body), new RegExp(field));
	}
	const viewer = await ada.patch(`/organizations/${acme.organization.id}`, { settings: { toolExposure: 'code' } });
	assert.equal(viewer.status, 403);
});

test('a page of any origin may call it as it may call a gateway, without the browser’s credentials', async () => {
	const headers = {
		origin: 'https://page.example',
		'access-control-request-method': 'POST',
		'access-control-request-headers': 'mcp-method',
	};
	const preflight = await send(`${service.url}/mcp`, 'OPTIONS', { headers });
	assert.deepEqual(
		['access-control-allow-origin', 'access-control-allow-headers', 'access-control-allow-credentials'].map((name) =>
			preflight.headers.get(name),
		),
		['*', 'mcp-method', null],
	);
});

test('a browser gets a page as the body of the refusal that it gets anyway, at a gateway and here', async () => {
	const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
	const { key } = await keyOf(acme);
	const gateway = await publishGateway(acme, { auth: 'none' });
	for (const [url, status, more] of [
		[`${service.url}/mcp`, 401, {}],
		[cats.url, 401, {}],
		[`${service.url}/mcp`, 405, { authorization: `Bearer ${key}` }],
		[gateway.url, 405, {}],
	] as const) {
		const page = must(await send(url, 'GET', { headers: { accept, ...more } }), status);
		const plain = must(await send(url, 'GET', { headers: { accept: 'application/json', ...more } }), status);
		for (const name of ['www-authenticate', 'allow', 'cache-control', 'x-frame-options', 'x-ratelimit-limit'])
			assert.equal(page.headers.get(name), plain.headers.get(name), `${url} ${name}`);
		assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
		assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'sha256-/);
		assert.ok(page.body.includes(`claude mcp add --transport http`) && page.body.includes(url), url);
		for (const name of ['dogs', 'shared']) assert.ok(!page.body.includes(name), 'no tools');
		assert.equal(plain.body.statusCode, status);
	}
	const post = must(await send(`${service.url}/mcp`, 'POST', { body: PING, headers: { accept } }), 401);
	assert.equal(post.body.statusCode, 401, 'a message gets no page');
	must(await send(`${service.url}/acme/none-such`, 'GET', { headers: { accept } }), 404);
});
