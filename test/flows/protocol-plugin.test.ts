// Tests what a protocol of somebody else needs at a gateway, on two replicas: refusals in its form, discovery without a caller, compressed
// and signed bodies, and every spelling of the gateway's address.

import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import {
	type Account,
	type Answer,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';

const wide = { max: 1_000_000, seconds: 60 };
const PER_MINUTE = 200;
const limits = { global: wide, categories: {}, invoke: wide, gateways: { max: PER_MINUTE, seconds: 60 }, routes: {} };
const SECRET = 'a secret of 16 characters or more';

let packages: InstalledPackages;
let first: TestService;
let second: TestService;
let account: Account;
let gateway: { id: string; url: string; key: string };
const lines: string[] = [];

before(async () => {
	packages = installPackages('protocol-plugin');
	const env = { GATEWAY_PLUGINS: packages.names.join(',') };
	first = await startTestService({ env, limits, onLog: (line) => void lines.push(line) });
	second = await startTestService({ env, limits, replicaOf: first });
	account = await registerAccount(first.url, 'Memo');
	const toolIds = [await createHttpTool(account, { name: 'note', url: 'http://127.0.0.1:4000/' })];
	gateway = await publishGateway(account, { type: 'memo', endpoint: '/main', toolIds, configuration: { service: 'notes' } });
});
after(async () => {
	await second.stop();
	await first.stop();
	packages[Symbol.dispose]();
});

const withKey = (headers: Record<string, string> = {}) => ({ 'x-api-key': gateway.key, ...headers });
const get = (path: string, headers: Record<string, string> = withKey()) => send(gateway.url + path, 'GET', { headers });

/** Makes a gateway with these methods only. */
async function guarded(...methods: { type: string; configuration: object; isRequired?: boolean }[]): Promise<string> {
	const { id, url } = (await publishGateway(account, { type: 'memo', auth: 'none' })) as { id: string; url: string };
	const { authMethods } = must(await account.get(`/gateways/${id}/auth`), 200).body.data;
	must(await account.del(`/gateways/${id}/auth/${authMethods[0].id}`), 200);
	for (const method of methods) must(await account.post(`/gateways/${id}/auth`, method), 201);
	return url;
}

const PROBLEM = 'application/problem+json';

describe('every refusal speaks the protocol', () => {
	type Case = [what: string, status: number, code: string, send: () => Promise<Answer>, header?: string];
	const json = (body: unknown, headers: Record<string, string> = {}) => send(gateway.url, 'POST', { body, headers: withKey(headers) });
	const cases: Case[] = [
		['no credential', 401, 'unauthorized', () => get('', {}), 'www-authenticate'],
		['a bad credential', 401, 'unauthorized', () => get('', { 'x-api-key': 'svc_gw_wrong' }), 'www-authenticate'],
		['an unknown path', 404, 'not_found', () => get('/nothing')],
		['a missing document', 404, 'not_found', () => get('/.well-known/nothing', {})],
		['another method', 405, 'method_not_allowed', () => send(`${gateway.url}/info/refs`, 'PUT', { headers: withKey() }), 'allow'],
		['a large body', 413, 'payload_too_large', () => json('x'.repeat(5000))],
		['another type', 415, 'unsupported_media_type', () => json('{}', { 'content-type': 'text/plain' })],
		['a body that is no JSON', 400, 'validation_failed', () => json('{{')],
		['a query that is no text', 400, 'validation_failed', () => get('?a=%zz')],
		['a refusal of its own', 409, 'conflict', () => get('/fails/unknown')],
		['a fault of its own', 500, 'internal', () => get('/breaks')],
		['tools on a route that does not declare it', 500, 'internal', () => get('/tells', {})],
	];
	for (const [what, status, code, ask, header] of cases)
		test(`${what}: ${status}`, async () => {
			const { status: told, headers, body } = await ask();
			assert.deepEqual([told, headers.get('content-type'), body.code, body.service], [status, PROBLEM, code, 'notes']);
			assert.doesNotMatch(JSON.stringify(body), /canary/);
			assert.deepEqual([headers.get('cache-control'), headers.get('x-ratelimit-limit')], ['no-store', String(PER_MINUTE)]);
			assert.ok(headers.get('x-request-id'));
			if (header) assert.ok(headers.get(header), header);
		});

	test('a fault is logged as before, with the plugin', () => {
		const faults = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request failed');
		assert.ok(faults.some(({ plugin, error, gateway: at }) => plugin === 'transport:memo' && /canary/.test(error) && at === 'memo/main'));
		assert.ok(faults.some(({ error }) => /published\(\) was called outside of a route that declares lists/.test(error)));
	});

	test('a HEAD is refused without a body', async () => {
		const { status, headers, body } = await send(gateway.url, 'HEAD');
		assert.deepEqual([status, headers.get('content-type'), body], [401, PROBLEM, null]);
		assert.equal((await send(gateway.url, 'HEAD', { headers: withKey() })).status, 200);
	});

	test('a gateway that is not there has core’s form', async () => {
		assert.equal((await send(`${first.url}/memo/other`, 'GET')).body.error, 'NOT_FOUND');
	});

	test('a 429 has core’s headers and body, on every path', async () => {
		const url = await guarded({ type: 'none', configuration: {} });
		for (let sent = 0; sent < PER_MINUTE; sent++) assert.equal((await send(url, 'GET')).status, 200);
		for (const path of ['', '/nothing', '/.well-known/memo', '/fails/ok']) {
			const { status, headers, body } = await send(url + path, 'GET');
			assert.equal(status, 429, path);
			assert.deepEqual(Object.keys(body).sort(), ['error', 'message', 'statusCode', 'success']);
			assert.match(headers.get('retry-after') ?? '', /^\d+$/);
			assert.equal(headers.get('x-ratelimit-remaining'), '0');
		}
	});
});

describe('a refusal that is wrong', () => {
	const told = async (how: string): Promise<Answer> => {
		const answer = await get(`/fails/${how}`);
		assert.doesNotMatch(JSON.stringify(answer.body), /canary/);
		return answer;
	};
	const WRONG = 'throws promises nothing redirects forbids limits streams events huge splits'.split(' ');
	for (const how of WRONG)
		test(`${how}: core’s own body, and one line of log`, async () => {
			lines.length = 0;
			const { status, headers, body } = await told(how);
			assert.deepEqual([status, body.error, body.message], [409, 'CONFLICT', 'It is taken.']);
			assert.deepEqual([headers.get('location'), headers.get('set-cookie')], [null, null]);
			const faults = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'fail of a plugin failed');
			assert.deepEqual(
				faults.map(({ plugin, gateway: at, code }) => [plugin, at, code]),
				[['transport:memo', 'memo/main', 'conflict']],
			);
		});

	test('none at all leaves core’s own, without a line', async () => {
		lines.length = 0;
		assert.equal((await told('null')).body.error, 'CONFLICT');
		assert.equal(lines.filter((line) => line.includes('fail of a plugin')).length, 0);
	});

	test('a protocol may answer with 200 or another status of errors, and with a text', async () => {
		const [ok, teapot, text] = [await told('ok'), await told('teapot'), await told('text')];
		assert.deepEqual([ok.status, ok.body], [200, { told: 'in the body' }]);
		assert.equal(teapot.status, 418);
		assert.deepEqual([text.status, text.body, text.headers.get('content-type')], [409, 'a text', 'text/plain; charset=utf-8']);
	});

	test('headers of core are not the plugin’s', async () => {
		const { headers } = await told('claims');
		const names = ['www-authenticate', 'retry-after', 'set-cookie', 'access-control-allow-origin'];
		assert.deepEqual(
			names.map((name) => headers.get(name)),
			[null, null, null, null],
		);
		assert.deepEqual([headers.get('x-own'), headers.get('cache-control')], ['1', 'no-store']);
		assert.equal(headers.get('x-ratelimit-limit'), String(PER_MINUTE));
		assert.notEqual(headers.get('x-request-id'), 'fake');
	});
});

