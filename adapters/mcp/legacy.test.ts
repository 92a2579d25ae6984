// Tests of the revisions with a handshake: 2024-11-05 to 2025-11-25.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { VERSION } from '../../core/index.ts';
import { ABILITIES, mcpEndpoint, request } from '../../test/helpers/mcp.ts';
import { LEGACY_VERSIONS } from './legacy.ts';

const initialize = (protocolVersion: unknown) =>
	request('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } });

describe('initialize', () => {
	for (const version of LEGACY_VERSIONS) {
		test(`${version} is answered with itself (lifecycle, “Version Negotiation”)`, async () => {
			assert.equal((await mcpEndpoint()(initialize(version))).message.result.protocolVersion, version);
		});
	}

	test('a version that is not known is answered with the latest legacy one (lifecycle, “Version Negotiation”)', async () => {
		for (const version of ['2030-01-01', '2026-07-28', '']) {
			assert.equal((await mcpEndpoint()(initialize(version))).message.result.protocolVersion, '2025-11-25');
		}
	});

	test('it says who the server is, that it has tools, and the gateway’s instructions (lifecycle, “Initialization”)', async () => {
		const { result } = (await mcpEndpoint({ config: { instructions: 'Greet first.' } })(initialize('2025-11-25'))).message;
		assert.deepEqual(result, {
			protocolVersion: '2025-11-25',
			capabilities: ABILITIES,
			instructions: 'Greet first.',
			serverInfo: { name: 'acme/main', title: 'Acme main', version: VERSION },
		});
	});

	test('a version that is no string is the error -32602', async () => {
		assert.equal((await mcpEndpoint()(initialize(undefined))).message.error.code, -32602);
	});

	test('it hands out an unguessable session id, and only it does (transports, “Session Management”)', async () => {
		const ids = await Promise.all([1, 2].map(async () => (await mcpEndpoint()(initialize('2025-11-25'))).headers['mcp-session-id']));
		// A random part, and the name of the client.
		assert.match(ids[0] ?? '', /^[0-9a-f-]{36}\.c[\w-]+$/);
		assert.notEqual(ids[0], ids[1]);
		assert.equal((await mcpEndpoint()(request('ping'))).headers['mcp-session-id'], undefined);
	});
});

test('ping is answered with an empty result (utilities, “Ping”)', async () => {
	assert.deepEqual((await mcpEndpoint()(request('ping'))).message, { jsonrpc: '2.0', id: 1, result: {} });
});

test('a request needs neither a session nor a version header (transports, “Protocol Version Header”)', async () => {
	assert.equal((await mcpEndpoint()(request('tools/list'))).message.result.tools.length, 1);
	assert.equal((await mcpEndpoint()(request('tools/list'), { 'mcp-session-id': 'unknown' })).message.result.tools.length, 1);
});

test('a version header that is not supported is refused with 400, naming what is (transports, “Protocol Version Header”)', async () => {
	const { status, message } = await mcpEndpoint()(request('tools/list'), { 'mcp-protocol-version': '2019-01-01' });
	assert.equal(status, 400);
	assert.equal(message.error.data.requested, '2019-01-01');
	assert.ok(message.error.data.supported.includes('2025-11-25'));
});

test('a method that is not there is the error -32601 on HTTP 200 (JSON-RPC 2.0 §5.1)', async () => {
	for (const method of ['resources/follow', 'logging/setLevel', 'server/discover', 'constructor', '__proto__']) {
		const { status, message } = await mcpEndpoint()(request(method));
		assert.deepEqual([status, message.error.code], [200, -32601], method);
	}
});

test('results have nothing of the modern era', async () => {
	const { result } = (await mcpEndpoint()(request('tools/list'))).message;
	assert.deepEqual(Object.keys(result), ['tools']);
});

test('a client that leaves has not cancelled its call (transports, “Sending Messages”)', async () => {
	const client = new AbortController();
	const run = async (_name: string, _args: object, { signal }: { signal: AbortSignal }) => {
		client.abort();
		return { content: [{ type: 'text' as const, text: signal.aborted ? 'cancelled' : 'finished' }] };
	};
	const { message } = await mcpEndpoint({ run, signal: client.signal })(request('tools/call', { name: 'greet' }));
	assert.equal(message.result.content[0].text, 'finished');
});
