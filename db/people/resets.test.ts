// New passwords: changes are serialized, and each closes everything that the former password had opened.

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Store } from '../../core/store/store.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const inMinutes = (count: number): Date => new Date(Date.now() + count * 60_000);

async function logIn(store: Store, userId: string): Promise<string> {
	const id = randomUUID();
	const passwordHash = (await store.accounts.byId(userId))?.passwordHash ?? assert.fail();
	await store.accounts.startSession({ id, userId, address: '::1', userAgent: null, passwordHash });
	return id;
}

async function addReset(store: Store, userId: string, expiresAt = inMinutes(60)): Promise<Buffer> {
	const hash = randomBytes(32);
	assert.equal(await store.accounts.addReset(userId, { hash, expiresAt, most: 100 }), true);
	return hash;
}

test('a change of the password ends every other login and every reset, of that user alone', async () => {
	const [{ userId }, { userId: other }] = [await addTenant(store), await addTenant(store)];
	const [keep, another, foreign] = [await logIn(store, userId), await logIn(store, userId), await logIn(store, other)];
	const [reset, foreignReset] = [await addReset(store, userId), await addReset(store, other)];
	assert.equal(await store.accounts.changePassword(userId, { from: 'hash', to: 'new', keep }), true);
	assert.equal((await store.accounts.byId(userId))?.passwordHash, 'new');
	assert.ok(await store.accounts.session(keep, userId));
	assert.equal(await store.accounts.session(another, userId), null);
	assert.equal(await store.accounts.isResetLive(reset), false);
	assert.equal((await store.accounts.byId(other))?.passwordHash, 'hash');
	assert.ok(await store.accounts.session(foreign, other));
	assert.equal(await store.accounts.isResetLive(foreignReset), true);
});

test('a change from an outdated password does nothing', async () => {
	const { userId } = await addTenant(store);
	const session = await logIn(store, userId);
	const keep = randomUUID();
	assert.equal(await store.accounts.changePassword(userId, { from: 'former', to: 'new', keep }), false);
	for (const nobody of [randomUUID(), 'x'])
		assert.equal(await store.accounts.changePassword(nobody, { from: 'hash', to: 'new', keep }), false);
	assert.equal((await store.accounts.byId(userId))?.passwordHash, 'hash');
	assert.ok(await store.accounts.session(session, userId));
});

test('one of twenty parallel changes of one password succeeds', async () => {
	await using replica = await openReplica(store);
	const { userId } = await addTenant(store);
	const changes = Array.from({ length: 20 }, (_, n) =>
		(n % 2 ? store : replica).accounts.changePassword(userId, { from: 'hash', to: `new ${n}`, keep: 'none' }),
	);
	assert.equal((await Promise.all(changes)).filter(Boolean).length, 1);
});

test('an invalid session to keep, or another user’s, keeps nothing', async () => {
	const [{ userId }, { userId: other }] = [await addTenant(store), await addTenant(store)];
	for (const keep of ['', 'x', await logIn(store, other)]) {
		const session = await logIn(store, userId);
		await store.accounts.changePassword(userId, { from: 'hash', to: 'hash', keep });
		assert.equal(await store.accounts.session(session, userId), null);
	}
});

test('a reset sets the password once, and ends every login and every other reset of the user', async () => {
	const [{ userId }, { userId: other }] = [await addTenant(store), await addTenant(store)];
	const [session, foreign] = [await logIn(store, userId), await logIn(store, other)];
	const [reset, second, foreignReset] = [await addReset(store, userId), await addReset(store, userId), await addReset(store, other)];
	assert.equal(await store.accounts.isResetLive(reset), true);
	const { passwordHash: _, ...person } = (await store.accounts.byId(userId)) ?? assert.fail();
	assert.deepEqual(await store.accounts.redeemReset(reset, 'new'), person);
	assert.equal((await store.accounts.byId(userId))?.passwordHash, 'new');
	assert.equal(await store.accounts.session(session, userId), null);
	for (const spent of [reset, second]) {
		assert.equal(await store.accounts.isResetLive(spent), false);
		assert.equal(await store.accounts.redeemReset(spent, 'newer'), null);
	}
	assert.ok(await store.accounts.session(foreign, other));
	assert.equal(await store.accounts.isResetLive(foreignReset), true);
	assert.equal((await store.accounts.byId(other))?.passwordHash, 'hash');
});

test('one of fifty parallel redemptions of a user’s resets, same or different, succeeds', async () => {
	await using replica = await openReplica(store);
	for (const count of [1, 5]) {
		const { userId } = await addTenant(store);
		const resets = await Promise.all(Array.from({ length: count }, () => addReset(store, userId)));
		const redemptions = Array.from({ length: 50 }, (_, n) =>
			(n % 2 ? store : replica).accounts.redeemReset(resets[n % count] ?? assert.fail(), `new ${n}`),
		);
		const redeemed = (await Promise.all(redemptions)).map((person, n) => person && `new ${n}`).filter(Boolean);
		assert.equal(redeemed.length, 1);
		assert.equal((await store.accounts.byId(userId))?.passwordHash, redeemed[0]);
	}
});

test('an expired or unknown reset does nothing; the database’s clock decides', async () => {
	const { userId } = await addTenant(store);
	const session = await logIn(store, userId);
	const [reset, soon] = [await addReset(store, userId, inMinutes(-1)), await addReset(store, userId)];
	await administer(store.database, `UPDATE password_resets SET expires_at = now() WHERE hash = '\\x${soon.toString('hex')}'`);
	for (const hash of [reset, soon, randomBytes(32), Buffer.alloc(0)]) {
		assert.equal(await store.accounts.isResetLive(hash), false);
		assert.equal(await store.accounts.redeemReset(hash, 'new'), null);
	}
	assert.equal((await store.accounts.byId(userId))?.passwordHash, 'hash');
	assert.ok(await store.accounts.session(session, userId));
});

test('the number of a user’s live resets is limited, also for concurrent requests', async () => {
	await using replica = await openReplica(store);
	const { userId } = await addTenant(store);
	await addReset(store, userId, inMinutes(-1));
	const add = (from: Store) => from.accounts.addReset(userId, { hash: randomBytes(32), expiresAt: inMinutes(60), most: 3 });
	const added = await Promise.all(Array.from({ length: 30 }, (_, n) => add(n % 2 ? store : replica)));
	assert.equal(added.filter(Boolean).length, 3);
	const { userId: other } = await addTenant(store);
	await addReset(store, other);
	for (const nobody of [randomUUID(), 'x'])
		assert.equal(await store.accounts.addReset(nobody, { hash: randomBytes(32), expiresAt: inMinutes(60), most: 3 }), false);
});