test('a discovery document names tools and methods to anybody, and no secret', async () => {
	const { body } = must(await send(`${gateway.url}/.well-known/memo`, 'GET'), 200);
	const parameters = { type: 'object', properties: {} };
	assert.deepEqual(body.tools, [{ name: 'note', description: 'Calls note', parameters }]);
	const description = 'A key in X-API-Key, as ?api_key= or as a Bearer token';
	const scheme = { type: 'apiKey', in: 'header', name: 'X-API-Key', description };
	assert.deepEqual(body.admission, [{ method: 'api_key', required: true, challenge: `Bearer realm="${gateway.url}"`, scheme }]);
});

test('only methods that admit are published, each with its scheme', async () => {
	const url = await guarded(
		{ type: 'signature', configuration: { secret: SECRET }, isRequired: true },
		{ type: 'oauth2', configuration: {}, isRequired: true },
		{ type: 'jwt', configuration: { secret: SECRET.repeat(2) }, isRequired: true },
		{ type: 'basic_auth', configuration: {}, isRequired: true },
		{ type: 'bearer_token', configuration: { token: SECRET.replaceAll(' ', '') }, isRequired: true },
		{ type: 'odd', configuration: { answer: 'error' }, isRequired: true },
		{ type: 'none', configuration: {}, isRequired: false },
	);
	const { body } = must(await send(`${url}/.well-known/memo`, 'GET'), 200);
	const text = JSON.stringify(body);
	assert.doesNotMatch(text, new RegExp(SECRET));
	assert.doesNotMatch(text, new RegExp(SECRET.replaceAll(' ', '')));
	type Told = { method: string; required: boolean; scheme: { type: string; scheme?: string } };
	const told = body.admission.map(({ method, required, scheme }: Told) => [method, required, scheme?.type, scheme?.scheme]);
	assert.deepEqual(told, [
		['signature', true, 'http', 'Signature'],
		['oauth2', true, 'oauth2', undefined],
		['jwt', true, 'http', 'bearer'],
		['basic_auth', true, 'http', 'basic'],
		['bearer_token', true, 'http', 'bearer'],
		['odd', true, undefined, undefined],
	]);
	const { flows, metadataUrl } = body.admission[1].scheme;
	assert.deepEqual([flows.authorizationCode.tokenUrl, flows.authorizationCode.pkceRequired], [`${url}/token`, true]);
	assert.equal((await send(metadataUrl, 'GET')).body.authorization_endpoint, flows.authorizationCode.authorizationUrl);
	const open = await guarded({ type: 'none', configuration: {} });
	assert.deepEqual((await send(`${open}/.well-known/memo`, 'GET')).body.admission, [{ method: 'none', required: true, scheme: null }]);
});

