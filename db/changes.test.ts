// Tests how replicas receive the changes of another one.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Store, Topic } from '../core/store/store.ts';
import { turns, until } from '../test/helpers/clock.ts';
import { administer, type Endpoint } from '../test/helpers/postgres.ts';
import { addApi, addGateway, addTenant, addTool, batchOf, draft, operation, schema } from '../test/helpers/samples.ts';
import { silent } from '../test/helpers/silent.ts';
import { type TestStore, testStore } from '../test/helpers/store.ts';
import { openStore } from './index.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

async function openReplica(database: Endpoint): Promise<Store & AsyncDisposable & { heard: Topic[] }> {
	const store = await openStore({ database, dataDir: '', migrate: false, log: silent });
	const heard: Topic[] = [];
	store.changes.subscribe((topics) => heard.push(...topics));
	return { ...store, heard, [Symbol.asyncDispose]: () => store.close() };
}

const hear = (heard: Topic[], topic: Topic): Promise<void> => until(() => heard.includes(topic), `${topic} is heard of`, 5);

test('a change reaches another replica', async () => {
	await using replica = await openReplica(store.database);
	const { organizationId } = await addTenant(store);
	await hear(replica.heard, `org:${organizationId}`);
});

test('a change reaches another replica though nothing is notified', async () => {
	await using replica = await openReplica(store.database);
	const topic: Topic = `org:${randomUUID()}`;
	await administer(store.database, `INSERT INTO changes (topic) VALUES ('${topic}')`);
	await hear(replica.heard, topic);
});

