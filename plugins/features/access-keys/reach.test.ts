// Tests of what access keys open in the management API: their reach, their permissions, and their owner's current role.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../test/helpers/clock.ts';
import { addMember } from '../../../test/helpers/members.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../../../test/helpers/service.ts';

let service: TestService;
let owner: Account;
let gateway: { id: string };
let other: { id: string };
let toolsPath: string;

before(async () => {
	service = await startTestService();
	owner = await registerAccount(service.url);
	gateway = await publishGateway(owner);
	other = await publishGateway(owner);
	toolsPath = `/organizations/${owner.organization.id}/tools`;
});
after(() => service.stop());

/** Sends a request with the key; `what` is `METHOD /path`. */
type Ask = (what: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

async function keyOf(account: Account, body: object = {}): Promise<{ id: string; key: string; ask: Ask }> {
	const { id, key } = must(await account.post('/access-keys', { name: 'k', ...body }), 201).body.data;
	const ask: Ask = (what, sent, headers) => {
		const [method = '', path = ''] = what.split(' ');
		return send(service.url + path, method, { body: sent, headers: { authorization: `Bearer ${key}`, ...headers } });
	};
	return { id, key, ask };
}

const outcome = ({ status, body }: Answer): unknown => (status < 400 ? status : [status, body.error]);
const lastUsedAt = async (id: string): Promise<string | null> =>
	must(await owner.get('/access-keys'), 200).body.data.accessKeys.find((one: { id: string }) => one.id === id).lastUsedAt;

const setRole = async (member: Account, role: string): Promise<void> => {
	const { id } = must(await member.get('/auth/profile'), 200).body.data;
	must(await owner.patch(`/organizations/${owner.organization.id}/members/${id}`, { role }), 200);
};
const remove = async (member: Account): Promise<void> => {
	const { id } = must(await member.get('/auth/profile'), 200).body.data;
	must(await owner.del(`/organizations/${owner.organization.id}/members/${id}`), 200);
};

const TOOL = { name: 't', type: 'http', executionConfig: { method: 'GET', url: 'http://127.0.0.1:4000/' } };

test('a key of the account opens what its owner’s login opens', async () => {
	const { ask } = await keyOf(owner);
	for (const what of ['GET /auth/profile', 'GET /organizations', 'GET /gateways', `GET ${toolsPath}`, 'GET /access-keys', 'GET /plugins']) {
		assert.equal((await ask(what)).status, 200, what);
	}
	assert.equal((await ask(`POST ${toolsPath}`, TOOL)).status, 201);
	assert.equal((await ask('PATCH /auth/profile', { firstName: 'Grace' })).status, 200);
});

test('a key with permissions opens these and no more', async () => {
	const { ask } = await keyOf(owner, { permissions: ['tools:read'] });
	assert.equal((await ask(`GET ${toolsPath}`)).status, 200);
	const refused = [`POST ${toolsPath}`, 'GET /gateways', 'GET /apis', 'PATCH /auth/profile', 'POST /organizations'];
	for (const what of refused)
		assert.deepEqual(outcome(await ask(what, what.startsWith('GET') ? undefined : {})), [403, 'INSUFFICIENT_SCOPE'], what);
});

test('a key for one gateway opens the routes of that gateway, with its permissions, and nothing else', async () => {
	const { ask } = await keyOf(owner, { scope: { type: 'gateway', id: gateway.id }, permissions: ['gateway:read'] });
	for (const path of ['', '/tools', '/auth', '/auth/api-keys'])
		assert.equal((await ask(`GET /gateways/${gateway.id}${path}`)).status, 200, path);
	assert.equal((await ask(`GET /gateways/${gateway.id.toUpperCase()}`)).status, 200);
	const stranger = await publishGateway(await registerAccount(service.url));
	const refused = [
		`PATCH /gateways/${gateway.id}`,
		`DELETE /gateways/${gateway.id}`,
		`GET /gateways/${other.id}`,
		`GET /gateways/${stranger.id}`,
		'GET /gateways',
		'POST /gateways',
		`GET ${toolsPath}`,
		'GET /organizations',
		'GET /auth/profile',
		'GET /access-keys',
		'GET /plugins',
	];
	for (const what of refused)
		assert.deepEqual(outcome(await ask(what, what.startsWith('GET') ? undefined : {})), [403, 'INSUFFICIENT_SCOPE'], what);
});

test('an access key makes and revokes no keys, and neither ends, renews nor changes a login (5.1 rule 4)', async () => {
	const { ask, id, key } = await keyOf(owner);
	const asked: [what: string, body?: object][] = [
		['POST /auth/logout'],
		['POST /auth/refresh'],
		['PATCH /auth/change-password', { currentPassword: owner.password, newPassword: 'Correct2Horse' }],
		['POST /access-keys', { name: 'another' }],
		[`DELETE /access-keys/${id}`],
	];
	for (const [what, body] of asked) assert.deepEqual(outcome(await ask(what, body)), [403, 'FORBIDDEN'], what);
	assert.equal((await ask('GET /auth/profile')).status, 200, key.slice(0, 12));
	assert.equal((await owner.get('/auth/profile')).status, 200);
});

test('a key never has more permissions than its owner has now: a lesser role takes effect at once', async () => {
	const member = await addMember(owner, 'member');
	const here = { 'x-organization-id': owner.organization.id };
	const account = await keyOf(member, { permissions: ['tools:read', 'tools:write', 'members:write'] });
	const one = await keyOf(member, { scope: { type: 'gateway', id: gateway.id }, permissions: ['gateway:read', 'gateway:write'] });
	assert.equal((await account.ask(`POST ${toolsPath}`, TOOL)).status, 201);
	assert.equal((await one.ask(`PATCH /gateways/${gateway.id}`, { name: 'Renamed' })).status, 200);
	const invitation = { email: 'x@example.com' };
	assert.deepEqual(outcome(await account.ask(`POST /organizations/${owner.organization.id}/invitations`, invitation)), [
		403,
		'INSUFFICIENT_SCOPE',
	]);
	await setRole(member, 'viewer');
	assert.deepEqual(outcome(await account.ask(`POST ${toolsPath}`, TOOL, here)), [403, 'INSUFFICIENT_SCOPE']);
	assert.equal((await account.ask(`GET ${toolsPath}`, undefined, here)).status, 200);
	assert.deepEqual(outcome(await one.ask(`PATCH /gateways/${gateway.id}`, { name: 'Again' })), [403, 'INSUFFICIENT_SCOPE']);
	assert.equal((await one.ask(`GET /gateways/${gateway.id}`)).status, 200);
});

test('removing a member disables their keys: those of the account in this organization, those for a gateway altogether', async () => {
	const member = await addMember(owner, 'admin');
	const here = { 'x-organization-id': owner.organization.id };
	const account = await keyOf(member);
	const one = await keyOf(member, { scope: { type: 'gateway', id: gateway.id }, permissions: ['gateway:read'] });
	assert.equal((await account.ask('GET /gateways', undefined, here)).status, 200);
	assert.equal((await one.ask(`GET /gateways/${gateway.id}`)).status, 200);
	await remove(member);
	assert.deepEqual(outcome(await account.ask('GET /gateways', undefined, here)), [400, 'NO_ORGANIZATION']);
	assert.equal((await account.ask(`GET ${toolsPath}`)).status, 404);
	assert.equal((await account.ask('GET /gateways')).status, 200, 'their own organization stays theirs');
	assert.equal((await one.ask(`GET /gateways/${gateway.id}`)).status, 401);
	assert.deepEqual(
		must(await member.get('/access-keys'), 200).body.data.accessKeys.map(({ id }: { id: string }) => id),
		[account.id],
	);
});

test('a key chooses the organization as its owner does (5.1 rule 5)', async () => {
	const member = await addMember(owner, 'viewer');
	const { ask } = await keyOf(member);
	assert.deepEqual(outcome(await ask('GET /gateways')), [400, 'NO_ORGANIZATION']);
	const ids = async (id: string) => (await ask('GET /gateways', undefined, { 'x-organization-id': id })).body.data.gateways.length;
	assert.equal(await ids(owner.organization.id), 2);
	assert.equal(await ids(member.organization.id), 0);
	const one = await keyOf(member, { scope: { type: 'gateway', id: gateway.id }, permissions: ['gateway:read'] });
	assert.equal((await one.ask(`GET /gateways/${gateway.id}`)).status, 200, 'its gateway tells the organization');
});

test('a string that only resembles a key is a 401: another case, cut short, lengthened, a megabyte', async () => {
	const { key } = await keyOf(owner);
	const wrong = [
		key.toUpperCase(),
		key.replace('ak_live_', 'AK_LIVE_'),
		key.replace('ak_live_', 'Ak_Live_'),
		key.replace('ak_live_', 'ak_test_'),
		key.replace('ak_live_', ''),
		key.slice(0, -1),
		'ak_live_',
		`${key}x`,
		`ak_live_${'x'.repeat(1_000_000)}`,
	];
	for (const secret of wrong) {
		// The request is injected, since a header of a megabyte would not pass over a socket.
		const answer = await service.server.inject({ method: 'GET', url: '/auth/profile', headers: { authorization: `Bearer ${secret}` } });
		assert.equal(answer.statusCode, 401, secret.slice(0, 60));
		assert.ok(!answer.payload.includes(secret.slice(8)) || secret.length === 8, 'the answer shows the key');
	}
	for (const scheme of ['Basic', 'Token', 'bearer:']) {
		const { status } = await send(`${service.url}/auth/profile`, 'GET', { headers: { authorization: `${scheme} ${key}` } });
		assert.equal(status, 401, scheme);
	}
	assert.equal((await send(`${service.url}/auth/profile`, 'GET', { headers: { 'x-api-key': key } })).status, 401);
	assert.equal((await send(`${service.url}/auth/profile?api_key=${key}`, 'GET')).status, 401);
});

test('lastUsedAt moves with every use', async () => {
	const { ask, id } = await keyOf(owner);
	assert.equal(await lastUsedAt(id), null);
	const used = async (since: string | null): Promise<string> => {
		let at: string | null = null;
		await until(async () => {
			at = await lastUsedAt(id);
			return at !== null && at !== since;
		}, 'its use is recorded');
		return at ?? assert.fail();
	};
	await ask('GET /auth/profile');
	const first = await used(null);
	await sleep(20);
	await ask('GET /auth/profile');
	assert.ok((await used(first)) > first);
});
