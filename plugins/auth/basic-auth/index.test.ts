// Tests of the method `basic_auth` at a published gateway.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, basic, type GuardedGateway, guardedGateway } from '../../../test/helpers/gateway-auth.ts';
import { type Account, must, registerAccount, type SharedService, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
let account: Account;
let gateway: GuardedGateway;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
	gateway = await guardedGateway(account, [{ type: 'basic_auth' }]);
});
after(() => service.stop());

test('a member comes in by e-mail address and password, in whatever case the address is (5.2, 2)', async () => {
	assert.equal((await ask(gateway.url, basic(account.email, account.password))).status, 200);
	assert.equal((await ask(gateway.url, basic(account.email.toUpperCase(), account.password))).status, 200);
});

test('a wrong password, an unknown address and a malformed header get the same answer, with a challenge in UTF-8 (RFC 7617 §2.1)', async () => {
	const wrong = [
		basic(account.email, 'Wrong1Horse'),
		basic('nobody@example.com', account.password),
		basic(account.email, ''),
		basic('', account.password),
		basic(account.email, `${account.password}\0`),
		basic(account.email, 'x'.repeat(73)),
		{ authorization: 'Basic' },
		{ authorization: 'Basic !!!' },
		{ authorization: `Basic ${'A'.repeat(10_000)}` },
	];
	for (const headers of wrong) {
		const answer = await ask(gateway.url, headers);
		assert.deepEqual([answer.status, answer.body.message], [401, 'The e-mail address or the password is wrong.'], headers.authorization);
		assert.equal(answer.headers.get('www-authenticate'), `Basic realm="${gateway.url}", charset="UTF-8"`);
	}
});

test('another scheme is no credential of this method', async () => {
	for (const headers of [
		{},
		{ authorization: `Bearer ${account.token}` },
		{ authorization: 'Basics YTpw' },
		{ 'x-api-key': account.token },
	]) {
		const answer = await ask(gateway.url, headers);
		assert.deepEqual([answer.status, answer.body.message], [401, 'Send an e-mail address and a password by Basic authentication.']);
	}
});

test('whoever is no member of the gateway’s organization is not told whether the password is right', async () => {
	const stranger = await registerAccount(service.url);
	const answers = [];
	for (const password of [stranger.password, stranger.password, 'Wrong1Horse']) {
		const { status, body } = await ask(gateway.url, basic(stranger.email, password));
		answers.push([status, body.error, body.message]);
	}
	assert.deepEqual(answers, Array(3).fill([401, 'UNAUTHORIZED', 'The e-mail address or the password is wrong.']));
});

test('a changed password opens it at once, and the old one no longer', async () => {
	const other = await registerAccount(service.url);
	const its = await guardedGateway(other, [{ type: 'basic_auth' }]);
	assert.equal((await ask(its.url, basic(other.email, other.password))).status, 200);
	must(await other.patch('/auth/change-password', { currentPassword: other.password, newPassword: 'Another1Horse' }), 200);
	assert.equal((await ask(its.url, basic(other.email, 'Another1Horse'))).status, 200);
	assert.equal((await ask(its.url, basic(other.email, other.password))).status, 401);
});

test('it takes no configuration', async () => {
	const { status, body } = await account.post(`/gateways/${gateway.id}/auth`, { type: 'basic_auth', configuration: { realm: 'x' } });
	assert.deepEqual([status, body.details[0].path], [400, '/configuration/realm']);
});
