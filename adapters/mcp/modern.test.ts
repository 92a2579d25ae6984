// Tests of the revision without a handshake, 2026-07-28.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError, VERSION as RELEASE } from '../../core/index.ts';
import { ABILITIES, META, mcpEndpoint, modernRequest, request, sampleTool } from '../../test/helpers/mcp.ts';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

describe('_meta', () => {
	const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
	const incomplete: { title: string; params: object }[] = [
		{ title: 'no _meta', params: {} },
		{ title: 'no version', params: { _meta: { [CAPABILITIES]: {} } } },
		{ title: 'no capabilities', params: { _meta: { [VERSION]: '2026-07-28' } } },
		{ title: 'a version that is no string', params: { _meta: { ...META, [VERSION]: 5 } } },
		{ title: 'capabilities that are a list', params: { _meta: { ...META, [CAPABILITIES]: [] } } },
	];
	for (const { title, params } of incomplete) {
		test(`${title} is -32602 on HTTP 400 (basic, “Per-Request Metadata”)`, async () => {
			const { status, message } = await mcpEndpoint()(request('tools/list', params), headers);
			assert.deepEqual([status, message.error.code, message.id], [400, -32602, 1]);
		});
	}

	test('clientInfo may be missing (basic, “Per-Request Metadata”)', async () => {
		assert.equal((await mcpEndpoint()(...modernRequest('tools/list'))).status, 200);
	});

	test('a version that is not implemented is -32022 on HTTP 400, with what is (basic, “Protocol Version”)', async () => {
		for (const version of ['2025-11-25', 'v999.0.0']) {
			const body = request('tools/list', { _meta: { ...META, [VERSION]: version } });
			const { status, message } = await mcpEndpoint()(body, { ...headers, 'mcp-protocol-version': version });
			assert.deepEqual([status, message.error.code], [400, -32022]);
			assert.deepEqual(message.error.data, { supported: ['2026-07-28'], requested: version });
		}
	});
});

describe('headers', () => {
	const [body, headers] = modernRequest('tools/call', { name: 'greet', arguments: {} });
	const changed: { title: string; change: Record<string, string | undefined> }[] = [
		{ title: 'no version', change: { 'mcp-protocol-version': undefined } },
		{ title: 'another version', change: { 'mcp-protocol-version': '2025-11-25' } },
		{ title: 'no method', change: { 'mcp-method': undefined } },
		{ title: 'another method', change: { 'mcp-method': 'tools/list' } },
		{ title: 'the method in capitals', change: { 'mcp-method': 'TOOLS/CALL' } },
		{ title: 'no name', change: { 'mcp-name': undefined } },
		{ title: 'another name', change: { 'mcp-name': 'other' } },
		{ title: 'a name in broken Base64', change: { 'mcp-name': '=?base64?Z3JlZXQ?=' } },
	];
	for (const { title, change } of changed) {
		test(`${title} is -32020 on HTTP 400 (transports, “Standard Headers”)`, async () => {
			const sent = Object.fromEntries(Object.entries({ ...headers, ...change }).filter(([, value]) => value !== undefined));
			// The entries that are `undefined` were removed above.
			const { status, message } = await mcpEndpoint()(body, sent as Record<string, string>);
			assert.deepEqual([status, message.error.code, message.id], [400, -32020, 1]);
		});
	}

	test('space around values does not count, and a name may come in Base64 (transports, “Value Encoding”)', async () => {
		for (const name of [' greet\t', '=?base64?Z3JlZXQ=?=']) {
			assert.equal((await mcpEndpoint()(body, { ...headers, 'mcp-name': name })).status, 200, name);
		}
	});
});

