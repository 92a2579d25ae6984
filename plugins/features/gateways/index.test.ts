// Tests of gateways over REST: versions, changes, repeated requests, and answers that match the document.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type Judge, readDocument } from '../../../test/helpers/document.ts';
import {
	type Account,
	type Answer,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	send,
	sharedService,
} from '../../../test/helpers/service.ts';
import { assertChangesOnly, assertVersioned, etagOf } from '../../../test/helpers/versions.ts';

let service: SharedService;
let account: Account;
let judge: Judge;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
	judge = await readDocument(service.url);
});
after(() => service.stop());

let made = 0;
const create = async (more: object = {}): Promise<Answer> =>
	must(await account.post('/gateways', { name: 'Main', type: 'mcp', endpoint: `/main-${made++}`, ...more }), 201);
const addTool = (name: string): Promise<string> => createHttpTool(account, { name, url: 'https://example.com/' });

test('of fifty parallel changes of one version of a gateway one succeeds, and the others are a 412', async () => {
	const created = await create();
	await assertVersioned(account, `/gateways/${created.body.data.id}`, created);
});

test('an assignment changes the ETag, but makes no change of the gateway fail', async () => {
	const created = await create();
	const path = `/gateways/${created.body.data.id}`;
	must(await account.post(`${path}/tools`, { toolId: await addTool('counted') }), 201);
	const after = must(await account.get(path), 200);
	assert.equal(after.body.data.toolCount, 1);
	assert.notEqual(etagOf(after), etagOf(created));
	must(await account.patch(path, { name: 'Renamed' }, { 'if-match': etagOf(created) }), 200);
	assert.equal((await account.patch(path, { name: 'Lost' }, { 'if-match': etagOf(created) })).status, 412);
});

test('an unchanged gateway is a 304 for If-None-Match', async () => {
	const path = `/gateways/${(await create()).body.data.id}`;
	const tag = etagOf(must(await account.get(path), 200));
	const again = await account.get(path, { 'if-none-match': tag });
	assert.deepEqual([again.status, again.body], [304, null]);
	// Proxies that compress answers weaken their tags.
	for (const tags of [`W/${tag}`, `"other", W/${tag}`])
		assert.equal((await account.get(path, { 'if-none-match': tags })).status, 304, tags);
	assert.equal((await account.get(path, { 'if-none-match': 'W/"other"' })).status, 200);
});

test('a change names what it changes, and leaves the rest of the gateway', async () => {
	const { id } = (await create({ description: 'first', configuration: { instructions: 'Be brief.' } })).body.data;
	await assertChangesOnly(account, `/gateways/${id}`, [
		{ name: 'Second' },
		{ description: null },
		{ description: '' },
		{ configuration: { allowedOrigins: ['https://app.example'] } },
	]);
	// An inactive gateway has no lists, and so no tokens of them.
	const shown = async (): Promise<object> => {
		const { tokens: _tokens, updatedAt: _at, ...rest } = must(await account.get(`/gateways/${id}`), 200).body.data;
		return rest;
	};
	for (const status of ['inactive', 'active']) {
		const before = await shown();
		must(await account.patch(`/gateways/${id}`, { status }), 200);
		assert.deepEqual(await shown(), { ...before, status });
	}
	const nothing = await account.patch(`/gateways/${id}`, {});
	assert.deepEqual([nothing.status, nothing.body.message], [400, '"body" must have at least 1 key']);
	assert.equal((await account.patch(`/gateways/${id}`, { type: 'a2a' })).status, 400);
});

const REPEATED: [what: string, path: (gateway: string) => string, body: (tool: string) => object, list: (gateway: string) => string][] = [
	['a gateway', () => '/gateways', () => ({ name: 'Once', type: 'mcp', endpoint: '/once' }), () => '/gateways?q=once'],
	['a assignment', (id) => `/gateways/${id}/tools`, (toolId) => ({ toolId }), (id) => `/gateways/${id}/tools`],
	['a bulk assignment', (id) => `/gateways/${id}/tools/bulk`, (tool) => ({ toolIds: [tool] }), (id) => `/gateways/${id}/tools`],
	['an authentication method', (id) => `/gateways/${id}/auth`, () => ({ type: 'api_key' }), (id) => `/gateways/${id}/auth`],
];
for (const [what, pathOf, bodyOf, listOf] of REPEATED) {
	test(`a request for ${what} that is sent again under its Idempotency-Key is answered as before, and done once`, async () => {
		const { id } = (await create()).body.data;
		const body = bodyOf(await addTool('repeated'));
		const headers = { 'idempotency-key': randomUUID() };
		const first = must(await account.post(pathOf(id), body, headers), 201);
		const second = must(await account.post(pathOf(id), body, headers), 201);
		assert.deepEqual(second.body, first.body);
		assert.equal(second.headers.get('idempotency-replayed'), 'true');
		assert.equal(second.headers.get('etag'), first.headers.get('etag'));
		const { nextCursor: _none, ...listed } = must(await account.get(listOf(id)), 200).body.data;
		assert.deepEqual(
			Object.values(listed).map((rows) => (rows as unknown[]).length),
			[1],
		);
	});
}

