// Stored credentials of APIs: one per scheme, one per type without a scheme, and a token for each.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { CredentialRow } from '../core/store/store.ts';
import { administer } from '../test/helpers/postgres.ts';
import { addApi, addTenant, unstorable } from '../test/helpers/samples.ts';
import { type TestStore, testStore } from '../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

async function furnish(store: TestStore) {
	const { organizationId } = await addTenant(store);
	const { id: apiId } = await addApi(store, organizationId);
	const put = async (type: string, scheme: string | null, secret: string = randomUUID()): Promise<CredentialRow> =>
		(await store.apis.putCredential(organizationId, { apiId, type, scheme, origin: 'https://pets.example', secret })) ?? assert.fail();
	const list = async (): Promise<unknown[]> =>
		(await store.apis.credentials(organizationId, apiId)).map(({ type, scheme, secret }) => [type, scheme, secret]);
	return { organizationId, apiId, put, list };
}

test('a scheme has one credential, whatever its type, and a type one without a scheme', async () => {
	const { organizationId, apiId, put, list } = await furnish(store);
	await put('api_key', null, '1');
	await put('api_key', 'a', '2');
	await put('api_key', 'b', '3');
	await put('bearer_token', null, '4');
	await put('api_key', 'a', '5');
	await put('bearer_token', 'b', '6');
	await put('api_key', null, '7');
	assert.deepEqual(await list(), [
		['api_key', null, '7'],
		['api_key', 'a', '5'],
		['bearer_token', null, '4'],
		['bearer_token', 'b', '6'],
	]);
	const drop = (type: string, scheme: string | null) => store.apis.dropCredential(organizationId, { apiId, type, scheme });
	assert.deepEqual([await drop('api_key', 'b'), await drop('api_key', null), await drop('api_key', null)], [false, true, false]);
	assert.deepEqual(
		(await list()).map((row) => (row as string[])[2]),
		['5', '4', '6'],
	);
});

test('of two types stored for one scheme at the same time one stays', async () => {
	const { put, list } = await furnish(store);
	await Promise.all(Array.from({ length: 12 }, (_, at) => put(at % 2 ? 'oauth2' : 'bearer_token', 'one')));
	assert.equal((await list()).length, 1);
});

test('a value that no column accepts is refused naming its field, and a missing API has no credentials', async () => {
	const { organizationId, put, list } = await furnish(store);
	await assert.rejects(put('api_key', 'a\0'), unstorable('scheme'));
	const lost = { apiId: randomUUID(), type: 'api_key', scheme: 'a', origin: 'https://pets.example', secret: 's' };
	assert.equal(await store.apis.putCredential(organizationId, lost), null);
	assert.equal(await store.apis.dropCredential(organizationId, lost), false);
	assert.deepEqual(await list(), []);
});

test('each credential of a type has a token of its own, which is removed with it alone', async () => {
	const { organizationId, apiId, put } = await furnish(store);
	const rows = await Promise.all([null, 'a', 'b'].map((scheme) => put('oauth2', scheme)));
	const asked = { useless: null, leaseMs: 10_000 };
	for (const row of rows) {
		const lease = randomUUID();
		assert.equal((await store.upstreamTokens.turn(organizationId, row, { ...asked, lease }))?.state, 'lease');
		const kept = await store.upstreamTokens.keep(organizationId, row, { lease, sealed: `of ${row.scheme}`, lifetimeMs: 60_000 });
		assert.equal(kept, 1);
	}
	const found = (): Promise<unknown[]> =>
		Promise.all(
			rows.map(async (row) => {
				const turn = await store.upstreamTokens.turn(organizationId, row, { ...asked, lease: randomUUID() });
				return turn?.state === 'found' ? turn.row.sealed : null;
			}),
		);
	assert.deepEqual(await found(), ['of null', 'of a', 'of b']);
	await put('oauth2', 'a');
	assert.deepEqual(await found(), ['of null', null, 'of b']);
	await store.apis.dropCredential(organizationId, { apiId, type: 'oauth2', scheme: 'b' });
	assert.deepEqual(await found(), ['of null', null, null]);
	const left = await administer(store.database, 'SELECT scheme FROM upstream_tokens');
	assert.deepEqual(left, [{ scheme: '' }]);
});
