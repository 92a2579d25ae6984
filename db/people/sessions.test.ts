// Logins: live until they are ended, for their own user only.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Store } from '../../core/store/store.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addMember, addTenant } from '../../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const client = { address: '127.0.0.1', userAgent: null, passwordHash: 'hash' };

async function logIn(store: Store, userId: string): Promise<string> {
	const id = randomUUID();
	assert.equal(await store.accounts.startSession({ id, userId, ...client }), true);
	return id;
}

test('a live login identifies its user, without the password, and all memberships in order of joining', async () => {
	const [mine, theirs] = [await addTenant(store), await addTenant(store)];
	const userId = await addMember(store, theirs, 'viewer');
	await store.organizations.create(userId, { name: 'Third', slugs: ['third'] });
	const access = (await store.accounts.session(await logIn(store, userId), userId)) ?? assert.fail();
	const { passwordHash: _, ...person } = (await store.accounts.byId(userId)) ?? assert.fail();
	assert.deepEqual(access, { user: person, memberships: await store.accounts.memberships(userId) });
	assert.deepEqual(
		access.memberships.map(({ role, organization }) => [role, organization.id === theirs.organizationId, organization.name === 'Third']),
		[
			['owner', false, false],
			['viewer', true, false],
			['owner', false, true],
		],
	);
	const alone = await store.accounts.session(await logIn(store, mine.userId), mine.userId);
	assert.deepEqual(
		alone?.memberships.map(({ organization }) => organization.id),
		[mine.organizationId],
	);
});

test('a user without an organization still has the login', async () => {
	const { userId } = await addTenant(store);
	const id = await logIn(store, userId);
	await administer(store.database, 'DELETE FROM organizations');
	assert.deepEqual((await store.accounts.session(id, userId))?.memberships, []);
});

test('a login belongs to its user only, and an invalid id names none', async () => {
	const [mine, theirs] = [await addTenant(store), await addTenant(store)];
	const id = await logIn(store, mine.userId);
	for (const [session, user] of [
		[id, theirs.userId],
		[randomUUID(), mine.userId],
		[mine.userId, id],
		['x', mine.userId],
		[id, "' OR 1=1 --"],
		[`${id}\0`, mine.userId],
	] as const)
		assert.equal(await store.accounts.session(session, user), null);
	assert.equal(await store.accounts.endSession('x'), false);
	assert.equal((await store.accounts.session(id, mine.userId))?.user.id, mine.userId);
});

test('a login ends once, for every replica', async () => {
	await using replica = await openReplica(store);
	const { userId } = await addTenant(store);
	const [id, other] = [await logIn(store, userId), await logIn(store, userId)];
	const ended = await Promise.all([store, replica, store, replica].map(({ accounts }) => accounts.endSession(id)));
	assert.equal(ended.filter(Boolean).length, 1);
	for (const { accounts } of [store, replica]) {
		assert.equal(await accounts.session(id, userId), null);
		assert.ok(await accounts.session(other, userId));
	}
});

test('no login starts for an unknown user, or with an outdated password', async () => {
	// It looks at whole tables.
	await using store = await testStore();
	const { userId } = await addTenant(store);
	const id = randomUUID();
	assert.equal(await store.accounts.startSession({ id, userId, ...client, passwordHash: 'former' }), false);
	for (const nobody of [randomUUID(), 'x']) assert.equal(await store.accounts.startSession({ id, userId: nobody, ...client }), false);
	assert.deepEqual(await administer(store.database, 'SELECT count(*)::int AS n FROM sessions'), [{ n: 0 }]);
});

test('no login with the former password outlives its change, whatever the timing', async () => {
	await using replica = await openReplica(store);
	for (let round = 0; round < 20; round++) {
		const { userId } = await addTenant(store);
		const keep = await logIn(store, userId);
		const ids = Array.from({ length: 8 }, () => randomUUID());
		const logins = ids.map((id) => replica.accounts.startSession({ id, userId, ...client }));
		const change = store.accounts.changePassword(userId, { from: 'hash', to: 'other', keep });
		await Promise.all([...logins, change]);
		for (const id of ids) assert.equal(await store.accounts.session(id, userId), null);
		assert.ok(await store.accounts.session(keep, userId));
	}
});

test('the client’s own description never keeps it out', async () => {
	// It looks at whole tables.
	await using store = await testStore();
	const { userId } = await addTenant(store);
	const id = randomUUID();
	await store.accounts.startSession({ id, userId, ...client, userAgent: 'a\0b\ud800' });
	assert.deepEqual(await administer(store.database, 'SELECT user_agent, address FROM sessions'), [
		{ user_agent: 'ab\ufffd', address: '127.0.0.1' },
	]);
});

test('old logins and resets that expired a day ago are removed, and no others', async () => {
	const { userId } = await addTenant(store);
	const [old, live] = [await logIn(store, userId), await logIn(store, userId)];
	await administer(store.database, `UPDATE sessions SET created_at = now() - interval '31 days' WHERE id = '${old}'`);
	const hours = (count: number) => new Date(Date.now() + count * 3_600_000);
	for (const expiresAt of [hours(-25), hours(-23), hours(1)])
		await store.accounts.addReset(userId, { hash: Buffer.from(expiresAt.toISOString()), expiresAt, most: 9 });
	assert.equal(await store.accounts.prune(hours(-30 * 24)), 2);
	assert.equal(await store.accounts.prune(hours(-30 * 24)), 0);
	assert.equal(await store.accounts.session(old, userId), null);
	assert.ok(await store.accounts.session(live, userId));
	assert.deepEqual(await administer(store.database, 'SELECT count(*)::int AS n FROM password_resets'), [{ n: 2 }]);
});
