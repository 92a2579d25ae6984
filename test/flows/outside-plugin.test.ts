// Tests a third party's package: packed, installed, named in GATEWAY_PLUGINS; its transport and its executor work through a gateway without
// a change to our code. Its small protocol also shows the order of a request's steps (decisions, 15–23).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { type Account, must, publishGateway, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';

let packages: InstalledPackages;
let service: TestService;
let account: Account;
let toolId: string;
let gateway: { id: string; url: string; key: string };

before(async () => {
	packages = installPackages('outside-plugin');
	service = await startTestService({ env: { GATEWAY_PLUGINS: packages.names.join(',') } });
	account = await registerAccount(service.url, 'Acme');
	toolId = await createShout('shout', { suffix: '!', pin: 's3cret-pin' });
	gateway = await publishGateway(account, { type: 'lines', endpoint: '/main', toolIds: [toolId], configuration: { prefix: '* ' } });
});
after(async () => {
	await service.stop();
	packages[Symbol.dispose]();
});

async function createShout(name: string, executionConfig: object): Promise<string> {
	const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
	const made = await account.post(`/organizations/${account.organization.id}/tools`, { name, type: 'shout', parameters, executionConfig });
	return must(made, 201).body.data.id;
}

const withKey = (headers: Record<string, string> = {}) => ({ 'x-api-key': gateway.key, ...headers });

test('its transport lists and runs its executor’s tool; kv and records are its own', async () => {
	const list = await send(gateway.url, 'GET', { headers: withKey() });
	assert.deepEqual([list.status, list.body], [200, '* shout\n']);
	const first = await send(`${gateway.url}/shout`, 'POST', { headers: withKey(), body: { text: 'hello' } });
	assert.deepEqual([first.status, first.body, first.headers.get('x-runs')], [200, '* HELLO!s3cret-pin\n', '1']);
	const second = await send(`${gateway.url}/shout`, 'POST', { headers: withKey(), body: { text: 'again' } });
	assert.equal(second.headers.get('x-runs'), '2');
});

test('its errors are recognised by their code, not by their class', async () => {
	const answer = await send(`${gateway.url}/shout`, 'POST', { headers: withKey(), body: { text: 'forbidden' } });
	assert.deepEqual([answer.status, answer.body], [422, '* That word is not shouted.\n']);
});

test('its secret field is sealed and never shown', async () => {
	const tool = must(await account.get(`/tools/${toolId}`), 200).body.data;
	assert.deepEqual(tool.executionConfig, { suffix: '!' });
});

test('GET /plugins shows it, and its config is checked when it is saved', async () => {
	const { plugins } = must(await account.get('/plugins'), 200).body.data;
	assert.ok(plugins.some((plugin: { kind: string; name: string }) => plugin.kind === 'transport' && plugin.name === 'lines'));
	const body = { name: 'x', type: 'shout', executionConfig: { suffix: 7, loud: true } };
	const refused = await account.post(`/organizations/${account.organization.id}/tools`, body);
	assert.equal(refused.status, 400);
	assert.deepEqual(refused.body.details.map(({ path }: { path: string }) => path).sort(), [
		'/executionConfig/loud',
		'/executionConfig/suffix',
	]);
});

test('the order of a request: gateway 404, then 401, then 404 or 405 with Allow, then the body', async () => {
	assert.equal((await send(`${service.url}/acme/other`, 'GET')).status, 404);
	assert.equal((await send(`${gateway.url}/no/such/path`, 'GET')).status, 401, 'an unknown path is hidden until the caller is known');
	assert.equal((await send(`${gateway.url}/no/such/path`, 'GET', { headers: withKey() })).status, 404);
	const wrongMethod = await send(gateway.url, 'POST', { headers: withKey(), body: {} });
	assert.deepEqual([wrongMethod.status, wrongMethod.headers.get('allow')], [405, 'GET']);
	assert.equal((await send(`${gateway.url}/shout`, 'POST', { body: '{{{' })).status, 401, 'the body is not looked at before the caller');
	assert.equal((await send(`${gateway.url}/shout`, 'POST', { headers: withKey(), body: '{{{' })).status, 400);
	assert.equal(
		(await send(`${gateway.url}/shout`, 'POST', { headers: withKey(), body: `{"text":"${'x'.repeat(2_000_000)}"}` })).status,
		413,
	);
	assert.equal(
		(await send(`${gateway.url}/shout`, 'POST', { headers: withKey({ 'content-type': 'text/plain' }), body: '{}' })).status,
		415,
	);
});

test('a discovery document is public, in both places, also with no auth row; a trailing slash is the same place', async () => {
	const bare = must(await account.post('/gateways', { name: 'bare', type: 'lines', endpoint: '/bare' }), 201).body.data;
	for (const url of [`${bare.url}/.well-known/lines`, `${service.url}/.well-known/lines/acme/bare`, `${bare.url}/.well-known/lines/`]) {
		const answer = await send(url, 'GET');
		assert.deepEqual([answer.status, answer.body], [200, { protocol: 'lines', url: service.url }], url);
	}
	assert.equal((await send(bare.url, 'GET', { headers: withKey() })).status, 401, 'no auth row admits nobody');
	assert.equal((await send(`${gateway.url}/`, 'GET', { headers: withKey() })).status, 200);
});

