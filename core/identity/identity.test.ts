// Access keys and tokens at gateways, on the real store: the users that they identify, and how long they are cached.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import Jwt from '@hapi/jwt';
import { epochSeconds, until } from '../../test/helpers/clock.ts';
import { gatewayOf, logIn, SECRET, startIdentities, type TestIdentities } from '../../test/helpers/identities.ts';
import { addTenant, type Tenant } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import type { Gateway, Incoming } from '../contract/nouns.ts';
import type { Permission, Role } from '../contract/permissions.ts';
import { ACCESS_KEY_PREFIX, hashKey, mintKey } from '../secrets/tokens.ts';
import type { KeyReach, Store } from '../store/store.ts';

let store: TestStore;
let owner: Tenant;
let gateway: Gateway;
let identities: TestIdentities;
/** Counts the look-ups of credentials in the store. */
let lookups = 0;
/** Delays the store's answers, after they were read. */
let answers: Promise<void> = Promise.resolve();
/** Resolves when the store has read the rows of the next query, and holds back the result. */
let read = Promise.withResolvers<void>();

/** Wraps the store so that its look-ups are counted and its answers delayed. */
function watched(real: Store): Store {
	const held = async <T>(answer: Promise<T>): Promise<T> => {
		lookups++;
		const found = await answer;
		read.resolve();
		await answers;
		return found;
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
	read = Promise.withResolvers();
});

const ask = (secret: string, at = gateway) => identities.at(at).credential(secret);

const scopesOf = async (secret: string, at = gateway): Promise<readonly string[] | null> => (await ask(secret, at))?.scopes ?? null;

async function addKey(userId: string, permissions: Permission[] | null = null, reach: KeyReach = { type: 'account' }) {
	const key = mintKey(ACCESS_KEY_PREFIX);
	const row = await store.accessKeys.create(userId, { name: 'k', prefix: key.slice(0, 12), reach, permissions, hash: hashKey(key) });
	assert.ok(row);
	return { key, id: row.id };
}

/** Adds another user's account, invited into the owner's organization. */
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

/** Waits until every change committed so far has been received. */
const heard = async (): Promise<void> => {
	await store.changes.fresh(0);
};

test('an access key and a login’s token stand for their user, with the scopes of the role', async () => {
	const { key, id } = await addKey(owner.userId);
	const { token, sessionId } = await logIn(store, owner.userId);
	const scopes = ['tools:read', 'tools:execute', 'gateway:read'];
	const [membership] = await store.accounts.memberships(owner.userId);
	const user = { subject: `user:${owner.userId}`, userId: owner.userId, memberSince: membership?.joinedAt, scopes };
	assert.deepEqual(await ask(key), { method: 'key', ...user, credential: `access:${id}` });
	assert.deepEqual(await ask(token), { method: 'login', ...user, credential: `login:${sessionId}` });
});

