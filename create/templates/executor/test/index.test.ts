import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call, OutboundRequest } from 'gatehouse';
import plugin, { type Config } from '../src/index.ts';

/** Makes a call as far as this plugin uses it, with an upstream that answers each request. */
function callWith(status: number, body: string): { call: Call; sent: OutboundRequest[] } {
	const sent: OutboundRequest[] = [];
	const call = {
		signal: new AbortController().signal,
		sign: async (request: OutboundRequest) => request,
		request: async (request: OutboundRequest) => {
			sent.push(request);
			return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(body), url: request.url };
		},
	};
	return { call: call as unknown as Call, sent };
}

const config: Config = { url: 'https://api.example/run', token: 'top-secret' };

test('the arguments are posted, and the answer is the result', async () => {
	const { call, sent } = callWith(200, '{"sum":3}');
	const { structured } = await plugin.execute({ a: 1, b: 2 }, config, call);
	assert.deepEqual(structured, { sum: 3 });
	assert.equal(sent[0]?.body, '{"a":1,"b":2}');
	assert.equal(sent[0]?.headers?.['authorization'], 'Bearer top-secret');
});

test('a refusal is a failed run that does not repeat the token', async () => {
	const { call } = callWith(400, '{"message":"top-secret is wrong"}');
	const result = await plugin.execute({}, config, call);
	assert.equal(result.isError, true);
	assert.ok(!JSON.stringify(result).includes('top-secret'));
});

test('the address is required', () => {
	assert.match(plugin.config.validate({}).error?.message ?? '', /url/);
});