describe('every spelling of an address is the same place', () => {
	const spellings = (org: string, endpoint: string): string[] =>
		[org, `@${org}`, `%40${org}`, `%6D${org.slice(1)}`].flatMap((first) =>
			[endpoint, `${endpoint}.git`, `${endpoint}%2Egit`].map((last) => `/${first}/${last}`),
		);
	const SPELLINGS = spellings('memo', 'main');
	const rest = ['', '/', '//', '?a=1', '/info/refs', '/info/refs/'];
	const WELL_KNOWN = SPELLINGS.flatMap((at) => [`/.well-known/memo${at}`, `${at}/.well-known/memo`, `/%2ewell-known/memo${at}/`]);

	for (const at of SPELLINGS)
		test(`${at}`, async () => {
			const headers = withKey({ origin: 'https://page.example' });
			for (const more of rest) {
				const { status, headers: told, body } = await send(second.url + at + more, 'GET', { headers });
				assert.deepEqual([status, body.path], [200, more.includes('refs') ? '/info/refs' : '/'], more);
				assert.equal(body.target, at + more);
				assert.equal(told.get('access-control-allow-origin'), '*');
				assert.equal(told.get('x-ratelimit-limit'), String(PER_MINUTE));
			}
			const preflight = await send(second.url + at, 'OPTIONS', { headers: { origin: 'https://page.example' } });
			assert.equal(preflight.headers.get('access-control-allow-origin'), '*');
			const refused = await send(second.url + at, 'GET', { headers: { origin: 'https://page.example' } });
			assert.deepEqual([refused.status, refused.body.path, refused.body.code], [401, '/', 'unauthorized']);
			assert.match(refused.headers.get('www-authenticate') ?? '', /realm="[^"]*\/memo\/main"/, 'the address is the gateway’s own');
		});

	test('discovery documents are found by each, with the gateway’s own address', async () => {
		for (const at of WELL_KNOWN) {
			const { body } = must(await send(first.url + at, 'GET', { headers: { origin: 'https://page.example' } }), 200);
			assert.deepEqual([body.path, body.url], ['/.well-known/memo', gateway.url], at);
		}
	});

	test('all of them count in the gateway’s one window, and bad credentials in one', async () => {
		const { id, url, key } = await publishGateway(account, { type: 'memo', endpoint: '/counted' });
		assert.ok(id && url);
		const remaining = async (at: string): Promise<number> =>
			Number((await send(first.url + at, 'GET', { headers: { 'x-api-key': key } })).headers.get('x-ratelimit-remaining'));
		const left = [];
		for (const at of spellings('memo', 'counted')) left.push(await remaining(at));
		assert.deepEqual(
			left,
			left.map((_, index) => PER_MINUTE - 1 - index),
		);
		const bad = async (at: string): Promise<number> =>
			Number((await send(first.url + at, 'GET', { headers: { 'x-api-key': 'svc_gw_bad' } })).headers.get('x-ratelimit-remaining'));
		const before = await bad('/memo/counted');
		assert.equal(await bad('/@memo/counted.git'), before - 1);
	});

	test('the log names the gateway, however it was spelt', async () => {
		lines.length = 0;
		for (const at of ['/@memo/main.git', '/memo/main']) await send(`${first.url + at}/breaks`, 'GET', { headers: withKey() });
		const faults = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request failed');
		assert.deepEqual(
			faults.map(({ gateway: at }) => at),
			['memo/main', 'memo/main'],
		);
	});

	for (const at of [
		'/memo/main.GIT',
		'/memo/main.git.git',
		'/memo/main.zip',
		'/memo/main.',
		'/@@memo/main',
		'/@/main',
		'/memo@/main',
		'/@memo/@main',
	])
		test(`${at} is nowhere`, async () => assert.equal((await send(first.url + at, 'GET', { headers: withKey() })).status, 404));

	test('a suffix is only that of a transport which declares it', async () => {
		const { url, key } = await publishGateway(account, { endpoint: '/plain' });
		assert.equal((await send(url, 'GET', { headers: { 'x-api-key': key } })).status, 405);
		assert.equal((await send(`${url}.git`, 'GET', { headers: { 'x-api-key': key } })).status, 404);
		assert.equal((await send(url.replace('/memo/', '/@memo/'), 'GET', { headers: { 'x-api-key': key } })).status, 405);
	});

	test('a reserved name is no gateway’s in any of them', async () => {
		for (const at of ['/@apis/main', '/.well-known/memo/apis/main', '/.well-known/memo/@apis/main', '/@.well-known/memo/memo/main']) {
			const { status, headers, body } = await send(first.url + at, 'GET', { headers: { origin: 'https://page.example' } });
			assert.deepEqual([status, body.error, headers.get('access-control-allow-origin')], [404, 'NOT_FOUND', null], at);
			assert.match(body.message, /^There is nothing at GET/, 'it is refused before any gateway is looked for');
		}
	});
});

