// Access keys and tokens at gateways, on the real store: whom they stand for, and for how long that is remembered.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Jwt from '@hapi/jwt';
import { gatewayOf, logIn, SECRET, startIdentities, type TestIdentities } from '../../test/helpers/identities.ts';
import { addTenant, type Tenant } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import type { Gateway } from '../contract/nouns.ts';
import type { Permission, Role } from '../contract/permissions.ts';
import { ACCESS_KEY_PREFIX, hashKey, mintKey } from '../secrets/tokens.ts';
import type { KeyReach, Store } from '../store/store.ts';

let store: TestStore;
let owner: Tenant;
let gateway: Gateway;
let identities: TestIdentities;
/** How often the store was asked about a credential. */
let lookups = 0;
/** What holds the store's answers back, after they were read. */
let answers: Promise<void> = Promise.resolve();

/** The store, with what it was asked counted and its answers held back. */
function watched(real: Store): Store {
	const held = async <T>(answer: Promise<T>): Promise<T> => {
		lookups++;
		const read = await answer;
		await answers;
		return read;
	};
	const accessKeys = { ...real.accessKeys, byHash: (hash: Buffer) => held(real.accessKeys.byHash(hash)) };
	const accounts = { ...real.accounts, session: (id: string, userId: string) => held(real.accounts.session(id, userId)) };
	return { ...real, accessKeys, accounts };
}

before(async () => {
	store = await testStore();
	owner = await addTenant(store);
	gateway = await gatewayOf(store, owner.organizationId, '/main');
	identities = await startIdentities(watched(store));
});
after(async () => {
	await identities.close();
	await store.close();
});
beforeEach(() => {
	lookups = 0;
	answers = Promise.resolve();
});

const ask = (secret: string, at = gateway) => identities.at(at).credential(secret);

const scopesOf = async (secret: string, at = gateway): Promise<readonly string[] | null> => (await ask(secret, at))?.scopes ?? null;

async function addKey(userId: string, permissions: Permission[] | null = null, reach: KeyReach = { type: 'account' }) {
	const key = mintKey(ACCESS_KEY_PREFIX);
	const row = await store.accessKeys.create(userId, { name: 'k', prefix: key.slice(0, 12), reach, permissions, hash: hashKey(key) });
	assert.ok(row);
	return { key, id: row.id };
}

/** Somebody else's account, invited into the owner's organization. */
async function addColleague(role: Role): Promise<Tenant> {
	const colleague = await addTenant(store);
	const user = await store.accounts.byId(colleague.userId);
	const hash = hashKey(randomUUID());
	const invitation = { email: user?.email ?? '', role, invitedBy: owner.userId, expiresAt: new Date(Date.now() + 60_000), hash };
	await store.organizations.invite(owner.organizationId, invitation);
	assert.ok(await store.organizations.accept(hash, colleague.userId));
	return colleague;
}

const setRole = (userId: string, role: Role | null) =>
	store.organizations.changeMember(owner.organizationId, userId, { role, by: owner.userId, permit: () => undefined });

/** What has been committed so far was heard. */
const heard = async (): Promise<void> => {
	await store.changes.fresh(0);
};

test('an access key and a login’s token stand for their user, with the scopes of the role', async () => {
	const { key } = await addKey(owner.userId);
	const { token } = await logIn(store, owner.userId);
	const scopes = ['tools:read', 'tools:execute', 'gateway:read'];
	const [membership] = await store.accounts.memberships(owner.userId);
	const user = { subject: `user:${owner.userId}`, userId: owner.userId, memberSince: membership?.joinedAt, scopes };
	assert.deepEqual(await ask(key), { method: 'key', ...user });
	assert.deepEqual(await ask(token), { method: 'login', ...user });
});

test('scopes are what the role has and the key was given', async () => {
	const viewer = await addColleague('viewer');
	const member = await addColleague('member');
	assert.deepEqual(await scopesOf((await addKey(viewer.userId)).key), ['tools:read', 'gateway:read']);
	assert.deepEqual(await scopesOf((await addKey(viewer.userId, ['tools:execute', 'tools:read'])).key), ['tools:read']);
	assert.deepEqual(await scopesOf((await addKey(member.userId, ['tools:execute', 'apis:write'])).key), ['tools:execute']);
	assert.deepEqual(await scopesOf((await addKey(owner.userId, ['members:read'])).key), []);
	assert.deepEqual(await scopesOf((await logIn(store, viewer.userId)).token), ['tools:read', 'gateway:read']);
});

test('a key for one gateway opens that gateway, and is a 403 at others (decisions, 22)', async () => {
	const other = await gatewayOf(store, owner.organizationId, '/other');
	const reach: KeyReach = { type: 'gateway', id: gateway.id, organizationId: owner.organizationId };
	const { key } = await addKey(owner.userId, ['tools:read'], reach);
	assert.deepEqual(await scopesOf(key), ['tools:read']);
	await assert.rejects(ask(key, other), { code: 'forbidden' });
});

test('a stranger’s credential is a 403, though it is good elsewhere (decisions, 22)', async () => {
	const stranger = await addTenant(store);
	const theirs = await gatewayOf(store, stranger.organizationId, '/main');
	for (const secret of [(await addKey(stranger.userId)).key, (await logIn(store, stranger.userId)).token]) {
		await assert.rejects(ask(secret), { code: 'forbidden' });
		assert.ok(await ask(secret, theirs));
	}
});

