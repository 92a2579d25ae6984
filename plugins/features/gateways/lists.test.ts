// Tests of lists of gateways and of what belongs to one: order, pages, search and filters.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertSearched, assertSorted, assertWhitelisted, readPages } from '../../../test/helpers/lists.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	sharedService,
} from '../../../test/helpers/service.ts';

let service: SharedService;
before(async () => {
	service = await sharedService();
});
after(() => service.stop());

const LIST = { path: '/gateways', key: 'gateways' };
const available = (id: string) => ({ path: `/gateways/${id}/tools/available`, key: 'tools' });

let made = 0;
const create = async (account: Account, name: string, more: object = {}): Promise<{ id: string }> =>
	must(await account.post('/gateways', { name, type: 'mcp', endpoint: `/main-${made++}`, ...more }), 201).body.data;
const addTool = async (account: Account, name: string): Promise<{ id: string }> => ({
	id: await createHttpTool(account, { name, url: 'https://example.com/' }),
});
const names = (rows: { name: string }[]): string[] => rows.map(({ name }) => name);

test('gateways are listed in every offered order, page by page, while others are created', async () => {
	const account = await registerAccount(service.url);
	await assertSorted(account, LIST, {
		create: (name) => create(account, name),
		change: async (id) => must(await account.patch(`/gateways/${id}`, { description: 'changed' }), 200),
	});
});

test('q finds gateways by words of their name or description, and takes them as text', async () => {
	const account = await registerAccount(service.url);
	await assertSearched(account, LIST, (name) => create(account, name));
	await create(account, 'described', { description: 'Holds a Needle' });
	assert.deepEqual(names(await readPages(account, LIST, { q: 'described needle' })), ['described']);
});

test('gateways are filtered by type and status', async () => {
	const account = await registerAccount(service.url);
	const { id } = await create(account, 'one');
	await create(account, 'two');
	must(await account.patch(`/gateways/${id}`, { status: 'inactive' }), 200);
	assert.deepEqual(names(await readPages(account, LIST, { status: 'inactive' })), ['one']);
	assert.deepEqual(names(await readPages(account, LIST, { status: 'active', type: 'mcp' })), ['two']);
	assert.deepEqual(names(await readPages(account, LIST, { type: 'skills' })), []);
	for (const [field, value] of [
		['status', 'gone'],
		['type', 'mpc'],
	])
		assert.equal(must(await account.get(`/gateways?${field}=${value}`), 400).body.details[0].path, `query/${field}`);
});

test('a search shows nothing of another organization', async () => {
	const [account, stranger] = await Promise.all([registerAccount(service.url), registerAccount(service.url)]);
	await create(account, 'secret plan');
	await addTool(account, 'secret_tool');
	const { id } = await create(stranger, 'own');
	assert.deepEqual(await readPages(stranger, LIST, { q: 'secret' }), []);
	assert.deepEqual(await readPages(stranger, available(id), { q: 'secret' }), []);
});

test('available tools come in order, are found by words, and leave when they are assigned', async () => {
	const account = await registerAccount(service.url);
	const { id } = await create(account, 'main');
	for (const name of ['beta', 'Alpha', 'gamma_ray']) await addTool(account, name);
	const list = available(id);
	assert.deepEqual(names(await readPages(account, list, { limit: '1', sort: 'name' })), ['Alpha', 'beta', 'gamma_ray']);
	assert.deepEqual(names(await readPages(account, list, { limit: '2', sort: '-name' })), ['gamma_ray', 'beta', 'Alpha']);
	assert.deepEqual(names(await readPages(account, list, { q: 'RAY calls' })), ['gamma_ray']);
	assert.deepEqual(names(await readPages(account, list, { q: '%' })), []);
	const [found] = await readPages(account, list, { q: 'alpha' });
	must(await account.post(`/gateways/${id}/tools`, { toolId: found?.id }), 201);
	assert.deepEqual(names(await readPages(account, list, {})), ['beta', 'gamma_ray']);
});

test('tools, authentication methods and keys of a gateway come newest first when asked for, page by page', async () => {
	const account = await registerAccount(service.url);
	const ids = await Promise.all(['one', 'two', 'three'].map(async (name) => (await addTool(account, name)).id));
	const { id } = await publishGateway(account, { toolIds: ids });
	for (const type of ['none', 'api_key']) must(await account.post(`/gateways/${id}/auth`, { type }), 201);
	for (const name of ['second', 'third']) must(await account.post(`/gateways/${id}/auth/api-keys`, { name }), 201);
	const lists = [
		{ path: `/gateways/${id}/tools`, key: 'tools' },
		{ path: `/gateways/${id}/auth/api-keys`, key: 'apiKeys' },
		{ path: `/gateways/${id}/auth`, key: 'authMethods' },
	];
	for (const list of lists) {
		const forth = await readPages(account, list, { limit: '2' });
		assert.equal(forth.length, 3);
		assert.deepEqual(await readPages(account, list, { limit: '1', sort: '-createdAt' }), forth.toReversed());
	}
});

test('an unknown query parameter of a list is a 400 that names it', async () => {
	const account = await registerAccount(service.url);
	const { id } = await publishGateway(account);
	await assertWhitelisted(account, '/gateways', { limit: '5', sort: '-updatedAt', q: 'x', type: 'mcp', status: 'active' });
	await assertWhitelisted(account, `/gateways/${id}/tools/available`, { limit: '5', sort: 'name', q: 'x' });
	await assertWhitelisted(account, `/gateways/${id}/tools`, { limit: '5', sort: '-createdAt' });
	await assertWhitelisted(account, `/gateways/${id}/auth/api-keys`, { limit: '5', sort: 'createdAt' });
	await assertWhitelisted(account, `/gateways/${id}/auth`, { limit: '5', sort: '-createdAt' });
	await assertWhitelisted(account, `/gateways/${id}`, {});
	for (const query of ['sort=endpoint', 'sort=--name', 'limit=0', 'limit=101', 'cursor=zz', 'q=%00'])
		assert.equal((await account.get(`/gateways?${query}`)).status, 400, query);
});
