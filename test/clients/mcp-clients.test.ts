// Tests with real MCP clients on a gateway that requires an API key: they connect, list and call tools, and get the upstream's response.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client as DualClient, StreamableHTTPClientTransport as DualTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { publishGateway, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';
import { importPets, PET_KINDS, type PetsApi, startPets } from './pets.ts';

const INSPECTOR = fileURLToPath(new URL('../../node_modules/.bin/mcp-inspector', import.meta.url));
const INFO = { name: 'gatehouse-test', version: '1.0.0' };

let pets: PetsApi;
let service: SharedService;
let gateway: { url: string; key: string };
let home: string;

before(async () => {
	home = mkdtempSync(join(tmpdir(), 'gatehouse-clients-'));
	pets = await startPets();
	service = await sharedService();
	const account = await registerAccount(service.url);
	gateway = await publishGateway(account, { toolIds: await importPets(account, pets) });
});

after(async () => {
	await service?.stop();
	pets?.close();
	rmSync(home, { recursive: true, force: true });
});

interface Session {
	version: string | undefined;
	listTools(): Promise<{ name: string; outputSchema?: unknown }[]>;
	callTool(id: string): Promise<{ isError?: boolean | undefined; structuredContent?: unknown; content: unknown }>;
	close(): Promise<void>;
}

const requestInit = () => ({ headers: { authorization: `Bearer ${gateway.key}` } });

async function connectSdk(): Promise<Session> {
	const client = new Client(INFO);
	const transport = new StreamableHTTPClientTransport(new URL(gateway.url), { requestInit: requestInit() });
	// The SDK's own types disagree under exactOptionalPropertyTypes: its transport may have no session id.
	await client.connect(transport as Transport);
	return {
		version: transport.protocolVersion,
		listTools: async () => (await client.listTools()).tools,
		// Without a result schema of our own, the type is the SDK's CallToolResult.
		callTool: (id) => client.callTool({ name: 'getPet', arguments: { id } }) as ReturnType<Session['callTool']>,
		close: () => client.close(),
	};
}

async function connectDual(mode: 'legacy' | 'auto'): Promise<Session> {
	const client = new DualClient(INFO, { versionNegotiation: { mode } });
	await client.connect(new DualTransport(new URL(gateway.url), { requestInit: requestInit() }));
	return {
		version: client.getNegotiatedProtocolVersion(),
		listTools: async () => (await client.listTools()).tools,
		callTool: (id) => client.callTool({ name: 'getPet', arguments: { id } }),
		close: () => client.close(),
	};
}

const CLIENTS: { name: string; version: string; connect: () => Promise<Session> }[] = [
	{ name: '@modelcontextprotocol/sdk 1.32', version: '2025-11-25', connect: connectSdk },
	{ name: '@modelcontextprotocol/client 2.4, legacy', version: '2025-11-25', connect: () => connectDual('legacy') },
	{ name: '@modelcontextprotocol/client 2.4, auto', version: '2026-07-28', connect: () => connectDual('auto') },
];

for (const { name, version, connect } of CLIENTS) {
	describe(name, () => {
		test(`speaks ${version}, lists the tool and gets the upstream’s answer`, async () => {
			const session = await connect();
			assert.equal(session.version, version);
			assert.deepEqual(
				(await session.listTools()).map((tool) => tool.name),
				['getPet'],
			);
			const result = await session.callTool('good');
			assert.deepEqual(result.structuredContent, { id: 1, name: 'Tom' });
			await session.close();
		});

		test('takes every answer of an upstream that breaks its own document, though an output schema is shown', async () => {
			const session = await connect();
			const [tool] = await session.listTools();
			assert.ok(tool?.outputSchema, 'the output schema is shown');
			for (const kind of PET_KINDS) {
				const { isError = false, structuredContent } = await session.callTool(kind);
				assert.equal(isError, kind === 'failing', kind);
				if (kind === 'list') assert.deepEqual(structuredContent, { result: [{ id: 1 }] });
				if (kind === 'text') assert.deepEqual(structuredContent, { result: 'Tom' });
			}
			await session.close();
		});

		test('is told which argument is wrong, as a result that a model can read', async () => {
			const session = await connect();
			const { isError, content } = await session.callTool(5 as unknown as string);
			assert.equal(isError, true);
			assert.match(JSON.stringify(content), /\/id must be string, got number 5/);
			await session.close();
		});
	});
}

test('a client without a key is refused with 401', async () => {
	const client = new Client(INFO);
	const transport = new StreamableHTTPClientTransport(new URL(gateway.url));
	await assert.rejects(client.connect(transport as Transport), /401|Unauthorized/i);
});

describe('Inspector 2.12 (CLI)', () => {
	for (const era of ['legacy', 'auto', 'modern']) {
		test(`lists and calls in its ${era} era`, async () => {
			const listed = await inspect(era, ['--method', 'tools/list']);
			assert.match(listed, /"getPet"/);
			const called = await inspect(era, ['--method', 'tools/call', '--tool-name', 'getPet', '--tool-args-json', '{"id":"good"}']);
			assert.match(called, /Tom/);
		});
	}

	test('finds no portability problem in the tools’ schemas', async () => {
		assert.match(await inspect('auto', ['--method', 'tools/list', '--strict']), /"getPet"/);
	});
});

/** Runs the inspector. @returns its output. @throws when it exits with another code than 0 */
function inspect(era: string, args: string[]): Promise<string> {
	const target = ['--server-url', gateway.url, '--transport', 'http', '--protocol-era', era];
	const header = ['--header', `Authorization: Bearer ${gateway.key}`];
	const command = [INSPECTOR, '--cli', ...target, ...header, ...args, '--format', 'json', '-q'];
	const env = { ...process.env, HOME: home, MCP_INSPECTOR_SECRET_STORE: 'file' };
	return new Promise((resolve, reject) => {
		execFile(process.execPath, command, { env, timeout: 60_000 }, (error, stdout, stderr) => {
			if (error) reject(new Error(`the Inspector ended with ${error.code}: ${stderr}${stdout}`));
			else resolve(stdout);
		});
	});
}