test('a repeated request creates another API key: an answer with a secret is never stored', async () => {
	const { id } = (await create()).body.data;
	const headers = { 'idempotency-key': randomUUID() };
	const keys = [1, 2].map(async () => must(await account.post(`/gateways/${id}/auth/api-keys`, { name: 'k' }, headers), 201).body.data.key);
	assert.equal(new Set(await Promise.all(keys)).size, 2);
});

test('every answer about a gateway and what belongs to it is what its page promises', async () => {
	const tool = await addTool('promised');
	const { id } = await publishGateway(account, { toolIds: [tool] });
	const judged = async (operation: string, answer: Promise<Answer>): Promise<Answer> => {
		const given = await answer;
		assert.equal(judge.fault(operation, given), null, `${operation}: ${JSON.stringify(given.body)}`);
		return given;
	};
	const path = `/gateways/${id}`;
	await judged('POST /gateways', create({ description: 'text', configuration: { instructions: 'Be brief.' } }));
	await judged('GET /gateways', account.get('/gateways?limit=1'));
	await judged('GET /gateways/{id}', account.get(path));
	await judged('PATCH /gateways/{id}', account.patch(path, { description: null }));
	const { tools } = (await judged('GET /gateways/{id}/tools', account.get(`${path}/tools`))).body.data;
	const { gatewayToolId } = tools[0];
	const options = { rateLimit: 5, name: 'other', description: 'Other.' };
	await judged('PATCH /gateways/{id}/tools/{toolId}', account.patch(`${path}/tools/${gatewayToolId}`, options));
	await judged('GET /gateways/{id}/tools', account.get(`${path}/tools`));
	await judged('POST /gateways/{id}/tools', account.post(`${path}/tools`, { toolId: tool }));
	await judged('POST /gateways/{id}/tools/bulk', account.post(`${path}/tools/bulk`, { toolIds: [tool] }));
	await judged('DELETE /gateways/{id}/tools/{toolId}', account.del(`${path}/tools/${tool}`));
	await judged('GET /gateways/{id}/tools/available', account.get(`${path}/tools/available`));
	const validationRules = { allowedIpRanges: ['203.0.113.0/24', '::1'], requiredHeaders: ['x-team'] };
	const method = await judged('POST /gateways/{id}/auth', account.post(`${path}/auth`, { type: 'api_key', validationRules }));
	await judged('GET /gateways/{id}/auth', account.get(`${path}/auth`));
	await judged('DELETE /gateways/{id}/auth/{authId}', account.del(`${path}/auth/${method.body.data.id}`));
	const key = await judged(
		'POST /gateways/{id}/auth/api-keys',
		account.post(`${path}/auth/api-keys`, { name: 'k', expiresAt: '2099-01-01' }),
	);
	await judged('GET /gateways/{id}/auth/api-keys', account.get(`${path}/auth/api-keys`));
	await judged('DELETE /gateways/{id}/auth/api-keys/{keyId}', account.del(`${path}/auth/api-keys/${key.body.data.id}`));
	await judged('DELETE /gateways/{id}', account.del(`${path}?ifUnused=true`));
	await judged('DELETE /gateways/{id}', account.del(path));
	await judged('GET /gateways/{id}', account.get(path));
});

const EXPIRIES: [given: string, stored: string | null][] = [
	['2099-01-01', '2099-01-01T00:00:00.000Z'],
	['2099-01-01T12:00:00+02:00', '2099-01-01T10:00:00.000Z'],
	['2099-01-01T12:00:00', null],
	['2099-W10', null],
	['2099-02-30', null],
	['2001-01-01', null],
];
for (const [given, stored] of EXPIRIES) {
	test(`a key that expires at ${given} is ${stored === null ? 'a 400 that names the field' : `one until ${stored}`}`, async () => {
		const { id } = (await create()).body.data;
		const { status, body } = await account.post(`/gateways/${id}/auth/api-keys`, { name: 'k', expiresAt: given });
		if (stored === null) assert.deepEqual([status, body.details[0].path], [400, '/expiresAt']);
		else assert.deepEqual([status, body.data.expiresAt], [201, stored]);
	});
}

test('a user of another organization gets a 404, whatever version they name', async () => {
	const created = await create();
	const stranger = await registerAccount(service.url);
	const path = `/gateways/${created.body.data.id}`;
	const headers = { 'if-match': etagOf(created) };
	assert.equal((await stranger.patch(path, { name: 'Mine' }, headers)).status, 404);
	assert.equal((await stranger.del(path, undefined, headers)).status, 404);
	assert.equal((await send(`${service.url}${path}`, 'GET')).status, 401);
});
