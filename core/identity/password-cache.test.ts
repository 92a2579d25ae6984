// Members by e-mail address and password, at gateways, on the stores of two replicas: who is admitted, at what cost, and until when.

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { hash } from '@node-rs/bcrypt';
import { firstOf, until } from '../../test/helpers/clock.ts';
import { gatewayOf, startIdentities, type TestIdentities } from '../../test/helpers/identities.ts';
import { soon } from '../../test/helpers/soon.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';
import type { Caller, Gateway } from '../contract/nouns.ts';
import { createPasswords, type Passwords } from '../secrets/passwords.ts';
import type { Store, UserRow } from '../store/store.ts';

const PASSWORD = 'Correct1Horse';
const KEPT_MS = 60_000;

let store: TestStore;
/** The replica on which changes are made. */
let replica: Store & AsyncDisposable;
let identities: TestIdentities;
/** Counts the calls of bcrypt. */
let checks = 0;
/** Delays bcrypt. */
let bcrypt: Promise<void> = Promise.resolve();

function watched(real: Passwords): Passwords {
	const verify: Passwords['verify'] = async (password, stored) => {
		checks++;
		await bcrypt;
		return real.verify(password, stored);
	};
	return { ...real, verify };
}

before(async () => {
	store = await testStore();
	replica = await openReplica(store);
	identities = await startIdentities(store, { passwords: watched(createPasswords(4)) });
});
after(async () => {
	await identities.close();
	await replica[Symbol.asyncDispose]();
	await store.close();
});
beforeEach(() => {
	checks = 0;
	bcrypt = Promise.resolve();
});

interface Somebody {
	user: UserRow;
	gateway: Gateway;
}

async function addSomebody(cost = 4): Promise<Somebody> {
	const slug = `org-${randomBytes(4).toString('hex')}`;
	const person = { email: `${slug}@example.com`, passwordHash: await hash(PASSWORD, { cost }), firstName: 'Ada', lastName: 'Byron' };
	const { user, organization } = await store.accounts.register(person, { name: slug, slugs: [slug] });
	await heard();
	return { user, gateway: await gatewayOf(store, organization.id, '/main') };
}

const ask = ({ user, gateway }: Somebody, password = PASSWORD, email = user.email): Promise<Caller | null> =>
	identities.at(gateway).password(email, password);

const heard = async (): Promise<void> => {
	await store.changes.fresh(0);
};

const changePassword = async ({ user: { id, passwordHash } }: Somebody, to: string): Promise<void> => {
	assert.ok(await replica.accounts.changePassword(id, { from: passwordHash, to: await hash(to, { cost: 4 }), keep: randomUUID() }));
};

test('address and password identify the member, whatever the case of the address', async () => {
	const ada = await addSomebody();
	const scopes = ['tools:read', 'tools:execute', 'gateway:read'];
	const { id } = ada.user;
	const [membership] = await store.accounts.memberships(id);
	const { credential, ...caller } = (await ask(ada)) ?? {};
	assert.deepEqual(caller, { method: 'login', subject: `user:${id}`, userId: id, memberSince: membership?.joinedAt, scopes });
	assert.match(credential ?? '', /^password:[\w-]{16}$/);
	assert.equal((await ask(ada, PASSWORD, ada.user.email.toUpperCase()))?.userId, id);
});

test('a wrong address or password is null, also in forms that no account can have', async () => {
	const ada = await addSomebody();
	const { email } = ada.user;
	const wrong: [email: string, password: string][] = [
		[email, 'Wrong1Horse'],
		[email, ''],
		[email, `${PASSWORD}\0`],
		[email, 'x'.repeat(100_000)],
		['nobody@example.com', PASSWORD],
		['', PASSWORD],
		[`${email}\0`, PASSWORD],
		['\ud800', PASSWORD],
		[`${'a'.repeat(100_000)}@example.com`, PASSWORD],
		['%', PASSWORD],
	];
	for (const [address, password] of wrong) assert.equal(await ask(ada, password, address), null, address.slice(0, 40));
});

test('a valid pair does not validate another one with the same concatenation', async () => {
	const ada = await addSomebody();
	const { email } = ada.user;
	assert.ok(await ask(ada));
	assert.equal(await ask(ada, PASSWORD.slice(1), email + PASSWORD[0]), null);
	assert.equal(await ask(ada, `${email.at(-1)}${PASSWORD}`, email.slice(0, -1)), null);
});

