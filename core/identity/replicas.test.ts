// Callers over two replicas of the whole service: at gateways, through a method from a package of the tests, and at the management API.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import Jwt from '@hapi/jwt';
import { isAbout } from '../../test/helpers/clock.ts';
import { join } from '../../test/helpers/members.ts';
import { type InstalledPackages, installPackages } from '../../test/helpers/packages.ts';
import {
	type Account,
	type Answer,
	must,
	registerAccount,
	SECRETS,
	send,
	startTestService,
	type TestService,
} from '../../test/helpers/service.ts';
import { soon } from '../../test/helpers/soon.ts';
import { type LimitTable, limitTable } from '../limits/table.ts';

const perMinute = (max: number) => ({ max, seconds: 60 });
const REAL = limitTable({ rateLimit: { max: 100, windowSeconds: 60 } });
const LOGINS = 6;
const RESETS = 4;
/** Wide limits, except for logins and forgotten passwords, which each test sends from addresses of its own. */
const TABLE: LimitTable = {
	...REAL,
	global: perMinute(10_000),
	gateways: perMinute(10_000),
	categories: { health: null, auth: perMinute(10_000), gateways: perMinute(10_000) },
	routes: { 'POST /auth/login': perMinute(LOGINS), 'POST /auth/forgot-password': perMinute(RESETS) },
};

let packages: InstalledPackages;
let first: TestService;
let second: TestService;
let owner: Account;
let path: string;

before(async () => {
	packages = installPackages('identity-probe');
	const env = { GATEWAY_PLUGINS: packages.names.join(','), TRUST_PROXY: '127.0.0.1' };
	first = await startTestService({ env, limits: TABLE });
	second = await startTestService({ env, limits: TABLE, replicaOf: first });
	owner = await registerAccount(first.url);
	path = await probedGateway(owner);
});
after(async () => {
	await second.stop();
	await first.stop();
	packages[Symbol.dispose]();
});

/** Makes a gateway that carries the method. */
async function probedGateway(account: Account): Promise<string> {
	const endpoint = `/gw-${randomBytes(4).toString('hex')}`;
	const { id, url } = must(await account.post('/gateways', { name: 'Probed', type: 'mcp', endpoint }), 201).body.data;
	must(await account.post(`/gateways/${id}/auth`, { type: 'identity_probe' }), 201);
	return `${new URL(url).pathname}/probe`;
}

let clients = 0;
const newcomer = (): Record<string, string> => ({ 'x-forwarded-for': `10.1.0.${++clients}` });

interface Question {
	verb: string;
	args?: unknown[];
	headers?: Record<string, string>;
}

/** Sends the request to the replica on which nothing is changed, unless another is named. */
const ask = ({ verb, args = [], headers = {} }: Question, replica = second): Promise<Answer> =>
	send(replica.url + path, 'POST', { body: { verb, args }, headers });

const resultOf = async (question: Question, replica = second) => must(await ask(question, replica), 200).body.result;

async function addGuest(role = 'member'): Promise<Account & { id: string }> {
	const account = await registerAccount(first.url);
	await join(owner, account, role);
	return { ...account, id: must(await account.get('/auth/profile'), 200).body.data.id };
}

const expel = async (guest: { id: string }): Promise<void> => {
	must(await owner.del(`/organizations/${owner.organization.id}/members/${guest.id}`), 200);
};

const cookieOf = (setCookie: string): Record<string, string> => ({ cookie: setCookie.split(';')[0] ?? '' });

test('a removal is effective at the other replica within a second: by id, token and password', async () => {
	const guest = await addGuest();
	const byId = { verb: 'member', args: [guest.id] };
	const byToken = { verb: 'token', args: [guest.token] };
	const byPassword = { verb: 'password', args: [guest.email, guest.password] };
	await soon(async () => (await resultOf(byId)) !== null, 'membership');
	assert.equal((await resultOf(byToken)).userId, guest.id);
	assert.equal((await resultOf(byPassword)).userId, guest.id);
	await expel(guest);
	await soon(async () => (await resultOf(byId)) === null, 'removal by id');
	await soon(async () => (await ask(byToken)).status === 403, 'removal by token');
	await soon(async () => (await resultOf(byPassword)) === null, 'removal by password');
});

