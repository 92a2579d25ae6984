// Tests two replicas on one PostgreSQL and Redis: a change at one is effective at the other within a second.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
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

let first: SharedService;
let second: TestService;
let account: Account;
let gateway: { id: string; url: string; key: string };
let path: string;

before(async () => {
	first = await sharedService();
	second = await startTestService({ replicaOf: first });
	account = await registerAccount(first.url);
	gateway = await publishGateway(account);
	path = new URL(gateway.url).pathname;
});
after(async () => {
	await second.stop();
	await first.stop();
});

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const onSecond = (key = gateway.key) =>
	send(second.url + path, 'POST', { body: LIST, headers: { 'x-api-key': key, accept: 'application/json, text/event-stream' } });

test('a key that is revoked on one replica is refused by the other', async () => {
	const { key, id } = must(await account.post(`/gateways/${gateway.id}/auth/api-keys`, { name: 'short' }), 201).body.data;
	assert.equal((await onSecond(key)).status, 200);
	must(await account.del(`/gateways/${gateway.id}/auth/api-keys/${id}`), 200);
	await soon(async () => (await onSecond(key)).status === 401, 'revocation');
});

test('a tool assigned on one replica is listed by the other, and gone when it is removed', async () => {
	const parameters = { type: 'object', properties: {} };
	const tool = { name: 'fresh', type: 'http', parameters, executionConfig: { method: 'GET', url: 'http://127.0.0.1:4000/' } };
	const { id } = must(await account.post(`/organizations/${account.organization.id}/tools`, tool), 201).body.data;
	assert.deepEqual((await onSecond()).body.result.tools, []);
	must(await account.post(`/gateways/${gateway.id}/tools`, { toolId: id }), 201);
	await soon(async () => (await onSecond()).body.result.tools.length === 1, 'assignment');
	must(await account.del(`/tools/${id}`), 200);
	await soon(async () => (await onSecond()).body.result.tools.length === 0, 'removal');
});

test('a gateway that was not there is found as soon as it is made, and a removed auth method shuts it', async () => {
	const unknown = `${second.url}/${account.organization.slug}/late`;
	assert.equal((await send(unknown, 'POST', { body: LIST })).status, 404);
	const late = await publishGateway(account, { endpoint: '/late', auth: 'none' });
	const ask = () => send(unknown, 'POST', { body: LIST, headers: { accept: 'application/json, text/event-stream' } });
	await soon(async () => (await ask()).status === 200, 'creation');
	const { authMethods } = must(await account.get(`/gateways/${late.id}/auth`), 200).body.data;
	must(await account.del(`/gateways/${late.id}/auth/${authMethods[0].id}`), 200);
	await soon(async () => (await ask()).status === 401, 'removal of the method');
});
