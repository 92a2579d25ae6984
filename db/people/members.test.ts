// Members and their roles: changes depend on the current roles, and never leave an organization without an owner.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { asGatewayError, GatewayError } from '../../core/contract/errors.ts';
import { permissionsOf, permissionToGrant, type Role } from '../../core/contract/permissions.ts';
import type { Permit, Store } from '../../core/store/store.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addGateway, addMember, addTenant } from '../../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const anything: Permit = () => {};
/** Permits changes by the table of roles. */
const byTable: Permit = (actorRole, memberRole) => {
	if (actorRole && permissionsOf(actorRole).includes(permissionToGrant(memberRole))) return;
	throw new GatewayError('forbidden', 'no');
};

async function rolesOf(store: Store, organizationId: string): Promise<Record<string, Role>> {
	const { items } = await store.organizations.members(organizationId, { limit: 100 });
	return Object.fromEntries(items.map(({ user, role }) => [user.id, role]));
}

test('members are listed in order of joining, page by page, without passwords', async () => {
	const [mine, theirs] = [await addTenant(store), await addTenant(store)];
	const ids = [mine.userId];
	for (const role of ['admin', 'member', 'viewer', 'owner'] as const) ids.push(await addMember(store, mine, role));
	const first = await store.organizations.members(mine.organizationId, { limit: 3 });
	const rest = await store.organizations.members(mine.organizationId, { limit: 3, cursor: first.nextCursor ?? assert.fail() });
	const all = [...first.items, ...rest.items];
	assert.deepEqual(
		all.map(({ user, role }) => [user.id, role]),
		ids.map((id, n) => [id, ['owner', 'admin', 'member', 'viewer', 'owner'][n]]),
	);
	assert.equal(rest.nextCursor, null);
	const { passwordHash: _, ...person } = (await store.accounts.byId(mine.userId)) ?? assert.fail();
	const [membership] = await store.accounts.memberships(mine.userId);
	assert.deepEqual(all[0], { user: person, role: 'owner', joinedAt: membership?.joinedAt });
	assert.equal((await store.organizations.members(theirs.organizationId, { limit: 100 })).items.length, 1);
	assert.deepEqual(await store.organizations.members('x', { limit: 100 }), { items: [], nextCursor: null });
	await assert.rejects(store.organizations.members(mine.organizationId, { limit: 1, cursor: 'x' }), { code: 'validation_failed' });
});

test('a change returns the member’s new role, a removal the former one', async () => {
	const tenant = await addTenant(store);
	const { organizationId, userId: by } = tenant;
	const userId = await addMember(store, tenant, 'viewer');
	const [, before = assert.fail()] = (await store.organizations.members(organizationId, { limit: 100 })).items;
	const change = (role: Role | null) => store.organizations.changeMember(organizationId, userId, { role, by, permit: anything });
	assert.deepEqual(await change('admin'), { ...before, role: 'admin' });
	assert.deepEqual(await change('admin'), { ...before, role: 'admin' });
	assert.deepEqual(await rolesOf(store, organizationId), { [by]: 'owner', [userId]: 'admin' });
	assert.deepEqual(await change(null), { ...before, role: 'admin' });
	assert.equal(await change(null), null);
	assert.deepEqual(await rolesOf(store, organizationId), { [by]: 'owner' });
	assert.equal((await store.accounts.memberships(userId)).length, 1, 'the other membership stays');
});

test('the permission check gets both roles, and its refusal changes nothing', async () => {
	const [tenant, stranger] = [await addTenant(store), await addTenant(store)];
	const { organizationId } = tenant;
	const [admin, viewer] = [await addMember(store, tenant, 'admin'), await addMember(store, tenant, 'viewer')];
	const asked: unknown[] = [];
	const refuse: Permit = (...roles) => {
		asked.push(roles);
		throw new GatewayError('forbidden', 'no');
	};
	for (const role of ['owner', null] as const)
		for (const by of [admin.toUpperCase(), viewer, stranger.userId, randomUUID(), 'x'])
			await assert.rejects(store.organizations.changeMember(organizationId, viewer, { role, by, permit: refuse }), { code: 'forbidden' });
	const seen = [['admin', 'viewer'], ['viewer', 'viewer'], ...Array(3).fill([null, 'viewer'])];
	assert.deepEqual(asked, [...seen, ...seen]);
	assert.deepEqual(await rolesOf(store, organizationId), { [tenant.userId]: 'owner', [admin]: 'admin', [viewer]: 'viewer' });
});

test('the last owner can neither leave nor step down, but one of two can', async () => {
	const tenant = await addTenant(store);
	const { organizationId, userId: by } = tenant;
	const change = (role: Role | null) => store.organizations.changeMember(organizationId, by, { role, by, permit: anything });
	await addMember(store, tenant, 'admin');
	const message = 'An organization needs an owner: make somebody else one first.';
	for (const role of [null, 'admin', 'viewer'] as const)
		await assert.rejects(change(role), { code: 'conflict', message, details: role === null ? [] : [{ path: '/role', message }] });
	assert.equal((await change('owner'))?.role, 'owner');
	const second = await addMember(store, tenant, 'owner');
	assert.equal((await change('member'))?.role, 'member');
	assert.equal((await rolesOf(store, organizationId))[second], 'owner');
});

