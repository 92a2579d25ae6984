// Tests that an e-mail address is one, in whatever form of Unicode it is sent: at registration, login, invitation and reset, for rows of now and of
// former versions.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { administer } from '../helpers/postgres.ts';
import { type Account, must, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';
import { startSmtp, type TestSmtp } from '../helpers/smtp.ts';

const PASSWORD = 'Correct1Horse';

let smtp: TestSmtp;
let service: TestService;
let owner: Account;
before(async () => {
	smtp = await startSmtp();
	service = await startTestService({ env: smtp.env });
	owner = await registerAccount(service.url);
});
after(async () => {
	await service?.stop();
	await smtp?.stop();
});

const change = (sql: string) => administer(service.config.database ?? assert.fail('the test service has a PostgreSQL'), sql);
const register = (email: string) =>
	send(`${service.url}/auth/register`, 'POST', {
		body: { email, password: PASSWORD, firstName: 'Zoë', lastName: 'Z', organizationName: 'Zoë' },
	});
const logIn = (email: string) => send(`${service.url}/auth/login`, 'POST', { body: { email, password: PASSWORD } });
const invite = (email: string) => owner.post(`/organizations/${owner.organization.id}/invitations`, { email });
const accept = (token: string, invitation: string) =>
	send(`${service.url}/invitations/accept`, 'POST', { body: { token: invitation }, headers: { authorization: `Bearer ${token}` } });

/** Returns a new address in two forms. */
function forms(): { composed: string; apart: string } {
	const composed = `zoë-${randomBytes(4).toString('hex')}@example.com`;
	const apart = composed.normalize('NFD');
	assert.notEqual(composed, apart);
	return { composed, apart };
}

async function assertOneAccount({ composed, apart }: ReturnType<typeof forms>, stored: string): Promise<void> {
	for (const form of [composed, apart, apart.replace('zo', 'ZO')]) {
		must(await register(form), 409);
		assert.equal(must(await logIn(form), 200).body.data.user.email, stored);
		must(await send(`${service.url}/auth/forgot-password`, 'POST', { body: { email: form } }), 200);
		assert.deepEqual((await smtp.next()).to, [stored]);
	}
}

test('an account has its address in NFC, and is found in every form of it', async () => {
	const both = forms();
	const made = must(await register(both.apart), 201).body.data;
	assert.equal(made.user.email, both.composed);
	await assertOneAccount(both, both.composed);
	const { entries } = must(await send(`${service.url}/audit-log`, 'GET', { headers: { authorization: `Bearer ${made.token}` } }), 200).body
		.data;
	assert.deepEqual(new Set(entries.map(({ actor }: { actor: { email: string } }) => actor.email)), new Set([both.composed]));
});

test('an account of a former version is found in every form of its address', async () => {
	const both = forms();
	must(await register(both.composed), 201);
	await change(`UPDATE users SET email = '${both.apart}' WHERE email = '${both.composed}'`);
	await assertOneAccount(both, both.apart);
});

test('of two accounts that a former version made of one address, each is found by its own form', async () => {
	const both = forms();
	must(await register(both.composed), 201);
	await change(`UPDATE users SET email = 'former-${both.apart}' WHERE email = '${both.composed}'`);
	must(await register(both.composed), 201);
	await change(`UPDATE users SET email = '${both.apart}' WHERE email = 'former-${both.apart}'`);
	for (const form of [both.composed, both.apart]) assert.equal(must(await logIn(form), 200).body.data.user.email, form);
});

test('an invitation is for every form of its address, replaces that of another form, and is none for a member', async () => {
	const both = forms();
	const { token } = must(await register(both.composed), 201).body.data;
	const first = must(await invite(both.composed), 201).body.data;
	assert.deepEqual((await smtp.next()).to, [both.composed]);
	const second = must(await invite(both.apart), 201).body.data;
	assert.equal(second.email, both.composed);
	assert.deepEqual((await smtp.next()).to, [both.composed]);
	must(await accept(token, first.token), 404);
	await change(`UPDATE invitations SET email = '${both.apart}' WHERE id = '${second.id}'`);
	must(await accept(token, second.token), 200);
	for (const form of [both.composed, both.apart]) must(await invite(form), 409);
});
