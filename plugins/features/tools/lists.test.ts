// Tests of the list of an organization's tools: order, pages, search and filters.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertSearched, assertSorted, assertWhitelisted, type ListOf, readPages } from '../../../test/helpers/lists.ts';
import { type Account, createHttpTool, must, registerAccount, type SharedService, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
before(async () => {
	service = await sharedService();
});
after(() => service.stop());

const listOf = ({ organization }: Account): ListOf => ({ path: `/organizations/${organization.id}/tools`, key: 'tools' });
const create = async (account: Account, name: string) => ({
	id: await createHttpTool(account, { name, url: 'https://pets.example.com/' }),
});

/** Imports an API with one operation, and generates its tool. */
async function importTool(account: Account): Promise<{ apiId: string; toolId: string }> {
	const api = must(await account.post('/apis', { name: 'Pets', type: 'openapi', baseUrl: 'https://pets.example.com' }), 201);
	const apiId: string = api.body.data.id;
	const paths = { '/pets': { get: { operationId: 'listPets', description: 'Everything with paws', responses: {} } } };
	const schemaContent = JSON.stringify({ openapi: '3.0.3', info: { title: 'Pets', version: '1' }, paths });
	must(await account.post(`/apis/${apiId}/import-schema`, { schemaContent, generateTools: true }), 200);
	const [tool] = await readPages(account, listOf(account), { apiId });
	return { apiId, toolId: tool?.id ?? assert.fail('no tool') };
}

test('tools are listed in every offered order, page by page, while others are created', async () => {
	const account = await registerAccount(service.url);
	await assertSorted(account, listOf(account), {
		create: (name) => create(account, name),
		change: async (id) => must(await account.patch(`/tools/${id}`, { description: 'changed' }), 200),
	});
});

test('q finds tools by words of the name and description that users see, and takes them as text', async () => {
	const account = await registerAccount(service.url);
	await assertSearched(account, listOf(account), (name) => create(account, name));
	const { toolId } = await importTool(account);
	const found = async (q: string) => (await readPages(account, listOf(account), { q })).map(({ id }) => id);
	assert.deepEqual(await found('paws listpets'), [toolId]);
	must(await account.patch(`/tools/${toolId}`, { name: 'pet_index', description: 'With Claws' }), 200);
	assert.deepEqual(await found('CLAWS index'), [toolId]);
	assert.deepEqual(await found('paws'), []);
});

test('tools are filtered by API, type and status', async () => {
	const account = await registerAccount(service.url);
	const { apiId, toolId } = await importTool(account);
	const own = await create(account, 'own');
	must(await account.patch(`/tools/${own.id}`, { status: 'inactive' }), 200);
	const found = async (query: Record<string, string>) => (await readPages(account, listOf(account), query)).map(({ id }) => id);
	assert.deepEqual(await found({ apiId }), [toolId]);
	assert.deepEqual(await found({ type: 'api' }), [toolId]);
	assert.deepEqual(await found({ type: 'http' }), [own.id]);
	assert.deepEqual(await found({ status: 'inactive' }), [own.id]);
	assert.deepEqual(await found({ status: 'removed' }), []);
	const unknown = must(await account.get(`${listOf(account).path}?type=rest`), 400).body;
	assert.equal(unknown.details[0].path, 'query/type');
	assert.match(unknown.message, /http.*api/);
	assert.deepEqual(await found({ status: 'active', apiId, type: 'api', q: 'pets', sort: '-name', limit: '1' }), [toolId]);
});

test('an unknown query parameter of the routes of tools is a 400 that names it', async () => {
	const account = await registerAccount(service.url);
	const { apiId, toolId } = await importTool(account);
	const { path } = listOf(account);
	await assertWhitelisted(account, path, { limit: '5', sort: 'name', q: 'x', type: 'http', status: 'active', apiId });
	await assertWhitelisted(account, `/tools/${toolId}`, {});
	for (const bad of ['apiId=1', 'apiId=', 'status=gone', 'sort=status', 'limit=0', 'cursor=x', 'cursor=', 'type='])
		assert.equal((await account.get(`${path}?${bad}`)).status, 400, bad);
	for (const answer of [
		await account.post(`${path}?bogus=1`, {}),
		await account.post(`${path}/${toolId}/execute?bogus=1`, {}),
		await account.patch(`/tools/${toolId}?bogus=1`, { name: 'x' }),
		await account.del(`/tools/${toolId}?bogus=1`),
	])
		assert.deepEqual([answer.status, answer.body.details[0].path], [400, 'query/bogus']);
});