test('the password of a user outside the organization is as wrong as any, and costs as much each time', async () => {
	const [ada, stranger] = [await addSomebody(), await addSomebody()];
	assert.ok(await ask(stranger));
	for (const password of [PASSWORD, PASSWORD, 'Wrong1Horse', 'Wrong1Horse']) {
		checks = 0;
		assert.equal(await ask({ ...stranger, gateway: ada.gateway }, password), null);
		assert.equal(checks, 1, password);
	}
	assert.ok(await ask(stranger));
});

test('an unknown address costs what a wrong password costs: one hash each time', async () => {
	const ada = await addSomebody();
	for (const email of [ada.user.email, 'nobody@example.com']) {
		checks = 0;
		for (let round = 0; round < 5; round++) assert.equal(await ask(ada, `Wrong1Horse${round}`, email), null);
		assert.equal(checks, 5, email);
	}
});

test('a valid pair is checked once a minute, also for concurrent requests', async (t) => {
	const ada = await addSomebody();
	t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
	await Promise.all(Array.from({ length: 20 }, () => ask(ada)));
	t.mock.timers.tick(KEPT_MS - 1);
	await ask(ada);
	assert.equal(checks, 1);
	t.mock.timers.tick(1);
	await ask(ada);
	assert.equal(checks, 2);
});

test('an invalid pair is checked each time, but once for concurrent requests', async () => {
	const ada = await addSomebody();
	await Promise.all(Array.from({ length: 20 }, () => ask(ada, 'Wrong1Horse')));
	assert.equal(checks, 1);
	assert.equal(await ask(ada, 'Wrong1Horse'), null);
	assert.equal(checks, 2);
});

test('changes of other users have no effect, even while a password is checked', async () => {
	const [ada, grace] = [await addSomebody(), await addSomebody()];
	const gate = Promise.withResolvers<void>();
	bcrypt = gate.promise;
	const asked = ask(ada);
	await until(() => checks === 1, 'bcrypt');
	await replica.accounts.update(grace.user.id, { firstName: 'Grace' });
	await heard();
	gate.resolve();
	assert.ok(await asked);
	assert.ok(await ask(ada));
	assert.equal(checks, 1);
});

test('a password that was changed on another replica is refused within a second, the new one is taken', async () => {
	const ada = await addSomebody();
	assert.ok(await ask(ada));
	assert.equal(await ask(ada, 'Battery2Staple'), null);
	await changePassword(ada, 'Battery2Staple');
	await soon(async () => {
		await store.changes.fresh(1000);
		return (await ask(ada)) === null;
	}, 'the change');
	assert.ok(await ask(ada, 'Battery2Staple'));
});

test('a password that is changed while it waits to be checked is refused', async () => {
	const ada = await addSomebody();
	const gate = Promise.withResolvers<void>();
	bcrypt = gate.promise;
	const asked = ask(ada);
	await until(() => checks === 1, 'bcrypt');
	await changePassword(ada, 'Battery2Staple');
	gate.resolve();
	assert.equal(await asked, null);
	await heard();
	assert.equal(await ask(ada), null);
});

test('a member who was removed on another replica is nobody within a second, though the password is right', async () => {
	const [ada, grace] = [await addSomebody(), await addSomebody()];
	const invited = { email: grace.user.email, role: 'viewer' as const, invitedBy: ada.user.id, hash: randomBytes(32) };
	const { organizationId } = ada.gateway;
	await store.organizations.invite(organizationId, { ...invited, expiresAt: new Date(Date.now() + 60_000) });
	await store.organizations.accept(invited.hash, grace.user.id);
	await heard();
	const guest = { ...grace, gateway: ada.gateway };
	assert.deepEqual((await ask(guest))?.scopes, ['tools:read', 'gateway:read']);
	await replica.organizations.changeMember(organizationId, grace.user.id, { role: null, by: ada.user.id, permit: () => undefined });
	await soon(async () => {
		await store.changes.fresh(1000);
		return (await ask(guest)) === null;
	}, 'removal');
});

test('when too many wait, one more is told to retry, and a cached pair does not wait', async () => {
	// A hash that takes longer than the look-up of the user, so that the queue fills.
	const [ada, grace] = [await addSomebody(), await addSomebody(8)];
	assert.ok(await ask(ada));
	const refused: unknown[] = [];
	const flood = Promise.all(
		Array.from({ length: 400 }, (_none, at) => ask(grace, `Wrong1Horse${at}`).catch((error) => refused.push(error.code))),
	);
	await until(() => refused.length > 0, 'the queue is full', 1);
	const asked = ask(ada);
	assert.equal(await firstOf({ asked, flood }), 'asked');
	assert.ok(await asked);
	await flood;
	assert.ok(
		refused.every((code) => code === 'rate_limited'),
		`${refused.length} refused`,
	);
});
