// Tests with real MCP clients on a gateway that lists its own tools only: they find tools, run them by name, and run code that calls many.

import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Client as DualClient, StreamableHTTPClientTransport as DualTransport } from '@modelcontextprotocol/client';
import { until } from '../helpers/clock.ts';
import { mcpClient } from '../helpers/mcp-client.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	send,
	sharedService,
} from '../helpers/service.ts';

let service: SharedService;
let account: Account;
let upstream: Server;
let gateway: { id: string; url: string; key: string };
let code: { id: string; url: string; key: string };
/** The ids of pets that were asked for. */
const asked: string[] = [];
let left = 0;

before(async () => {
	upstream = createServer((request, response) => {
		const id = request.url?.split('/').at(-1) ?? '';
		asked.push(id);
		if (id !== 'slow') return response.setHeader('content-type', 'application/json').end(JSON.stringify({ id }));
		response.on('close', () => left++);
	}).listen(0, '127.0.0.1');
	service = await sharedService();
	account = await registerAccount(service.url);
	const { port } = upstream.address() as AddressInfo;
	const parameters = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
	const url = `http://127.0.0.1:${port}/pets/{id}`;
	const toolIds = [
		await createHttpTool(account, { name: 'getPet', url, parameters }),
		await createHttpTool(account, { name: 'delete_pet', url, method: 'DELETE', parameters }),
	];
	gateway = await publishGateway(account, { toolIds, configuration: { toolExposure: 'search' } });
	code = await publishGateway(account, { toolIds, configuration: { toolExposure: 'code' } });
});
after(async () => {
	await service?.stop();
	upstream?.closeAllConnections();
	upstream?.close();
});

interface Session {
	listTools(): Promise<{ tools: { name: string }[] }>;
	callTool(call: { name: string; arguments: Record<string, unknown> }, options?: { signal: AbortSignal }): Promise<Result>;
	close(): Promise<void>;
}

interface Result {
	content: { text: string }[];
	structuredContent?: Record<string, unknown>;
	isError?: boolean;
}