test('a new role is effective at the other replica within a second', async () => {
	const guest = await addGuest();
	const scopes = async (question: Question): Promise<string[]> => (await resultOf(question)).scopes;
	const questions = [
		{ verb: 'member', args: [guest.id] },
		{ verb: 'token', args: [guest.token] },
		{ verb: 'password', args: [guest.email, guest.password] },
	];
	for (const question of questions) assert.equal((await scopes(question)).length, 3, question.verb);
	must(await owner.patch(`/organizations/${owner.organization.id}/members/${guest.id}`, { role: 'viewer' }), 200);
	for (const question of questions) await soon(async () => (await scopes(question)).length === 2, question.verb);
});

test('a changed password is refused at the other replica within a second, and ends the logins there', async () => {
	const guest = await addGuest();
	const newPassword = 'Battery2Staple';
	const former = { verb: 'password', args: [guest.email, guest.password] };
	const login = await resultOf({ verb: 'logIn', args: [guest.email, guest.password], headers: newcomer() });
	const visit = { verb: 'visitor', headers: cookieOf(login.cookie) };
	assert.ok(await resultOf(former));
	assert.ok(await resultOf(visit));
	must(await guest.patch('/auth/change-password', { currentPassword: guest.password, newPassword }), 200);
	await soon(async () => (await resultOf(former)) === null, 'the former password');
	await soon(async () => (await resultOf(visit)) === null, 'the login');
	assert.equal((await resultOf({ verb: 'password', args: [guest.email, newPassword] })).userId, guest.id);
	assert.equal((await resultOf({ verb: 'token', args: [guest.token] })).userId, guest.id, 'the login that changed it lives on');
});

test('wrong passwords at gateways are as few as logins, over replicas, even where another method admits, and keep nobody from logging in', async () => {
	const guest = await addGuest();
	const headers = newcomer();
	const right = { verb: 'password', args: [guest.email, guest.password], headers };
	const wrong = { verb: 'password', args: [guest.email, 'Wrong1Horse'], headers };
	for (let count = 0; count < LOGINS; count++) {
		assert.ok(await resultOf(right), 'a right one, sent with each request, counts nothing');
		assert.equal(await resultOf(wrong, count % 2 ? first : second), null);
	}
	const refused = await ask(wrong);
	assert.deepEqual([refused.status, refused.headers.get('x-ratelimit-limit')], [429, String(LOGINS)]);
	assert.equal((await ask(right)).status, 429, 'no guess is told');
	assert.ok(await resultOf({ ...right, headers: newcomer() }), 'another address');
	assert.ok(await resultOf({ ...right, verb: 'logIn' }), 'a login');
});

test('a logout is effective at the other replica within a second, for a visitor too', async () => {
	const guest = await addGuest();
	const visit = { verb: 'visitor', headers: { cookie: `gatehouse_token=${guest.token}` } };
	assert.equal((await resultOf(visit)).userId, guest.id);
	const question = { verb: 'token', args: [guest.token] };
	assert.ok(await resultOf(question));
	must(await guest.post('/auth/logout'), 200);
	await soon(async () => (await ask(question)).status === 401, 'logout');
	await soon(async () => (await resultOf(visit)) === null, 'logout of a visitor');
	assert.equal((await ask(question)).body.message, 'The login of this token has ended.');
});

/** Requests the management API with the credential, for the owner’s organization. */
const manage = (secret: string, path: string, replica = second) =>
	send(replica.url + path, 'GET', { headers: { authorization: `Bearer ${secret}`, 'x-organization-id': owner.organization.id } });
const PROFILE = '/auth/profile';

/** Adds a key of one of the owner’s gateways, which may read that gateway. */
async function addReader() {
	const endpoint = `/gw-${randomBytes(4).toString('hex')}`;
	const { id } = must(await owner.post('/gateways', { name: 'Read', type: 'mcp', endpoint }), 201).body.data;
	const path = `/gateways/${id}`;
	const made = must(await owner.post(`${path}/auth/api-keys`, { name: 'reader', scopes: ['gateway:read'] }), 201).body.data;
	const ask = (replica = second) => send(replica.url + path, 'GET', { headers: { 'x-api-key': made.key, 'x-forwarded-for': '10.1.2.3' } });
	return { path, keyId: made.id as string, ask };
}
type TestReader = Awaited<ReturnType<typeof addReader>>;

