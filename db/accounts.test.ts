// Accounts: all or nothing, one e-mail address once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError } from '../core/errors.ts';
import { administer } from '../test/helpers/postgres.ts';
import { testStore } from '../test/helpers/store.ts';

const ada = { email: 'Ada@Example.com', passwordHash: 'hash', firstName: 'Ada', lastName: 'Lovelace' };

test('registering makes user, organization and the owner’s membership', async () => {
	await using store = await testStore();
	const { user, organization } = await store.accounts.register(ada, { name: 'Acme', slugs: ['acme'] });
	assert.deepEqual(await store.accounts.byId(user.id), user);
	assert.deepEqual(await store.accounts.byEmail('ADA@EXAMPLE.COM'), user);
	assert.deepEqual(await store.accounts.memberships(user.id), [{ organization, role: 'owner' }]);
	assert.equal(await store.accounts.byId('nobody'), null);
	assert.deepEqual(await store.accounts.memberships('nobody'), []);
});

test('the first free slug is taken, and none is asked for beyond it', async () => {
	await using store = await testStore();
	await store.accounts.register(ada, { name: 'Acme', slugs: ['acme'] });
	const asked: string[] = [];
	function* slugs(): Generator<string> {
		for (const slug of ['acme', 'acme-2', 'acme-3']) {
			asked.push(slug);
			yield slug;
		}
	}
	const { organization } = await store.accounts.register({ ...ada, email: 'b@example.com' }, { name: 'Acme', slugs: slugs() });
	assert.equal(organization.slug, 'acme-2');
	assert.deepEqual(asked, ['acme', 'acme-2']);
});

test('of twenty parallel registrations of one address one succeeds, and no organization is left without its user', async () => {
	await using store = await testStore();
	const attempts = Array.from({ length: 20 }, (_, n) => {
		const email = n % 2 ? ada.email : ada.email.toLowerCase();
		return store.accounts.register({ ...ada, email }, { name: 'Acme', slugs: ['acme', `acme-${n}`] });
	});
	const results = await Promise.allSettled(attempts);
	const refused = results.flatMap((result) => (result.status === 'rejected' ? asGatewayError(result.reason) : []));
	assert.equal(refused.length, 19);
	for (const error of refused) assert.deepEqual([error?.code, error?.message.startsWith('email is taken')], ['conflict', true]);
	assert.deepEqual(await administer(store.database, 'SELECT count(*)::int AS n FROM organizations'), [{ n: 1 }]);
});

test('twenty parallel registrations for one name each get a slug of their own', async () => {
	await using store = await testStore();
	const slugs = Array.from({ length: 20 }, (_, n) => (n === 0 ? 'acme' : `acme-${n + 1}`));
	const made = await Promise.all(
		Array.from({ length: 20 }, (_, n) => store.accounts.register({ ...ada, email: `${n}@example.com` }, { name: 'Acme', slugs })),
	);
	assert.deepEqual(new Set(made.map(({ organization }) => organization.slug)), new Set(slugs));
});

test('the removal of an organization takes along all that it has', async () => {
	await using store = await testStore();
	const { organization } = await store.accounts.register(ada, { name: 'Acme', slugs: ['acme'] });
	const run = { organizationId: organization.id, toolId: organization.id, gatewayId: null, keyId: null, subject: 'anonymous' };
	await store.runs.add([{ ...run, status: 'failed', error: 'tool_error', durationMs: 1.6, startedAt: new Date(0) }]);
	await store.apis.create(organization.id, { name: 'x', type: 'openapi', baseUrl: 'https://x.example', description: null });
	await administer(store.database, 'DELETE FROM organizations');
	for (const table of ['memberships', 'apis', 'tool_runs'])
		assert.deepEqual(await administer(store.database, `SELECT count(*)::int AS n FROM ${table}`), [{ n: 0 }], table);
});
