// Tests UTCP with the official client: registering by URL, every style of calling, refusals, each method, two replicas, and the twin.

import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { after, before, beforeEach, test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import createClient from 'openapi-fetch';
import { basic, bearer, guardedGateway, hs256 } from '../helpers/gateway-auth.ts';
import { obtainTokens } from '../helpers/oauth.ts';
import {
	type Account,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	send,
	sharedService,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';
import { quiet, utcpClient } from '../helpers/utcp.ts';

const PLAIN = {
	type: 'object',
	properties: { petId: { type: 'integer' }, tags: { type: 'array', items: { type: 'string' } }, note: { type: 'string' } },
	required: ['petId'],
};
const DEEP = {
	type: 'object',
	properties: { ok: { type: 'boolean' }, any: true, at: { $ref: '#/$defs/point' } },
	$defs: { point: { type: 'object', properties: { x: { type: 'number' }, y: { type: ['number', 'null'] } } } },
	additionalProperties: false,
};
const OWN_BODY = { type: 'object', properties: { body: { type: 'string' }, arguments: { type: 'array' } } };

let service: SharedService;
let second: TestService;
let account: Account;
let toolIds: string[];
before(async () => {
	service = await sharedService();
	second = await startTestService({ replicaOf: service });
	account = await registerAccount(service.url);
	const echo = 'return { got: parameters };';
	toolIds = await Promise.all([
		createTool('plain', PLAIN, echo),
		createTool('deep', DEEP, echo),
		createTool('own_body', OWN_BODY, echo),
		createTool('says', {}, "return 'a text';"),
		createTool('fails', {}, "throw new Error('no luck');"),
	]);
});
beforeEach((t) => quiet(t as never));
after(async () => {
	await second.stop();
	await service.stop();
});

async function createTool(name: string, parameters: object, code: string): Promise<string> {
	const body = {
		name,
		type: 'javascript',
		description: `The tool ${name}.`,
		parameters: { type: 'object', ...parameters },
		executionConfig: { code },
	};
	return must(await account.post(`/organizations/${account.organization.id}/tools`, body), 201).body.data.id;
}

const publish = (configuration: object = {}) => publishGateway(account, { type: 'utcp', toolIds, configuration });
const keyed = { auth_type: 'api_key', api_key: '$' + '{API_KEY}', var_name: 'X-API-Key', location: 'header' };

test('the client registers a gateway by each of its addresses, and lists its tools', async () => {
	const { url, key } = await publish();
	const names = ['plain', 'deep', 'own_body', 'says', 'fails'];
	for (const at of ['', '/utcp', '/openapi.json'])
		assert.deepEqual((await (await utcpClient(url + at, { API_KEY: key }, keyed)).names()).sort(), [...names].sort(), at);
	assert.deepEqual(await (await utcpClient(`${url}/.well-known/utcp`)).names(), names, 'without a credential');
	assert.deepEqual(await (await utcpClient(url)).names(), [], 'the manual of a caller is not public');
});

test('with minimal discovery the public manual says how to log in, and nothing else', async () => {
	const { url, key } = await publish({ discovery: 'minimal' });
	const { client, names, call } = await utcpClient(`${url}/.well-known/utcp`, { API_KEY: key });
	assert.deepEqual(await names(), ['manual']);
	assert.equal((await client.getTool('gw.manual'))?.tool_call_template.auth?.auth_type, 'api_key');
	const { body } = await call('manual');
	assert.equal((body as { tools: unknown[] }).tools.length, 5);
});

test('a tool takes its arguments as the client sends them: in the query, as a body, or both', async () => {
	const { url, key } = await publish();
	const { call } = await utcpClient(url, { API_KEY: key }, keyed);
	const got = async (tool: string, args: object): Promise<unknown> => ((await call(tool, args)).body as { got?: unknown }).got;
	const plain = { petId: 7, tags: ['a', 'b&c'], note: '12' };
	assert.deepEqual(await got('plain', plain), plain, 'in the query');
	assert.deepEqual(await got('plain', { body: plain }), plain, 'as a body');
	assert.deepEqual(await got('plain', { body: { petId: 7 }, note: 'ä' }), { petId: 7, note: 'ä' }, 'both');
	const deep = { ok: false, any: [1, null], at: { x: 0.5, y: null } };
	assert.deepEqual(await got('deep', { body: deep }), deep, 'without loss');
	assert.deepEqual(await got('deep', { ok: true, at: { x: 2 } }), { ok: true, at: { x: 2 } }, 'in brackets');
	assert.deepEqual(await got('own_body', { body: { body: 'x', arguments: [] } }), { body: 'x', arguments: [] }, 'its own body');
	assert.deepEqual(await call('says'), { status: 200, body: 'a text' });
});

test('arguments that are sent as the manual says arrive as they are', async () => {
	const labels = { type: 'array', items: { type: 'string' } };
	const cases: [parameters: object, args: object][] = [
		[
			{ properties: { id: { type: 'integer' }, labels }, required: ['id', 'labels'] },
			{ id: 1, labels: [] },
		],
		[{ properties: { labels } }, { labels: [] }],
		[{ properties: { labels: { ...labels, minItems: 1 } } }, { labels: ['a'] }],
		[{ additionalProperties: true }, { n: 1, b: true, o: { x: 1 } }],
		[{ additionalProperties: { type: 'object' } }, { o: { x: '1', y: true } }],
		[
			{ properties: { n: { type: 'integer' } }, additionalProperties: { type: 'string' } },
			{ n: 1, api_key: 'a', 'x[y]': 'b' },
		],
	];
	const made = cases.map(([parameters], at) => createTool(`as_told_${at}`, parameters, 'return { got: parameters };'));
	const { url, key } = await publishGateway(account, { type: 'utcp', toolIds: await Promise.all(made) });
	const { client, call } = await utcpClient(url, { API_KEY: key }, keyed);
	for (const [at, [, args]] of cases.entries()) {
		const { properties = {} } = (await client.getTool(`gw.as_told_${at}`))?.inputs ?? {};
		const { status, body } = await call(`as_told_${at}`, 'body' in properties ? { body: args } : args);
		assert.deepEqual([status, body], [200, { got: args }], JSON.stringify(args));
	}
});

test('the same arguments in the styles of other clients', async () => {
	const { url, key } = await publish();
	const form = { 'content-type': 'application/x-www-form-urlencoded' };
	const styles: [query: string, body: unknown, headers?: Record<string, string>][] = [
		['', { petId: 7, tags: ['a'] }],
		['', { arguments: { petId: 7, tags: ['a'] } }],
		['', { body: { petId: 7, tags: ['a'] } }],
		['?petId=7&tags=a', undefined],
		['?petId=7&tags[]=a', '', form],
		['?petId=7&tags[0]=a', {}],
		['?petId=7&tags=a', { arguments: null }],
		['?body={"petId":7,"tags":["a"]}', undefined],
		['?arguments[petId]=7&arguments[tags][]=a', undefined],
		['', 'petId=7&tags=a', form],
		['', '{"petId":7,"tags":["a"]}', form],
		[`?api_key=${key}`, { petId: 7, tags: ['a'] }],
	];
	for (const [query, body, headers = {}] of styles) {
		const answer = await send(`${url}/tools/plain${query}`, 'POST', { body, headers: { 'x-api-key': key, ...headers } });
		assert.deepEqual(must(answer, 200).body, { got: { petId: 7, tags: ['a'] } }, `${query} ${JSON.stringify(body)}`);
	}
	const invoked = must(
		await send(`${url}/tools/plain/invoke`, 'POST', { body: { arguments: { petId: 7 } }, headers: { 'x-api-key': key } }),
		200,
	).body;
	assert.deepEqual(
		[invoked.result, invoked.metadata.toolId, typeof invoked.metadata.duration],
		[{ got: { petId: 7 } }, toolIds[0], 'number'],
	);
});

test('refusals and failures come with their names, statuses and details', async () => {
	const { url, key } = await publish();
	const { call } = await utcpClient(url, { API_KEY: key }, keyed);
	const wrong = await call('plain', { petId: 'seven' });
	assert.equal(wrong.status, 400);
	assert.deepEqual(
		(wrong.body as { error: { code: string; details: { path: string }[] } }).error.details.map(({ path }) => path),
		['/petId'],
	);
	const nested = `petId=7&tags=${'['.repeat(50_000)}${']'.repeat(50_000)}`;
	const form = { 'x-api-key': key, 'content-type': 'application/x-www-form-urlencoded' };
	assert.equal((await send(`${url}/tools/plain`, 'POST', { body: nested, headers: form })).status, 400);
	const failed = await call('fails');
	assert.equal(failed.status, 422);
	assert.match(JSON.stringify(failed.body), /^\{"error":\{"code":"EXECUTION_FAILED","message":"[^"]*no luck/);
	const refused = async (path: string, headers: Record<string, string>, body: unknown = {}) => {
		const answer = await send(url + path, 'POST', { body, headers });
		return [answer.status, answer.body.error?.code];
	};
	const known = { 'x-api-key': key };
	assert.deepEqual(await refused('/tools/none', known), [404, 'TOOL_NOT_FOUND']);
	assert.deepEqual(await refused('/tools/plain', {}), [401, 'UNAUTHORIZED']);
	assert.deepEqual(await refused('/tools/plain', known, '[]'), [400, 'INVALID_PARAMS']);
	assert.deepEqual(await refused('/tools/plain', known, '{'), [400, 'INVALID_PARAMS']);
	assert.deepEqual(await refused('/tools/plain', { ...known, 'content-type': 'text/plain' }, 'x'), [415, 'UNSUPPORTED_MEDIA_TYPE']);
	assert.deepEqual(await refused('/nowhere', known), [404, 'NOT_FOUND']);
	assert.deepEqual(await refused('/utcp', known), [405, 'METHOD_NOT_ALLOWED']);
});

test('the manual says how to log in by each method, and the client does', async () => {
	const SECRET = 'm'.repeat(40);
	const ways: [
		type: string,
		configuration: object,
		auth: string,
		variables: (url: string, id: string) => Promise<Record<string, string>>,
	][] = [
		[
			'api_key',
			{ keyHeader: 'X-Own-Key' },
			'api_key',
			async (_url, id) => ({ API_KEY: must(await account.post(`/gateways/${id}/auth/api-keys`, { name: 'k' }), 201).body.data.key }),
		],
		['bearer_token', { token: 'a-fixed-token-of-the-owner' }, 'api_key', async () => ({ TOKEN: 'a-fixed-token-of-the-owner' })],
		['basic_auth', {}, 'basic', async () => ({ USERNAME: account.email, PASSWORD: account.password })],
		[
			'jwt',
			{ secret: SECRET },
			'api_key',
			async () => ({ TOKEN: hs256({ sub: 'somebody', exp: Math.floor(Date.now() / 1000) + 600 }, SECRET) }),
		],
		['oauth2', {}, 'api_key', async (url) => ({ TOKEN: (await obtainTokens(url, account)).access })],
		['none', {}, 'none', async () => ({})],
	];
	for (const [type, configuration, kind, variablesOf] of ways) {
		const { id, url } = await guardedGateway(account, [{ type, configuration }], toolIds, 'utcp');
		const variables = await variablesOf(url, id);
		const { client, call } = await utcpClient(`${url}/.well-known/utcp`, variables);
		assert.equal((await client.getTool('gw.says'))?.tool_call_template.auth?.auth_type ?? 'none', kind, type);
		assert.deepEqual(await call('says'), { status: 200, body: 'a text' }, type);
		if (type === 'none') continue;
		const wrong = Object.fromEntries(Object.keys(variables).map((name) => [name, 'wrong']));
		assert.equal((await (await utcpClient(`${url}/.well-known/utcp`, wrong)).call('says')).status, 401, type);
	}
});

test('two replicas give the same bytes, which change with the tools alone', async () => {
	const { id, url, key } = await publish();
	const path = new URL(url).pathname;
	const read = async (at: string, headers: Record<string, string>) => {
		// The address that both would name.
		const response = await fetch(at + path, { headers: { 'x-api-key': key, ...headers } });
		const text = await response.text();
		return {
			status: response.status,
			etag: response.headers.get('etag') ?? '',
			text: text.replaceAll(at, ''),
			cache: response.headers.get('cache-control'),
		};
	};
	const [one, two] = [await read(service.url, {}), await read(second.url, {})];
	assert.equal(one.text, two.text);
	assert.equal(one.cache, 'private, no-cache');
	assert.equal((await read(service.url, { 'if-none-match': `"x", W/${one.etag}` })).status, 304);
	must(await account.patch(`/tools/${toolIds[0]}`, { description: 'Another description.' }), 200);
	await soon(async () => (await read(second.url, { 'if-none-match': two.etag })).status === 200, 'the change');
	const changed = await read(second.url, {});
	const versionOf = (text: string): string => JSON.parse(text).manual_version;
	assert.match(versionOf(one.text), /^1\.0\.(?:0|[1-9]\d*)$/);
	assert.notEqual(versionOf(changed.text), versionOf(one.text));
	assert.equal((await send(`${url}/.well-known/utcp`, 'GET')).headers.get('cache-control'), 'public, max-age=60');
	must(await account.del(`/gateways/${id}`), 200);
});

test('the twin is a valid OpenAPI document, through which clients of OpenAPI call', async () => {
	const { url, key } = await publish();
	const headers = { 'x-api-key': key };
	assert.equal((await send(`${url}/openapi.json`, 'GET')).status, 401);
	const { body: document } = must(await send(`${url}/openapi.json`, 'GET', { headers }), 200);
	const problems = await lintFromString({
		source: JSON.stringify(document),
		absoluteRef: '/openapi.json',
		config: await createConfig({ extends: ['recommended'] }),
	});
	assert.deepEqual(
		problems.filter(({ severity }) => severity === 'error').map(({ ruleId, message }) => [ruleId, message]),
		[],
	);
	assert.match(await typesOf(document), /"\/tools\/deep"/);
	const client = createClient<never>({ baseUrl: document.servers[0].url, headers }) as unknown as {
		POST(path: string, options: object): Promise<{ data?: unknown; error?: { error: { code: string } } }>;
	};
	assert.deepEqual((await client.POST('/tools/deep', { body: { ok: true, at: { x: 1 } } })).data, { got: { ok: true, at: { x: 1 } } });
	assert.equal((await client.POST('/tools/deep', { body: { no: 1 } })).error?.error.code, 'INVALID_PARAMS');
});

/** openapi-typescript prints through the compiler's JavaScript API, which TypeScript 7 does not have any more. */
async function typesOf(document: object): Promise<string> {
	const hooks = registerHooks({ resolve: (name, context, next) => next(name === 'typescript' ? 'typescript5' : name, context) });
	try {
		const { default: openapiTS, astToString } = await import('openapi-typescript');
		return astToString(await openapiTS(document as never));
	} finally {
		hooks.deregister();
	}
}

test('data that was cut is JSON still, and says so beside it', async () => {
	const { id, url, key } = await publish();
	must(await account.patch(`/gateways/${id}`, { maxResultBytes: 256 }), 200);
	const body = { petId: 1, tags: Array.from({ length: 50 }, () => 'a tag of some length') };
	const post = (path: string) => send(`${url}/tools/plain${path}`, 'POST', { body, headers: { 'x-api-key': key } });
	await soon(async () => (await post('')).headers.has('x-result-notes'), 'the limit');
	const cut = must(await post(''), 200);
	assert.ok(cut.body.got.tags.length < 50);
	assert.match(cut.headers.get('x-result-notes') ?? '', /^\[Cut: the first/);
	assert.match(must(await post('/invoke'), 200).body.metadata.notes[0], /^\[Cut: the first/);
});

test('a page of another site cannot have a browser call with a remembered password', async () => {
	const { url } = await guardedGateway(account, [{ type: 'basic_auth' }], toolIds, 'utcp');
	const headers = { ...basic(account.email, account.password), origin: 'https://evil.example' };
	const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
	assert.equal((await send(`${url}/tools/says`, 'POST', { body: '', headers: form })).status, 415);
	assert.equal((await send(`${url}/tools/says?a=1`, 'POST', { headers })).status, 415);
	assert.equal((await send(`${url}/tools/says`, 'POST', { body: {}, headers })).status, 200, 'what was allowed by a preflight');
	const login = { ...bearer(account.token), 'content-type': 'application/x-www-form-urlencoded' };
	const { url: tokens } = await guardedGateway(account, [{ type: 'bearer_token' }], toolIds, 'utcp');
	assert.equal(
		(await send(`${tokens}/tools/says`, 'POST', { body: '', headers: { ...login, origin: 'https://evil.example' } })).status,
		200,
	);
});
