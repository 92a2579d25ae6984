// Tests of registration, login, logout and refresh over REST (specification 4.1, 5.1).

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import Jwt from '@hapi/jwt';
import { createTokens, LOGIN_LIFETIME_MS } from '../../../core/secrets/tokens.ts';
import { type Account, must, registerAccount, SECRETS, type SharedService, send, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
let account: Account;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url, 'Analytical Engines');
});
after(() => service.stop());

const person = (change: object = {}) => ({
	email: `${randomBytes(6).toString('hex')}@example.com`,
	password: 'Correct1Horse',
	firstName: 'Grace',
	lastName: 'Hopper',
	organizationName: 'Navy',
	...change,
});
const register = (body: unknown) => send(`${service.url}/auth/register`, 'POST', { body });
const logIn = (email: unknown, password: unknown) => send(`${service.url}/auth/login`, 'POST', { body: { email, password } });
const post = (path: string, token: string, body?: unknown) =>
	send(service.url + path, 'POST', { body, headers: { authorization: `Bearer ${token}` } });
const profileStatus = async (token: string) =>
	(await send(`${service.url}/auth/profile`, 'GET', { headers: { authorization: `Bearer ${token}` } })).status;
/** Reads the claims of a token. */
const claims = (token: string): { sub: string; sid: string; jti: string; iat: number; auth_time: number } =>
	Jwt.token.decode(token).decoded.payload;

test('a registration answers a token, the user and the organization, and nothing of the password (4.1)', async () => {
	const asked = person();
	const answer = must(await register(asked), 201);
	const { token, user, organization, ...rest } = answer.body.data;
	assert.deepEqual(rest, {});
	assert.deepEqual(user, { id: user.id, email: asked.email, firstName: 'Grace', lastName: 'Hopper' });
	assert.deepEqual(organization, { id: organization.id, name: 'Navy', slug: 'navy' });
	assert.equal(claims(token).sub, user.id);
	assert.equal(await profileStatus(token), 200);
	assert.equal(answer.headers.get('cache-control'), 'no-store');
});

test('an address that is taken, in whatever case, is a 409', async () => {
	const answer = must(await register(person({ email: account.email.toUpperCase() })), 409);
	assert.deepEqual([answer.body.error, answer.body.details[0].path], ['CONFLICT', '/email']);
});

test('of fifty registrations of one address at once, one succeeds (catalog 90)', async () => {
	const asked = person();
	const statuses = (await Promise.all(Array.from({ length: 50 }, () => register(asked)))).map(({ status }) => status);
	assert.deepEqual(
		statuses.sort((a, b) => a - b),
		[201, ...Array.from({ length: 49 }, () => 409)],
	);
});

const BAD: [field: string, value: unknown][] = [
	['email', undefined],
	['email', 'ada'],
	['email', 'ada@example.com\r\nBcc: evil@example.com'],
	['email', 'ada@example.com, evil@example.com'],
	['email', 'Ada <ada@example.com>'],
	['email', ['ada@example.com']],
	['email', `${'a'.repeat(250)}@example.com`],
	['password', undefined],
	['password', 'Short1a'],
	['password', 'nouppercase1'],
	['password', 'NOLOWERCASE1'],
	['password', 'NoDigitInIt'],
	['password', `Aa1${'x'.repeat(70)}`],
	['password', 12345678],
	['firstName', undefined],
	['firstName', ' '],
	['firstName', 'x'.repeat(101)],
	['lastName', undefined],
	['organizationName', undefined],
	['organizationName', ''],
	['id', '00000000-0000-4000-8000-000000000000'],
	['role', 'owner'],
];
for (const [field, value] of BAD) {
	test(`a registration with ${field} = ${JSON.stringify(value)?.slice(0, 40)} is a 400 that names it`, async () => {
		const answer = must(await register(person({ [field]: value })), 400);
		assert.equal(answer.body.error, 'VALIDATION_FAILED');
		assert.equal(answer.body.details[0].path, `/${field}`);
	});
}

test('a login answers a token of its own and the user (4.1)', async () => {
	const answer = must(await logIn(account.email.toUpperCase(), account.password), 200);
	const { token, user, ...rest } = answer.body.data;
	assert.deepEqual(rest, {});
	assert.deepEqual(user, { id: user.id, email: account.email, firstName: 'Ada', lastName: 'Byron' });
	assert.notEqual(claims(token).sid, claims(account.token).sid);
	assert.equal(await profileStatus(token), 200);
});

