// Results for clients of both eras over two replicas: confirmed before they come about, cut where they are too large, read to their end.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client as DualClient, StreamableHTTPClientTransport as DualTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ReadResourceResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { type Account, must, publishGateway, registerAccount, startTestService, type TestService } from '../helpers/service.ts';

const INFO = { name: 'gatehouse-test', version: '1.0.0' };
const FORMS = { capabilities: { elicitation: {} } };

// biome-ignore lint/suspicious/noExplicitAny: tests read into messages whose shape is what they test
type Read = any;
type User = (request: { params: { message: string } }) => Promise<{ action: string; content?: object }>;

interface Connected {
	call(name: string, args?: object, onProgress?: (told: Read) => void): Promise<Read>;
	read(uri: string): Promise<Read>;
	close(): Promise<void>;
}

let service: TestService;
let replica: TestService;
let account: Account;
let gateway: { id: string; url: string; elsewhere: string; key: string; otherKey: string };

const CODE = {
	list: 'return { rows: Array.from({ length: 3000 }, (_, id) => ({ id, name: "row " + id })) }',
	draw: 'progress(1, 2, "half"); await new Promise((ok) => setTimeout(ok, 50)); progress(2, 2); return { content: [{ type: "image", data: "iVBORw==", mimeType: "image/png" }] }',
	pay: 'return { paid: parameters.amount ?? "nothing" }',
};

before(async () => {
	service = await startTestService();
	replica = await startTestService({ replicaOf: service });
	account = await registerAccount(service.url);
	const parameters = { type: 'object', properties: { amount: { type: 'integer', default: 5 } } };
	const path = `/organizations/${account.organization.id}/tools`;
	const { id, url, key } = await publishGateway(account);
	must(await account.patch(`/gateways/${id}`, { maxResultBytes: 1000 }), 200);
	for (const [name, code] of Object.entries(CODE)) {
		const tool = must(await account.post(path, { name, type: 'javascript', code, parameters }), 201).body.data;
		const options = name === 'pay' ? { confirm: 'destructive' } : {};
		must(await account.post(`/gateways/${id}/tools`, { toolId: tool.id, ...options }), 201);
	}
	const otherKey = must(await account.post(`/gateways/${id}/auth/api-keys`, { name: 'other' }), 201).body.data.key;
	gateway = { id, url, elsewhere: replica.url + new URL(url).pathname, key, otherKey };
});
after(async () => {
	await replica?.stop();
	await service?.stop();
});

/** Sends answers and reads to the other replica. */
async function across(url: string | URL, init: RequestInit = {}): Promise<Response> {
	const sent = typeof init.body === 'string' ? JSON.parse(init.body) : {};
	const isAnswer = sent.method === undefined && 'result' in sent;
	return fetch(isAnswer || sent.params?.requestState || sent.method === 'resources/read' ? gateway.elsewhere : url, init);
}

const transportOptions = (key: string): object => ({ requestInit: { headers: { authorization: `Bearer ${key}` } }, fetch: across });

async function connectSdk(user: User | null, key = gateway.key): Promise<Connected> {
	const client = new Client(INFO, user ? FORMS : {});
	// The SDK checks what the user's part returns.
	if (user) client.setRequestHandler(ElicitRequestSchema, user as never);
	await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url), transportOptions(key)) as never);
	return {
		call: (name, args = {}, onprogress) => client.callTool({ name, arguments: { ...args } }, undefined, onprogress && { onprogress }),
		read: (uri) => client.request({ method: 'resources/read', params: { uri } }, ReadResourceResultSchema),
		close: () => client.close(),
	};
}

/** Reads as a client of 2026-07-28 does, which hands out no member that its schema does not name. */
async function readRaw(uri: string, key: string): Promise<Read> {
	const version = '2026-07-28';
	const _meta = { 'io.modelcontextprotocol/protocolVersion': version, 'io.modelcontextprotocol/clientCapabilities': {} };
	const answer = await fetch(gateway.elsewhere, {
		method: 'POST',
		headers: {
			...{ authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
			...{ 'mcp-protocol-version': version, 'mcp-method': 'resources/read', 'mcp-name': uri },
		},
		body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri, _meta } }),
	});
	const { result, error }: Read = await answer.json();
	if (error) throw new Error(error.message);
	return result;
}

async function connectDual(user: User | null, key = gateway.key): Promise<Connected> {
	const client = new DualClient(INFO, { versionNegotiation: { mode: 'auto' }, ...(user ? FORMS : {}) });
	if (user) client.setRequestHandler('elicitation/create', user as never);
	await client.connect(new DualTransport(new URL(gateway.url), transportOptions(key)));
	return {
		call: (name, args = {}, onprogress) => client.callTool({ name, arguments: { ...args } }, onprogress && { onprogress }),
		read: (uri) => readRaw(uri, key),
		close: () => client.close(),
	};
}

for (const [name, connect] of [
	['@modelcontextprotocol/sdk 1.32', connectSdk],
	['@modelcontextprotocol/client 2.4, auto', connectDual],
] as const)
	describe(name, () => {
		test('reads the whole of a result that was cut, page by page at another replica, and nobody else does', async () => {
			const client = await connect(null);
			const { content, structuredContent } = await client.call('list');
			const [begun, label, link] = content;
			assert.deepEqual(JSON.parse(begun.text), structuredContent);
			assert.ok(Buffer.byteLength(begun.text) <= 1000);
			assert.match(label.text, /^\[Cut: the first \d+ of [\d,]+ bytes\. .*resources\/read/);
			let whole = '';
			for (let uri = link.uri; uri !== undefined; ) {
				const [page] = (await client.read(uri)).contents;
				whole += page.text;
				uri = page._meta?.['gatehouse/next'];
			}
			assert.equal(JSON.parse(whole).rows.length, 3000);
			const other = await connect(null, gateway.otherKey);
			await assert.rejects(other.read(link.uri), /no such resource/);
			await Promise.all([client.close(), other.close()]);
		});

		test('runs a tool that may destroy something when its user says so, once, with the arguments that were shown', async () => {
			const asked: string[] = [];
			let run = true;
			const client = await connect(async ({ params }) => {
				asked.push(params.message);
				return { action: 'accept', content: { run } };
			});
			assert.deepEqual((await client.call('pay', { amount: 7 })).structuredContent, { paid: 7 });
			assert.match(asked[0] ?? '', /“pay”[\s\S]*"amount": 7/);
			assert.deepEqual(
				(await client.call('pay', { amount: null })).structuredContent,
				{ paid: 5 },
				'null is absent, and the default shown',
			);
			run = false;
			const { isError, content } = await client.call('pay');
			assert.deepEqual([isError, asked.length], [true, 3]);
			assert.match(content[0].text, /did not confirm/);
			await client.close();
			const mute = await connect(null);
			await assert.rejects(mute.call('pay'), /cannot ask its user|capabilit/i);
			await mute.close();
		});

		test('gets an image and progress from code', async () => {
			const client = await connect(null);
			const told: Read[] = [];
			const { content } = await client.call('draw', {}, (progress) => told.push(progress));
			assert.deepEqual(content, [{ type: 'image', data: 'iVBORw==', mimeType: 'image/png' }]);
			assert.deepEqual(
				told.map(({ progress, total, message }) => [progress, total, message]),
				[
					[1, 2, 'half'],
					[2, 2, undefined],
				],
			);
			await client.close();
		});
	});