test('MCP refuses messages as JSON-RPC errors, with their status, and credentials with a challenge', async () => {
	const { url, key } = await publishGateway(account);
	const post = (body: unknown, headers: Record<string, string> = {}) =>
		send(url, 'POST', { body, headers: { 'x-api-key': key, ...headers } });
	const page = { origin: 'https://evil.example' };
	for (const [status, answer] of [
		[415, await post('{}', { 'content-type': 'text/plain' })],
		[413, await post('x'.repeat(2_000_000))],
		[403, await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, page)],
		[400, await send(`${url}?a=%zz`, 'POST', { body: {}, headers: { 'x-api-key': key } })],
	] as const)
		assert.deepEqual([answer.status, answer.body.jsonrpc, answer.body.id, answer.body.error.code], [status, '2.0', null, -32600]);
	const refused = await post('{}', { 'x-api-key': '' });
	assert.deepEqual([refused.status, refused.body.error], [401, 'UNAUTHORIZED']);
	assert.ok(refused.headers.get('www-authenticate'));
	assert.deepEqual([(await send(url, 'GET', { headers: { 'x-api-key': key } })).body.error], ['METHOD_NOT_ALLOWED']);
});

describe('compressed bodies', () => {
	const post = (body: Buffer, coding = 'gzip') => send(gateway.url, 'POST', { body, headers: withKey({ 'content-encoding': coding }) });

	test('gzip is inflated where the route takes it', async () => {
		assert.deepEqual(must(await post(gzipSync('{"a":1}')), 200).body.body, { a: 1 });
		assert.deepEqual(must(await post(gzipSync('{"a":2}'), 'X-GZIP'), 200).body.body, { a: 2 });
	});

	test('a bomb is a large body, broken gzip a bad one', async () => {
		const bomb = gzipSync(Buffer.alloc(2_000_000, ' '));
		assert.ok(bomb.length < 4096, 'the bound of the route does not refuse the compressed body');
		assert.equal((await post(bomb)).body.code, 'payload_too_large');
		assert.equal((await post(gzipSync('{"a":1}').subarray(0, -3))).body.code, 'validation_failed');
		assert.equal((await post(Buffer.from('{"a":1}'))).body.code, 'validation_failed');
	});

	test('other codings, and any on other routes, are refused with those that are taken', async () => {
		const brotli = await post(Buffer.from('x'), 'br');
		assert.deepEqual([brotli.status, brotli.headers.get('accept-encoding')], [415, 'gzip']);
		const options = { body: gzipSync('a'), headers: withKey({ 'content-encoding': 'gzip' }) };
		const plain = await send(gateway.url, 'PUT', options);
		assert.deepEqual([plain.status, plain.headers.get('accept-encoding'), plain.body.code], [415, 'identity', 'unsupported_media_type']);
	});
});