const READER_WITHDRAWALS: [what: string, withdraw: (reader: TestReader) => Promise<Answer>, status: number][] = [
	['a revoked key', ({ path, keyId }) => owner.del(`${path}/auth/api-keys/${keyId}`), 401],
	['an inactive gateway', ({ path }) => owner.patch(path, { status: 'inactive' }), 401],
	[
		'a rule',
		({ path }) => owner.post(`${path}/auth`, { type: 'api_key', isRequired: true, validationRules: { allowedIpRanges: ['10.9.0.0/16'] } }),
		403,
	],
];

for (const [what, withdraw, status] of READER_WITHDRAWALS) {
	test(`a gateway’s key at the management API: ${what} holds with the next request on the replica, and on the other within a second`, async () => {
		const reader = await addReader();
		for (const replica of [first, second]) must(await reader.ask(replica), 200);
		const answer = await withdraw(reader);
		assert.ok(answer.status < 300);
		must(await reader.ask(first), status);
		await soon(async () => (await reader.ask()).status === status, what);
	});
}

test('a gateway’s key at the management API: a permission granted on one replica is effective on the other at once', async () => {
	const { path, ask } = await addReader();
	for (let round = 0; round < 3; round++) {
		must(await owner.patch(path, { status: 'inactive' }), 200);
		await soon(async () => (await ask()).status === 401, 'rest');
		must(await owner.patch(path, { status: 'active' }), 200);
		must(await ask(), 200);
		const rules = { type: 'api_key', isRequired: true, validationRules: { requiredHeaders: ['x-team'] } };
		const { id } = must(await owner.post(`${path}/auth`, rules), 201).body.data;
		await soon(async () => (await ask()).status === 403, 'a rule');
		must(await owner.del(`${path}/auth/${id}`), 200);
		must(await ask(), 200);
	}
});

interface Withdrawal {
	what: string;
	/** @returns the credential to use, and the function that withdraws it, at the first replica */
	prepare(guest: Account & { id: string }): Promise<{ secret: string; withdraw(): Promise<Answer> }>;
	path?: () => string;
	/** The status after the withdrawal. */
	status: number;
}

const mintKeyOf = async (guest: Account): Promise<{ id: string; key: string }> =>
	must(await guest.post('/access-keys', { name: 'robot' }), 201).body.data;
const logIn = async ({ email, password }: Account): Promise<string> =>
	must(await send(`${first.url}/auth/login`, 'POST', { body: { email, password }, headers: newcomer() }), 200).body.data.token;
const ownOrganization = () => `/organizations/${owner.organization.id}`;
const memberPath = ({ id }: { id: string }) => `${ownOrganization()}/members/${id}`;

const WITHDRAWALS: Withdrawal[] = [
	{
		what: 'a logout',
		prepare: async (guest) => ({ secret: guest.token, withdraw: () => guest.post('/auth/logout') }),
		status: 401,
	},
	{
		what: 'a changed password, to the other logins',
		prepare: async (guest) => {
			const change = { currentPassword: guest.password, newPassword: 'Battery2Staple' };
			return { secret: await logIn(guest), withdraw: () => guest.patch('/auth/change-password', change) };
		},
		status: 401,
	},
	{
		what: 'a revoked access key',
		prepare: async (guest) => {
			const { id, key } = await mintKeyOf(guest);
			return { secret: key, withdraw: () => guest.del(`/access-keys/${id}`) };
		},
		status: 401,
	},
	{
		what: 'a removal, to a login',
		prepare: async (guest) => ({ secret: guest.token, withdraw: () => owner.del(memberPath(guest)) }),
		path: ownOrganization,
		status: 404,
	},
	{
		what: 'a removal, to an access key',
		prepare: async (guest) => ({ secret: (await mintKeyOf(guest)).key, withdraw: () => owner.del(memberPath(guest)) }),
		path: ownOrganization,
		status: 404,
	},
	{
		what: 'a lesser role',
		prepare: async (guest) => {
			must(await owner.patch(memberPath(guest), { role: 'admin' }), 200);
			return { secret: guest.token, withdraw: () => owner.patch(memberPath(guest), { role: 'member' }) };
		},
		path: () => '/audit-log',
		status: 403,
	},
];

