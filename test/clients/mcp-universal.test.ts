// MCP clients at a fixed address that a feature from a package serves: the tools of all gateways, over two replicas.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { Client as DualClient, StreamableHTTPClientTransport as DualTransport } from '@modelcontextprotocol/client';
import { until } from '../helpers/clock.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { methodsOf, openGet, openListen } from '../helpers/mcp-streams.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';

let packages: InstalledPackages;
let service: TestService;
let replica: TestService;
let upstream: Server;
let account: Account;
let gateways: { id: string }[];
let key: { id: string; key: string };

before(async () => {
	upstream = createServer((request, response) =>
		response.setHeader('content-type', 'application/json').end(JSON.stringify({ path: request.url })),
	);
	upstream.listen(0, '127.0.0.1');
	await once(upstream, 'listening');
	packages = installPackages('universal-plugin');
	const env = { GATEWAY_PLUGINS: packages.names.join(',') };
	service = await startTestService({ env });
	replica = await startTestService({ env, replicaOf: service });
	account = await registerAccount(service.url);
	gateways = [];
	for (const name of ['cats', 'dogs'])
		gateways.push(await publishGateway(account, { toolIds: [await tool(name), await tool(`list-${name}`)] }));
	key = must(await account.post('/access-keys', { name: 'all' }), 201).body.data;
});

after(async () => {
	await replica?.stop();
	await service?.stop();
	packages?.[Symbol.dispose]();
	upstream?.closeAllConnections();
	upstream?.close();
});

const tool = (name: string): Promise<string> =>
	// The server listens on TCP, so the address is not a pipe's name.
	createHttpTool(account, { name, url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/${name}` });

const NAMES = ['cats', 'list-cats', 'dogs', 'list-dogs'];
const headers = () => ({ authorization: `Bearer ${key.key}` });

test('a client of the revisions with a handshake lists and calls the tools of all gateways', async (t) => {
	const client = await mcpClient(`${service.url}/a2a/all`, headers(), t);
	assert.equal(client.getInstructions(), 'All tools.');
	assert.deepEqual(
		(await client.listTools()).tools.map(({ name }) => name),
		NAMES,
	);
	assert.deepEqual((await callTool(client, 'dogs'))[0], { path: '/dogs' });
});

test('a client of 2026-07-28 does the same', async (t) => {
	const client = new DualClient({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
	await client.connect(new DualTransport(new URL(`${replica.url}/a2a/all`), { requestInit: { headers: headers() } }));
	t.after(() => client.close());
	assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
	assert.deepEqual(
		(await client.listTools()).tools.map(({ name }) => name),
		NAMES,
	);
	assert.deepEqual((await client.callTool({ name: 'list-cats', arguments: {} })).structuredContent, { path: '/list-cats' });
});

test('another replica sees a new tool, and that a key is revoked', async (t) => {
	const client = await mcpClient(`${replica.url}/a2a/all`, headers(), t);
	const names = async (): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name);
	await names();
	const streams = [
		await openGet(`${replica.url}/mcp`, headers()),
		await openListen(`${replica.url}/mcp`, { toolsListChanged: true }, headers()),
	];
	for (const { seen } of streams) await until(() => seen.length > 0, 'the stream begins');
	must(await account.post(`/gateways/${gateways[0]?.id}/tools`, { toolId: await tool('birds') }), 201);
	await soon(async () => (await names()).includes('birds'), 'the new tool is listed');
	for (const stream of streams) await until(() => methodsOf(stream).includes('notifications/tools/list_changed'), 'the stream tells of it');
	must(await account.del(`/access-keys/${key.id}`), 200);
	const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
	const statusNow = async (): Promise<number> => (await send(`${replica.url}/a2a/all`, 'POST', { body: ping, headers: headers() })).status;
	await soon(async () => (await statusNow()) === 401, 'the revoked key is refused');
	await Promise.all(streams.map(({ ended }) => ended));
});

test('a client without a credential is challenged, and one of another place is not admitted', async () => {
	const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
	const answer = await send(`${service.url}/a2a/all`, 'POST', { body: ping });
	assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [401, 'Bearer']);
	assert.equal(
		(await send(`${service.url}/a2a/all`, 'POST', { body: ping, headers: { authorization: 'Bearer ak_live_none' } })).status,
		401,
	);
});