test('the endpoint is matched with case, and is unique without', async () => {
	assert.equal((await send(`${service.url}/acme/MAIN`, 'GET', { headers: withKey() })).status, 404);
	assert.equal((await account.post('/gateways', { name: 'x', type: 'lines', endpoint: 'MAIN' })).status, 409);
});

const KEYS: [id: string, headers: () => Record<string, string>, query: () => string, status: number][] = [
	['in X-API-Key', () => ({ 'x-api-key': gateway.key }), () => '', 200],
	['as Bearer', () => ({ authorization: `Bearer ${gateway.key}` }), () => '', 200],
	['in the query', () => ({}), () => `?api_key=${gateway.key}`, 200],
	['nowhere', () => ({}), () => '', 401],
	['with its prefix in capitals', () => ({ 'x-api-key': gateway.key.replace('svc_gw_', 'SVC_GW_') }), () => '', 401],
	[
		'with one character changed',
		() => ({ 'x-api-key': `${gateway.key.slice(0, -1)}${gateway.key.endsWith('A') ? 'B' : 'A'}` }),
		() => '',
		401,
	],
	['a megabyte long in the query', () => ({}), () => `?api_key=${'x'.repeat(10_000)}`, 401],
	['in a cookie', () => ({ cookie: `api_key=${gateway.key}` }), () => '', 401],
	['that is a member’s own token (decisions, 24)', () => ({ authorization: `Bearer ${account.token}` }), () => '', 200],
];

for (const [id, headers, query, status] of KEYS) {
	test(`a key ${id}: ${status}`, async () => {
		const answer = await send(gateway.url + query(), 'GET', { headers: headers() });
		assert.equal(answer.status, status);
		if (status === 401) assert.ok(answer.headers.get('www-authenticate'));
	});
}

test('keys that are expired, revoked or of another gateway are refused; lastUsedAt is kept', async () => {
	const path = `/gateways/${gateway.id}/auth/api-keys`;
	const short = must(await account.post(path, { name: 'short', expiresAt: new Date(Date.now() + 3000).toISOString() }), 201).body.data;
	assert.equal((await send(gateway.url, 'GET', { headers: { 'x-api-key': short.key } })).status, 200);
	await until(async () => (await send(gateway.url, 'GET', { headers: { 'x-api-key': short.key } })).status === 401, 'it expires');
	assert.equal((await account.post(path, { name: 'past', expiresAt: '2020-01-01T00:00:00Z' })).status, 400);

	const other = await publishGateway(account, { type: 'lines', endpoint: '/other', toolIds: [toolId] });
	assert.equal((await send(gateway.url, 'GET', { headers: { 'x-api-key': other.key } })).status, 401);

	const keys = must(await account.get(path), 200).body.data.apiKeys;
	const used = keys.find((key: { id: string }) => key.id === short.id);
	assert.equal(used.key, undefined);
	assert.ok(used.lastUsedAt, 'the use was written');
	must(await account.del(`${path}/${short.id}`), 200);
	assert.equal((await account.del(`${path}/${short.id}`)).status, 404);
});

test('scopes: listing needs tools:read, calling tools:execute, neither implies the other (decisions, 23)', async () => {
	const path = `/gateways/${gateway.id}/auth/api-keys`;
	const keyWith = async (scopes: string[]): Promise<string> =>
		must(await account.post(path, { name: 'scoped', scopes }), 201).body.data.key;
	const read = { 'x-api-key': await keyWith(['tools:read']) };
	const execute = { 'x-api-key': await keyWith(['tools:execute']) };
	const neither = { 'x-api-key': await keyWith(['gateway:read']) };
	const statuses = async (headers: Record<string, string>) => [
		(await send(gateway.url, 'GET', { headers })).status,
		(await send(`${gateway.url}/shout`, 'POST', { headers, body: { text: 'a' } })).status,
	];
	assert.deepEqual(await statuses(read), [200, 403]);
	assert.deepEqual(await statuses(execute), [403, 200]);
	assert.deepEqual(await statuses(neither), [403, 403]);
	assert.equal((await account.post(path, { name: 'odd', scopes: ['admin'] })).status, 400);
});

