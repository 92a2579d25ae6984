// Tests of connected APIs over REST: versions, changes, limits of outbound calls, and answers that match the document.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Judge, readDocument, shownBody } from '../../../test/helpers/document.ts';
import {
	type Account,
	type Answer,
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

const connect = async (more: object = {}) =>
	must(await account.post('/apis', { name: 'Pets', type: 'openapi', baseUrl: 'https://pets.example.com', ...more }), 201);

test('of fifty parallel changes of one version of an API one succeeds, and the others are a 412', async () => {
	const created = await connect();
	await assertVersioned(account, `/apis/${created.body.data.id}`, created);
});

test('storing credentials changes the ETag of the API, and makes no concurrent change fail', async () => {
	const created = await connect();
	const path = `/apis/${created.body.data.id}`;
	const bare = etagOf(must(await account.get(path), 200));
	must(await account.post(`${path}/credentials`, { type: 'bearer_token', credentials: { token: 't' } }), 201);
	const signed = etagOf(must(await account.get(path), 200));
	assert.notEqual(signed, bare);
	must(await account.post(`${path}/credentials`, { type: 'bearer_token', credentials: { token: 'u' } }), 201);
	assert.notEqual(etagOf(must(await account.get(path), 200)), signed);
	must(await account.patch(path, { name: 'renamed' }, { 'if-match': signed }), 200);
});

test('an import that is sent again under its Idempotency-Key is answered as before, and another one is refused', async () => {
	const path = `/apis/${(await connect()).body.data.id}/import-schema`;
	const documentOf = (title: string) =>
		JSON.stringify({ openapi: '3.0.3', info: { title, version: '1' }, paths: { '/pets': { get: { responses: {} } } } });
	const keyed = (title: string) => account.post(path, { schemaContent: documentOf(title) }, { 'idempotency-key': path });
	const first = must(await keyed('Pets'), 200);
	const again = must(await keyed('Pets'), 200);
	assert.deepEqual([again.body, again.headers.get('idempotency-replayed')], [first.body, 'true']);
	must(await keyed('Cats'), 422);
	assert.equal(must(await account.get(path.replace('import-schema', 'imports')), 200).body.data.imports.length, 1);
});

test('a change of an API changes what it names, and nothing else', async () => {
	const { id } = (await connect({ description: 'first', outbound: { maxConcurrent: 3 } })).body.data;
	await assertChangesOnly(account, `/apis/${id}`, [
		{ name: 'Zoo' },
		{ description: 'second' },
		{ description: null },
		{ baseUrl: 'https://pets.example.com/v2' },
		{ outbound: { minTimeMs: 0, maxQueued: 0 } },
		{ status: 'inactive' },
		{ outbound: null },
		{ name: 'Both', status: 'active' },
	]);
	for (const [field, body] of [
		['body', {}],
		['type', { type: 'openapi' }],
		['version', { version: 3 }],
		['status', { status: 'removed' }],
		['name', { name: null }],
	] as const) {
		const { status, body: answer } = await account.patch(`/apis/${id}`, body);
		assert.equal(status, 400, field);
		assert.match(answer.message, new RegExp(field));
	}
});

const LIMITS: [limits: unknown, at: string][] = [
	[{}, '/outbound'],
	[{ maxQueued: 5, maxWaitMs: 1000 }, '/outbound'],
	[{ maxConcurrent: 0 }, '/outbound/maxConcurrent'],
	[{ maxConcurrent: 1001 }, '/outbound/maxConcurrent'],
	[{ maxConcurrent: 1.5 }, '/outbound/maxConcurrent'],
	[{ maxConcurrent: '5' }, '/outbound/maxConcurrent'],
	[{ maxConcurrent: null }, '/outbound/maxConcurrent'],
	[{ minTimeMs: -1 }, '/outbound/minTimeMs'],
	[{ minTimeMs: 60_001 }, '/outbound/minTimeMs'],
	[{ minTimeMs: 1, maxQueued: 10_001 }, '/outbound/maxQueued'],
	[{ minTimeMs: 1, maxWaitMs: 99 }, '/outbound/maxWaitMs'],
	[{ minTimeMs: 1, maxWaitMs: 60_001 }, '/outbound/maxWaitMs'],
	[{ minTimeMs: 1, perSecond: 5 }, '/outbound/perSecond'],
	[[], '/outbound'],
	[5, '/outbound'],
];

test('limits of outbound calls are kept as given, and beyond their bounds a 400 that names the field', async () => {
	for (const outbound of [
		{ maxConcurrent: 1, minTimeMs: 0, maxQueued: 0, maxWaitMs: 100 },
		{ maxConcurrent: 1000, minTimeMs: 60_000, maxQueued: 10_000, maxWaitMs: 60_000 },
		null,
	]) {
		const { id, ...shown } = (await connect({ outbound })).body.data;
		assert.deepEqual(shown.outbound, outbound);
		assert.deepEqual(must(await account.get(`/apis/${id}`), 200).body.data.outbound, outbound);
	}
	const { id, outbound: none } = (await connect()).body.data;
	assert.equal(none, null);
	for (const [outbound, at] of LIMITS) {
		for (const answer of [
			await account.patch(`/apis/${id}`, { outbound }),
			await account.post('/apis', { name: 'x', type: 'openapi', baseUrl: 'https://x.example.com', outbound }),
		])
			assert.deepEqual([answer.status, answer.body.details?.[0]?.path], [400, at], JSON.stringify(outbound));
	}
});

test('a type without an importer is a 400 that lists the known types', async () => {
	const { status, body } = await account.post('/apis', { name: 'x', type: 'fortran', baseUrl: 'https://x.example.com' });
	assert.deepEqual([status, body.details[0].path], [400, '/type']);
	assert.match(body.message, /openapi/);
});

const UNSTORABLE: [type: string, credentials: object, at: string][] = [
	['api_key', { key: 'hunter2\n', name: 'X-Key' }, '/credentials/key'],
	['api_key', { key: 'hunter2\u0001', name: 'q', in: 'query' }, '/credentials/key'],
	['bearer_token', { token: 'hunter2\r' }, '/credentials/token'],
	['basic_auth', { username: 'hunter2:', password: 'x' }, '/credentials/username'],
	['oauth2', { tokenUrl: 'https://a.example', clientId: 'a', clientSecret: 'hunter2\t' }, '/credentials/clientSecret'],
];

test('a refused credential is named by the answer, and not shown', async () => {
	const { id } = (await connect()).body.data;
	for (const [type, credentials, at] of UNSTORABLE) {
		const { status, body } = await account.post(`/apis/${id}/credentials`, { type, credentials });
		assert.deepEqual([status, body.details[0].path], [400, at]);
		assert.ok(!JSON.stringify(body).includes('hunter2'), body.message);
	}
});

test('a URL that outbound calls may not reach is a 400 that names its field', async () => {
	const { id } = (await connect()).body.data;
	const private_ = 'http://10.0.0.1/';
	const oauth = { tokenUrl: private_, clientId: 'a', clientSecret: 'b' };
	const refusals: [answer: Answer, at: string][] = [
		[await account.post('/apis', { name: 'x', type: 'openapi', baseUrl: private_ }), '/baseUrl'],
		[await account.patch(`/apis/${id}`, { baseUrl: 'https://a:b@pets.example.com' }), '/baseUrl'],
		[await account.post(`/apis/${id}/credentials`, { type: 'oauth2', credentials: oauth }), '/credentials/tokenUrl'],
		[await account.post(`/apis/${id}/import-schema`, { schemaUrl: private_ }), '/schemaUrl'],
		[await account.post(`/apis/${id}/import-schema`, { schemaUrl: 'nowhere' }), '/schemaUrl'],
	];
	for (const [{ status, body }, at] of refusals) {
		assert.deepEqual([status, body.error, body.details?.[0].path], [400, 'EGRESS_REFUSED', at]);
		assert.match(body.message, new RegExp(`^${at.split('/').at(-1)} cannot be called: `));
	}
});

test('the tools of an inactive API are in no gateway, and come back with it', async () => {
	const { id } = (await connect()).body.data;
	const paths = {
		'/pets': { get: { operationId: 'listPets', responses: {} } },
		'/dogs': { get: { operationId: 'listDogs', responses: {} } },
	};
	const schemaContent = JSON.stringify({ openapi: '3.0.3', info: { title: 'Pets', version: '1' }, paths });
	must(await account.post(`/apis/${id}/import-schema`, { schemaContent, generateTools: true }), 200);
	const path = `/organizations/${account.organization.id}/tools`;
	const { tools } = must(await account.get(`${path}?apiId=${id}&q=pets`), 200).body.data;
	const own = { name: 'own', type: 'http', executionConfig: { method: 'GET', url: 'https://pets.example.com' } };
	const [{ id: assigned }, { id: free }] = [
		must(await account.post(path, own), 201).body.data,
		must(await account.post(path, { ...own, name: 'free' }), 201).body.data,
	];
	const gateway = await publishGateway(account, { toolIds: [tools[0].id, assigned] });
	const served = async () => {
		const headers = { 'x-api-key': gateway.key, accept: 'application/json, text/event-stream' };
		const { body } = await send(gateway.url, 'POST', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers });
		return body.result.tools.map(({ name }: { name: string }) => name);
	};
	const available = async () => {
		const { body } = must(await account.get(`/gateways/${gateway.id}/tools/available`), 200);
		return body.data.tools.map(({ name }: { name: string }) => name);
	};
	assert.deepEqual(
		[await served(), await available()],
		[
			['listPets', 'own'],
			['listDogs', 'free'],
		],
	);
	must(await account.patch(`/apis/${id}`, { status: 'inactive' }), 200);
	assert.deepEqual([await served(), await available()], [['own'], ['free']]);
	must(await account.patch(`/apis/${id}`, { status: 'active' }), 200);
	assert.deepEqual(
		[await served(), await available()],
		[
			['listPets', 'own'],
			['listDogs', 'free'],
		],
	);
	must(await account.del(`/tools/${free}`), 200);
});

