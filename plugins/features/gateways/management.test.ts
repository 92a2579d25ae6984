// Tests of management routes that an auth plugin declares, here one from an npm package, which show and remove its records.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addMember } from '../../../test/helpers/members.ts';
import { type InstalledPackages, installPackages } from '../../../test/helpers/packages.ts';
import {
	type Account,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../../../test/helpers/service.ts';
import { soon } from '../../../test/helpers/soon.ts';

let packages: InstalledPackages;
let service: TestService;
let replica: TestService;
let account: Account;
let viewer: Account;
let gateway: { id: string; url: string };

before(async () => {
	packages = installPackages('keepsake-plugin');
	const env = { GATEWAY_PLUGINS: packages.names.join(',') };
	service = await startTestService({ env });
	replica = await startTestService({ env, replicaOf: service });
	account = await registerAccount(service.url, 'Acme');
	viewer = await addMember(account, 'viewer');
	gateway = await publishGateway(account, { auth: 'keepsake', endpoint: '/main' });
});
after(async () => {
	await replica.stop();
	await service.stop();
	packages[Symbol.dispose]();
});

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

/** Calls the gateway as somebody of this name. */
async function visit(name: string, url = gateway.url): Promise<void> {
	const headers = { 'x-name': name, accept: 'application/json, text/event-stream' };
	must(await send(url, 'POST', { body: LIST, headers }), 200);
}

const inAcme = () => ({ 'x-organization-id': account.organization.id });
const at = (rest = '', id = gateway.id): string => `/gateways/${id}/keepsakes${rest}`;
const namesAt = async (query = '', id?: string): Promise<string[]> =>
	must(await account.get(at(query, id)), 200).body.data.keepsakes.map(({ name }: { name: string }) => name);

test('a list is paged and ordered like every other, and each gateway has its own', async () => {
	for (const name of ['ada', 'bob', 'cleo']) await visit(name);
	const other = await publishGateway(account, { auth: 'keepsake' });
	await visit('dan', other.url);
	assert.deepEqual(await namesAt(), ['ada', 'bob', 'cleo'], 'in order of creation');
	assert.deepEqual(await namesAt('?sort=-createdAt'), ['cleo', 'bob', 'ada']);
	assert.deepEqual(await namesAt('', other.id), ['dan']);
	const first = must(await account.get(at('?limit=2')), 200).body.data;
	assert.deepEqual(first.keepsakes[0], { name: 'ada', gateway: gateway.url, visits: 1 });
	const second = must(await account.get(at(`?limit=2&cursor=${first.nextCursor}`)), 200).body.data;
	assert.deepEqual(
		[first.keepsakes.length, second.keepsakes.map(({ name }: { name: string }) => name), second.nextCursor],
		[2, ['cleo'], null],
	);
	for (const bad of ['?limit=0', '?cursor=x', '?sort=name', '?x=1']) assert.equal((await account.get(at(bad))).status, 400, bad);
});

test('a record is shown, under a name with any characters, or is not found', async () => {
	await visit('a b/c');
	assert.deepEqual(must(await account.get(at('/a%20b%2Fc')), 200).body.data, { name: 'a b/c', gateway: gateway.url, visits: 1 });
	for (const absent of ['/nobody', `/${'x'.repeat(5_000)}`, '/id']) assert.equal((await account.get(at(absent))).status, 404, absent);
	assert.equal((await account.get(at('/%00'))).status, 400);
	assert.equal((await account.get(at('/ada?x=1'))).status, 400);
});

test('reading requires gateway:read, removing gateway:write', async () => {
	await visit('eve');
	must(await viewer.get(at(), inAcme()), 200);
	assert.equal((await viewer.del(at('/eve'), undefined, inAcme())).status, 403);
	assert.equal((await send(service.url + at(), 'GET')).status, 401);
	must(await account.get(at('/eve')), 200);
});

test('records of another organization are not found, and neither are methods that a plugin does not declare', async () => {
	await visit('fay');
	const stranger = await registerAccount(service.url);
	for (const path of [at(), at('/fay')]) assert.equal((await stranger.get(path)).status, 404, path);
	assert.equal((await stranger.del(at('/fay'))).status, 404);
	assert.equal((await account.del(at('/fay', '00000000-0000-4000-8000-000000000000'))).status, 404);
	assert.equal((await account.post(at(), {})).status, 405);
	must(await account.get(at('/fay')), 200);
});

test('a removal is in the audit log with its author, and takes effect on every replica within a second', async () => {
	await visit('gil');
	const elsewhere = replica.url + new URL(gateway.url).pathname;
	await visit('gil', elsewhere);
	assert.deepEqual(must(await account.del(at('/gil')), 200).body.data, { name: 'gil' });
	assert.equal((await account.del(at('/gil'))).status, 404);
	// Once the memory of the record has expired, the next visit stores it again.
	await soon(async () => {
		await visit('gil', elsewhere);
		return (await account.get(at('/gil'))).status === 200;
	}, 'the removal');
	const { entries } = must(await account.get('/audit-log?resourceType=keepsake&limit=3'), 200).body.data;
	const told = entries
		.filter(({ resourceName }: { resourceName: string }) => resourceName === 'gil')
		.map(({ action, actor }: { action: string; actor: { email: string } | null }) => [action, actor?.email ?? null]);
	assert.deepEqual(
		told.sort(),
		[
			['create', null],
			['create', null],
			['delete', account.email],
		].sort(),
	);
});

test('removing the method removes its records, which do not come back with it', async () => {
	const { id, url } = await publishGateway(account, { auth: 'keepsake' });
	await visit('hal', url);
	const { authMethods } = must(await account.get(`/gateways/${id}/auth`), 200).body.data;
	must(await account.del(`/gateways/${id}/auth/${authMethods[0].id}`), 200);
	assert.deepEqual(await namesAt('', id), []);
	must(await account.post(`/gateways/${id}/auth`, { type: 'keepsake' }), 201);
	assert.deepEqual(await namesAt('', id), []);
});

test('the document describes the routes like every other operation', async () => {
	const document = must(await send(`${service.url}/openapi.json`, 'GET'), 200).body;
	const { get } = document.paths['/gateways/{id}/keepsakes'];
	const one = document.paths['/gateways/{id}/keepsakes/{name}'];
	assert.deepEqual([get.operationId, one.get.operationId, one.delete.operationId], ['listKeepsakes', 'getKeepsake', 'removeKeepsake']);
	assert.deepEqual(get.responses['200'].content['application/json'].schema.properties.data.properties.keepsakes.items, {
		$ref: '#/components/schemas/Keepsake',
	});
	assert.match(one.delete.description, /gateway:write/);
});