test('scopes are those that both the role and the key have', async () => {
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

test('a valid credential of a user outside the organization is a 403 (decisions, 22)', async () => {
	const stranger = await addTenant(store);
	const theirs = await gatewayOf(store, stranger.organizationId, '/main');
	for (const secret of [(await addKey(stranger.userId)).key, (await logIn(store, stranger.userId)).token]) {
		await assert.rejects(ask(secret), { code: 'forbidden' });
		assert.ok(await ask(secret, theirs));
	}
});

test('a text that cannot be a credential of ours is not looked up', async () => {
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

test('a malformed or badly signed token is refused with the reason', async () => {
	const { sessionId } = await logIn(store, owner.userId);
	const claims = { sub: owner.userId, jti: randomUUID(), sid: sessionId, auth_time: 1, aud: 'svc-api' };
	const foreign = Jwt.token.generate({ ...claims, iss: 'other' }, { key: SECRET, algorithm: 'HS256' }, { ttlSec: 60 });
	await assert.rejects(async () => ask(foreign), { code: 'unauthorized', message: 'jwt issuer invalid' });
	await assert.rejects(async () => ask('a.b.c'), { code: 'unauthorized' });
});

test('a credential is looked up once, also by concurrent requests, and so is an unknown one', async () => {
	const { key } = await addKey(owner.userId);
	const { token } = await logIn(store, owner.userId);
	const unknown = mintKey(ACCESS_KEY_PREFIX);
	await heard();
	for (const secret of [key, token, unknown]) await Promise.all(Array.from({ length: 20 }, () => ask(secret)));
	for (const secret of [key, token, unknown]) await ask(secret);
	assert.equal(lookups, 3);
});

const visit = (cookie: string) =>
	identities.at(gateway).visitor({ headers: { cookie: `gatehouse_token=${cookie}` } } as Partial<Incoming> as Incoming);

test('a visitor is looked up once, and not logged in once a logout is received; an access key in the cookie logs nobody in', async () => {
	const { token, sessionId } = await logIn(store, owner.userId);
	const { key } = await addKey(owner.userId);
	await heard();
	for (let round = 0; round < 3; round++) {
		const { email, ...visitor } = (await visit(token)) ?? assert.fail();
		assert.match(email, /@example\.com$/);
		assert.deepEqual(visitor, { userId: owner.userId, name: 'Ada Lovelace', sessionId, caller: await ask(token) });
	}
	assert.equal(await visit(key), null);
	assert.equal(lookups, 1);
	await store.accounts.update(owner.userId, { firstName: 'Augusta' });
	await heard();
	assert.equal((await visit(token))?.name, 'Augusta Lovelace');
	await store.accounts.endSession(sessionId);
	await heard();
	assert.equal(await visit(token), null);
	await store.accounts.update(owner.userId, { firstName: 'Ada' });
});

test('a change of another user causes no new look-up', async () => {
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

test('revocation, logout, a new role and removal are effective as soon as they are received', async () => {
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

test('an answer that was read before a change, and arrives after it, is not cached', async () => {
	for (const kind of ['key', 'token'] as const) {
		const { key, id } = await addKey(owner.userId);
		const { token, sessionId } = await logIn(store, owner.userId);
		const secret = kind === 'key' ? key : token;
		await heard();
		const gate = Promise.withResolvers<void>();
		answers = gate.promise;
		read = Promise.withResolvers();
		const early = ask(secret);
		await read.promise;
		await (kind === 'key' ? store.accessKeys.revoke(owner.userId, id) : store.accounts.endSession(sessionId));
		await heard();
		const late = ask(secret);
		gate.resolve();
		assert.ok(await early, 'whoever asked before the change was let in');
		assert.equal(await late, null, kind);
		assert.equal(await ask(secret), null, kind);
	}
});

test('a token that expires while it is remembered is refused', async (t) => {
	const { sessionId } = await logIn(store, owner.userId);
	const exp = epochSeconds() + 30;
	const claims = { sub: owner.userId, jti: randomUUID(), sid: sessionId, auth_time: 1, iss: 'svc', aud: 'svc-api', exp };
	const token = Jwt.token.generate(claims, { key: SECRET, algorithm: 'HS256' });
	assert.ok(await ask(token));
	t.mock.timers.enable({ apis: ['Date'], now: exp * 1000 + 10 });
	await assert.rejects(async () => ask(token), { code: 'unauthorized', message: 'Token expired.' });
	assert.equal(lookups, 1);
});

test('a failed look-up is retried', async () => {
	const { key } = await addKey(owner.userId);
	const gate = Promise.withResolvers<void>();
	answers = gate.promise;
	const asked = assert.rejects(async () => ask(key), /away/);
	await read.promise;
	gate.reject(new Error('away'));
	await asked;
	answers = Promise.resolve();
	assert.ok(await ask(key));
});

test('the use of an access key is recorded', async () => {
	const { key, id } = await addKey(owner.userId);
	await ask(key);
	const lastUsedAt = async () => (await store.accessKeys.list(owner.userId, { limit: 100 })).items.find((row) => row.id === id)?.lastUsedAt;
	await until(lastUsedAt, 'its use is recorded');
});
