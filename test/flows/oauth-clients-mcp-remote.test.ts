// Tests mcp-remote 0.15, between an MCP client that knows only stdio and the gateway: it finds the server, registers and signs in by
// itself.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { PATIENCE_MS } from '../helpers/clock.ts';
import { METADATA } from '../helpers/oauth.ts';
import { freePort } from '../helpers/ports.ts';
import { must, startTestService } from '../helpers/service.ts';
import { ANSWER, endAccessTokens, grantsOf, openStage, publishClientDocument, type Stage, TOOL } from './oauth-clients.ts';
import { environment, playUser, program, type User } from './oauth-clients-programs.ts';

let stage: Stage;
let folder: string;

before(async () => {
	// A service in this process trusts the certificate of a client document that a test publishes.
	stage = await openStage(await startTestService());
	folder = mkdtempSync(join(tmpdir(), 'gatehouse-mcp-remote-'));
});
after(async () => {
	await stage?.stop();
	rmSync(folder, { recursive: true, force: true });
});

interface Remote extends User, AsyncDisposable {
	client: Client;
}

/** The callback port by config folder, where it is registered. Two folders that share a port would wait for each other's sign-in. */
const ports = new Map<string, number>();

/** Starts an MCP client that knows the gateway only as a command. */
async function startRemote(config: string, args: string[] = []): Promise<Remote> {
	const port = ports.get(config) ?? (await freePort());
	ports.set(config, port);
	const transport = new StdioClientTransport({
		command: process.execPath,
		args: [program('mcp-remote'), stage.url, String(port), ...args],
		env: environment({ HOME: folder, MCP_REMOTE_CONFIG_DIR: join(folder, config) }),
		stderr: 'pipe',
	});
	// The stream exists from the beginning, since it was requested as a pipe; its type says only that it can be read.
	const user = playUser(transport.stderr as Readable, stage);
	const client = new Client({ name: 'gatehouse-test', version: '1.0.0' });
	try {
		await client.connect(transport, { timeout: PATIENCE_MS });
	} catch (thrown) {
		await client.close();
		assert.fail(`${thrown}: ${user.text()}`);
	}
	return { client, ...user, [Symbol.asyncDispose]: () => client.close() };
}

async function assertWorks({ client, text }: Remote): Promise<void> {
	assert.deepEqual(
		(await client.listTools()).tools.map(({ name }) => name),
		[TOOL],
		text(),
	);
	assert.match(JSON.stringify(await client.callTool({ name: TOOL, arguments: {} })), ANSWER);
}

test('mcp-remote signs in for a client that knows only stdio, and the second time without its user', async () => {
	{
		await using first = await startRemote('kept');
		await assertWorks(first);
		assert.equal(first.visits.length, 1);
		assert.equal(first.visits[0]?.searchParams.get('resource'), stage.url);
	}
	await using second = await startRemote('kept');
	await assertWorks(second);
	assert.deepEqual(second.visits, []);
});

test('mcp-remote refreshes while it runs, and when it starts with a token that has ended', async () => {
	let clientId: string;
	{
		await using first = await startRemote('refreshed');
		clientId = first.visits[0]?.searchParams.get('client_id') ?? '';
		// It has opened its stream by then. mcp-remote 0.15.1 names the file in which it saves tokens by the millisecond: where it refreshes for two
		// requests at once, and both are answered in one, it loses the tokens (ENOENT of its rename) and sends its user again.
		await assertWorks(first);
		assert.equal(await endAccessTokens(stage, clientId), 1);
		await assertWorks(first);
		assert.equal(first.visits.length, 1, first.text());
	}
	// Two, where it refreshed for two requests at once.
	assert.ok((await endAccessTokens(stage, clientId)) >= 1);
	await using second = await startRemote('refreshed');
	await assertWorks(second);
	assert.deepEqual(second.visits, []);
});

test('mcp-remote sends its user again when its grant has been ended', async () => {
	await using remote = await startRemote('ended', ['--protocol', 'auto']);
	const [grant] = await grantsOf(stage, remote.visits[0]?.searchParams.get('client_id') ?? '');
	must(await stage.account.del(`/gateways/${stage.gatewayId}/oauth/grants/${grant?.grantId}`), 200);
	await assertWorks(remote);
	assert.equal(remote.visits.length, 2);
});

test('mcp-remote registers again when its registration has been removed', async () => {
	let clientId: string;
	{
		await using first = await startRemote('removed');
		clientId = first.visits[0]?.searchParams.get('client_id') ?? '';
	}
	must(await stage.account.del(`/gateways/${stage.gatewayId}/oauth/clients/${clientId}`), 200);
	await using second = await startRemote('removed');
	await assertWorks(second);
	assert.equal(second.visits.length, 1);
	assert.notEqual(second.visits[0]?.searchParams.get('client_id'), clientId);
});

test('mcp-remote describes itself under a URL where it is given one', async () => {
	using document = await publishClientDocument({ ...METADATA, redirect_uris: ['http://localhost/oauth/callback'] });
	await using remote = await startRemote('described', ['--client-metadata-url', document.url]);
	await assertWorks(remote);
	assert.equal(remote.visits[0]?.searchParams.get('client_id'), document.url);
});
