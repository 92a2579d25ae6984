// The suites are tested by plugins with one fault each: the run of its suite in a process of its own must fail, at the test that is for it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const entry = (path: string): string => new URL(path, import.meta.url).href;
const COMMON = `
import Joi from '${import.meta.resolve('joi')}';
import * as kit from '${entry('./index.ts')}';
const executor = (more) => ({ kind: 'executor', api: 1, name: 'x', summary: 'Echoes a text.',
	config: Joi.object({ url: Joi.string().required().description('Where.'), n: Joi.number().description('A number.'), key: Joi.string().meta({ secret: true }).description('A key.') }),
	execute: async (args, { url }, call) => {
		const { status, body } = await call.request({ method: 'POST', url, body: JSON.stringify(args), signal: call.signal });
		if (status !== 200) return { content: [{ type: 'text', text: 'It failed.' }], isError: true };
		return { content: [{ type: 'text', text: body.toString() }], structured: JSON.parse(body) };
	}, ...more });
const speaks = { echo: (body) => ({ type: 'application/json', body: body || '{}' }), fail: { status: 500, type: 'application/json', body: '{}' },
	tell: (request) => ({ type: 'application/json', body: request }), endless: { type: 'application/json', begin: '[1', piece: ',1' } };
const holdExecutor = (more) => kit.executorContract(executor(more), {
	start: (t, behaviour) => kit.httpBehaviour(t, behaviour, speaks), config: (origin, more) => ({ url: origin, ...more }),
	secretConfig: (origin) => ({ url: origin, key: 'k' }), echoed: ({ structured }) => structured.text,
	bad: [{ config: {}, says: /"url" is required/ }, { config: { url: 1 }, says: /must be a string/ }, { config: { url: 'x', n: 'x' }, says: /must be a number/ }],
	timeoutField: null, signed: null, hasAddress: false });
const auth = (more) => ({ kind: 'auth', api: 1, name: 'x', summary: 'Admits holders of a token.',
	config: Joi.object({ token: Joi.string().required().meta({ secret: true }).description('The token.') }),
	authenticate: async ({ headers }, { token }) => {
		if (headers.authorization === undefined) return null;
		if (headers.authorization !== 'Bearer ' + token) throw Object.assign(new kit_core.GatewayError('unauthorized', 'No.'));
		return { method: 'x', subject: 'holder', scopes: ['tools:read'] };
	}, ...more });
import * as kit_core from '${entry('../core/index.ts')}';
const holdAuth = (more) => kit.authContract(auth(more), { config: { token: 'abc' },
	bad: [{ config: {}, says: /required/ }, { config: { token: 1 }, says: /string/ }],
	admitted: [{ headers: { authorization: 'Bearer abc' } }], refused: [{ headers: { authorization: 'Bearer x' } }] });
const transport = (more) => ({ kind: 'transport', api: 1, name: 'x', summary: 'Runs the tool echo.',
	config: Joi.object({ title: Joi.string().description('A title.'), key: Joi.string().meta({ secret: true }).description('A key.') }),
	routes: [{ method: 'POST', path: '/', body: 'json', handler: async ({ body }, config, call) => {
		const text = typeof body?.text === 'string' ? body.text : 'x';
		return { status: 200, body: { said: (await call.invoke({ name: 'echo' }, { text })).content } };
	} }], ...more });
const holdTransport = (more) => kit.transportContract(transport(more), { config: { title: 'T', key: 'k' },
	bad: [{ config: { title: 1 }, says: /string/ }, { config: { key: 1 }, says: /string/ }],
	samples: [{ name: 'a call', method: 'POST', path: '/', request: { body: { text: 'hello' } }, status: 200, has: 'hello' }] });
`;

