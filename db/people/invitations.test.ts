// Invitations: one for an address, accepted once.

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError } from '../../core/contract/errors.ts';
import type { InvitationRow, Store } from '../../core/store/store.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addMember, addTenant, type Tenant, unstorable } from '../../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const PAGE = { limit: 100 };

type Invited = InvitationRow & { hash: Buffer };

async function invite(store: Store, tenant: Tenant, email: string, minutes = 60): Promise<Invited> {
	const hash = randomBytes(32);
	const invitation = { email, role: 'member', invitedBy: tenant.userId, expiresAt: new Date(Date.now() + minutes * 60_000), hash } as const;
	return { ...(await store.organizations.invite(tenant.organizationId, invitation)), hash };
}

const bare = ({ hash: _, ...invitation }: Invited): InvitationRow => invitation;

test('an invitation is found by its hash, with its organization and its sender’s current role', async () => {
	const tenant = await addTenant(store);
	const { organizationId } = tenant;
	const userId = await addMember(store, tenant, 'admin');
	const invitation = await invite(store, { ...tenant, userId }, 'Bob@example.com');
	assert.deepEqual(
		[invitation.email, invitation.role, invitation.invitedBy, invitation.organizationId],
		['Bob@example.com', 'member', userId, organizationId],
	);
	const [{ organization } = assert.fail()] = await store.accounts.memberships(tenant.userId);
	const expected = { invitation: bare(invitation), organization };
	const change = (role: 'viewer' | null) =>
		store.organizations.changeMember(organizationId, userId, { role, by: tenant.userId, permit: () => {} });
	assert.deepEqual(await store.organizations.invitationByHash(invitation.hash), { ...expected, inviterRole: 'admin' });
	await change('viewer');
	assert.deepEqual(await store.organizations.invitationByHash(invitation.hash), { ...expected, inviterRole: 'viewer' });
	await change(null);
	assert.deepEqual(await store.organizations.invitationByHash(invitation.hash), { ...expected, inviterRole: null });
	assert.equal(await store.organizations.invitationByHash(randomBytes(32)), null);
});

test('the list has the acceptable invitations of that organization alone, page by page', async () => {
	const [mine, theirs] = [await addTenant(store), await addTenant(store)];
	await invite(store, mine, 'expired@example.com', -1);
	const accepted = await invite(store, mine, 'accepted@example.com');
	await store.organizations.accept(accepted.hash, theirs.userId);
	const revoked = await invite(store, mine, 'revoked@example.com');
	await store.organizations.revokeInvitation(mine.organizationId, revoked.id);
	const live = [await invite(store, mine, 'a@example.com'), await invite(store, mine, 'b@example.com')];
	await invite(store, theirs, 'a@example.com');
	const first = await store.organizations.invitations(mine.organizationId, { limit: 1 });
	const rest = await store.organizations.invitations(mine.organizationId, { limit: 1, cursor: first.nextCursor ?? assert.fail() });
	assert.deepEqual([...first.items, ...rest.items], live.map(bare));
	assert.equal(rest.nextCursor, null);
	assert.deepEqual(await store.organizations.invitations('x', PAGE), { items: [], nextCursor: null });
});

test('a second invitation replaces a pending one for the same address, ignoring case, in that organization', async () => {
	const [mine, theirs] = [await addTenant(store), await addTenant(store)];
	const [first, foreign, other] = [
		await invite(store, mine, 'bob@example.com'),
		await invite(store, theirs, 'bob@example.com'),
		await invite(store, mine, 'eve@example.com'),
	];
	const second = await invite(store, mine, 'BOB@Example.com');
	assert.equal(await store.organizations.invitationByHash(first.hash), null);
	assert.equal(await store.organizations.accept(first.hash, theirs.userId), null);
	for (const { hash } of [second, foreign, other]) assert.ok(await store.organizations.invitationByHash(hash));
});

test('one of many parallel invitations of one address stays pending', async () => {
	await using replica = await openReplica(store);
	const tenant = await addTenant(store);
	await Promise.all(Array.from({ length: 20 }, (_, n) => invite(n % 2 ? store : replica, tenant, 'bob@example.com')));
	assert.equal((await store.organizations.invitations(tenant.organizationId, PAGE)).items.length, 1);
});

test('a member’s address is not invited, ignoring case, and other pending invitations stay', async () => {
	const [mine, theirs] = [await addTenant(store), await addTenant(store)];
	await assert.rejects(invite(store, mine, `${mine.slug.toUpperCase()}@EXAMPLE.com`), {
		code: 'conflict',
		message: 'email belongs to a member of the organization.',
	});
	await invite(store, mine, `${theirs.slug}@example.com`);
});

test('nobody is invited into a missing organization', async () => {
	// It looks at whole tables.
	await using store = await testStore();
	const tenant = await addTenant(store);
	for (const organizationId of [randomUUID(), 'x'])
		await assert.rejects(invite(store, { ...tenant, organizationId }, 'bob@example.com'), {
			code: 'not_found',
			message: 'Organization not found.',
		});
	await assert.rejects(invite(store, { ...tenant, userId: 'x' }, 'bob@example.com'), { code: 'not_found' });
	for (const bad of ['a\0@example.com', 'a\ud800@example.com']) await assert.rejects(invite(store, tenant, bad), unstorable('email'));
	assert.deepEqual(await administer(store.database, 'SELECT count(*)::int AS n FROM invitations'), [{ n: 0 }]);
});

