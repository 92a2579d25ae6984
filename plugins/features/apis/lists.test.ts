// Tests of lists of APIs and of what belongs to one: order, pages, search and filters.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Judge, readDocument } from '../../../test/helpers/document.ts';
import { assertSearched, assertSorted, assertWhitelisted, readPages } from '../../../test/helpers/lists.ts';
import { type Account, must, registerAccount, type SharedService, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
let judge: Judge;
before(async () => {
	service = await sharedService();
	judge = await readDocument(service.url);
});
after(() => service.stop());

const LIST = { path: '/apis', key: 'apis' };

const connect = async (account: Account, name: string, more: object = {}) =>
	must(await account.post('/apis', { name, type: 'openapi', baseUrl: 'https://pets.example.com', ...more }), 201).body.data;

const DOCUMENT = JSON.stringify({
	openapi: '3.0.3',
	info: { title: 'Pets', version: '1' },
	paths: {
		'/pets': {
			get: { operationId: 'listPets', tags: ['pets', 'a,b'], description: 'All of them', responses: {} },
			post: { operationId: 'addPet', tags: ['pets'], responses: {} },
		},
		'/owners': { get: { operationId: 'listOwners', tags: ['owners'], deprecated: true, responses: {} } },
	},
});

test('APIs are listed in every offered order, page by page, while others are connected', async () => {
	const account = await registerAccount(service.url);
	await assertSorted(account, LIST, {
		create: (name) => connect(account, name),
		change: async (id) => must(await account.patch(`/apis/${id}`, { description: 'changed' }), 200),
	});
});

test('a type that no importer has is refused with the types that there are', async () => {
	const account = await registerAccount(service.url);
	const { details, message } = must(await account.get('/apis?type=rest'), 400).body;
	assert.equal(details[0].path, 'query/type');
	assert.match(message, /openapi/);
});

test('q finds APIs by words of their name or description, and takes them as text', async () => {
	const account = await registerAccount(service.url);
	await assertSearched(account, LIST, (name) => connect(account, name));
	await connect(account, 'described', { description: 'Holds a Needle' });
	assert.deepEqual(
		(await readPages(account, LIST, { q: 'described needle' })).map(({ name }) => name),
		['described'],
	);
});

test('APIs are filtered by type and status', async () => {
	const account = await registerAccount(service.url);
	const { id } = await connect(account, 'one');
	await connect(account, 'two');
	must(await account.patch(`/apis/${id}`, { status: 'inactive' }), 200);
	const names = async (query: Record<string, string>) => (await readPages(account, LIST, query)).map(({ name }) => name);
	assert.deepEqual(await names({ status: 'inactive' }), ['one']);
	assert.deepEqual(await names({ status: 'active', type: 'openapi' }), ['two']);
	assert.deepEqual(await names({ type: 'soap' }), []);
	assert.equal((await account.get('/apis?status=gone')).status, 400);
});

test('a cursor belongs to its list and order', async () => {
	const account = await registerAccount(service.url);
	for (const name of ['a', 'b']) await connect(account, name);
	const { nextCursor } = must(await account.get('/apis?limit=1&sort=name'), 200).body.data;
	assert.equal(must(await account.get(`/apis?sort=name&cursor=${nextCursor}`), 200).body.data.apis[0].name, 'b');
	for (const query of ['', 'sort=-name&', 'sort=createdAt&']) {
		const { status, body } = await account.get(`/apis?${query}cursor=${nextCursor}`);
		assert.deepEqual([status, body.details[0].path], [400, 'query/cursor'], query);
	}
});

test('operations are filtered by lists of tags and methods, by deprecation and by words', async () => {
	const account = await registerAccount(service.url);
	const { id } = await connect(account, 'pets');
	must(await account.post(`/apis/${id}/import-schema`, { schemaContent: DOCUMENT }), 200);
	const names = async (query: string): Promise<string[]> => {
		const answer = must(await account.get(`/apis/${id}/operations?${query}`), 200);
		assert.equal(judge.fault('GET /apis/{id}/operations', answer), null);
		return answer.body.data.operations.map(({ operationId }: { operationId: string }) => operationId).sort();
	};
	const FOUND: [query: string, operations: string[]][] = [
		['', ['addPet', 'listOwners', 'listPets']],
		['tags=owners', ['listOwners']],
		['tags=owners&tags=a,b', ['listOwners', 'listPets']],
		['methods=post', ['addPet']],
		['methods=GET&tags=pets', ['listPets']],
		['deprecated=true', ['listOwners']],
		['deprecated=false', ['addPet', 'listPets']],
		['operationIds=addPet&operationIds=listPets', ['addPet', 'listPets']],
		['paths=/owners', ['listOwners']],
		['q=all%20them', ['listPets']],
		['q=OWNERS', ['listOwners']],
		['q=%25', []],
	];
	for (const [query, operations] of FOUND) assert.deepEqual(await names(query), operations, query);
	assert.equal(judge.fault('GET /apis/{id}/schemas', await account.get(`/apis/${id}/schemas?sort=-createdAt`)), null);
	await assertWhitelisted(account, `/apis/${id}/operations`, { limit: '5', sort: '-createdAt', deprecated: 'true', q: 'x' });
	for (const query of ['deprecated=1', 'methods=', 'tags=', 'sort=name', 'status=removed'])
		assert.equal((await account.get(`/apis/${id}/operations?${query}`)).status, 400, query);
});

test('an unknown query parameter of a list is a 400 that names it', async () => {
	const account = await registerAccount(service.url);
	const { id } = await connect(account, 'one');
	await assertWhitelisted(account, '/apis', { limit: '5', sort: 'name', q: 'one', type: 'openapi', status: 'active' });
	await assertWhitelisted(account, `/apis/${id}`, {});
	await assertWhitelisted(account, `/apis/${id}/schemas`, { limit: '5', sort: '-createdAt' });
	for (const bad of ['limit=0', 'limit=101', 'limit=1.5', 'limit=x', 'sort=', 'sort=type', 'sort=--name', 'sort=name;drop'])
		assert.equal((await account.get(`/apis?${bad}`)).status, 400, bad);
	const changes = ['post /apis', `patch /apis/${id}`, `del /apis/${id}`, `post /apis/${id}/generate-tools`, `post /apis/${id}/credentials`];
	for (const change of changes) {
		const [method = '', path = ''] = change.split(' ');
		const answer = await account[method as 'post' | 'patch' | 'del'](`${path}?bogus=1`, {});
		assert.deepEqual([answer.status, answer.body.details[0].path], [400, 'query/bogus'], change);
	}
	const removal = await account.del(`/apis/${id}?ifUnused=true&ifUnused=true`);
	assert.deepEqual([removal.status, removal.body.details[0].path], [400, 'query/ifUnused']);
});