for (const { what, prepare, path: at = () => PROFILE, status } of WITHDRAWALS) {
	test(`the management API: ${what} holds with the next request on the replica, and on the other within a second`, async () => {
		const { secret, withdraw } = await prepare(await addGuest());
		for (const replica of [first, second]) must(await manage(secret, at(), replica), 200);
		must(await withdraw(), 200);
		must(await manage(secret, at(), first), status);
		await soon(async () => (await manage(secret, at())).status === status, what);
	});
}

test('the management API: a permission granted on one replica is effective on the other at once', async () => {
	const guest = await registerAccount(first.url);
	const id = must(await guest.get(PROFILE), 200).body.data.id;
	for (let round = 0; round < 5; round++) {
		must(await manage(guest.token, ownOrganization()), 404);
		await join(owner, guest, 'viewer');
		must(await manage(guest.token, ownOrganization()), 200);
		must(await manage(guest.token, '/audit-log'), 403);
		must(await owner.patch(memberPath({ id }), { role: 'admin' }), 200);
		must(await manage(guest.token, '/audit-log'), 200);
		await expel({ id });
		await soon(async () => (await manage(guest.token, ownOrganization())).status === 404, 'removal');
	}
});

test('the management API: a new name of an organization is effective on the other replica at once', async () => {
	for (const name of ['Crew', 'Band', 'Gang']) {
		must(await owner.patch(ownOrganization(), { name }), 200);
		assert.equal(must(await manage(owner.token, ownOrganization()), 200).body.data.name, name);
	}
});

test('the cookie identifies a visitor, with their permissions here', async () => {
	const guest = await addGuest('viewer');
	const login = await resultOf({ verb: 'logIn', args: [guest.email.toUpperCase(), guest.password], headers: newcomer() }, first);
	const { sessionId, caller, ...person } = login.visitor;
	assert.deepEqual(person, { userId: guest.id, email: guest.email, name: 'Ada Byron' });
	assert.match(sessionId, /^[0-9a-f-]{36}$/);
	const { memberSince, ...known } = caller;
	assert.ok(isAbout(memberSince));
	assert.deepEqual(known, {
		...{ method: 'login', subject: `user:${guest.id}`, userId: guest.id, scopes: ['tools:read', 'gateway:read'] },
		credential: `login:${sessionId}`,
	});
	assert.match(login.cookie, /^gatehouse_token=\S+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=86400$/);
	const headers = cookieOf(login.cookie);
	assert.deepEqual(await resultOf({ verb: 'visitor', headers }), login.visitor);
	assert.equal(
		must(await send(`${second.url}/auth/profile`, 'GET', { headers }), 200).body.data.id,
		guest.id,
		'it is a login like any other',
	);
});

test('a cookie of POST /auth/login identifies a visitor, too; a user outside the organization is a visitor without a caller', async () => {
	const stranger = await registerAccount(first.url);
	const { email, password } = stranger;
	const login = must(await send(`${first.url}/auth/login`, 'POST', { body: { email, password }, headers: newcomer() }), 200);
	const visitor = await resultOf({ verb: 'visitor', headers: cookieOf(login.headers.get('set-cookie') ?? '') });
	assert.deepEqual([visitor.email, visitor.caller], [email, null]);
	const here = await resultOf({ verb: 'logIn', args: [email, password], headers: newcomer() });
	assert.deepEqual([here.visitor.email, here.visitor.caller], [email, null]);
});

test('without a valid cookie there is no visitor, and no reason is given', async () => {
	const sign = (payload: object): string => Jwt.token.generate(payload, { key: SECRETS.JWT_SECRET, algorithm: 'HS256' });
	const values = ['', 'x', 'a.b.c', sign({ sub: 'bot' }), sign({ sub: 'bot', iss: 'svc', aud: 'svc-api' }), `${owner.token}x`];
	for (const value of values) {
		assert.equal(await resultOf({ verb: 'visitor', headers: { cookie: `gatehouse_token=${value}` } }), null, value.slice(0, 40));
	}
	assert.equal(await resultOf({ verb: 'visitor' }), null);
	assert.equal(
		await resultOf({ verb: 'visitor', headers: { authorization: `Bearer ${owner.token}` } }),
		null,
		'only the cookie is looked at',
	);
	const twice = `gatehouse_token=${owner.token}; gatehouse_token=${owner.token}`;
	assert.equal(await resultOf({ verb: 'visitor', headers: { cookie: twice } }), null);
	assert.equal((await resultOf({ verb: 'visitor', headers: { cookie: `gatehouse_token=${owner.token}` } })).email, owner.email);
});