const CLIENTS: [name: string, connect: (at: { url: string; key: string }) => Promise<Session>][] = [
	[
		'@modelcontextprotocol/sdk 1.32',
		async ({ url, key }) => {
			const client = await mcpClient(url, { authorization: `Bearer ${key}` });
			return {
				listTools: () => client.listTools(),
				callTool: async (call, options) => (await client.callTool(call, undefined, options)) as unknown as Result,
				close: () => client.close(),
			};
		},
	],
	...(['legacy', 'auto'] as const).map((mode): (typeof CLIENTS)[number] => [
		`@modelcontextprotocol/client 2.4, ${mode}`,
		async ({ url, key }) => {
			const client = new DualClient({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
			await client.connect(new DualTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${key}` } } }));
			return {
				listTools: () => client.listTools(),
				callTool: async (call, options) => (await client.callTool(call, options)) as unknown as Result,
				close: () => client.close(),
			};
		},
	]),
];

for (const [name, connect] of CLIENTS) {
	describe(name, () => {
		test('finds a tool, runs it, and is told the nearest for a wrong name', async () => {
			const session = await connect(gateway);
			const { tools } = await session.listTools();
			assert.deepEqual(
				tools.map((tool) => tool.name),
				['search_tools', 'execute_tool'],
			);
			const found = await session.callTool({ name: 'search_tools', arguments: { query: 'delete a pet' } });
			const [first] = (found.structuredContent?.['tools'] ?? []) as { name: string; inputSchema: { required: string[] } }[];
			assert.deepEqual([first?.name, first?.inputSchema.required], ['delete_pet', ['id']]);
			const ran = await session.callTool({ name: 'execute_tool', arguments: { name: 'getPet', arguments: { id: '7' } } });
			assert.deepEqual(ran.structuredContent, { id: '7' });
			const wrong = await session.callTool({ name: 'execute_tool', arguments: { name: 'get_pets', arguments: {} } });
			assert.match(wrong.content[0]?.text ?? '', /Did you mean getPet/);
			const bad = await session.callTool({ name: 'execute_tool', arguments: { name: 'getPet', arguments: { id: 5 } } });
			assert.match(bad.content[0]?.text ?? '', /\/id must be string, got number 5/);
			await session.close();
		});

		test('runs code that calls twenty tools for one answer', async () => {
			const session = await connect(code);
			assert.deepEqual(
				(await session.listTools()).tools.map((tool) => tool.name),
				['search_tools', 'run_code'],
			);
			const text = 'return (await Promise.all([...Array(20).keys()].map((n) => tools.getPet({ id: "n" + n })))).map(({ id }) => id).join()';
			const before = asked.length;
			const { content } = await session.callTool({ name: 'run_code', arguments: { code: text } });
			assert.equal(content[0]?.text, Array.from({ length: 20 }, (_none, n) => `n${n}`).join());
			assert.equal(asked.length - before, 20);
			const failed = await session.callTool({ name: 'run_code', arguments: { code: 'const id = 5;\nreturn tools.getPet({ id })' } });
			assert.equal(failed.isError, true);
			assert.match(failed.content[0]?.text ?? '', /\/id must be string, got number 5.*at line 2/s);
			await session.close();
		});
	});
}

test('a client that leaves ends the code and its calls of upstreams (2026-07-28)', async () => {
	const [, connect] = CLIENTS[2] ?? assert.fail('there is no such client');
	const session = await connect(code);
	const leaving = new AbortController();
	const leftBefore = left;
	const asking = asked.length;
	const running = session.callTool(
		{ name: 'run_code', arguments: { code: 'for (;;) await tools.getPet({ id: "slow" })' } },
		{ signal: leaving.signal },
	);
	await until(() => asked.length > asking, 'the upstream is called');
	leaving.abort();
	await assert.rejects(running);
	await until(() => left > leftBefore, 'the call of the upstream ends');
	assert.equal(asked.length, asking + 1);
	await session.close();
});

test('a tool that its user must confirm is refused in code, and asked for by execute_tool', async () => {
	const { id, url, key } = await publishGateway(account, { toolIds: [] });
	const { port } = upstream.address() as AddressInfo;
	const toolId = await createHttpTool(account, { name: 'confirmed', url: `http://127.0.0.1:${port}/pets/confirmed` });
	must(await account.post(`/gateways/${id}/tools`, { toolId, confirm: 'always' }), 201);
	for (const mode of ['legacy', 'auto'] as const) {
		let questions = 0;
		const info = { name: 'gatehouse-test', version: '1.0.0' };
		const client = new DualClient(info, { capabilities: { elicitation: {} }, versionNegotiation: { mode } });
		client.setRequestHandler('elicitation/create', async () => {
			questions += 1;
			return { action: 'accept', content: { run: true } };
		});
		await client.connect(new DualTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${key}` } } }));
		const before = asked.length;
		const refused = await client.callTool({ name: 'run_code', arguments: { code: 'return await tools.confirmed({});' } });
		assert.deepEqual([refused.isError, questions, asked.length - before], [true, 0, 0]);
		assert.match(JSON.stringify(refused.content), /asks the user before it runs/);
		const confirmed = await client.callTool({ name: 'execute_tool', arguments: { name: 'confirmed', arguments: {} } });
		assert.deepEqual([confirmed.isError ?? false, questions, asked.slice(before)], [false, 1, ['confirmed']]);
		await client.close();
	}
});

test('calls of code count in the window of the caller and of the tool', async () => {
	const limited = await publishGateway(account, { configuration: {} });
	const tool = must(await account.get(`/gateways/${gateway.id}/tools`), 200).body.data.tools.find(
		({ name }: { name: string }) => name === 'getPet',
	);
	const { gatewayToolId } = must(await account.post(`/gateways/${limited.id}/tools`, { toolId: tool.toolId }), 201).body.data;
	const remaining = async (text: string): Promise<[remaining: number, text: string]> => {
		const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'run_code', arguments: { code: text } } };
		const headers = { authorization: `Bearer ${limited.key}`, accept: 'application/json, text/event-stream' };
		const answer = must(await send(limited.url, 'POST', { body, headers }), 200);
		return [Number(answer.headers.get('x-ratelimit-remaining')), answer.body.result.content[0].text];
	};
	const three = 'for (let n = 0; n < 3; n++) await tools.getPet({ id: "x" }); return "done"';
	const [first] = await remaining('return 1');
	const [second, said] = await remaining(three);
	assert.deepEqual([said, first - second], ['done', 4]);
	must(await account.patch(`/gateways/${limited.id}/tools/${gatewayToolId}`, { rateLimit: 2 }), 200);
	await until(async () => /at line 1/.test((await remaining(three))[1]), 'the limit of the tool is in force');
});

test('code is not handed a part of what the gateway cuts, and its own answer is what it returns', async () => {
	const code = "return { items: Array.from({ length: 200 }, (_none, n) => 'item ' + n) };";
	const tool = { name: 'many', type: 'javascript', description: 'Many.', parameters: { type: 'object', properties: {} }, code };
	const toolId = must(await account.post(`/organizations/${account.organization.id}/tools`, tool), 201).body.data.id;
	const cut = await publishGateway(account, { toolIds: [toolId] });
	const whole = await publishGateway(account, { toolIds: [toolId] });
	must(await account.patch(`/gateways/${cut.id}`, { maxResultBytes: 500 }), 200);
	const counting = { code: 'return { count: (await tools.many({})).items.length };' };
	// Code’s own answer is not cut.
	const joined = { code: 'return "x".repeat(2000) + (await tools.many({}).catch(({ message }) => message));' };
	for (const [, connect] of CLIENTS.slice(1)) {
		const session = await connect(whole);
		const { structuredContent } = await session.callTool({ name: 'run_code', arguments: counting });
		assert.deepEqual(structuredContent, { count: 200 });
		await session.close();
		const cutting = await connect(cut);
		const failed = await cutting.callTool({ name: 'run_code', arguments: counting });
		assert.deepEqual([failed.isError, /many ran, and its answer is too large/.test(failed.content[0]?.text ?? '')], [true, true]);
		const { content } = await cutting.callTool({ name: 'run_code', arguments: joined });
		assert.match(content[0]?.text ?? '', /^x{2000}many ran, and its answer is too large/);
		await cutting.close();
	}
});

test('GET /gateways/:id tells what lists cost, to whoever may read tools', async () => {
	const { tokens } = must(await account.get(`/gateways/${gateway.id}`), 200).body.data;
	assert.deepEqual(Object.keys(tokens), ['full', 'search', 'code']);
	assert.ok(tokens.full > 50 && tokens.search > 100 && tokens.code > 100, JSON.stringify(tokens));
	const keys = `/gateways/${gateway.id}/auth/api-keys`;
	const { key } = must(await account.post(keys, { name: 'reader', scopes: ['gateway:read'] }), 201).body.data;
	const shown = must(await send(`${service.url}/gateways/${gateway.id}`, 'GET', { headers: { authorization: `Bearer ${key}` } }), 200);
	assert.equal(shown.body.data.tokens, null);
});