/** The suites of the kinds, with a fault of the plugin, and the test that shows it; null: there is none. */
const CASES: [what: string, code: string, shown: RegExp | null][] = [
	['an executor that keeps the contract', 'holdExecutor({})', null],
	[
		'an executor that shows its secret in the log',
		`holdExecutor({ execute: async (a, c, call) => { call.log.info({ c }, 'config'); return executor().execute(a, c, call); } })`,
		/a secret of the config is in no result/,
	],
	[
		'an executor that shows its secret in an error, encoded',
		`holdExecutor({ execute: async (a, c, call) => { if (c.key) throw new kit_core.GatewayError('upstream_failed', 'Refused: ' + btoa('ada:' + c.key)); return executor().execute(a, c, call); } })`,
		/a secret of the config is in no result/,
	],
	[
		'an executor that goes round the guard',
		`holdExecutor({ execute: async (a, { url }) => ({ content: [{ type: 'text', text: await (await fetch(url, { method: 'POST', body: JSON.stringify(a), signal: AbortSignal.timeout(300) })).text() }] }) })`,
		/the guard refuses/,
	],
	['an executor that returns no content', `holdExecutor({ execute: async () => ({ content: [] }) })`, /an answer becomes content/],
	[
		'an executor that changes its arguments',
		`holdExecutor({ execute: async (a, c, call) => { a.more = 1; return executor().execute(a, c, call); } })`,
		/what was given stays as it was/,
	],
	[
		'a field without a description',
		`holdExecutor({ config: Joi.object({ url: Joi.string().required(), n: Joi.number(), key: Joi.string().meta({ secret: true }) }) })`,
		/what it is for/,
	],
	['a method that keeps the contract', 'holdAuth({})', null],
	[
		'a method that admits everyone',
		`holdAuth({ authenticate: async () => ({ method: 'x', subject: 'holder', scopes: [] }) })`,
		/a request without a credential/,
	],
	[
		'a method that crashes at an odd header',
		`holdAuth({ authenticate: async (request, c) => { if (request.headers.authorization === 'Bearer') null.x; return auth().authenticate(request, c); } })`,
		/admits nobody and brings nothing down/,
	],
	[
		'a method that shows its token in the challenge',
		`holdAuth({ challenge: (gateway, { token }) => 'Bearer realm="' + token + '"' })`,
		/a secret of the config is in no caller/,
	],
	[
		'a method whose scopes are a text',
		`holdAuth({ authenticate: async (r, c) => { const caller = await auth().authenticate(r, c); return caller && { ...caller, scopes: 'tools:read' }; } })`,
		/gives a caller that core takes/,
	],
	['a transport that keeps the contract', 'holdTransport({})', null],
	[
		'a transport that answers with its secret',
		`holdTransport({ routes: [{ ...transport().routes[0], handler: async (r, c) => ({ status: 200, body: { hello: c.key } }) }] })`,
		/a secret of the config is in no answer/,
	],
	[
		'a transport that tells the headers',
		`holdTransport({ routes: [{ ...transport().routes[0], handler: async ({ headers }) => ({ status: 200, body: { hello: headers } }) }] })`,
		/the secrets of the request/,
	],
	[
		'a transport that crashes at an odd body',
		`holdTransport({ routes: [{ ...transport().routes[0], handler: async ({ body }) => ({ status: 200, body: { said: body.text.trim() } }) }] })`,
		/that no protocol expects/,
	],
	[
		'a transport that sends an impossible status',
		`holdTransport({ routes: [{ ...transport().routes[0], handler: async () => ({ status: 999 }) }] })`,
		/it answers a call/,
	],
];

for (const [what, code, shown] of CASES)
	test(`the suite ${shown ? 'shows' : 'passes'} ${what}`, () => {
		// A child of a test runner would report to it.
		const { NODE_TEST_CONTEXT: _runner, ...env } = process.env;
		const { stdout, stderr, status } = spawnSync(process.execPath, ['--test-reporter=tap', '--input-type=module', '-e', COMMON + code], {
			...{ env, encoding: 'utf8', timeout: 200_000 },
		});
		const failed = [...stdout.matchAll(/^\s+not ok \d+ - (.*)$/gm)].map(([, name = '']) => name);
		assert.equal(stderr, '');
		if (!shown) assert.deepEqual([failed, status], [[], 0], stdout);
		else assert.ok(status !== 0 && failed.some((name) => shown.test(name)), `${failed.join('; ')}\n${stdout.slice(-2000)}`);
	});
