// The contract of executors, and what this one promises beside it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CANARY, executorContract, fakeCall, httpBehaviour, httpUpstream } from 'gatehouse/testing';
import plugin from '../src/index.ts';

const TYPE = 'application/json';

executorContract(plugin, {
	// The servers that it calls: one that echoes, one that fails, one that tells what it was sent, one without an end.
	start: (t, behaviour) =>
		httpBehaviour(t, behaviour, {
			echo: (body) => ({ type: TYPE, body }),
			fail: { status: 500, type: TYPE, body: '{"message":"no"}' },
			tell: (request) => ({ type: TYPE, body: request }),
			endless: { type: TYPE, begin: '[1', piece: ',1' },
		}),
	config: (origin, more) => ({ url: `${origin}/run`, ...more }),
	echoed: ({ structured }) => (structured as { text: string }).text,
	bad: [
		{ config: {}, says: /"url" is required/ },
		{ config: { url: 'ftp://api.example' }, says: /"url"/ },
		{ config: { url: 'https://api.example', token: 1 }, says: /"token" must be a string/ },
	],
	timeoutField: null,
	signed: (request) => ({ ...request, headers: { ...request.headers, 'x-key': CANARY } }),
	hasAddress: true,
});

test('the arguments are posted with the token', async (t) => {
	const seen: unknown[] = [];
	const { origin } = await httpUpstream(t, (request, response) => {
		seen.push(request.method, request.headers.authorization);
		response.setHeader('content-type', TYPE).end('{"sum":3}');
	});
	await using fake = fakeCall({ plugin, allow: ['127.0.0.1'] });
	const { structured } = await plugin.execute({ a: 1, b: 2 }, { url: origin, token: 'top-secret' }, fake.call);
	assert.deepEqual([structured, seen], [{ sum: 3 }, ['POST', 'Bearer top-secret']]);
});
