// Tests of the callers that the management API admits, and of the order of its refusals, on one test route for each requirement.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { ServerInjectResponse, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { LOOSE, startCore, type TestCore } from '../../test/helpers/core.ts';
import { addGateway, addMember, addTenant, type Tenant } from '../../test/helpers/samples.ts';
import { openReplica } from '../../test/helpers/store.ts';
import { type Permission, permissionsWith } from '../contract/permissions.ts';
import { ACCESS_KEY_PREFIX, GATEWAY_KEY_PREFIX, hashKey, mintKey } from '../secrets/tokens.ts';
import { requirePermission } from './access.ts';
import { actorOf, organizationOf, userIdOf } from './credentials.ts';
import { assertNeeds } from './needs.ts';
import { type Endpoint, operation } from './operation.ts';

let core: TestCore;
let tenant: Tenant;
let token: string;
let handled: number;

const declared = (method: Endpoint['method'], path: string, need: Endpoint['need'], more: Partial<Endpoint> = {}): Endpoint => ({
	...{ method, path, id: `do${method}${path}`, summary: 'Does it.', need, answer: Joi.any() },
	handler(request) {
		handled += 1;
		const { organization, permissions, actor } = request.auth.credentials ?? {};
		return { organization: organization?.id ?? null, permissions: [...(permissions ?? [])], userId: actor?.userId ?? null };
	},
	...more,
});

const ROUTES: ServerRoute[] = [
	declared('GET', '/gateways', 'gateway:read'),
	declared('GET', '/gateways/{id}', 'gateway:read', { gatewayKeys: true }),
	declared('POST', '/gateways', 'gateway:write', { body: Joi.object({}) }),
	declared('GET', '/organizations/{orgId}/things', 'gateway:read'),
	declared('GET', '/auth/self', 'self'),
	declared('GET', '/auth/account', 'account'),
	declared('POST', '/auth/login-only', 'login'),
	declared('GET', '/open', 'public'),
	declared('GET', '/tools/more', 'self', { handler: (request) => requirePermission(request, 'gateway:write') }),
	declared('GET', '/tools/organization', 'self', { handler: (request) => organizationOf(request) }),
	declared('GET', '/tools/user', 'public', { handler: (request) => userIdOf(request) }),
	declared('GET', '/tools/{id}/actor', 'gateway:read', { gatewayKeys: true, handler: (request) => actorOf(request) }),
].map(operation);

before(async () => {
	core = await startCore({ routes: ROUTES });
	tenant = await addTenant(core.store);
	token = await core.logIn(tenant);
});
after(() => core[Symbol.asyncDispose]());
beforeEach(() => {
	handled = 0;
});

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

interface Asked {
	headers?: Record<string, string>;
	method?: string;
	payload?: string;
	of?: TestCore;
}

const ask = (url: string, { headers = bearer(token), method = 'GET', payload, of = core }: Asked = {}): Promise<ServerInjectResponse> =>
	of.server.inject({ method, url, headers, ...(payload !== undefined && { payload }) });

async function told(url: string, asked?: Asked): Promise<unknown[]> {
	const { statusCode, payload } = await ask(url, asked);
	return [statusCode, JSON.parse(payload).error];
}

type Reach = Parameters<TestCore['store']['accessKeys']['create']>[1]['reach'];

async function addKey(permissions: Permission[] | null = null, reach: Reach = { type: 'account' }): Promise<string> {
	const key = mintKey(ACCESS_KEY_PREFIX);
	await core.store.accessKeys.create(tenant.userId, { name: 'k', prefix: key.slice(0, 12), reach, permissions, hash: hashKey(key) });
	return key;
}

const LARGE = { method: 'POST', payload: `{"a":"${'x'.repeat(2_000_000)}"}` };
const asJson = (headers: Record<string, string>) => ({ headers: { ...headers, 'content-type': 'application/json' } });

test('callers without permission are refused before the body is read', async () => {
	const viewer = await core.logIn({ userId: await addMember(core.store, tenant, 'viewer') });
	const inTenant = { ...bearer(viewer), 'x-organization-id': tenant.organizationId };
	assert.deepEqual(await told('/gateways', { ...LARGE, ...asJson({}) }), [401, 'UNAUTHORIZED']);
	assert.deepEqual(await told('/gateways', { ...LARGE, ...asJson(bearer('no.such.token')) }), [401, 'UNAUTHORIZED']);
	assert.deepEqual(await told('/gateways', { ...LARGE, ...asJson(inTenant) }), [403, 'FORBIDDEN']);
	assert.deepEqual(await told('/gateways', { ...LARGE, ...asJson(bearer(token)) }), [413, 'PAYLOAD_TOO_LARGE']);
	assert.equal(handled, 0);
});