test('when two owners remove or demote each other at once, one stays', async () => {
	await using replica = await openReplica(store);
	for (let round = 0; round < 30; round++) {
		const tenant = await addTenant(store);
		const { organizationId, userId: first } = tenant;
		const second = await addMember(store, tenant, 'owner');
		// In one round of three, only the rule of the last owner can refuse.
		const permit = round % 3 ? byTable : anything;
		const role = round % 2 ? null : 'viewer';
		const results = await Promise.allSettled([
			store.organizations.changeMember(organizationId, second, { role, by: first, permit }),
			replica.organizations.changeMember(organizationId, first, { role, by: second, permit }),
		]);
		const codes = results.flatMap((result) => (result.status === 'rejected' ? asGatewayError(result.reason)?.code : []));
		assert.deepEqual(codes, [permit === anything ? 'conflict' : 'forbidden']);
		const owners = Object.values(await rolesOf(store, organizationId)).filter((role) => role === 'owner');
		assert.equal(owners.length, 1);
	}
});

test('when ten owners leave at once, one stays', async () => {
	await using replica = await openReplica(store);
	const tenant = await addTenant(store);
	const { organizationId } = tenant;
	const owners = [tenant.userId];
	for (let n = 0; n < 9; n++) owners.push(await addMember(store, tenant, 'owner'));
	const leave = (by: string, n: number) =>
		(n % 2 ? store : replica).organizations.changeMember(organizationId, by, { role: null, by, permit: anything });
	const results = await Promise.allSettled(owners.map(leave));
	assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 9);
	assert.deepEqual(Object.values(await rolesOf(store, organizationId)), ['owner']);
});

test('one of twenty parallel removals of one member succeeds', async () => {
	await using replica = await openReplica(store);
	const tenant = await addTenant(store);
	const userId = await addMember(store, tenant, 'member');
	const removals = Array.from({ length: 20 }, (_, n) =>
		(n % 2 ? store : replica).organizations.changeMember(tenant.organizationId, userId, {
			role: null,
			by: tenant.userId,
			permit: anything,
		}),
	);
	assert.equal((await Promise.all(removals)).filter((member) => member !== null).length, 1);
});

test('removing a member removes their keys for gateways of the organization, and no others', async () => {
	const tenant = await addTenant(store);
	const { organizationId } = tenant;
	const userId = await addMember(store, tenant, 'member');
	const gateway = await addGateway(store, organizationId);
	const hashes = [Buffer.from('whole'), Buffer.from('gateway')] as const;
	const key = { name: 'k', prefix: 'ak_live_', permissions: null };
	await store.accessKeys.create(userId, { ...key, reach: { type: 'account' }, hash: hashes[0] });
	await store.accessKeys.create(userId, { ...key, reach: { type: 'gateway', id: gateway.id, organizationId }, hash: hashes[1] });
	await store.organizations.changeMember(organizationId, userId, { role: null, by: tenant.userId, permit: anything });
	assert.ok(await store.accessKeys.byHash(hashes[0]));
	assert.equal(await store.accessKeys.byHash(hashes[1]), null);
});

test('other ids find no member, and change nothing', async () => {
	// It looks at whole tables.
	await using store = await testStore();
	const [mine, theirs] = [await addTenant(store), await addTenant(store)];
	for (const [organizationId, userId] of [
		[mine.organizationId, theirs.userId],
		[mine.organizationId, randomUUID()],
		[mine.organizationId, 'x'],
		['x', mine.userId],
		[randomUUID(), mine.userId],
	] as const)
		for (const role of ['viewer', null] as const)
			assert.equal(await store.organizations.changeMember(organizationId, userId, { role, by: mine.userId, permit: anything }), null);
	assert.deepEqual(await administer(store.database, 'SELECT DISTINCT role FROM memberships'), [{ role: 'owner' }]);
	assert.deepEqual(await rolesOf(store, theirs.organizationId), { [theirs.userId]: 'owner' });
});

test('a change of members does not wait for a long insertion into the organization', async () => {
	const tenant = await addTenant(store);
	const userId = await addMember(store, tenant, 'member');
	const { host, port, username, password, name } = store.database;
	const adding = new pg.Client({ host, port, user: username, password, database: name });
	await adding.connect();
	await adding.query('BEGIN');
	await adding.query('SELECT id FROM organizations FOR KEY SHARE');
	const change = { role: 'viewer', by: tenant.userId, permit: anything } as const;
	assert.equal((await store.organizations.changeMember(tenant.organizationId, userId, change))?.role, 'viewer');
	await adding.end();
});
