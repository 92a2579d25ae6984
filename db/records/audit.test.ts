// The audit log of records that their plugin names.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { actor, sorted, type Told, told } from '../../test/helpers/audit.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { begin } from '../../test/helpers/records.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const CLIENT = { type: 'oauth_client', name: 'Ada’s editor' };

/** Returns the log's entries about records. */
async function logOf(store: TestStore, organizationId: string): Promise<Told[]> {
	const { items } = await store.audit.list(organizationId, { limit: 100 }, { resourceType: CLIENT.type });
	return items.map(told);
}

test('adding and removing a named record is logged, with the actor and without its values', async () => {
	const { organizationId, scope, put } = await begin(store);
	const who = actor();
	const own = store.as(who).records;
	await own.put(organizationId, scope, 'secret-key', { n: 'secret' }, { tags: ['secret-tag'], audited: CLIENT });
	await put('nameless', {}, { tags: ['secret-tag'] });
	await own.put(organizationId, scope, 'secret-key', { n: 'secret2' }, { tags: ['secret-tag'], audited: CLIENT });
	await own.update(organizationId, scope, { key: 'secret-key', revision: 2, value: {} });
	await own.take(organizationId, scope, 'secret-key');
	assert.equal(await own.drop(organizationId, scope, 'secret-tag'), 2);
	const { items } = await store.audit.list(organizationId, { limit: 100 }, { resourceType: CLIENT.type });
	const id = items[0]?.resourceId ?? assert.fail();
	const { gatewayId } = scope;
	assert.deepEqual(items.map(told), [
		['delete', CLIENT.type, id, CLIENT.name, { gatewayId: { from: gatewayId } }],
		['create', CLIENT.type, id, CLIENT.name, { gatewayId: { to: gatewayId } }],
	]);
	for (const row of items) assert.deepEqual(row.actor, who);
	assert.doesNotMatch(JSON.stringify(items), /secret/);
});

test('an expired record is not logged as removed, and its replacement is logged as new', async () => {
	const { organizationId, scope, put, records } = await begin(store);
	await put('a', {}, { tags: ['t'], ttlMs: -1_000, audited: CLIENT });
	await put('b', {}, { tags: ['t'], ttlMs: -1_000, audited: CLIENT });
	await put('a', {}, { tags: ['t'], audited: CLIENT });
	assert.equal(await records.prune(), 1);
	const log = await logOf(store, organizationId);
	assert.deepEqual(
		log.map(([action]) => action),
		['create', 'create', 'create'],
	);
	assert.equal(new Set(log.map(([, , id]) => id)).size, 3);
	assert.equal(await records.drop(organizationId, scope, 't'), 1);
	assert.deepEqual((await logOf(store, organizationId))[0]?.slice(0, 3), ['delete', CLIENT.type, log[0]?.[2]]);
});

test('removing a gateway removes its records, logged with the actor; removing an organization removes its log', async () => {
	const { organizationId, scope, put } = await begin(store);
	const who = actor();
	await put('a', {}, { audited: CLIENT });
	await put('b', {}, { audited: { ...CLIENT, name: `a\0\ud800${'x'.repeat(300)}` } });
	await store.as(who).gateways.remove(organizationId, scope.gatewayId, false);
	const { items } = await store.audit.list(organizationId, { limit: 100 }, { resourceType: CLIENT.type, action: 'delete' });
	assert.deepEqual(
		sorted(items.map(told))
			.map(([, , , name]) => name)
			.sort(),
		[CLIENT.name, `a\ufffd${'x'.repeat(197)}`].sort(),
	);
	for (const row of items) assert.deepEqual(row.actor, who);
	const rest = await begin(store);
	await rest.put('a', {}, { audited: CLIENT });
	await administer(store.database, `DELETE FROM organizations WHERE id = '${rest.organizationId}'`);
	assert.deepEqual(await logOf(store, rest.organizationId), []);
});