test('a wrong password and an unknown address get the same answer', async () => {
	const answers = [await logIn(account.email, 'Wrong1Horse'), await logIn('nobody@example.com', account.password)];
	const bodies = answers.map((answer) => ({ ...must(answer, 401).body, requestId: '' }));
	assert.deepEqual(bodies[0], bodies[1]);
	assert.ok(answers[0]?.headers.get('www-authenticate'));
	assert.equal(answers[0]?.headers.get('set-cookie'), null);
});

test('a login with what can be no address or password is a 400 that names it', async () => {
	assert.equal(must(await logIn('', 'x'), 400).body.details[0].path, '/email');
	assert.equal(must(await logIn(account.email, ''), 400).body.details[0].path, '/password');
	assert.equal(must(await logIn(account.email, 'x'.repeat(73)), 400).body.details[0].path, '/password');
	assert.equal(must(await logIn(account.email, { $ne: '' }), 400).body.details[0].path, '/password');
});

test('a logout ends every token of that login, and of no other', async () => {
	const one = must(await logIn(account.email, account.password), 200).body.data.token;
	const other = must(await logIn(account.email, account.password), 200).body.data.token;
	const sibling = must(await post('/auth/refresh', one), 200).body.data.token;
	assert.deepEqual(must(await post('/auth/logout', sibling), 200).body, { success: true, data: { loggedOut: true } });
	assert.deepEqual([await profileStatus(one), await profileStatus(sibling), await profileStatus(other)], [401, 401, 200]);
	must(await post('/auth/logout', sibling), 401);
	must(await post('/auth/refresh', one), 401);
});

test('a refresh answers another token of the same login, and the old one lives on (decisions, 10)', async () => {
	for (const body of [undefined, {}]) {
		const { token, user } = must(await post('/auth/refresh', account.token, body), 200).body.data;
		assert.deepEqual(user, { id: user.id, email: account.email, firstName: 'Ada', lastName: 'Byron' });
		const [before, now] = [claims(account.token), claims(token)];
		assert.deepEqual([now.sub, now.sid, now.auth_time], [before.sub, before.sid, before.auth_time]);
		assert.notEqual(now.jti, before.jti);
		assert.deepEqual([await profileStatus(token), await profileStatus(account.token)], [200, 200]);
	}
	assert.equal(must(await post('/auth/refresh', account.token, { token: 'x' }), 400).body.details[0].path, '/token');
	must(await send(`${service.url}/auth/refresh`, 'POST'), 401);
});

test('a login of more than thirty days ago cannot be refreshed, one of less can', async () => {
	const { sub, sid } = claims(account.token);
	const tokens = createTokens(SECRETS.JWT_SECRET);
	const aged = (ageMs: number) => tokens.issue({ sessionId: sid, userId: sub, at: new Date(Date.now() - ageMs) });
	const old = aged(LOGIN_LIFETIME_MS + 2000);
	const answer = must(await post('/auth/refresh', old), 401);
	assert.match(answer.body.message, /log in again/);
	assert.ok(answer.headers.get('www-authenticate'));
	assert.equal(await profileStatus(old), 200, 'the token itself is good until it expires');
	must(await post('/auth/refresh', aged(LOGIN_LIFETIME_MS - 5000)), 200);
});

test('a token without a login, of an ended one, or of another user’s is a 401', async () => {
	const { sub, sid } = claims(account.token);
	const other = claims((await registerAccount(service.url)).token);
	const tokens = createTokens(SECRETS.JWT_SECRET);
	const token = (sessionId: string, userId: string) => tokens.issue({ sessionId, userId, at: new Date() });
	assert.equal(await profileStatus(token(sid, sub)), 200, 'the control');
	for (const bad of [token('x', sub), token('00000000-0000-4000-8000-000000000000', sub), token(other.sid, sub), token(sid, other.sub)]) {
		assert.equal(await profileStatus(bad), 401);
	}
	const { sid: _sid, ...without } = { ...Jwt.token.decode(account.token).decoded.payload };
	assert.equal(await profileStatus(Jwt.token.generate(without, { key: SECRETS.JWT_SECRET, algorithm: 'HS256' }, { iat: false })), 401);
});

test('an access key cannot log out, refresh or change a password: that takes a login', async () => {
	const { key } = must(await account.post('/access-keys', { name: 'ci' }), 201).body.data;
	must(await send(`${service.url}/auth/profile`, 'GET', { headers: { authorization: `Bearer ${key}` } }), 200);
	must(await post('/auth/logout', key), 403);
	must(await post('/auth/refresh', key), 403);
	const passwords = { currentPassword: account.password, newPassword: 'Another1Horse' };
	const headers = { authorization: `Bearer ${key}` };
	must(await send(`${service.url}/auth/change-password`, 'PATCH', { body: passwords, headers }), 403);
});