test('where every field is optional, so is the body', async () => {
	const { id } = (await connect()).body.data;
	const generated = must(await account.post(`/apis/${id}/generate-tools`), 200).body.data;
	assert.deepEqual(generated, { created: 0, updated: 0, unchanged: 0, total: 0 });
	assert.equal(must(await account.post(`/apis/${id}/credentials/test`), 404).body.message, 'A credential of the API not found.');
	for (const route of ['generate-tools', 'credentials/test']) {
		assert.equal(judge.document.paths[`/apis/{id}/${route}`].post.requestBody.required, false);
		for (const body of ['[]', '"x"', '7']) must(await account.post(`/apis/${id}/${route}`, body), 400);
	}
});

test('an unchanged API is a 304, as the document says', async () => {
	const { id } = (await connect()).body.data;
	const path = `/apis/${id}`;
	const answer = await account.get(path, { 'if-none-match': etagOf(must(await account.get(path), 200)) });
	assert.equal(answer.status, 304);
	assert.equal(judge.fault('GET /apis/{id}', answer), null);
});

test('details name fields by JSON pointer, and the whole body by the empty one (RFC 6901)', async () => {
	const { id } = (await connect()).body.data;
	for (const path of ['/apis', `/apis/${id}/credentials`, `/apis/${id}/import-schema`]) {
		const whole = must(await account.post(path, '[]'), 400).body;
		assert.equal(whole.details[0].path, '');
		assert.match(whole.message, /^"body" must be of type object/);
		const odd = must(await account.post(path, { 'a/b~c': 1 }), 400).body;
		const named = odd.details.find(({ message }: { message: string }) => message.includes('is not a field of this body'));
		assert.equal(named?.path, '/a~1b~0c');
	}
});

