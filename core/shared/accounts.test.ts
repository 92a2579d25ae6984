// The look-up of the account by which an organization's quotas count.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administer } from '../../test/helpers/postgres.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { testStore } from '../../test/helpers/store.ts';
import { createAccountOf } from './accounts.ts';
import { Memo } from './memo.ts';

test('an organization counts for the account that created it, which is queried once', async () => {
	await using store = await testStore();
	const [ada, bob] = [await addTenant(store), await addTenant(store)];
	const { id: second } = await store.organizations.create(ada.userId, { name: 'Second', slugs: ['second'] });
	const accountOf = createAccountOf(store.organizations, new Memo(100));
	const ask = (): Promise<string[]> => Promise.all([ada.organizationId, second, bob.organizationId].map(accountOf));
	assert.deepEqual(await ask(), [ada.userId, ada.userId, bob.userId]);
	await administer(store.database, 'UPDATE organizations SET created_by = NULL');
	assert.deepEqual(await ask(), [ada.userId, ada.userId, bob.userId]);
});