test('validation rules: address ranges and required headers answer 403 before the credential counts', async () => {
	const made = must(await account.post('/gateways', { name: 'ruled', type: 'lines', endpoint: '/ruled' }), 201).body.data;
	const add = (validationRules: object) => account.post(`/gateways/${made.id}/auth`, { type: 'none', validationRules });
	for (const bad of [
		{ allowedIpRanges: ['10.0.0.0/33'] },
		{ allowedIpRanges: ['nonsense'] },
		{ allowedIpRanges: [] },
		{ requiredHeaders: ['a b'] },
		{ x: 1 },
	]) {
		assert.equal((await add(bad)).status, 400, JSON.stringify(bad));
	}
	const rule = must(await add({ allowedIpRanges: ['10.0.0.0/8'] }), 201).body.data;
	assert.equal((await send(made.url, 'GET')).status, 403);
	assert.equal(
		(await send(made.url, 'GET', { headers: { 'x-forwarded-for': '10.1.2.3' } })).status,
		403,
		'nobody is believed without TRUST_PROXY',
	);
	must(await account.del(`/gateways/${made.id}/auth/${rule.id}`), 200);
	must(await add({ allowedIpRanges: ['::ffff:127.0.0.0/104'], requiredHeaders: ['X-Tenant'] }), 201);
	assert.equal((await send(made.url, 'GET')).status, 403);
	assert.equal((await send(made.url, 'GET', { headers: { 'x-tenant': 'a' } })).status, 200);
});

test('a tool that is not assigned, or is inactive, is not there', async () => {
	const hidden = await createShout('hidden', { suffix: '?' });
	const call = (name: string) => send(`${gateway.url}/${name}`, 'POST', { headers: withKey(), body: { text: 'a' } });
	assert.equal((await call('hidden')).status, 404);
	must(await account.post(`/gateways/${gateway.id}/tools`, { toolId: hidden }), 201);
	assert.equal((await call('hidden')).status, 200);
	must(await account.patch(`/tools/${hidden}`, { status: 'inactive' }), 200);
	assert.equal((await call('hidden')).status, 404);
	must(await account.del(`/tools/${hidden}`), 200);
});

test('names are unique in a gateway: the second of a name gets a suffix, stored and returned (decisions, 6)', async () => {
	const twin = await createShout('SHOUT', { suffix: '?' });
	const { name } = must(await account.post(`/gateways/${gateway.id}/tools`, { toolId: twin }), 201).body.data;
	assert.match(name, /^SHOUT_[0-9a-f]{8}$/);
	assert.equal((await send(`${gateway.url}/${name}`, 'POST', { headers: withKey(), body: { text: 'a' } })).body, '* A?\n');
	must(await account.del(`/gateways/${gateway.id}/tools/${twin}`), 200);
});

test('another organization finds nothing of this one, by path, body or header', async () => {
	const stranger = await registerAccount(service.url);
	const none = '00000000-0000-4000-8000-000000000000';
	const cases: [method: 'get' | 'post' | 'patch' | 'del', path: string, body?: object][] = [
		['get', `/gateways/${gateway.id}`],
		['patch', `/gateways/${gateway.id}`, { name: 'mine' }],
		['del', `/gateways/${gateway.id}`],
		['get', `/gateways/${gateway.id}/tools`],
		['get', `/gateways/${gateway.id}/tools/available`],
		['post', `/gateways/${gateway.id}/tools`, { toolId }],
		['post', `/gateways/${gateway.id}/tools/bulk`, { toolIds: [toolId] }],
		['del', `/gateways/${gateway.id}/tools/${toolId}`],
		['patch', `/gateways/${gateway.id}/tools/${toolId}`, { rateLimit: 1 }],
		['get', `/gateways/${gateway.id}/auth`],
		['post', `/gateways/${gateway.id}/auth`, { type: 'none' }],
		['get', `/gateways/${gateway.id}/auth/api-keys`],
		['post', `/gateways/${gateway.id}/auth/api-keys`, { name: 'mine' }],
		['get', `/tools/${toolId}`],
		['patch', `/tools/${toolId}`, { name: 'mine' }],
		['del', `/tools/${toolId}`],
		['get', `/organizations/${account.organization.id}/tools`],
		['post', `/organizations/${account.organization.id}/tools`, { name: 'x', type: 'shout', executionConfig: { suffix: '!' } }],
		['post', `/organizations/${account.organization.id}/tools/${toolId}/execute`, { parameters: { text: 'a' } }],
		['post', `/organizations/${stranger.organization.id}/tools/${toolId}/execute`, { parameters: { text: 'a' } }],
	];
	for (const [method, path, body] of cases) {
		const answer = method === 'get' ? await stranger.get(path) : await stranger[method](path, body);
		assert.equal(answer.status, 404, `${method} ${path}: ${JSON.stringify(answer.body)}`);
		const nothing = path.replaceAll(gateway.id, none).replaceAll(toolId, none).replaceAll(account.organization.id, none);
		const absent = method === 'get' ? await stranger.get(nothing) : await stranger[method](nothing, body);
		assert.deepEqual({ ...answer.body, requestId: '' }, { ...absent.body, requestId: '' }, `${method} ${path}: as if it did not exist`);
	}
	const own = await publishGateway(stranger, { type: 'lines' });
	const foreign = await stranger.post(`/gateways/${own.id}/tools`, { toolId });
	assert.equal(foreign.status, 404, 'a foreign id in the body');
	const header = await stranger.get('/gateways', { 'x-organization-id': account.organization.id });
	assert.deepEqual([header.status, header.body.error], [400, 'NO_ORGANIZATION']);
	assert.equal(must(await account.get(`/gateways/${gateway.id}`), 200).body.data.name, 'Gateway', 'nothing was changed');
});
