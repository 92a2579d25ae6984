// Gateways: endpoints, assignments, keys and snapshots.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { asGatewayError } from '../../core/contract/errors.ts';
import { addApi, addGateway, addTenant, addTool, batchOf, draft, operation, schema } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const LIMIT = { limit: 100 };

test('one of fifty parallel creations of one endpoint succeeds, forty-nine are conflicts', async () => {
	const { organizationId } = await addTenant(store);
	const creations = Array.from({ length: 50 }, (_, n) => addGateway(store, organizationId, n % 2 ? '/main' : '/MAIN'));
	const codes = (await Promise.allSettled(creations)).map((result) =>
		result.status === 'fulfilled' ? 'created' : asGatewayError(result.reason)?.code,
	);
	assert.deepEqual([codes.filter((code) => code === 'created').length, codes.filter((code) => code === 'conflict').length], [1, 49]);
	const other = await addTenant(store);
	await addGateway(store, other.organizationId, '/main');
});

test('changing an endpoint to a taken one is a conflict that names the field', async () => {
	const { organizationId } = await addTenant(store);
	await addGateway(store, organizationId, '/main');
	const second = await addGateway(store, organizationId, '/second');
	await assert.rejects(store.gateways.update(organizationId, second.id, { endpoint: '/Main' }), {
		code: 'conflict',
		message: /^endpoint is taken/,
	});
});

test('each update increments the version, and an empty one does not', async () => {
	const { organizationId } = await addTenant(store);
	const { id } = await addGateway(store, organizationId);
	const versions = [];
	for (const change of [{ name: 'a' }, {}, { name: 'a' }, { status: 'inactive' }])
		versions.push((await store.gateways.update(organizationId, id, change))?.version);
	assert.deepEqual(versions, [2, 2, 3, 4]);
});

test('names in a gateway are valid for every transport, and unique ignoring case', async () => {
	const { organizationId } = await addTenant(store);
	const gateway = await addGateway(store, organizationId);
	const long = 'x'.repeat(80);
	const names = ['getPet', 'GETPET', 'get pet ✓ now', long, `${long}y`, '✓', 'getPet'];
	const tools = [];
	for (const name of names) tools.push(await addTool(store, organizationId, { name }));
	const assigned = await store.gateways.assign(
		organizationId,
		gateway.id,
		tools.map(({ id }) => id),
	);
	const given = assigned.map(({ name }) => name);
	assert.deepEqual(
		assigned.map(({ toolId }) => toolId),
		tools.map(({ id }) => id),
	);
	for (const name of given) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
	assert.equal(new Set(given.map((name) => name.toLowerCase())).size, names.length);
	assert.equal(given[0], 'getPet');
	assert.match(given[1] ?? '', /^GETPET_[0-9a-f]{8}$/);
	assert.equal(given[2], 'get_pet_now');
	assert.equal(given[3], 'x'.repeat(64));
	assert.match(given[4] ?? '', /^x{55}_[0-9a-f]{8}$/);

	await store.gateways.unassign(organizationId, gateway.id, tools[1]?.id ?? '');
	const [again] = await store.gateways.assign(organizationId, gateway.id, [tools[1]?.id ?? '']);
	assert.equal(again?.name, given[1], 'the same tool gets the same name again');
});

test('assigning is all or nothing, and leaves existing assignments unchanged', async () => {
	const { organizationId } = await addTenant(store);
	const gateway = await addGateway(store, organizationId);
	const [a, b] = [await addTool(store, organizationId, { name: 'a' }), await addTool(store, organizationId, { name: 'b' })];
	const missing = randomUUID();
	await assert.rejects(store.gateways.assign(organizationId, gateway.id, [a.id, missing, b.id]), {
		code: 'not_found',
		message: `Tool ${missing} not found.`,
	});
	await assert.rejects(store.gateways.assign(organizationId, missing, [a.id]), { code: 'not_found', message: 'Gateway not found.' });
	assert.equal((await store.gateways.get(organizationId, gateway.id))?.toolCount, 0);

	const [first] = await store.gateways.assign(organizationId, gateway.id, [a.id]);
	await store.gateways.updateAssignment(organizationId, gateway.id, first?.id ?? '', { rateLimit: 5 });
	const both = await store.gateways.assign(organizationId, gateway.id, [b.id, a.id, b.id]);
	assert.deepEqual(
		both.map(({ toolId, rateLimit }) => [toolId, rateLimit]),
		[
			[b.id, null],
			[a.id, 5],
		],
	);
});