test('a refusal of a credential carries the challenge', async () => {
	for (const headers of [{}, bearer('x'), { authorization: 'Basic YTpi' }, bearer(`${ACCESS_KEY_PREFIX}none`)]) {
		const { statusCode, headers: answered } = await ask('/gateways', { headers: { ...headers } });
		assert.deepEqual([statusCode, answered['www-authenticate']], [401, 'Bearer realm="gatehouse"']);
	}
});

test('a caller with too many failed attempts is refused without a look-up, also with a valid credential', async () => {
	const limits = { ...LOOSE, categories: { auth: { max: 2, seconds: 60 } } };
	await using strict = await startCore({ routes: ROUTES, limits });
	const good = await strict.logIn(await addTenant(strict.store));
	const bad = { headers: bearer('no.such.token'), of: strict };
	const statuses = [await ask('/auth/self', bad), await ask('/auth/self', bad), await ask('/auth/self', bad)].map(
		({ statusCode }) => statusCode,
	);
	assert.equal(statuses.at(-1), 429);
	assert.equal((await ask('/auth/self', { headers: bearer(good), of: strict })).statusCode, 429);
});

test('callers from one address are counted by their names', async () => {
	await using strict = await startCore({ routes: ROUTES, limits: { ...LOOSE, global: { max: 1, seconds: 60 } } });
	const statuses: number[] = [];
	for (const user of [await addTenant(strict.store), await addTenant(strict.store)]) {
		const headers = bearer(await strict.logIn(user));
		for (let turn = 0; turn < 2; turn++) statuses.push((await ask('/auth/self', { headers, of: strict })).statusCode);
	}
	assert.deepEqual(statuses, [200, 429, 200, 429]);
});

test('the organization is that of the path, else that of the header, else the user’s only one', async () => {
	const organizationOfAnswer = async (url: string, headers = {}) =>
		JSON.parse((await ask(url, { headers: { ...bearer(token), ...headers } })).payload).data?.organization;
	assert.equal(await organizationOfAnswer('/gateways'), tenant.organizationId);
	assert.equal(
		await organizationOfAnswer('/gateways', { 'x-organization-id': tenant.organizationId.toUpperCase() }),
		tenant.organizationId,
	);
	const other = await addTenant(core.store);
	const inOther = { 'x-organization-id': other.organizationId };
	assert.equal(await organizationOfAnswer(`/organizations/${tenant.organizationId}/things`, inOther), tenant.organizationId);
	assert.deepEqual(await told('/gateways', { headers: { ...bearer(token), ...inOther } }), [400, 'NO_ORGANIZATION']);
	assert.deepEqual(await told(`/organizations/${other.organizationId}/things`), [404, 'NOT_FOUND']);
	assert.equal(await organizationOfAnswer('/auth/self', inOther), null, 'a route that needs none asks for none');
});

test('a role has its permissions, and a key no more than it was given', async () => {
	assert.equal((await ask('/gateways', { method: 'POST', ...asJson(bearer(token)), payload: '{}' })).statusCode, 200);
	const narrow = bearer(await addKey(['gateway:read']));
	assert.equal((await ask('/gateways', { headers: narrow })).statusCode, 200);
	assert.deepEqual(await told('/gateways', { headers: { ...narrow, 'content-type': 'application/json' }, method: 'POST', payload: '{}' }), [
		403,
		'INSUFFICIENT_SCOPE',
	]);
	assert.deepEqual(await told('/auth/account', { headers: narrow }), [403, 'INSUFFICIENT_SCOPE']);
	assert.equal((await ask('/auth/self', { headers: narrow })).statusCode, 200);
	const whole = bearer(await addKey());
	assert.equal((await ask('/auth/account', { headers: whole })).statusCode, 200);
	assert.deepEqual(await told('/auth/login-only', { headers: whole, method: 'POST' }), [403, 'FORBIDDEN']);
	assert.equal((await ask('/auth/login-only', { method: 'POST' })).statusCode, 200);
});

test('a key for one gateway reaches the routes of that gateway, and nothing else', async () => {
	const { id } = await addGateway(core.store, tenant.organizationId, '/reached');
	const { id: other } = await addGateway(core.store, tenant.organizationId, '/other');
	const headers = bearer(await addKey(null, { type: 'gateway', id, organizationId: tenant.organizationId }));
	assert.equal((await ask(`/gateways/${id}`, { headers })).statusCode, 200);
	assert.equal((await ask(`/gateways/${id.toUpperCase()}`, { headers })).statusCode, 200);
	for (const url of [`/gateways/${other}`, '/gateways', '/auth/self'])
		assert.deepEqual(await told(url, { headers }), [403, 'INSUFFICIENT_SCOPE'], url);
});

