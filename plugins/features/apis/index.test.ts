// Connected APIs over REST: versions, changes, limits of outbound calls, and answers that are what the document says.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Judge, readDocument, shownBody } from '../../../test/helpers/document.ts';
import { type Account, must, registerAccount, startTestService, type TestService } from '../../../test/helpers/service.ts';
import { assertChangesOnly, assertVersioned, etagOf } from '../../../test/helpers/versions.ts';

let service: TestService;
let account: Account;
let judge: Judge;
before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
	judge = await readDocument(service.url);
});
after(() => service.stop());

const connect = async (more: object = {}) =>
	must(await account.post('/apis', { name: 'Pets', type: 'openapi', baseUrl: 'https://pets.example.com', ...more }), 201);

test('of fifty changes of one version of an API one is made, and the others are a 412', async () => {
	const created = await connect();
	await assertVersioned(account, `/apis/${created.body.data.id}`, created);
});

test('storing credentials shows in the ETag of the API, and loses nobody’s change', async () => {
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

test('a type that no importer reads is a 400 that lists those there are', async () => {
	const { status, body } = await account.post('/apis', { name: 'x', type: 'fortran', baseUrl: 'https://x.example.com' });
	assert.deepEqual([status, body.details[0].path], [400, '/type']);
	assert.match(body.message, /openapi/);
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