test('answers are what the document says, from connecting an API to removing it, and its examples pass', async () => {
	const told = (operation: string, answer: Awaited<ReturnType<Account['get']>>) => {
		assert.equal(judge.fault(operation, answer), null, operation);
		assert.ok(answer.status < 300, `${operation}: ${JSON.stringify(answer.body)}`);
		return answer.body.data;
	};
	const { id } = told('POST /apis', await account.post('/apis', shownBody(judge, 'POST /apis')));
	told('PATCH /apis/{id}', await account.patch(`/apis/${id}`, shownBody(judge, 'PATCH /apis/{id}')));
	const credentials = shownBody(judge, 'POST /apis/{id}/credentials');
	told('POST /apis/{id}/credentials', await account.post(`/apis/${id}/credentials`, credentials));
	told('GET /apis/{id}', await account.get(`/apis/${id}`));
	told('GET /apis', await account.get('/apis?limit=1'));
	const document = {
		openapi: '3.0.3',
		info: { title: 'Pets', version: '1' },
		servers: [{ url: '/v1' }],
		paths: {
			'/pets': { get: { responses: {}, tags: ['pets'] }, post: { requestBody: { $ref: 'other.json#/x' }, responses: {} } },
			'/odd': { get: { parameters: [{ name: 'x', in: 'nowhere', schema: {} }], responses: {} } },
		},
	};
	const imported = { schemaContent: JSON.stringify(document) };
	const { tools } = told('POST /apis/{id}/import-schema', await account.post(`/apis/${id}/import-schema`, imported));
	assert.equal(tools, undefined);
	const again = told(
		'POST /apis/{id}/import-schema',
		await account.post(`/apis/${id}/import-schema`, { ...imported, generateTools: true }),
	);
	assert.ok(again.report.operations.length + again.report.warnings.length > 0, 'something did not convert whole');
	const filters = shownBody(judge, 'POST /apis/{id}/generate-tools');
	told('POST /apis/{id}/generate-tools', await account.post(`/apis/${id}/generate-tools`, filters));
	told('GET /apis/{id}/operations', await account.get(`/apis/${id}/operations`));
	told('GET /apis/{id}/schemas', await account.get(`/apis/${id}/schemas`));
	assert.equal(judge.fault('DELETE /apis/{id}', await account.del(`/apis/${id}?ifUnused=true`)), null);
	told('DELETE /apis/{id}', await account.del(`/apis/${id}`));
	assert.equal(judge.fault('GET /apis/{id}', await account.get(`/apis/${id}`)), null);
	assert.equal(judge.bodyFault('POST /apis/{id}/import-schema', shownBody(judge, 'POST /apis/{id}/import-schema')), null);
});