describe('signed bodies', () => {
	interface Signed {
		method?: string;
		body?: string | Buffer;
		secret?: string;
		target?: string;
		label?: string;
		headers?: Record<string, string>;
	}
	/** Returns the headers of a signed request. */
	function signed(url: string, { method = 'POST', body = '', secret = SECRET, target, label = 'sig', headers = {} }: Signed = {}) {
		const { host, pathname, search } = new URL(url);
		const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
		const covered = `"@method": ${method}\n"@authority": ${host}\n"@request-target": ${target ?? pathname + search}\n"content-digest": ${digest}`;
		const signature = `${label}=:${createHmac('sha256', secret).update(covered).digest('base64')}:`;
		return { 'content-type': 'application/json', 'content-digest': digest, signature, ...headers };
	}
	let path: string;
	before(async () => {
		path = new URL(await guarded({ type: 'signature', configuration: { secret: SECRET } })).pathname;
	});

	for (const [name, replica] of [
		['first', () => first],
		['second', () => second],
	] as const)
		test(`a captured signature lets no other body in, on the ${name} replica`, async () => {
			const url = replica().url + path;
			const headers = signed(url, { body: '{"pay":1}' });
			const answer = must(await send(url, 'POST', { body: '{"pay":1}', headers }), 200);
			assert.deepEqual([answer.body.target, answer.body.authority], [path, new URL(url).host]);
			for (const body of ['{"pay":1000000}', '{"pay":1} ', '{{', undefined]) {
				const refused = await send(url, 'POST', { body, headers });
				assert.deepEqual([refused.status, refused.body.code, refused.body.title], [401, 'unauthorized', 'The digest is wrong.']);
				assert.equal(refused.headers.get('www-authenticate'), 'Signature label="sig", error="invalid_token"');
			}
			assert.equal((await send(`${url}?a=1`, 'POST', { body: '{"pay":1}', headers })).status, 401, 'the target is covered');
		});

	test('what is signed are the bytes that were sent, in their coding', async () => {
		const url = first.url + path;
		const body = gzipSync('{"a":1}');
		const headers = { 'content-encoding': 'gzip' };
		const options = { body, headers: signed(url, { body, headers }) };
		assert.deepEqual(must(await send(url, 'POST', options), 200).body.body, { a: 1 });
		const inflated = { body, headers: signed(url, { body: '{"a":1}', headers }) };
		assert.equal((await send(url, 'POST', inflated)).status, 401);
	});

	test('a body that is not let in is neither inflated nor parsed', async () => {
		const url = first.url + path;
		const headers = signed(url, { body: 'other', headers: { 'content-encoding': 'gzip' } });
		const refused = await send(url, 'POST', { body: 'no gzip', headers });
		assert.deepEqual([refused.status, refused.body.title], [401, 'The digest is wrong.']);
	});

	test('a request without a body is verified too', async () => {
		const url = first.url + path;
		const headers = signed(url, { method: 'GET' });
		assert.equal((await send(url, 'GET', { headers })).status, 200);
		assert.equal((await send(url, 'GET', { headers: signed(url, { method: 'GET', body: 'x' }) })).status, 401);
	});

	test('of two secrets, only the method that admitted the caller verifies', async () => {
		const other = 'another secret of 16 characters';
		const url = await guarded(
			{ type: 'odd', configuration: { answer: 'error' } },
			{ type: 'signature', configuration: { secret: other, label: 'b' } },
			{ type: 'signature', configuration: { secret: SECRET } },
		);
		const answer = await send(url, 'POST', { body: '{}', headers: signed(url, { body: '{}' }) });
		assert.equal(must(answer, 200).status, 200);
		const ofOther = signed(url, { body: '{}', secret: other, label: 'b' });
		assert.equal((await send(url, 'POST', { body: '{}', headers: ofOther })).status, 200);
		const wrong = await send(url, 'POST', { body: '[]', headers: ofOther });
		assert.equal(wrong.status, 401);
		assert.match(wrong.headers.get('www-authenticate') ?? '', /label="b", error="invalid_token"/);
		assert.doesNotMatch(wrong.headers.get('www-authenticate') ?? '', /label="sig", error/);
	});

	for (const [answer, status, code] of [
		['false', 500, 'internal'],
		['true', 500, 'internal'],
		['error', 500, 'internal'],
		['forbidden', 403, 'forbidden'],
	] as const)
		test(`a method that answers ${answer} lets nobody in: ${status}`, async () => {
			const url = await guarded({ type: 'odd', configuration: { answer } });
			const { status: told, body } = await send(url, 'GET', { headers: { 'x-odd': '1' } });
			assert.deepEqual([told, body.code], [status, code]);
		});

	test('bad bodies count as bad credentials: after too many, a good one is not looked at', async () => {
		// Each signer has a window of its own for requests; bad credentials of an address have one at all gateways.
		const other = new URL(await guarded({ type: 'signature', configuration: { secret: SECRET } })).pathname;
		const statuses: number[] = [];
		for (const url of [second.url + path, second.url + other])
			for (let sent = 0; sent < 0.7 * PER_MINUTE; sent++)
				statuses.push((await send(url, 'POST', { body: '[]', headers: signed(url, { body: '{}' }) })).status);
		assert.deepEqual([statuses[0], statuses.at(-1)], [401, 429]);
		const url = second.url + other;
		assert.equal((await send(url, 'POST', { body: '{}', headers: signed(url, { body: '{}' }) })).status, 429);
	});
});