test('a gateway’s own key reads its gateway, on routes that accept such keys and with the scope', async () => {
	const { id } = await addGateway(core.store, tenant.organizationId, '/keyed');
	const door = { type: 'api_key', isRequired: true, configuration: {}, validationRules: {} };
	await core.store.gateways.addAuth(tenant.organizationId, id, crypto.randomUUID(), door);
	const keyWith = async (...scopes: ('gateway:read' | 'tools:read')[]) => {
		const key = mintKey(GATEWAY_KEY_PREFIX);
		await core.store.gateways.addKey(tenant.organizationId, id, { name: 'k', prefix: 'p', scopes, expiresAt: null, hash: hashKey(key) });
		return key;
	};
	const key = await keyWith('gateway:read');
	assert.equal((await ask(`/gateways/${id}`, { headers: { 'x-api-key': key } })).statusCode, 200);
	assert.equal((await ask(`/gateways/${id}`, { headers: bearer(key) })).statusCode, 200);
	assert.deepEqual(await told('/gateways', { headers: bearer(key) }), [401, 'UNAUTHORIZED']);
	assert.deepEqual(await told(`/gateways/${tenant.organizationId}`, { headers: bearer(key) }), [401, 'UNAUTHORIZED']);
	assert.deepEqual(await told(`/gateways/${id}`, { headers: bearer(await keyWith('tools:read')) }), [403, 'INSUFFICIENT_SCOPE']);
	const foreign = { ...bearer(key), 'x-organization-id': (await addTenant(core.store)).organizationId };
	assert.deepEqual(await told(`/gateways/${id}`, { headers: foreign }), [400, 'NO_ORGANIZATION']);
	assert.deepEqual(
		await told(`/tools/${id}/actor`, { headers: bearer(key) }),
		[500, 'INTERNAL'],
		'a route that changes something is no route for it',
	);
});

test('changes by cookie are accepted from the service’s own pages only', async () => {
	const cookie = `__Host-gatehouse_token=${token}`;
	const post = (headers: Record<string, string>) => ask('/auth/login-only', { method: 'POST', headers: { cookie, ...headers } });
	assert.equal((await ask('/auth/self', { headers: { cookie } })).statusCode, 200);
	assert.equal((await post({ origin: 'https://gatehouse.example' })).statusCode, 200);
	for (const headers of [{}, { origin: 'https://evil.example' }, { origin: 'null' }])
		assert.equal((await post({ ...headers })).statusCode, 403);
});

test('a permission granted on another replica is effective at once, although the refusal was cached', async () => {
	await using replica = await openReplica(core.store);
	const userId = await addMember(core.store, tenant, 'viewer');
	const headers = {
		...bearer(await core.logIn({ userId })),
		'x-organization-id': tenant.organizationId,
		'content-type': 'application/json',
	};
	const write = () => ask('/gateways', { headers, method: 'POST', payload: '{}' });
	assert.equal((await write()).statusCode, 403);
	await replica.organizations.changeMember(tenant.organizationId, userId, { role: 'admin', by: tenant.userId, permit: () => undefined });
	assert.equal((await write()).statusCode, 200);
});

test('a handler that requests more than its route declared gets an error that says so', async () => {
	assert.deepEqual(await told('/tools/more'), [403, 'FORBIDDEN']);
	assert.deepEqual(await told('/tools/organization'), [500, 'INTERNAL']);
	assert.deepEqual(await told('/tools/user'), [500, 'INTERNAL']);
	assert.equal((await ask('/open', { headers: {} })).statusCode, 200);
});

const BAD_ROUTES: Record<string, [ServerRoute, RegExp]> = {
	'that does not say what it needs': [{ method: 'GET', path: '/x', handler: () => null }, /GET \/x: the route does not declare/],
	'with a permission that nothing declares': [
		{ method: 'GET', path: '/x', handler: () => null, options: { plugins: { gatehouse: { need: 'hooks:write' } } } },
		/GET \/x: nothing declares the permission hooks:write/,
	],
	'whose organization is not in its path': [
		{ method: 'GET', path: '/x', handler: () => null, options: { plugins: { gatehouse: { need: 'gateway:read', organization: 'path' } } } },
		/GET \/x: the path has no \{orgId\}/,
	],
	'that a gateway’s key would change something by': [
		{ method: 'POST', path: '/x', handler: () => null, options: { plugins: { gatehouse: { need: 'gateway:write', gatewayKeys: true } } } },
		/POST \/x: a gateway.s key is for GET routes only/,
	],
};

for (const [id, [route, message]] of Object.entries(BAD_ROUTES))
	test(`the start fails with a route ${id}`, async () => {
		await assert.rejects(startCore({ routes: [route] }), { message });
		assert.doesNotThrow(() => assertNeeds(core.server, { permissions: permissionsWith(new Map()), registry: core.registry }));
	});