test('parallel assignments of tools of one name all succeed, each under its own name', async () => {
	const { organizationId } = await addTenant(store);
	const gateway = await addGateway(store, organizationId);
	const tools = await Promise.all(Array.from({ length: 12 }, () => addTool(store, organizationId, { name: 'same' })));
	await Promise.all(tools.map(({ id }) => store.gateways.assign(organizationId, gateway.id, [id])));
	const { items } = await store.gateways.tools(organizationId, gateway.id, LIMIT);
	assert.equal(new Set(items.map(({ assignment }) => assignment.name)).size, 12);
	assert.deepEqual((await store.gateways.available(organizationId, gateway.id, LIMIT)).items, []);
});

test('a key is found by its hash in its own gateway only, and revoked once', async () => {
	const { organizationId, slug } = await addTenant(store);
	const [gateway, other] = [await addGateway(store, organizationId), await addGateway(store, organizationId, '/other')];
	const hash = Buffer.alloc(32, 7);
	const expiresAt = new Date('2030-01-01T00:00:00.000Z');
	const key = await store.gateways.addKey(organizationId, gateway.id, {
		name: 'ci',
		prefix: 'svc_gw_ab',
		scopes: ['tools:read'],
		expiresAt,
		hash,
	});
	assert.deepEqual(await store.gateways.keyByHash(organizationId, gateway.id, hash), key);
	assert.deepEqual([key?.expiresAt, key?.scopes, key?.lastUsedAt, key?.revokedAt], [expiresAt, ['tools:read'], null, null]);
	assert.equal(await store.gateways.keyByHash(organizationId, other.id, hash), null);
	const live = (gatewayId = gateway.id): Promise<unknown> => store.gateways.liveKey(gatewayId, hash);
	const organization = (await store.gateways.snapshot(slug, gateway.endpoint))?.organization;
	assert.deepEqual(await live(), { id: key?.id, scopes: ['tools:read'], expiresAt, organization });
	assert.deepEqual([await live(other.id), await live('x')], [null, null]);
	await store.gateways.update(organizationId, gateway.id, { status: 'inactive' });
	assert.equal(await live(), null);
	await store.gateways.update(organizationId, gateway.id, { status: 'active' });
	assert.notEqual(await live(), null);
	const revocations = await Promise.all([1, 2, 3].map(() => store.gateways.revokeKey(organizationId, gateway.id, key?.id ?? '')));
	assert.equal(await live(), null);
	assert.equal(revocations.filter((row) => row !== null).length, 1, 'for one of three at once');
	assert.ok((await store.gateways.keyByHash(organizationId, gateway.id, hash))?.revokedAt instanceof Date);
});

test('a snapshot holds everything needed to serve the gateway, and only active tools', async () => {
	const { organizationId, slug } = await addTenant(store);
	const [api, unused] = [await addApi(store, organizationId), await addApi(store, organizationId)];
	for (const { id } of [api, unused])
		await store.apis.putCredential(organizationId, { apiId: id, type: 'api_key', origin: 'https://pets.example', secret: id });
	const writer = (await store.apis.beginImport(organizationId, api.id)) ?? assert.fail();
	await writer.operations(batchOf({ ...operation('a'), tags: ['pets', 'shop'] }));
	await writer.commit(schema);
	const [row = assert.fail()] = (await store.apis.operations(organizationId, api.id, LIMIT)).items;
	await store.tools.generate(organizationId, api.id, [{ operationId: row.id, tool: draft(row) }]);
	const [own, off] = [await addTool(store, organizationId), await addTool(store, organizationId, { name: 'off' })];
	const [imported = assert.fail()] = (await store.tools.list(organizationId, LIMIT, { apiId: api.id })).items;
	const gateway = await addGateway(store, organizationId);
	await store.gateways.assign(organizationId, gateway.id, [off.id, imported.id, own.id]);
	await store.tools.update(organizationId, off.id, { status: 'inactive' });
	const method = { type: 'none', isRequired: true, configuration: { z: 1, a: 2 }, validationRules: { requiredHeaders: ['x'] } };
	const auth = await store.gateways.addAuth(organizationId, gateway.id, randomUUID(), method);

	const snapshot = (await store.gateways.snapshot(slug, '/main')) ?? assert.fail();
	assert.deepEqual(snapshot.organization.id, organizationId);
	assert.deepEqual(snapshot.gateway, await store.gateways.get(organizationId, gateway.id));
	assert.deepEqual(snapshot.auth, [auth]);
	assert.deepEqual(
		snapshot.tools.map(({ tool }) => tool),
		[imported, own],
	);
	assert.deepEqual(
		snapshot.tools,
		(await store.gateways.tools(organizationId, gateway.id, LIMIT)).items.filter(({ tool }) => tool.id !== off.id),
	);
	assert.deepEqual([...snapshot.tags], [[imported.id, ['pets', 'shop']]]);
	assert.deepEqual(snapshot.apis, [api]);
	assert.deepEqual(snapshot.credentials, await store.apis.credentials(organizationId, api.id));

	assert.equal(await store.gateways.snapshot(slug, '/Main'), null, 'endpoints are matched with case');
	assert.equal(await store.gateways.snapshot('nobody', '/main'), null);
});

