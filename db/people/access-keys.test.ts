// Access keys: they give access to their resource, while it and their owner exist.

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import type { AccessKeyRow, KeyReach, Store } from '../../core/store/store.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addGateway, addMember, addTenant, unstorable } from '../../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const PAGE = { limit: 100 };
const ACCOUNT: KeyReach = { type: 'account' };
const plain = { name: 'ci', prefix: 'ak_live_ab', reach: ACCOUNT, permissions: null };

async function addKey(store: Store, userId: string, change: Partial<AccessKeyRow> = {}): Promise<{ key: AccessKeyRow; hash: Buffer }> {
	const hash = randomBytes(32);
	const key = (await store.accessKeys.create(userId, { ...plain, ...change, hash })) ?? assert.fail();
	return { key, hash };
}

test('a key for the account identifies its owner, without the password, and all memberships', async () => {
	const tenant = await addTenant(store);
	const userId = await addMember(store, tenant, 'viewer');
	const { key, hash } = await addKey(store, userId, { permissions: ['tools:read', 'gateway:read'] });
	const { passwordHash: _, ...user } = (await store.accounts.byId(userId)) ?? assert.fail();
	const memberships = await store.accounts.memberships(userId);
	assert.equal(memberships.length, 2);
	assert.deepEqual(await store.accessKeys.byHash(hash), { user, memberships, key });
	assert.deepEqual(
		[key.userId, key.name, key.prefix, key.reach, key.permissions, key.lastUsedAt, key.revokedAt],
		[userId, 'ci', 'ak_live_ab', ACCOUNT, ['tools:read', 'gateway:read'], null, null],
	);
	assert.equal(await store.accessKeys.byHash(randomBytes(32)), null);
});

test('permissions are returned as given, and none differs from all', async () => {
	const { userId } = await addTenant(store);
	for (const permissions of [null, [], ['tools:execute']] as AccessKeyRow['permissions'][]) {
		const { key, hash } = await addKey(store, userId, { permissions });
		assert.deepEqual([key.permissions, (await store.accessKeys.byHash(hash))?.key.permissions], [permissions, permissions]);
	}
});

test('a key for a gateway has the membership of its organization alone, with the current role', async () => {
	const tenant = await addTenant(store);
	const userId = await addMember(store, tenant, 'member');
	const gateway = await addGateway(store, tenant.organizationId);
	const reach: KeyReach = { type: 'gateway', id: gateway.id, organizationId: tenant.organizationId };
	const { key, hash } = await addKey(store, userId, { reach });
	assert.deepEqual(key.reach, reach);
	const change = { role: 'viewer', by: tenant.userId, permit: () => {} } as const;
	await store.organizations.changeMember(tenant.organizationId, userId, change);
	const found = await store.accessKeys.byHash(hash);
	assert.deepEqual(found?.key, key);
	assert.deepEqual(
		found?.memberships.map(({ organization, role }) => [organization.id, role]),
		[[tenant.organizationId, 'viewer']],
	);
	await store.gateways.remove(tenant.organizationId, gateway.id, false);
	assert.equal(await store.accessKeys.byHash(hash), null, 'a gateway takes its keys along');
	assert.deepEqual((await store.accessKeys.list(userId, PAGE)).items, []);
});

test('no key is made for a missing gateway, one of another organization, or one that the user has no access to', async () => {
	// It looks at whole tables.
	await using store = await testStore();
	const [mine, theirs] = [await addTenant(store), await addTenant(store)];
	const [own, foreign] = [await addGateway(store, mine.organizationId), await addGateway(store, theirs.organizationId)];
	for (const [id, organizationId] of [
		[foreign.id, theirs.organizationId],
		[foreign.id, mine.organizationId],
		[own.id, theirs.organizationId],
		[randomUUID(), mine.organizationId],
		['x', mine.organizationId],
		[own.id, 'x'],
	] as const) {
		const reach: KeyReach = { type: 'gateway', id, organizationId };
		assert.equal(await store.accessKeys.create(mine.userId, { ...plain, reach, hash: randomBytes(32) }), null);
	}
	for (const nobody of [randomUUID(), 'x']) assert.equal(await store.accessKeys.create(nobody, { ...plain, hash: randomBytes(32) }), null);
	assert.deepEqual(await administer(store.database, 'SELECT count(*)::int AS n FROM access_keys'), [{ n: 0 }]);
});

