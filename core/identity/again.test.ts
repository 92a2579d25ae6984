// Tests how callers are found again, as their credentials and roles are by then.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { gatewayOf, logIn, startIdentities, type TestIdentities } from '../../test/helpers/identities.ts';
import { addMember, addTenant, type Tenant } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import type { Caller, Gateway } from '../contract/nouns.ts';
import { createPasswords } from '../secrets/passwords.ts';
import { ACCESS_KEY_PREFIX, GATEWAY_KEY_PREFIX, hashKey, mintKey } from '../secrets/tokens.ts';

let store: TestStore;
let identities: TestIdentities;
let owner: Tenant;
let gateway: Gateway;
before(async () => {
	store = await testStore();
	identities = await startIdentities(store);
	owner = await addTenant(store);
	gateway = await gatewayOf(store, owner.organizationId, '/main');
});
after(async () => {
	await identities.close();
	await store.close();
});

const identity = (at = gateway) => identities.at(at);
const found = (caller: Caller | null): Caller => caller ?? assert.fail('nobody');

test('a key of the gateway is found until it is revoked or expires, and at its gateway only', async () => {
	const secret = mintKey(GATEWAY_KEY_PREFIX);
	const add = (expiresAt: Date | null, key = secret) =>
		store.gateways.addKey(owner.organizationId, gateway.id, {
			...{ name: 'k', prefix: 'svc_gw_ab', scopes: ['tools:read' as const], expiresAt, hash: hashKey(key) },
		});
	const row = await add(null);
	const caller = found(await identity().credential(secret));
	assert.deepEqual(await identity().again(caller), caller);
	assert.equal(await identity(await gatewayOf(store, owner.organizationId, '/second')).again(caller), null);
	await store.gateways.revokeKey(owner.organizationId, gateway.id, row?.id ?? '');
	assert.equal(await identity().again(caller), null);
	const late = await add(new Date(Date.now() - 1), mintKey(GATEWAY_KEY_PREFIX));
	assert.equal(await identity().again({ method: 'key', subject: `key:${late?.id}`, keyId: late?.id ?? '', scopes: [] }), null);
});

test('an access key is found with the scopes that role and key have by then, until it is revoked', async () => {
	const userId = await addMember(store, owner, 'member');
	const secret = mintKey(ACCESS_KEY_PREFIX);
	const key = await store.accessKeys.create(userId, {
		...{ name: 'k', prefix: 'ak_live_ab', reach: { type: 'account' as const }, permissions: null, hash: hashKey(secret) },
	});
	const caller = found(await identity().credential(secret));
	assert.deepEqual(await identity().again(caller), caller);
	await store.organizations.changeMember(owner.organizationId, userId, { role: 'viewer', by: owner.userId, permit: () => undefined });
	assert.deepEqual((await identity().again(caller))?.scopes, ['tools:read', 'gateway:read']);
	await store.accessKeys.revoke(userId, key?.id ?? '');
	assert.equal(await identity().again(caller), null);
	assert.equal(await identity().again({ ...caller, userId: owner.userId, memberSince: new Date() }), null, 'the key of another');
});

test('a login is found until it ends', async () => {
	const { token, sessionId } = await logIn(store, owner.userId);
	const caller = found(await identity().credential(token));
	assert.deepEqual(await identity().again(caller), caller);
	await store.accounts.endSession(sessionId);
	assert.equal(await identity().again(caller), null);
});

test('a password is found until it is changed', async () => {
	const passwords = createPasswords(4);
	const { user } = await store.accounts.register(
		{ email: `${randomUUID()}@example.com`, firstName: 'A', lastName: 'B', passwordHash: await passwords.hash('Correct1Horse') },
		{ name: 'Own', slugs: [`own-${randomUUID().slice(0, 8)}`] },
	);
	const [membership] = await store.accounts.memberships(user.id);
	const own = await gatewayOf(store, membership?.organization.id ?? '', '/main');
	const caller = found(await identity(own).password(user.email, 'Correct1Horse'));
	assert.equal((await identity(own).again(caller))?.subject, `user:${user.id}`);
	const row = await store.accounts.byId(user.id);
	await store.accounts.changePassword(user.id, {
		from: row?.passwordHash ?? '',
		to: await passwords.hash('Other1Horse'),
		keep: randomUUID(),
	});
	assert.equal(await identity(own).again(caller), null);
});

test('somebody who was removed is not found, nor one who joined again', async () => {
	const userId = await addMember(store, owner, 'member');
	const caller = found(await identity().member(userId));
	assert.equal((await identity().again(caller))?.subject, `user:${userId}`);
	assert.equal(await identity().again({ ...caller, memberSince: new Date(0) }), null, 'a membership from before');
	await store.organizations.changeMember(owner.organizationId, userId, { role: null, by: owner.userId, permit: () => undefined });
	assert.equal(await identity().again(caller), null);
});

test('what this core did not give is not found', async () => {
	for (const caller of [
		{ method: 'x', subject: 'x:alice', scopes: [] },
		{ method: 'x', subject: 'user:1', scopes: [], userId: owner.userId, credential: 'nonsense' },
		{ method: 'x', subject: 'user:1', scopes: [], userId: owner.userId, credential: `login:${randomUUID()}` },
		{ method: 'x', subject: 'user:1', scopes: [], userId: owner.userId, credential: 'access:x' },
	] satisfies Caller[])
		assert.equal(await identity().again(caller), null);
});