test('an acceptance creates the offered membership', async () => {
	// It looks at whole tables.
	await using store = await testStore();
	const [tenant, guest] = [await addTenant(store), await addTenant(store)];
	const { hash } = await invite(store, tenant, 'bob@example.com');
	const joined = await store.organizations.accept(hash, guest.userId);
	assert.deepEqual([joined?.organization.id, joined?.role], [tenant.organizationId, 'member']);
	assert.deepEqual((await store.accounts.memberships(guest.userId))[1], joined);
	assert.deepEqual(await administer(store.database, 'SELECT accepted_by FROM invitations WHERE accepted_at IS NOT NULL'), [
		{ accepted_by: guest.userId },
	]);
});

test('one of fifty parallel acceptances creates a membership, by one user or many', async () => {
	await using replica = await openReplica(store);
	const [tenant, ...guests] = await Promise.all(Array.from({ length: 11 }, () => addTenant(store)));
	assert.ok(tenant);
	for (const [round, users] of [guests.slice(0, 1), guests.slice(1)].entries()) {
		const { hash } = await invite(store, tenant, 'bob@example.com');
		const acceptances = Array.from({ length: 50 }, (_, n) =>
			(n % 2 ? store : replica).organizations.accept(hash, users[n % users.length]?.userId ?? assert.fail()),
		);
		assert.equal((await Promise.all(acceptances)).filter((membership) => membership !== null).length, 1);
		assert.equal((await store.organizations.members(tenant.organizationId, PAGE)).items.length, 2 + round);
	}
});

test('an existing member gets a conflict, and the invitation stays for somebody else', async () => {
	const [tenant, guest] = [await addTenant(store), await addTenant(store)];
	const { hash } = await invite(store, tenant, 'bob@example.com');
	await assert.rejects(store.organizations.accept(hash, tenant.userId), {
		code: 'conflict',
		message: 'The user is already a member of the organization.',
	});
	assert.deepEqual((await store.accounts.memberships(tenant.userId))[0]?.role, 'owner');
	assert.equal((await store.organizations.accept(hash, guest.userId))?.role, 'member');
});

test('two invitations of one user, accepted at once, make one membership', async () => {
	await using replica = await openReplica(store);
	const [tenant, guest] = [await addTenant(store), await addTenant(store)];
	const [first, second] = [await invite(store, tenant, 'a@example.com'), await invite(store, tenant, 'b@example.com')];
	const results = await Promise.allSettled([
		store.organizations.accept(first.hash, guest.userId),
		replica.organizations.accept(second.hash, guest.userId),
	]);
	const codes = results.flatMap((result) => (result.status === 'rejected' ? asGatewayError(result.reason)?.code : []));
	assert.deepEqual(codes, ['conflict']);
	assert.equal((await store.organizations.invitations(tenant.organizationId, PAGE)).items.length, 1);
});

test('an expired, revoked or unknown invitation cannot be accepted, nor by an unknown user; the database’s clock decides', async () => {
	const [tenant, guest] = [await addTenant(store), await addTenant(store)];
	const expired = await invite(store, tenant, 'a@example.com');
	await administer(store.database, 'UPDATE invitations SET expires_at = now()');
	const revoked = await invite(store, tenant, 'b@example.com');
	assert.deepEqual(await store.organizations.revokeInvitation(tenant.organizationId, revoked.id), bare(revoked));
	for (const hash of [expired.hash, revoked.hash, randomBytes(32)]) {
		assert.equal(await store.organizations.invitationByHash(hash), null);
		assert.equal(await store.organizations.accept(hash, guest.userId), null);
	}
	const { hash } = await invite(store, tenant, 'c@example.com');
	for (const nobody of [randomUUID(), 'x']) assert.equal(await store.organizations.accept(hash, nobody), null);
	assert.ok(await store.organizations.invitationByHash(hash));
});

test('an invitation is revoked once, by its own organization', async () => {
	const [mine, theirs] = [await addTenant(store), await addTenant(store)];
	const { id, hash } = await invite(store, mine, 'bob@example.com');
	for (const [organizationId, invitation] of [
		[theirs.organizationId, id],
		[mine.organizationId, 'x'],
		['x', id],
		[mine.organizationId, randomUUID()],
	] as const)
		assert.equal(await store.organizations.revokeInvitation(organizationId, invitation), null);
	assert.ok(await store.organizations.invitationByHash(hash));
	const revocations = await Promise.all([1, 2, 3].map(() => store.organizations.revokeInvitation(mine.organizationId, id)));
	assert.equal(revocations.filter((invitation) => invitation !== null).length, 1);
});

test('either a concurrent acceptance or a revocation succeeds', async () => {
	await using replica = await openReplica(store);
	const tenant = await addTenant(store);
	for (let round = 0; round < 20; round++) {
		const guest = await addTenant(store);
		const { id, hash } = await invite(store, tenant, `${round}@example.com`);
		const done = await Promise.all([
			store.organizations.accept(hash, guest.userId),
			// The revocation starts before or after the other, varying by round.
			sleep(round).then(() => replica.organizations.revokeInvitation(tenant.organizationId, id)),
		]);
		assert.equal(done.filter((row) => row !== null).length, 1);
		assert.equal((await store.accounts.memberships(guest.userId)).length, done[0] ? 2 : 1);
	}
});