test('a change made while the listening connections were cut is heard of', async () => {
	await using replica = await openReplica(store.database);
	const { organizationId } = await addTenant(store);
	const cut = await administer(
		store.database,
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND (query LIKE 'LISTEN%' OR query LIKE '%pg_snapshot_xmin%') AND pid <> pg_backend_pid()`,
	);
	assert.equal(cut.length, 2);
	replica.heard.length = 0;
	await addTool(store, organizationId);
	await hear(replica.heard, `org:${organizationId}`);
});

test('a transaction that commits long after later ones is not missed, and arrives once', async () => {
	await using replica = await openReplica(store.database);
	const { host, port, username, password, name } = store.database;
	const slow = new pg.Client({ host, port, user: username, password, database: name });
	await slow.connect();
	const late: Topic = `org:${randomUUID()}`;
	await slow.query('BEGIN');
	await slow.query('INSERT INTO changes (topic) VALUES ($1)', [late]);
	const { organizationId } = await addTenant(store);
	await hear(replica.heard, `org:${organizationId}`);
	await sleep(1_200);
	assert.equal(replica.heard.filter((topic) => topic === `org:${organizationId}`).length, 1, 'what is not below xmin is not repeated');
	assert.equal(replica.heard.includes(late), false);
	await slow.query('COMMIT');
	await slow.end();
	await hear(replica.heard, late);
});

test('a change that was rolled back is not announced', async () => {
	const { organizationId } = await addTenant(store);
	const api = await addApi(store, organizationId);
	const first = await store.apis.beginImport(organizationId, api.id);
	await first?.operations(batchOf(operation('a')));
	await first?.commit(schema);
	const [{ id, ...row } = assert.fail()] = (await store.apis.operations(organizationId, api.id, { limit: 1 })).items;
	await store.tools.generate(organizationId, api.id, [{ operationId: id, tool: draft(row) }]);
	const heard: Topic[] = [];
	await store.changes.fresh(0);
	store.changes.subscribe((topics) => heard.push(...topics));
	const failing = await store.apis.beginImport(organizationId, api.id);
	// This marks the tool as removed, and fails afterwards.
	await assert.rejects(failing?.commit({ ...schema, sizeBytes: 2 ** 40 }) ?? assert.fail());
	await store.changes.fresh(0);
	assert.deepEqual(heard, []);
	assert.equal((await store.tools.list(organizationId, { limit: 1 })).items[0]?.status, 'active');
});

test('after fresh, every change committed before has been delivered', async () => {
	await using replica = await openReplica(store.database);
	for (let round = 0; round < 10; round++) {
		const { organizationId, userId } = await addTenant(store);
		await replica.changes.fresh(0);
		assert.ok(replica.heard.includes(`org:${organizationId}`), `round ${round}`);
		assert.ok(replica.heard.includes(`user:${userId}`), `round ${round}`);
	}
});

test('fresh answers at once while the last look is young enough, and the store looks by itself', async (t) => {
	let nowMs = performance.now();
	t.mock.method(performance, 'now', () => nowMs);
	await store.changes.fresh(0);
	nowMs += 900;
	assert.equal(store.changes.fresh(1_000), undefined);
	nowMs += 2_000;
	const heard: Topic[] = [];
	store.changes.subscribe((topics) => heard.push(...topics));
	const topic: Topic = `org:${randomUUID()}`;
	await administer(store.database, `INSERT INTO changes (topic) VALUES ('${topic}')`);
	await hear(heard, topic);
	// The timestamp of the poll is set a turn later.
	await turns(1);
	assert.equal(store.changes.fresh(1_000), undefined);
	nowMs += 1_100;
	await (store.changes.fresh(1_000) ?? assert.fail('nobody has looked since'));
});

type Act = (store: Store, at: { organizationId: string; api: string; gateway: string; tool: string }) => Promise<unknown>;

const ANNOUNCED: Record<string, Act> = {
	'an API is made': (store, { organizationId }) => addApi(store, organizationId),
	'an API is changed': (store, { organizationId, api }) => store.apis.update(organizationId, api, { name: 'x' }),
	'an API is removed': (store, { organizationId, api }) => store.apis.remove(organizationId, api, false),
	'a credential is stored': (store, { organizationId, api }) =>
		store.apis.putCredential(organizationId, { apiId: api, type: 'api_key', origin: 'https://pets.example', secret: 's' }),
	'a credential is removed': async (store, { organizationId, api }) => {
		const credential = { apiId: api, type: 'api_key', scheme: 'a', origin: 'https://pets.example', secret: 's' };
		await store.apis.putCredential(organizationId, credential);
		await store.changes.fresh(0);
		assert.ok(await store.apis.dropCredential(organizationId, credential));
	},
	'a tool is made': (store, { organizationId }) => addTool(store, organizationId),
	'a tool is changed': (store, { organizationId, tool }) => store.tools.update(organizationId, tool, { name: 'x' }),
	'a tool is removed': (store, { organizationId, tool }) => store.tools.remove(organizationId, tool, false),
	'a gateway is made': (store, { organizationId }) => addGateway(store, organizationId, '/second'),
	'a gateway is changed': (store, { organizationId, gateway }) => store.gateways.update(organizationId, gateway, { name: 'x' }),
	'a gateway is removed': (store, { organizationId, gateway }) => store.gateways.remove(organizationId, gateway, false),
	'a tool is assigned': (store, { organizationId, gateway, tool }) => store.gateways.assign(organizationId, gateway, [tool]),
	'an auth method is added': (store, { organizationId, gateway }) =>
		store.gateways.addAuth(organizationId, gateway, randomUUID(), {
			type: 'none',
			isRequired: true,
			configuration: {},
			validationRules: {},
		}),
	'a key is made': (store, { organizationId, gateway }) =>
		store.gateways.addKey(organizationId, gateway, { name: 'k', prefix: 'p', scopes: [], expiresAt: null, hash: Buffer.alloc(32, 1) }),
};

for (const [title, act] of Object.entries(ANNOUNCED))
	test(`it is announced when ${title}`, async () => {
		await using store = await testStore();
		const { organizationId } = await addTenant(store);
		const api = await addApi(store, organizationId);
		const gateway = await addGateway(store, organizationId);
		const tool = await addTool(store, organizationId);
		const heard: Topic[] = [];
		await store.changes.fresh(0);
		store.changes.subscribe((topics) => heard.push(...topics));
		await act(store, { organizationId, api: api.id, gateway: gateway.id, tool: tool.id });
		await store.changes.fresh(0);
		assert.deepEqual([...new Set(heard)], [`org:${organizationId}`]);
	});

test('the use of a key is not announced as a change', async () => {
	const { organizationId } = await addTenant(store);
	const gateway = await addGateway(store, organizationId);
	const key = { name: 'k', prefix: 'p', scopes: [], expiresAt: null, hash: Buffer.alloc(32, 1) };
	const added = await store.gateways.addKey(organizationId, gateway.id, key);
	const heard: Topic[] = [];
	await store.changes.fresh(0);
	store.changes.subscribe((topics) => heard.push(...topics));
	const at = new Date();
	await store.gateways.touchKeys([
		{ organizationId, keyId: added?.id ?? '', at },
		{ organizationId, keyId: added?.id ?? '', at: new Date(0) },
	]);
	await store.gateways.touchKeys([{ organizationId, keyId: added?.id ?? '', at: new Date(1) }]);
	await store.changes.fresh(0);
	const read = await store.gateways.keyByHash(organizationId, gateway.id, key.hash);
	assert.deepEqual(read?.lastUsedAt, at, 'never moved back');
	assert.deepEqual(heard, []);
});