test('a login with a wrong address or password is null, and sets no cookie', async () => {
	const wrong = [
		[owner.email, 'Wrong1Horse'],
		['nobody@example.com', owner.password],
		['', ''],
		[`${'a'.repeat(10_000)}@example.com`, owner.password],
	];
	const headers = newcomer();
	for (const args of wrong) {
		const answer = must(await ask({ verb: 'logIn', args, headers }), 200);
		assert.deepEqual([answer.body, answer.headers.get('set-cookie')], [{ result: null }, null]);
	}
});

test('logins at both replicas and of POST /auth/login count in one window, by address', async () => {
	const headers = newcomer();
	const page = (replica: TestService, password = 'Wrong1Horse') => ask({ verb: 'logIn', args: [owner.email, password], headers }, replica);
	const api = (replica: TestService) =>
		send(`${replica.url}/auth/login`, 'POST', { body: { email: owner.email, password: 'Wrong1Horse' }, headers });
	const statuses: number[] = [];
	for (const one of [page(first), api(second), page(second), api(first), page(first), page(second)]) statuses.push((await one).status);
	assert.deepEqual(statuses.sort(), [200, 200, 200, 200, 401, 401]);
	const refused = await page(first, owner.password);
	assert.deepEqual([refused.status, refused.headers.get('x-ratelimit-limit')], [429, String(LOGINS)]);
	assert.equal((await api(second)).status, 429);
	assert.equal((await ask({ verb: 'visitor', headers })).status, 200, 'the rest of the gateway has windows of its own');
	assert.ok(await resultOf({ verb: 'logIn', args: [owner.email, owner.password], headers: newcomer() }));
});

test('forgotten passwords at both replicas and of POST /auth/forgot-password count in one window, by address', async () => {
	const headers = newcomer();
	const page = (replica: TestService, email = 'nobody@example.com') => ask({ verb: 'forgotPassword', args: [email], headers }, replica);
	const api = (replica: TestService) =>
		send(`${replica.url}/auth/forgot-password`, 'POST', { body: { email: 'nobody@example.com' }, headers });
	const statuses: number[] = [];
	for (const one of [page(first), api(second), page(second), api(first)]) statuses.push((await one).status);
	assert.deepEqual(statuses, [200, 200, 200, 200]);
	const refused = await page(first);
	assert.deepEqual([refused.status, refused.headers.get('x-ratelimit-limit')], [429, String(RESETS)]);
	assert.equal((await api(second)).status, 429);
	assert.equal((await ask({ verb: 'visitor', headers })).status, 200, 'the rest of the gateway has windows of its own');
});

const NO_ADDRESSES = ['', 'ada', 'ada@', 'ada@example.com, eve@example.com', 'ada@example.com\r\nBcc: eve@example.com'];

test('a forgotten password of a text that is no address is a 400 that names it, whether requested on a page or by the API', async () => {
	for (const email of [...NO_ADDRESSES, `${'a'.repeat(60_000)}@example.com`]) {
		const onPage = await ask({ verb: 'forgotPassword', args: [email], headers: newcomer() });
		const byApi = await send(`${second.url}/auth/forgot-password`, 'POST', { body: { email }, headers: newcomer() });
		for (const { status, body } of [onPage, byApi])
			assert.deepEqual([status, body.details?.[0].path], [400, '/email'], JSON.stringify([email.slice(0, 40), body]));
	}
});

test('the operator’s token is valid at both replicas, and counts for no user of the organization', async () => {
	const token = Jwt.token.generate({ sub: 'ci' }, { key: SECRETS.JWT_SECRET, algorithm: 'HS256' });
	for (const replica of [first, second]) {
		const caller = await resultOf({ verb: 'token', args: [token] }, replica);
		assert.deepEqual(caller, { method: 'token', subject: 'jwt:ci', scopes: ['tools:read', 'tools:execute', 'gateway:read'] });
	}
	const foreign = Jwt.token.generate({ sub: 'ci', iss: 'ci', aud: 'svc-api' }, { key: SECRETS.JWT_SECRET, algorithm: 'HS256' });
	const answer = await ask({ verb: 'token', args: [foreign] });
	assert.deepEqual([answer.status, answer.body.message], [401, 'jwt issuer invalid']);
});
