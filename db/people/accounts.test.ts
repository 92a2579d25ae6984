// Accounts: all or nothing, one e-mail address once.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { asGatewayError } from '../../core/contract/errors.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { unstorable } from '../../test/helpers/samples.ts';
import { openReplica, testStore } from '../../test/helpers/store.ts';

const ada = { email: 'Ada@Example.com', passwordHash: 'hash', firstName: 'Ada', lastName: 'Lovelace' };

function* endless(): Generator<string> {
	yield 'acme';
	for (let count = 2; ; count++) yield `acme-${count}`;
}

test('registering makes user, organization and the owner’s membership', async () => {
	await using store = await testStore();
	const { user, organization } = await store.accounts.register(ada, { name: 'Acme', slugs: ['acme'] });
	assert.deepEqual(await store.accounts.byId(user.id), user);
	assert.deepEqual(await store.accounts.byEmail('ADA@EXAMPLE.COM'), user);
	assert.deepEqual(await store.accounts.memberships(user.id), [{ organization, role: 'owner', joinedAt: organization.createdAt }]);
	assert.equal(await store.accounts.byId('nobody'), null);
	assert.deepEqual(await store.accounts.memberships('nobody'), []);
});

test('the first free slug of a possibly endless list is used', async () => {
	await using store = await testStore();
	await store.accounts.register(ada, { name: 'Acme', slugs: ['acme'] });
	const { organization } = await store.accounts.register({ ...ada, email: 'b@example.com' }, { name: 'Acme', slugs: endless() });
	assert.equal(organization.slug, 'acme-2');
});

test('one of fifty parallel registrations of one address succeeds, and no organization is left without its user', async () => {
	await using store = await testStore();
	await using replica = await openReplica(store);
	const attempts = Array.from({ length: 50 }, (_, n) => {
		const email = n % 2 ? ada.email : ada.email.toLowerCase();
		const { accounts } = n % 3 ? store : replica;
		return accounts.register({ ...ada, email }, { name: 'Acme', slugs: ['acme', `acme-${n}`] });
	});
	const results = await Promise.allSettled(attempts);
	const refused = results.flatMap((result) => (result.status === 'rejected' ? asGatewayError(result.reason) : []));
	assert.equal(refused.length, 49);
	for (const error of refused) assert.deepEqual([error?.code, error?.message.startsWith('email is taken')], ['conflict', true]);
	for (const table of ['users', 'organizations', 'memberships'])
		assert.deepEqual(await administer(store.database, `SELECT count(*)::int AS n FROM ${table}`), [{ n: 1 }], table);
});

test('an id chosen by the caller becomes the user’s, and can be used once', async () => {
	await using store = await testStore();
	const id = randomUUID();
	const { user } = await store.accounts.register({ ...ada, id }, { name: 'Acme', slugs: ['acme'] });
	assert.equal(user.id, id);
	const again = store.accounts.register({ ...ada, id, email: 'b@example.com' }, { name: 'Acme', slugs: ['acme-2'] });
	await assert.rejects(again, { code: 'conflict' });
});

test('an update changes the given names of that user alone', async () => {
	await using store = await testStore();
	const { user } = await store.accounts.register(ada, { name: 'Acme', slugs: ['acme'] });
	const { user: other } = await store.accounts.register({ ...ada, email: 'b@example.com' }, { name: 'Acme', slugs: ['acme-2'] });
	assert.deepEqual(await store.accounts.update(user.id, { firstName: 'Augusta' }), { ...user, firstName: 'Augusta' });
	assert.deepEqual(await store.accounts.update(user.id, { lastName: 'King' }), { ...user, firstName: 'Augusta', lastName: 'King' });
	assert.deepEqual(await store.accounts.update(user.id, {}), { ...user, firstName: 'Augusta', lastName: 'King' });
	assert.deepEqual(await store.accounts.byId(other.id), other);
	for (const nobody of [randomUUID(), 'x', '']) assert.equal(await store.accounts.update(nobody, { firstName: 'X' }), null);
});

test('the first free slug is found', async () => {
	await using store = await testStore();
	for (const slug of ['acme', 'acme-2'])
		await store.accounts.register({ ...ada, email: `${slug}@example.com` }, { name: 'Acme', slugs: [slug] });
	assert.equal(await store.accounts.freeSlug(endless()), 'acme-3');
	assert.equal(await store.accounts.freeSlug(['acme', 'acme-2']), null);
});

test('text that cannot be stored is refused, naming the field', async () => {
	await using store = await testStore();
	const { user } = await store.accounts.register(ada, { name: 'Acme', slugs: ['acme'] });
	for (const bad of ['a\0b', 'a\ud800b']) {
		for (const field of ['email', 'firstName', 'lastName'])
			await assert.rejects(store.accounts.register({ ...ada, [field]: bad }, { name: 'Acme', slugs: ['b'] }), unstorable(field));
		await assert.rejects(store.accounts.register(ada, { name: bad, slugs: ['b'] }), unstorable('organizationName'));
		for (const field of ['firstName', 'lastName'])
			await assert.rejects(store.accounts.update(user.id, { [field]: bad }), unstorable(field));
		assert.equal(await store.accounts.byEmail(bad), null);
	}
	assert.deepEqual(await administer(store.database, 'SELECT count(*)::int AS n FROM organizations'), [{ n: 1 }]);
});

test('twenty parallel registrations for one name each get their own slug', async () => {
	await using store = await testStore();
	const slugs = Array.from({ length: 20 }, (_, n) => (n === 0 ? 'acme' : `acme-${n + 1}`));
	const made = await Promise.all(
		Array.from({ length: 20 }, (_, n) => store.accounts.register({ ...ada, email: `${n}@example.com` }, { name: 'Acme', slugs })),
	);
	assert.deepEqual(new Set(made.map(({ organization }) => organization.slug)), new Set(slugs));
});

test('the removal of an organization removes everything that it has', async () => {
	await using store = await testStore();
	const { organization } = await store.accounts.register(ada, { name: 'Acme', slugs: ['acme'] });
	await store.apis.create(organization.id, { name: 'x', type: 'openapi', baseUrl: 'https://x.example', description: null });
	await administer(store.database, 'DELETE FROM organizations');
	for (const table of ['memberships', 'apis'])
		assert.deepEqual(await administer(store.database, `SELECT count(*)::int AS n FROM ${table}`), [{ n: 0 }], table);
});