test('a base URL of another origin drops the credentials in the same transaction', async () => {
	const { organizationId } = await addTenant(store);
	const { id } = await addApi(store, organizationId);
	await store.apis.putCredential(organizationId, { apiId: id, type: 'api_key', origin: 'https://pets.example', secret: 's' });
	await store.apis.update(organizationId, id, { baseUrl: 'https://pets.example/v2', description: 'Pets' });
	assert.equal((await store.apis.credentials(organizationId, id)).length, 1);
	const moved = await store.apis.update(organizationId, id, { baseUrl: 'https://pets.example:8443/v2', description: null });
	assert.deepEqual([moved?.baseUrl, moved?.description, moved?.name], ['https://pets.example:8443/v2', null, 'Pets']);
	assert.deepEqual(await store.apis.credentials(organizationId, id), []);
});

test('removal includes dependants and counts them, unless ifUnused refuses it', async () => {
	const { organizationId } = await addTenant(store);
	const gateway = await addGateway(store, organizationId);
	const tool = await addTool(store, organizationId);
	await store.gateways.assign(organizationId, gateway.id, [tool.id]);
	await assert.rejects(store.tools.remove(organizationId, tool.id, true), { code: 'conflict', message: 'It is in use: assignments (1).' });
	await assert.rejects(store.gateways.remove(organizationId, gateway.id, true), { code: 'conflict' });
	assert.deepEqual(await store.tools.remove(organizationId, tool.id, false), { assignments: 1 });
	const removals = await Promise.all([1, 2, 3].map(() => store.gateways.remove(organizationId, gateway.id, true)));
	assert.deepEqual(
		removals.filter((removed) => removed !== null),
		[{ assignments: 0, skills: 0, authMethods: 0, apiKeys: 0, records: 0 }],
	);
});

const METHOD = { type: 'oauth2', isRequired: true, configuration: {}, validationRules: {} };

/** Makes a gateway with methods of one type, and records of three plugins. */
async function addMethods(store: TestStore, count: number) {
	const { organizationId } = await addTenant(store);
	const gatewayId = (await addGateway(store, organizationId)).id;
	const add = async (type = METHOD.type): Promise<string> =>
		(await store.gateways.addAuth(organizationId, gatewayId, randomUUID(), { ...METHOD, type }))?.id ?? assert.fail();
	const methods = [];
	for (let n = 0; n < count; n++) methods.push(await add());
	await add('jwt');
	const plugins = ['auth:oauth2', 'auth:jwt', 'transport:oauth2'];
	const keep = (plugin: string) => store.records.put(organizationId, { plugin, gatewayId }, 'token', {}, { watched: true });
	for (const plugin of plugins) await keep(plugin);
	const kept = async () => {
		const found = await Promise.all(plugins.map((plugin) => store.records.get(organizationId, { plugin, gatewayId }, 'token')));
		return plugins.filter((_plugin, n) => found[n] !== null);
	};
	const remove = (id: string) => store.gateways.removeAuth(organizationId, gatewayId, id);
	return { add, methods, keep, kept, remove, all: plugins, others: plugins.slice(1) };
}

test('removing the last method of a type removes what its plugin has stored for the gateway, and nothing else', async () => {
	const { methods, kept, remove, all, others } = await addMethods(store, 2);
	const [first = '', last = ''] = methods;
	assert.equal((await remove(first))?.id, first);
	assert.deepEqual(await kept(), all);
	assert.equal(await remove(randomUUID()), null);
	assert.equal((await remove(last))?.id, last);
	assert.deepEqual(await kept(), others);
	assert.equal(await remove(last), null);
});

test('among concurrent removals of methods of one type, one is the last', async () => {
	const { methods, kept, remove, others } = await addMethods(store, 8);
	const removed = await Promise.all([...methods, ...methods].map(remove));
	assert.equal(removed.filter((row) => row !== null).length, 8);
	assert.deepEqual(await kept(), others);
});

test('records stored after the removal of the last method do not return with a new one; a second method drops nothing', async () => {
	const { add, methods, keep, kept, remove, all, others } = await addMethods(store, 1);
	await remove(methods[0] ?? '');
	await keep('auth:oauth2');
	await add();
	assert.deepEqual(await kept(), others);
	await keep('auth:oauth2');
	await add();
	assert.deepEqual(await kept(), all);
});
