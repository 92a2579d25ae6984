// Passwords and the start of logins, on the real store.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { hash } from '@node-rs/bcrypt';
import { tokens } from '../../test/helpers/identities.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import { createPasswords } from '../secrets/passwords.ts';
import type { UserRow } from '../store/store.ts';
import { beginLogin, checkPassword, type LoginParts } from './logins.ts';

const CLIENT = { address: '127.0.0.1', userAgent: null };
const EMAIL = 'ada@example.com';

let store: TestStore;
let parts: LoginParts;
let user: UserRow;
before(async () => {
	store = await testStore();
	parts = { store, tokens, passwords: createPasswords() };
	const person = { email: EMAIL, passwordHash: await hash('Correct1Horse', { cost: 4 }), firstName: 'Ada', lastName: 'Byron' };
	user = (await store.accounts.register(person, { name: 'Acme', slugs: ['acme'] })).user;
});
after(() => store.close());

test('a password is checked against the account of its address; an impossible address or password is simply wrong', async () => {
	assert.equal((await checkPassword({ email: EMAIL, password: 'Correct1Horse' }, parts))?.id, user.id);
	const wrong = [EMAIL.slice(1), '', `${EMAIL}\0`, '\ud800', `${'a'.repeat(255)}@example.com`];
	for (const email of wrong) assert.equal(await checkPassword({ email, password: 'Correct1Horse' }, parts), null, email);
	assert.equal(await checkPassword({ email: EMAIL, password: 'Wrong1Horse' }, parts), null);
});

test('a login starts with a live token, under an id of its own', async () => {
	const [one, two] = [await beginLogin(user, CLIENT, parts), await beginLogin(user, CLIENT, parts)];
	assert.ok(one && two && one.login.sessionId !== two.login.sessionId);
	const { sub, sid } = tokens.verify(one.token);
	assert.deepEqual([sub, sid], [user.id, one.login.sessionId]);
	assert.equal((await store.accounts.session(sid, sub))?.user.email, EMAIL);
});

test('a login does not start when the password was changed after it was checked', async () => {
	const checked = await checkPassword({ email: EMAIL, password: 'Correct1Horse' }, parts);
	assert.ok(checked);
	const to = await hash('Battery2Staple', { cost: 4 });
	const keep = '00000000-0000-4000-8000-000000000000';
	assert.ok(await store.accounts.changePassword(user.id, { from: checked.passwordHash, to, keep }));
	assert.equal(await beginLogin(checked, CLIENT, parts), null);
});