test('what is no credential of ours is not looked up', async () => {
	const { key } = await addKey(owner.userId);
	const { token } = await logIn(store, owner.userId);
	const wrong = [
		key.toUpperCase(),
		key.replace('ak_live_', 'AK_LIVE_'),
		key.replace('ak_live_', 'ak_test_'),
		`ak_live_${'x'.repeat(1_000_000)}`,
		`${'x'.repeat(400_000)}.${'x'.repeat(400_000)}.x`,
		token.slice(0, token.lastIndexOf('.')),
		token.slice(0, token.lastIndexOf('.') + 1),
		` ${token}`,
		'',
		'..',
	];
	for (const secret of wrong) assert.equal(await ask(secret), null, secret.slice(0, 60));
	assert.equal(lookups, 0);
	assert.equal(await ask(key.slice(0, -1)), null);
});

test('a token that is wrong in itself is refused with the reason', async () => {
	const { sessionId } = await logIn(store, owner.userId);
	const claims = { sub: owner.userId, jti: randomUUID(), sid: sessionId, auth_time: 1, aud: 'svc-api' };
	const foreign = Jwt.token.generate({ ...claims, iss: 'other' }, { key: SECRET, algorithm: 'HS256' }, { ttlSec: 60 });
	await assert.rejects(async () => ask(foreign), { code: 'unauthorized', message: 'jwt issuer invalid' });
	await assert.rejects(async () => ask('a.b.c'), { code: 'unauthorized' });
});

test('a credential is looked up once, also by many at a time, and one that is unknown too', async () => {
	const { key } = await addKey(owner.userId);
	const { token } = await logIn(store, owner.userId);
	const unknown = mintKey(ACCESS_KEY_PREFIX);
	await heard();
	for (const secret of [key, token, unknown]) await Promise.all(Array.from({ length: 20 }, () => ask(secret)));
	for (const secret of [key, token, unknown]) await ask(secret);
	assert.equal(lookups, 3);
});

test('a change of anybody else is no reason to look again', async () => {
	const { key } = await addKey(owner.userId);
	const other = await addTenant(store);
	const { sessionId } = await logIn(store, other.userId);
	await heard();
	await ask(key);
	await store.accounts.endSession(sessionId);
	await heard();
	await ask(key);
	assert.equal(lookups, 1);
});

test('revocation, logout, a new role and removal count as soon as they are heard', async () => {
	const colleague = await addColleague('member');
	const first = await addKey(colleague.userId);
	const second = await addKey(colleague.userId);
	const { sessionId, token } = await logIn(store, colleague.userId);
	const after = async (secret: string) => {
		await heard();
		return scopesOf(secret);
	};
	for (const secret of [first.key, second.key, token]) assert.ok(await after(secret));
	await store.accessKeys.revoke(colleague.userId, first.id);
	assert.equal(await after(first.key), null);
	await store.accounts.endSession(sessionId);
	assert.equal(await after(token), null);
	await setRole(colleague.userId, 'viewer');
	assert.deepEqual(await after(second.key), ['tools:read', 'gateway:read']);
	await setRole(colleague.userId, null);
	await assert.rejects(after(second.key), { code: 'forbidden' });
});

test('what was read before a change, and comes after it was heard, is not remembered', async () => {
	for (const kind of ['key', 'token'] as const) {
		const { key, id } = await addKey(owner.userId);
		const { token, sessionId } = await logIn(store, owner.userId);
		const secret = kind === 'key' ? key : token;
		await heard();
		const gate = Promise.withResolvers<void>();
		answers = gate.promise;
		const early = ask(secret);
		// The store has read the row, and holds the answer.
		await sleep(50);
		await (kind === 'key' ? store.accessKeys.revoke(owner.userId, id) : store.accounts.endSession(sessionId));
		await heard();
		const late = ask(secret);
		gate.resolve();
		assert.ok(await early, 'whoever asked before the change was let in');
		assert.equal(await late, null, kind);
		assert.equal(await ask(secret), null, kind);
	}
});

test('a token that expires while it is remembered is refused', async () => {
	const { sessionId } = await logIn(store, owner.userId);
	const exp = Math.ceil(Date.now() / 1000 + 0.3);
	const claims = { sub: owner.userId, jti: randomUUID(), sid: sessionId, auth_time: 1, iss: 'svc', aud: 'svc-api', exp };
	const token = Jwt.token.generate(claims, { key: SECRET, algorithm: 'HS256' });
	assert.ok(await ask(token));
	await sleep(exp * 1000 - Date.now() + 10);
	await assert.rejects(async () => ask(token), { code: 'unauthorized', message: 'Token expired.' });
	assert.equal(lookups, 1);
});

test('a look-up that failed is tried again', async () => {
	const { key } = await addKey(owner.userId);
	const gate = Promise.withResolvers<void>();
	answers = gate.promise;
	setTimeout(() => gate.reject(new Error('away')), 20);
	await assert.rejects(async () => ask(key), /away/);
	answers = Promise.resolve();
	assert.ok(await ask(key));
});

test('the use of an access key is recorded', async () => {
	const { key, id } = await addKey(owner.userId);
	await ask(key);
	const deadlineMs = performance.now() + 3000;
	const lastUsedAt = async () => (await store.accessKeys.list(owner.userId, { limit: 100 })).items.find((row) => row.id === id)?.lastUsedAt;
	while (!(await lastUsedAt())) {
		assert.ok(performance.now() < deadlineMs, 'not recorded');
		await sleep(50);
	}
});
