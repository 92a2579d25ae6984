// Tests of a request's frame in every revision: JSON-RPC, Origin, Content-Type, and the form of errors.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ERRORS, type ErrorCode, GatewayError } from '../../core/index.ts';
import { mcpEndpoint, modernRequest, request, sampleTool } from '../../test/helpers/mcp.ts';

describe('the frame of a message', () => {
	const refused: { title: string; body: string; code: number; id?: number }[] = [
		{ title: 'text that is no JSON is a parse error (JSON-RPC 2.0 §5.1)', body: '{"jsonrpc"', code: -32700 },
		{ title: 'an empty body is a parse error (JSON-RPC 2.0 §5.1)', body: '', code: -32700 },
		{ title: 'a character that cannot be stored is no parse error', body: '"\\u0000"', code: -32600 },
		{ title: 'a batch is refused (2025-06-18, changelog)', body: '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', code: -32600 },
		{
			title: 'another version of JSON-RPC is refused (JSON-RPC 2.0 §4)',
			body: '{"jsonrpc":"1.0","id":1,"method":"ping"}',
			code: -32600,
			id: 1,
		},
		{ title: 'a null id is refused (basic, “Requests”)', body: '{"jsonrpc":"2.0","id":null,"method":"ping"}', code: -32600 },
		{
			title: 'an id that could not be echoed exactly is refused',
			body: '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}',
			code: -32600,
		},
		{
			title: 'an id of more digits that could not be echoed is refused',
			body: '{"jsonrpc":"2.0","method":"ping","id":1234567890123456789}',
			code: -32600,
		},
		{ title: 'a number beyond a double is refused', body: '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e400}}', code: -32600 },
		{
			title: 'params that are a list are refused (basic, “Requests”)',
			body: '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
			...{ code: -32600, id: 1 },
		},
		{ title: 'a method that is no text is refused (JSON-RPC 2.0 §4)', body: '{"jsonrpc":"2.0","id":7,"method":null}', code: -32600, id: 7 },
		{ title: 'a __proto__ key is refused', body: '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{}}}', code: -32600 },
		{
			title: 'a body nested 400,000 deep is refused',
			body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(400_000)}1${'}'.repeat(400_000)}}`,
			code: -32600,
		},
	];
	for (const { title, body, code, id = null } of refused) {
		test(title, async () => {
			const { status, message } = await mcpEndpoint()(body);
			assert.equal(status, 400);
			assert.equal(message.id, id, 'an id that can be read comes back (basic, “Error Responses”)');
			assert.equal(message.error.code, code);
		});
	}

	test('an id comes back as it was sent, text or number (basic, “Responses”)', async () => {
		for (const id of ['', '1', 'ä', '1234567890123456789', 0, -1, Number.MAX_SAFE_INTEGER]) {
			assert.strictEqual((await mcpEndpoint()(request('ping', undefined, id))).message.id, id);
			assert.strictEqual((await mcpEndpoint()(request('no/such', undefined, id))).message.id, id);
		}
	});

	test('notifications and responses are accepted with 202 and no body (transports, “Sending Messages”)', async () => {
		for (const body of [
			{ jsonrpc: '2.0', method: 'notifications/initialized' },
			{ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
			{ jsonrpc: '2.0', id: 1, result: {} },
		]) {
			const { status, body: answer } = await mcpEndpoint()(body);
			assert.deepEqual({ status, answer }, { status: 202, answer: null });
		}
	});

	test('a body that is not declared as JSON is refused with 415', async () => {
		await assert.rejects(mcpEndpoint()(request('ping'), { 'content-type': 'text/plain' }), { code: 'unsupported_media_type' });
	});
});

describe('Origin', () => {
	const evil = { value: 'https://evil.example', trusted: false };

	test('a page of a foreign origin is refused with 403 (transports, “Security Warning”)', async () => {
		await assert.rejects(mcpEndpoint({ origin: evil })(request('ping')), { code: 'forbidden', status: 403 });
		await assert.rejects(mcpEndpoint({ origin: { value: 'null', trusted: false } })(request('ping')), { code: 'forbidden' });
	});

	test('a page that the service or the gateway’s configuration trusts is served', async () => {
		const trusted = mcpEndpoint({ origin: { value: 'https://app.example', trusted: true } });
		assert.equal((await trusted(request('ping'))).status, 200);
		const listed = mcpEndpoint({ origin: evil, config: { allowedOrigins: ['https://evil.example'] } });
		assert.equal((await listed(request('ping'))).status, 200);
	});

	test('allowedOrigins takes origins only, not addresses with a path', () => {
		for (const wrong of ['https://a.example/', 'https://a.example/x', 'a.example', '*', 'HTTPS://A.example']) {
			assert.throws(() => mcpEndpoint({ config: { allowedOrigins: [wrong] } }), /must be a valid uri/, wrong);
		}
	});
});

describe('errors of a call', () => {
	const HTTP: ErrorCode[] = [
		'no_organization',
		'unauthorized',
		'forbidden',
		'insufficient_scope',
		'method_not_allowed',
		'payload_too_large',
		'unsupported_media_type',
		'rate_limited',
		'unavailable',
	];
	const JSON_RPC: Partial<Record<ErrorCode, number>> = { tool_not_found: -32602, internal: -32603, not_implemented: -32603 };
	const call = request('tools/call', { name: 'greet', arguments: {} });

	for (const code of Object.keys(ERRORS) as ErrorCode[]) {
		const failing = mcpEndpoint({ run: () => Promise.reject(new GatewayError(code, 'It went wrong.')) });
		const expected = JSON_RPC[code];
		if (HTTP.includes(code)) {
			test(`${code} is answered by HTTP`, () => assert.rejects(failing(call), { code, status: ERRORS[code] }));
			continue;
		}
		test(`${code} is ${expected === undefined ? 'a result that a model can read' : `the JSON-RPC error ${expected}`}`, async () => {
			const { status, message } = await failing(call);
			assert.equal(status, 200);
			if (expected === undefined) assert.deepEqual(message.result, { content: [{ type: 'text', text: 'It went wrong.' }], isError: true });
			else assert.equal(message.error.code, expected);
		});
	}

	test('what is no error of ours tells nothing of itself', async () => {
		const { message } = await mcpEndpoint({ run: () => Promise.reject(new Error('secret')) })(call);
		assert.equal(message.error.code, -32603);
		assert.doesNotMatch(JSON.stringify(message), /secret/);
	});

	test('invalid arguments are a result that names every field (tools, “Error Handling”)', async () => {
		const details = [
			{ path: '/a', message: 'must be string.' },
			{ path: '/b', message: 'is required but is missing.' },
		];
		const run = () =>
			Promise.reject(new GatewayError('validation_failed', 'Invalid parameters: /a must be string. (and 1 more)', { details }));
		const { message } = await mcpEndpoint({ run })(call);
		assert.equal(message.result.isError, true);
		assert.equal(message.result.content[0].text, 'Invalid parameters: /a must be string. (and 1 more)\n/b is required but is missing.');
	});

	test('an unknown tool is the error -32602 (tools, “Error Handling”)', async () => {
		for (const [body, headers] of [[request('tools/call', { name: 'nope' }), {}] as const, modernRequest('tools/call', { name: 'nope' })]) {
			const { status, message } = await mcpEndpoint()(body, headers);
			assert.equal(status, 200);
			assert.equal(message.error.code, -32602);
		}
	});

	test('a tool without a name, or with arguments that are no object, is the error -32602', async () => {
		for (const params of [{}, { name: 5 }, { name: 'greet', arguments: [] }, { name: 'greet', arguments: 'x' }]) {
			assert.equal((await mcpEndpoint()(request('tools/call', params))).message.error.code, -32602, JSON.stringify(params));
		}
	});

	test('a caller without the scope is answered by HTTP, so that the challenge can name it (authorization, “Scope Challenge”)', async () => {
		const reader = mcpEndpoint({ scopes: ['tools:read'] });
		await assert.rejects(reader(call), { code: 'insufficient_scope', status: 403 });
		const runner = mcpEndpoint({ scopes: ['tools:execute'] });
		await assert.rejects(runner(request('tools/list')), { code: 'insufficient_scope', status: 403 });
		assert.equal((await runner(call)).message.result.content[0].text, 'ran greet');
	});
});

test('null is the same as what is left out', async () => {
	const post = mcpEndpoint();
	const one = async (method: string, params: unknown) => (await post({ jsonrpc: '2.0', id: 1, method, params })).message;
	assert.equal((await post({ jsonrpc: '2.0', method: 'notifications/initialized', params: null })).status, 202);
	assert.deepEqual((await one('ping', null)).result, {});
	for (const params of [null, { cursor: null }, { _meta: null }]) assert.equal((await one('tools/list', params)).result.tools.length, 1);
	assert.equal((await one('tools/call', { name: 'greet', arguments: null })).result.content[0].text, 'ran greet');
	assert.match((await one('prompts/get', { name: 'none', arguments: null })).error.message, /no prompt "none"/);
	const notifications = { toolsListChanged: true, resourceSubscriptions: null };
	assert.equal((await post(...modernRequest('subscriptions/listen', { notifications }))).status, 200);
});

test('the tool gets the arguments of the call, an empty object when there are none', async () => {
	const seen: unknown[] = [];
	const run = async (name: string, args: object) => {
		seen.push([name, args]);
		return { content: [] };
	};
	const post = mcpEndpoint({ run, tools: [sampleTool(), sampleTool({ name: 'other' })] });
	await post(request('tools/call', { name: 'other', arguments: { a: [1, null] } }));
	await post(request('tools/call', { name: 'greet' }));
	assert.deepEqual(seen, [
		['other', { a: [1, null] }],
		['greet', {}],
	]);
});
