// Members by their id, at gateways, on the stores of two replicas: their current permissions, and how long these are cached.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gatewayOf, startIdentities, type TestIdentities } from '../../test/helpers/identities.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addMember, addTenant, type Tenant } from '../../test/helpers/samples.ts';
import { soon } from '../../test/helpers/soon.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';
import type { Gateway } from '../contract/nouns.ts';
import type { Role } from '../contract/permissions.ts';
import type { Store } from '../store/store.ts';

let store: TestStore;
/** The replica on which changes are made. */
let replica: Store & AsyncDisposable;
let identities: TestIdentities;
let owner: Tenant;
let gateway: Gateway;
let lookups = 0;
/** Delays the store's answers, after they were read. */
let answers: Promise<void> = Promise.resolve();

function watched(real: Store): Store {
	const memberships: Store['accounts']['memberships'] = async (userId) => {
		lookups++;
		const read = await real.accounts.memberships(userId);
		await answers;
		return read;
	};
	return { ...real, accounts: { ...real.accounts, memberships } };
}

before(async () => {
	store = await testStore();
	replica = await openReplica(store);
	owner = await addTenant(store);
	gateway = await gatewayOf(store, owner.organizationId, '/main');
	identities = await startIdentities(watched(store));
});
after(async () => {
	await identities.close();
	await replica[Symbol.asyncDispose]();
	await store.close();
});
beforeEach(() => {
	lookups = 0;
	answers = Promise.resolve();
});

const ask = (userId: string, at = gateway) => identities.at(at).member(userId);

/** Reads the scopes after the wait for changes that every request of a gateway begins with. */
async function scopesSoon(userId: string): Promise<readonly string[] | null> {
	await store.changes.fresh(1000);
	return (await ask(userId))?.scopes ?? null;
}

const setRole = (userId: string, role: Role | null) =>
	replica.organizations.changeMember(owner.organizationId, userId, { role, by: owner.userId, permit: () => undefined });

const heard = async (): Promise<void> => {
	await store.changes.fresh(0);
};

test('a member may do at a gateway what their role has', async () => {
	const scopes = ['tools:read', 'tools:execute', 'gateway:read'];
	const [membership] = await store.accounts.memberships(owner.userId);
	const user = { subject: `user:${owner.userId}`, userId: owner.userId, memberSince: membership?.joinedAt, scopes };
	assert.deepEqual(await ask(owner.userId), { method: 'login', ...user });
	const viewer = await addMember(store, owner, 'viewer');
	assert.deepEqual((await ask(viewer))?.scopes, ['tools:read', 'gateway:read']);
});

test('a user who is no member, an unknown id and a malformed id are null', async () => {
	const stranger = await addTenant(store);
	for (const userId of [stranger.userId, randomUUID(), 'nobody', 'a\0b', '']) assert.equal(await ask(userId), null, userId);
	assert.ok(await ask(stranger.userId, await gatewayOf(store, stranger.organizationId, '/main')));
});

test('a user is looked up once, also by concurrent requests and at several gateways', async () => {
	const other = await gatewayOf(store, owner.organizationId, '/other');
	const userId = await addMember(store, owner, 'viewer');
	await heard();
	await Promise.all(Array.from({ length: 20 }, () => ask(userId)));
	await ask(userId, other);
	assert.equal(lookups, 1);
});

test('a new role, a removal and the end of an account made on another replica are effective within a second', async () => {
	const userId = await addMember(store, owner, 'member');
	await soon(async () => (await scopesSoon(userId))?.includes('tools:execute') ?? false, 'membership');
	await setRole(userId, 'viewer');
	await soon(async () => (await scopesSoon(userId))?.length === 2, 'the role of a viewer');
	await setRole(userId, null);
	await soon(async () => (await scopesSoon(userId)) === null, 'removal');
	const gone = await addMember(store, owner, 'member');
	await soon(async () => (await scopesSoon(gone)) !== null, 'membership');
	await administer(store.database, `DELETE FROM users WHERE id = '${gone}'`);
	await soon(async () => (await scopesSoon(gone)) === null, 'end of the account');
});

test('a new member is known within a second of joining', async () => {
	const stranger = await addTenant(store);
	assert.equal(await scopesSoon(stranger.userId), null);
	const hash = Buffer.from(randomUUID());
	const email = `${stranger.slug}@example.com`;
	const invitation = { email, role: 'viewer' as const, invitedBy: owner.userId, expiresAt: new Date(Date.now() + 60_000), hash };
	await replica.organizations.invite(owner.organizationId, invitation);
	await replica.organizations.accept(hash, stranger.userId);
	await soon(async () => (await scopesSoon(stranger.userId)) !== null, 'joining');
});

test('an answer that was read before a change of the user, and arrives after it, is not cached', async () => {
	const userId = await addMember(store, owner, 'member');
	await heard();
	const gate = Promise.withResolvers<void>();
	answers = gate.promise;
	const early = ask(userId);
	// The store has read the rows, and delays the answer.
	await sleep(50);
	await setRole(userId, null);
	await heard();
	const late = ask(userId);
	gate.resolve();
	assert.ok(await early, 'whoever asked before the change was let in');
	assert.equal(await late, null);
	assert.equal(await ask(userId), null);
});

test('a change of another user causes no new look-up, not even during a look-up', async () => {
	const userId = await addMember(store, owner, 'member');
	await heard();
	const gate = Promise.withResolvers<void>();
	answers = gate.promise;
	const first = ask(userId);
	const other = await addTenant(replica);
	await replica.accounts.update(other.userId, { firstName: 'Grace' });
	await heard();
	const second = ask(userId);
	gate.resolve();
	await Promise.all([first, second]);
	assert.equal(lookups, 1);
});