describe('arguments mirrored in headers', () => {
	const parameters = {
		type: 'object',
		properties: {
			region: { type: 'string', 'x-mcp-header': 'Region' },
			page: { type: 'object', properties: { size: { type: 'number', 'x-mcp-header': 'Size' } } },
		},
	};
	const post = mcpEndpoint({ tools: [sampleTool({ parameters })] });
	const call = (args: object, extra: Record<string, string>) => {
		const [body, headers] = modernRequest('tools/call', { name: 'greet', arguments: args });
		return post(body, { ...headers, ...extra });
	};

	test('a header that is missing, differs or is broken Base64 is -32020 (transports, “Custom Headers”)', async () => {
		const wrong: [object, Record<string, string>][] = [
			[{ region: 'eu' }, {}],
			[{ region: 'eu' }, { 'mcp-param-region': 'us' }],
			[{ region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVsbG8?=' }],
			[{ region: '\ufffd' }, { 'mcp-param-region': '=?base64?/w==?=' }],
			[{ page: { size: 42 } }, { 'mcp-param-size': '43' }],
			[{ page: { size: 0 } }, { 'mcp-param-size': '' }],
		];
		for (const [args, extra] of wrong) {
			const { status, message } = await call(args, extra);
			assert.deepEqual([status, message.error?.code], [400, -32020], JSON.stringify([args, extra]));
		}
	});

	test('a header that agrees, by text, number or Base64, is taken; without the argument none is asked for', async () => {
		const right: [object, Record<string, string>][] = [
			[{}, {}],
			[{ region: null }, {}],
			[{ region: 'eu' }, { 'mcp-param-region': 'eu' }],
			[{ region: 'ä' }, { 'mcp-param-region': '=?base64?w6Q=?=' }],
			[{ region: '=?base64?w6Q=' }, { 'mcp-param-region': '=?base64?w6Q=' }],
			[{ page: { size: 42 } }, { 'mcp-param-size': '42.0' }],
		];
		for (const [args, extra] of right) assert.equal((await call(args, extra)).status, 200, JSON.stringify([args, extra]));
	});
});

test('server/discover says versions, capabilities and how long that holds (discovery)', async () => {
	const { result } = (await mcpEndpoint({ config: { instructions: 'Greet first.' } })(...modernRequest('server/discover'))).message;
	assert.deepEqual(result, {
		resultType: 'complete',
		supportedVersions: ['2026-07-28'],
		capabilities: ABILITIES,
		instructions: 'Greet first.',
		ttlMs: 60_000,
		cacheScope: 'private',
		_meta: { 'io.modelcontextprotocol/serverInfo': { name: 'acme/main', title: 'Acme main', version: RELEASE } },
	});
});

test('lists say how long they hold, and for this credential only (utilities, “Caching”)', async () => {
	const { result } = (await mcpEndpoint()(...modernRequest('tools/list'))).message;
	assert.equal(result.cacheScope, 'private');
	assert.ok(Number.isInteger(result.ttlMs) && result.ttlMs >= 0);
});

test('the result of a call is complete (basic, “Result Types”)', async () => {
	const { result } = (await mcpEndpoint()(...modernRequest('tools/call', { name: 'greet' }))).message;
	assert.equal(result.resultType, 'complete');
	assert.deepEqual(result.content, [{ type: 'text', text: 'ran greet' }]);
});

test('methods that are not there, the removed ones too, are -32601 on HTTP 404 (transports, “Sending Messages”)', async () => {
	for (const method of ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'no/such', 'constructor']) {
		const { status, message } = await mcpEndpoint()(...modernRequest(method));
		assert.deepEqual([status, message.error.code, message.id], [404, -32601, 1], method);
	}
});

describe('a tool that needs an ability of the client', () => {
	const details = [{ path: 'client/sampling', message: 'is needed.' }];
	const run = () => Promise.reject(new GatewayError('not_implemented', 'It needs sampling.', { details }));

	test('is refused with -32021 on HTTP 400 when the client has not declared it (basic, “Client Capabilities”)', async () => {
		const { status, message } = await mcpEndpoint({ run })(...modernRequest('tools/call', { name: 'greet' }));
		assert.deepEqual([status, message.error.code], [400, -32021]);
		assert.deepEqual(message.error.data, { requiredCapabilities: { sampling: {} } });
	});

	test('is not implemented when the client has', async () => {
		const _meta = { ...META, [CAPABILITIES]: { sampling: {} } };
		const { status, message } = await mcpEndpoint({ run })(...modernRequest('tools/call', { name: 'greet', _meta }));
		assert.deepEqual([status, message.error.code], [200, -32603]);
	});
});

test('a client that leaves has cancelled its call (transports, “Cancellation”)', async () => {
	const client = new AbortController();
	const run = async (_name: string, _args: object, { signal }: { signal: AbortSignal }) => {
		client.abort();
		return { content: [{ type: 'text' as const, text: signal.aborted ? 'cancelled' : 'finished' }] };
	};
	const { message } = await mcpEndpoint({ run, signal: client.signal })(...modernRequest('tools/call', { name: 'greet' }));
	assert.equal(message.result.content[0].text, 'cancelled');
});
