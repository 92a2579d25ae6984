// Organizations: created with their owner, named by a slug that stays.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { asGatewayError } from '../../core/contract/errors.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addMember, addTenant, unstorable } from '../../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

test('the creator of an organization owns it, and lists it in order of joining', async () => {
	const tenant = await addTenant(store);
	const userId = await addMember(store, tenant, 'viewer');
	const made = await store.organizations.create(userId, { name: 'Acme', slugs: ['acme'] });
	assert.deepEqual([made.name, made.slug], ['Acme', 'acme']);
	const all = await store.accounts.memberships(userId);
	assert.deepEqual(
		all.map(({ role }) => role),
		['owner', 'viewer', 'owner'],
	);
	assert.deepEqual(all[2], { organization: made, role: 'owner', joinedAt: made.createdAt });
	const first = await store.organizations.list(userId, { limit: 2 });
	const rest = await store.organizations.list(userId, { limit: 2, cursor: first.nextCursor ?? assert.fail() });
	assert.deepEqual([...first.items, ...rest.items], all);
	assert.equal(rest.nextCursor, null);
	assert.equal((await store.organizations.list(tenant.userId, { limit: 100 })).items.length, 1);
	assert.deepEqual(await store.organizations.list('x', { limit: 100 }), { items: [], nextCursor: null });
});

test('twenty parallel creations of one name each get their own slug, and with no slug left nothing is created', async () => {
	// It looks at whole tables.
	await using store = await testStore();
	await using replica = await openReplica(store);
	const { userId, slug } = await addTenant(store);
	const slugs = [slug, ...Array.from({ length: 19 }, (_, n) => `acme-${n}`)];
	const creations = Array.from({ length: 20 }, (_, n) => (n % 2 ? store : replica).organizations.create(userId, { name: 'Acme', slugs }));
	const results = await Promise.allSettled(creations);
	const made = results.flatMap((result) => (result.status === 'fulfilled' ? result.value.slug : []));
	const refused = results.flatMap((result) => (result.status === 'rejected' ? asGatewayError(result.reason) : []));
	assert.deepEqual(new Set(made), new Set(slugs.slice(1)));
	assert.deepEqual(
		refused.map((error) => error?.code),
		['conflict'],
	);
	assert.deepEqual(await administer(store.database, 'SELECT count(*)::int AS n FROM organizations'), [{ n: 20 }]);
});

test('an unknown user creates no organization', async () => {
	// It looks at whole tables.
	await using store = await testStore();
	for (const nobody of [randomUUID(), 'x'])
		await assert.rejects(store.organizations.create(nobody, { name: 'Acme', slugs: ['acme'] }), { code: 'not_found' });
	assert.deepEqual(await administer(store.database, 'SELECT count(*)::int AS n FROM organizations'), [{ n: 0 }]);
});

test('a rename changes the name of that organization alone, and leaves the slug', async () => {
	const [mine, theirs] = [await addTenant(store), await addTenant(store)];
	const renamed = await store.organizations.update(mine.organizationId, { name: 'Other' });
	const [membership] = await store.accounts.memberships(mine.userId);
	assert.deepEqual(renamed, membership?.organization);
	assert.deepEqual([renamed?.name, renamed?.slug], ['Other', mine.slug]);
	assert.equal((await store.accounts.memberships(theirs.userId))[0]?.organization.name, theirs.slug);
	for (const none of [randomUUID(), 'x']) assert.equal(await store.organizations.update(none, { name: 'Other' }), null);
});

test('a name that cannot be stored is refused, naming the field', async () => {
	const { userId, organizationId } = await addTenant(store);
	for (const name of ['a\0b', 'a\udc00b']) {
		await assert.rejects(store.organizations.create(userId, { name, slugs: ['acme'] }), unstorable('name'));
		await assert.rejects(store.organizations.update(organizationId, { name }), unstorable('name'));
	}
});

test('its account is its creator, whoever owns it later, and also when they are gone', async () => {
	const { organizationId, userId } = await addTenant(store);
	const { id: second } = await store.organizations.create(userId, { name: 'Second', slugs: ['second'] });
	assert.deepEqual([await store.organizations.account(organizationId), await store.organizations.account(second)], [userId, userId]);
	const heir = await addMember(store, { organizationId, userId, slug: '' }, 'owner');
	await store.organizations.changeMember(organizationId, userId, { role: null, by: heir, permit: () => {} });
	assert.equal(await store.organizations.account(organizationId), userId);
	await administer(store.database, `DELETE FROM users WHERE id = '${userId}'`);
	assert.deepEqual([await store.organizations.account(organizationId), await store.organizations.account(second)], [userId, userId]);
});

test('an organization without a known creator is an account of its own', async () => {
	const { organizationId } = await addTenant(store);
	await administer(store.database, 'UPDATE organizations SET created_by = NULL');
	const gone = randomUUID();
	assert.deepEqual([await store.organizations.account(organizationId), await store.organizations.account(gone)], [organizationId, gone]);
});