test('a list has the user’s own keys in order of creation, revoked ones too, page by page', async () => {
	const [{ userId }, { userId: other }] = [await addTenant(store), await addTenant(store)];
	const keys = [];
	for (const name of ['a', 'b', 'c']) keys.push((await addKey(store, userId, { name })).key);
	await addKey(store, other);
	const revoked = await store.accessKeys.revoke(userId, keys[1]?.id ?? '');
	const first = await store.accessKeys.list(userId, { limit: 2 });
	const rest = await store.accessKeys.list(userId, { limit: 2, cursor: first.nextCursor ?? assert.fail() });
	assert.deepEqual([...first.items, ...rest.items], [keys[0], revoked, keys[2]]);
	assert.ok(revoked?.revokedAt instanceof Date);
	assert.ok(![...first.items, ...rest.items].some((key) => 'hash' in key));
	assert.deepEqual(await store.accessKeys.list('x', PAGE), { items: [], nextCursor: null });
});

test('a key is revoked once, by its owner only, and is then invalid on every replica', async () => {
	await using replica = await openReplica(store);
	const [{ userId }, { userId: other }] = [await addTenant(store), await addTenant(store)];
	const { key, hash } = await addKey(store, userId);
	for (const [user, id] of [
		[other, key.id],
		[userId, 'x'],
		['x', key.id],
		[userId, randomUUID()],
	] as const)
		assert.equal(await store.accessKeys.revoke(user, id), null);
	assert.ok(await store.accessKeys.byHash(hash));
	const revocations = await Promise.all([store, replica, store].map(({ accessKeys }) => accessKeys.revoke(userId, key.id)));
	assert.equal(revocations.filter((row) => row !== null).length, 1);
	for (const { accessKeys } of [store, replica]) assert.equal(await accessKeys.byHash(hash), null);
});

test('a use is recorded with its time, never moved back, and skipped for removed keys', async () => {
	const [{ userId }, { userId: other }] = [await addTenant(store), await addTenant(store)];
	const { key, hash } = await addKey(store, userId);
	const at = (minute: number) => new Date(Date.UTC(2030, 0, 1, 0, minute));
	const use = (minute: number, keyId = key.id, user = userId) => ({ userId: user, keyId, at: at(minute) });
	await store.accessKeys.touch([use(2), use(5), use(3), use(1, randomUUID()), use(1, 'x'), use(9, key.id, other)]);
	await store.accessKeys.touch([use(4)]);
	await store.accessKeys.touch([]);
	assert.deepEqual((await store.accessKeys.byHash(hash))?.key, { ...key, lastUsedAt: at(5) });
	assert.deepEqual((await store.accessKeys.list(userId, PAGE)).items, [{ ...key, lastUsedAt: at(5) }]);
	assert.deepEqual((await store.accessKeys.revoke(userId, key.id))?.lastUsedAt, at(5));
});

test('uses do not wait for a key that is being removed', async () => {
	const { userId } = await addTenant(store);
	const keys = [(await addKey(store, userId)).key, (await addKey(store, userId)).key];
	const { host, port, username, password, name } = store.database;
	const removing = new pg.Client({ host, port, user: username, password, database: name });
	await removing.connect();
	await removing.query('BEGIN');
	await removing.query('SELECT id FROM access_keys WHERE id = $1 FOR UPDATE', [keys[0]?.id]);
	const at = new Date();
	await store.accessKeys.touch(keys.map(({ id }) => ({ userId, keyId: id, at })));
	await removing.end();
	assert.deepEqual(
		(await store.accessKeys.list(userId, PAGE)).items.map(({ lastUsedAt }) => lastUsedAt),
		[null, at],
	);
});

test('text that cannot be stored is refused, naming the field', async () => {
	const { userId } = await addTenant(store);
	for (const bad of ['a\0b', 'a\ud800b'])
		for (const field of ['name', 'prefix'])
			await assert.rejects(store.accessKeys.create(userId, { ...plain, [field]: bad, hash: randomBytes(32) }), unstorable(field));
});
