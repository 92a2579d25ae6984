// The contract of transports, and a client that speaks this one with the whole service.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGatehouse, transportContract } from 'gatehouse/testing';
import plugin from '../src/index.ts';

const POST = { method: 'POST', path: '/{tool}' } as const;

// The suite’s gateway has two tools: `echo` answers with its argument `text`, and `fail` fails.
transportContract(plugin, {
	config: { greeting: 'Ours' },
	bad: [
		{ config: { greeting: 1 }, says: /"greeting" must be a string/ },
		{ config: { greetings: 'x' }, says: /"greetings" is not allowed/ },
	],
	samples: [
		{ ...POST, name: 'a call', request: { params: { tool: 'echo' }, body: { text: 'hello' } }, status: 200, has: '"texts":["hello"]' },
		{ ...POST, name: 'a call that fails', request: { params: { tool: 'fail' }, body: {} }, status: 422, has: 'no luck' },
		{ ...POST, name: 'a call of no tool', request: { params: { tool: 'none' }, body: {} }, status: 404 },
		{ ...POST, name: 'a call with wrong arguments', request: { params: { tool: 'echo' }, body: { text: 1 } }, status: 400 },
		{ name: 'the list', method: 'GET', path: '/', status: 200, has: /"title":"Ours","tools":\[\{"name":"echo"/ },
	],
});

test('a client runs a tool of a gateway that speaks it', async () => {
	await using gatehouse = await startGatehouse({ plugins: [plugin] });
	const account = await gatehouse.register();
	const executionConfig = { code: 'return { said: parameters.text };' };
	const parameters = { type: 'object', properties: { text: { type: 'string' } } };
	const tool = await account.tool({ name: 'say', type: 'javascript', executionConfig, parameters });
	const { url, key } = await account.gateway({ type: 'my_plugin', tools: [tool] });
	const request = { method: 'POST', headers: { 'content-type': 'application/json', 'x-api-key': key ?? '' }, body: '{"text":"hello"}' };
	const answer = await fetch(`${url}/say`, request);
	assert.equal(answer.status, 200);
	assert.match(await answer.text(), /hello/);
	assert.equal((await fetch(`${url}/say`, { method: 'POST' })).status, 401);
});
