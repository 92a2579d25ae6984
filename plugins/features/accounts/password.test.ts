// Tests of changing the password with the current one.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Account, must, registerAccount, type SharedService, send, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
let account: Account;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

const NEW = 'Another1Horse';
const logIn = (password: string) => send(`${service.url}/auth/login`, 'POST', { body: { email: account.email, password } });
const change = (body: unknown, token = account.token) =>
	send(`${service.url}/auth/change-password`, 'PATCH', { body, headers: { authorization: `Bearer ${token}` } });
const profileStatus = async (token: string) =>
	(await send(`${service.url}/auth/profile`, 'GET', { headers: { authorization: `Bearer ${token}` } })).status;

const BAD: [id: string, body: () => unknown, field: string][] = [
	['a wrong current password', () => ({ currentPassword: 'Wrong1Horse', newPassword: NEW }), '/currentPassword'],
	['no current password', () => ({ newPassword: NEW }), '/currentPassword'],
	[
		'one whose first 72 bytes only are right',
		() => ({ currentPassword: account.password + ' '.repeat(72), newPassword: NEW }),
		'/currentPassword',
	],
	['no new password', () => ({ currentPassword: account.password }), '/newPassword'],
	['the same password again', () => ({ currentPassword: account.password, newPassword: account.password }), '/newPassword'],
	['a weak new password', () => ({ currentPassword: account.password, newPassword: 'weak' }), '/newPassword'],
	['more than 72 bytes', () => ({ currentPassword: account.password, newPassword: `Aa1${'x'.repeat(70)}` }), '/newPassword'],
	['another’s id', () => ({ currentPassword: account.password, newPassword: NEW, userId: 'x' }), '/userId'],
];
for (const [id, body, field] of BAD) {
	test(`a change with ${id} is a 400 that names ${field}, and changes nothing`, async () => {
		const answer = must(await change(body()), 400);
		assert.equal(answer.body.error, 'VALIDATION_FAILED');
		assert.equal(answer.body.details[0].path, field);
		must(await logIn(account.password), 200);
	});
}

test('a change ends every other login, and keeps the one that asks', async () => {
	const other = must(await logIn(account.password), 200).body.data.token;
	const own = must(await logIn(account.password), 200).body.data.token;
	assert.equal(await profileStatus(other), 200);
	assert.deepEqual(must(await change({ currentPassword: account.password, newPassword: NEW }, own), 200).body, {
		success: true,
		data: { changed: true },
	});
	assert.deepEqual([await profileStatus(own), await profileStatus(other), await profileStatus(account.token)], [200, 401, 401]);
	must(await logIn(account.password), 401);
	account = { ...account, password: NEW, token: must(await logIn(NEW), 200).body.data.token };
});

test('of two changes at once one succeeds, and its password is the one that counts', async () => {
	const wanted = ['First1Horse', 'Second1Horse'];
	const answers = await Promise.all(wanted.map((newPassword) => change({ currentPassword: account.password, newPassword })));
	const statuses = answers.map(({ status }) => status);
	assert.equal(statuses.filter((status) => status === 200).length, 1, String(statuses));
	assert.ok(
		statuses.every((status) => [200, 400, 409].includes(status)),
		String(statuses),
	);
	for (const [at, password] of wanted.entries()) assert.equal((await logIn(password)).status, statuses[at] === 200 ? 200 : 401);
});
