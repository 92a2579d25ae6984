// Tests of MCP that need the real server: methods, event streams on the wire, clients that disconnect.

import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFixtureTools } from '../conformance/tools.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { publishGateway, registerAccount, startTestService, type TestService } from '../helpers/service.ts';

const ROUNDS = 40;
const META = {
	progressToken: 'token',
	'io.modelcontextprotocol/protocolVersion': '2026-07-28',
	'io.modelcontextprotocol/clientCapabilities': {},
};
const MODERN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'poll' };

let packages: InstalledPackages;
let service: TestService;
let gateway: { url: string; key: string };
let upstream: Server;
const polls = new Map<string, number>();

before(async () => {
	upstream = createServer((request, response) => {
		const path = request.url ?? '';
		polls.set(path, (polls.get(path) ?? 0) + 1);
		response.end('ok');
	});
	await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
	packages = installPackages('conformance-plugin');
	service = await startTestService({ env: { GATEWAY_PLUGINS: packages.names.join(',') } });
	const account = await registerAccount(service.url);
	const parameters = { type: 'object', properties: { url: { type: 'string' }, times: { type: 'integer' } } };
	gateway = await publishGateway(account, {
		toolIds: await createFixtureTools(account, [{ name: 'poll', behaviour: 'polling', parameters }]),
	});
});

after(async () => {
	await service?.stop();
	packages?.[Symbol.dispose]();
	upstream?.closeAllConnections();
	upstream?.close();
});

interface Polling {
	/** The path, by which the upstream tells calls apart. */
	path: string;
	meta: object;
	headers?: Record<string, string>;
	signal?: AbortSignal;
}

/** Calls the polling tool; the response is a stream when `meta` has a token. */
function poll({ path, meta, headers = {}, signal }: Polling): Promise<Response> {
	// The server listens on TCP, so the address is not a pipe's name.
	const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}${path}`;
	const params = { name: 'poll', arguments: { url, times: ROUNDS }, _meta: meta };
	return fetch(gateway.url, {
		method: 'POST',
		headers: {
			authorization: `Bearer ${gateway.key}`,
			'content-type': 'application/json',
			accept: 'application/json, text/event-stream',
			'accept-encoding': 'gzip',
			...headers,
		},
		body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
		...(signal && { signal }),
	});
}

/** Disconnects after the first chunk of the stream. @returns that chunk */
async function readFirstAndLeave(response: Response, client: AbortController): Promise<string> {
	const reader = response.body?.getReader();
	const first = await reader?.read();
	client.abort();
	return Buffer.from(first?.value ?? []).toString();
}

/** Counts the polls, once no more have come for a while. */
async function settledPolls(path: string): Promise<number> {
	for (let last = -1; ; ) {
		const now = polls.get(path) ?? 0;
		if (now === last) return now;
		last = now;
		await sleep(400);
	}
}

test('DELETE is answered with 405 and Allow (2025-11-25, transports, “Session Management”)', async () => {
	const { status, headers } = await fetch(gateway.url, { method: 'DELETE', headers: { authorization: `Bearer ${gateway.key}` } });
	assert.deepEqual([status, headers.get('allow')], [405, 'GET, POST']);
});

test('events reach a client that takes gzip one by one, while the tool still runs', async () => {
	const response = await poll({ path: '/watched', meta: { progressToken: 'token' } });
	assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
	const reader = response.body?.getReader();
	const first = await reader?.read();
	assert.match(Buffer.from(first?.value ?? []).toString(), /"progress":1/);
	assert.ok((polls.get('/watched') ?? 0) < ROUNDS, 'the tool was still running');
	await reader?.cancel();
});

test('closing the stream stops the tool (2026-07-28, transports, “Cancellation”)', async () => {
	const client = new AbortController();
	const response = await poll({ path: '/modern', meta: META, headers: MODERN, signal: client.signal });
	assert.match(await readFirstAndLeave(response, client), /notifications\/progress/);
	const count = await settledPolls('/modern');
	assert.ok(count >= 1 && count < ROUNDS, `${count} polls`);
});

test('leaving before a JSON answer stops the tool (2026-07-28, transports, “Cancellation”)', async () => {
	const { progressToken: _, ...meta } = META;
	const client = new AbortController();
	const answer = poll({ path: '/json', meta, headers: MODERN, signal: client.signal });
	setTimeout(() => client.abort(), 150);
	await assert.rejects(answer, { name: 'AbortError' });
	const count = await settledPolls('/json');
	assert.ok(count < ROUNDS, `${count} polls`);
});

test('closing the stream of a legacy call lets the tool finish (2025-11-25, transports, “Sending Messages”)', async () => {
	const client = new AbortController();
	const response = await poll({ path: '/legacy', meta: { progressToken: 'token' }, signal: client.signal });
	await readFirstAndLeave(response, client);
	assert.equal(await settledPolls('/legacy'), ROUNDS);
});
