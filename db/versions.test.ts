// Updates and removals of a version that the client has read.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { asGatewayError } from '../core/contract/errors.ts';
import type { Removed, Store } from '../core/store/store.ts';
import { addApi, addGateway, addTenant, addTool } from '../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

interface Item {
	id: string;
	name: string;
	version: number;
}

interface Verbs {
	get(organizationId: string, id: string): Promise<Item | null>;
	update(organizationId: string, id: string, change: { name?: string }, ifVersion?: number): Promise<Item | null>;
	remove(organizationId: string, id: string, onlyIfUnused: boolean, ifVersion?: number): Promise<Removed | null>;
}

const NOUNS: Record<string, { of(store: Store): Verbs; add(store: Store, organizationId: string): Promise<Item> }> = {
	'an API': { of: ({ apis }) => apis, add: addApi },
	'a tool': { of: ({ tools }) => tools, add: addTool },
	'a gateway': { of: ({ gateways }) => gateways, add: addGateway },
};

const STALE = { code: 'precondition_failed', message: /^It has been changed since the version that If-Match names/ };

for (const [noun, { of, add }] of Object.entries(NOUNS)) {
	test(`one of fifty parallel updates of one version of ${noun} wins`, async () => {
		await using store = await testStore();
		await using replica = await openReplica(store);
		const { organizationId } = await addTenant(store);
		const { id, version } = await add(store, organizationId);
		const updates = Array.from({ length: 50 }, (_, n) =>
			of(n % 2 ? store : replica).update(organizationId, id, { name: `n${n}` }, version),
		);
		const ended = await Promise.allSettled(updates);
		const won = ended.flatMap((result) => (result.status === 'fulfilled' ? [result.value?.name] : []));
		const codes = ended.flatMap((result) => (result.status === 'rejected' ? [asGatewayError(result.reason)?.code] : []));
		assert.deepEqual([won.length, codes], [1, Array(49).fill('precondition_failed')]);
		const left = await of(store).get(organizationId, id);
		assert.deepEqual([left?.name, left?.version], [won[0], version + 1]);
	});

	test(`${noun} is changed and removed only in the named version`, async () => {
		await using store = await testStore();
		const { organizationId } = await addTenant(store);
		const { get, update, remove } = of(store);
		const { id } = await add(store, organizationId);
		assert.equal((await update(organizationId, id, { name: 'second' }, 1))?.version, 2);
		const before = await get(organizationId, id);
		for (const version of [0, 1, 3, 999_999_999]) {
			await assert.rejects(update(organizationId, id, { name: 'lost' }, version), STALE);
			await assert.rejects(update(organizationId, id, {}, version), STALE);
			await assert.rejects(remove(organizationId, id, false, version), STALE);
		}
		assert.deepEqual(await get(organizationId, id), before);
		assert.equal((await update(organizationId, id, { name: 'third' }))?.version, 3, 'without one, whatever it is');
		assert.notEqual(await remove(organizationId, id, false, 3), null);
		assert.deepEqual([await update(organizationId, id, { name: 'x' }, 3), await remove(organizationId, id, false, 3)], [null, null]);
		assert.equal(await update(organizationId, randomUUID(), {}, 1), null);
	});

	test(`either an update or a removal of one version of ${noun} wins`, async () => {
		await using store = await testStore();
		const { organizationId } = await addTenant(store);
		const { get, update, remove } = of(store);
		for (let round = 0; round < 8; round++) {
			const { id, version } = await add(store, organizationId);
			const both = [update(organizationId, id, { name: 'x' }, version), remove(organizationId, id, false, version)];
			const [updated, removed] = await Promise.allSettled(both.map(async (one) => (await one) !== null));
			const left = await get(organizationId, id);
			if (left) assert.deepEqual([left.version, updated?.status, removed?.status], [version + 1, 'fulfilled', 'rejected']);
			else
				assert.deepEqual(
					[updated, removed],
					[
						{ status: 'fulfilled', value: false },
						{ status: 'fulfilled', value: true },
					],
				);
			if (left) await remove(organizationId, id, false);
		}
	});
}

test('a change of a base URL that comes too late leaves the credentials where they are', async () => {
	const { organizationId } = await addTenant(store);
	const { id } = await addApi(store, organizationId);
	await store.apis.putCredential(organizationId, { apiId: id, type: 'api_key', origin: 'https://pets.example', secret: 's' });
	await store.apis.update(organizationId, id, { name: 'x' });
	await assert.rejects(store.apis.update(organizationId, id, { baseUrl: 'https://other.example' }, 1), STALE);
	assert.equal((await store.apis.credentials(organizationId, id)).length, 1);
	await store.apis.update(organizationId, id, { baseUrl: 'https://other.example' }, 2);
	assert.deepEqual(await store.apis.credentials(organizationId, id), []);
});

test('an API keeps the limits of its lane until they are removed', async () => {
	const { organizationId } = await addTenant(store);
	const outbound = { maxConcurrent: 2, minTimeMs: 10, maxQueued: 5, maxWaitMs: 1_000 };
	const [limited, free] = [await addApi(store, organizationId, { outbound }), await addApi(store, organizationId)];
	assert.deepEqual([limited.outbound, free.outbound], [outbound, null]);
	assert.deepEqual((await store.apis.get(organizationId, limited.id))?.outbound, outbound);
	const change = async (id: string, values: Parameters<Store['apis']['update']>[2]) =>
		(await store.apis.update(organizationId, id, values))?.outbound;
	assert.deepEqual(await change(limited.id, { name: 'x' }), outbound);
	assert.deepEqual(await change(limited.id, { outbound: { maxConcurrent: 1 } }), { maxConcurrent: 1 });
	assert.equal(await change(limited.id, { outbound: null }), null);
	assert.deepEqual(await change(free.id, { outbound }), outbound);
});
