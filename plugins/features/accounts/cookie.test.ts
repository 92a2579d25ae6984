// Tests of the browser's token: a cookie that opens the management API, and only for our own pages (specification 5.1 rule 2).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../../../test/helpers/service.ts';

const PAGE = 'https://console.example';
const OWN = 'https://gate.example';
const NAME = '__Host-gatehouse_token';

let service: TestService;
let account: Account;
let other: Account;
before(async () => {
	service = await startTestService({ env: { PUBLIC_URL: OWN, FRONTEND_URL: PAGE } });
	account = await registerAccount(service.url);
	other = await registerAccount(service.url);
});
after(() => service.stop());

const call = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
	send(service.url + path, method, { body, headers });
const cookie = (token: string) => ({ cookie: `theme=dark; ${NAME}=${token}` });
const logIn = () => call('POST', '/auth/login', {}, { email: account.email, password: account.password });
const attributes = (answer: Answer): string[] => (answer.headers.get('set-cookie') ?? '').split('; ');

test('registration, login and refresh set it: httpOnly, SameSite=Lax, and on https Secure under the __Host- prefix', async () => {
	const person = { email: 'web@example.com', password: 'Correct1Horse', firstName: 'A', lastName: 'B', organizationName: 'Web' };
	const headers = { authorization: `Bearer ${account.token}` };
	for (const answer of [
		must(await call('POST', '/auth/register', {}, person), 201),
		must(await logIn(), 200),
		must(await call('POST', '/auth/refresh', headers), 200),
	]) {
		const [value, ...rest] = attributes(answer);
		assert.equal(value, `${NAME}=${answer.body.data.token}`);
		assert.deepEqual(rest.sort(), ['HttpOnly', 'Max-Age=86400', 'Path=/', 'SameSite=Lax', 'Secure']);
	}
});

test('a logout takes it back', async () => {
	const { token } = must(await logIn(), 200).body.data;
	const answer = must(await call('POST', '/auth/logout', { ...cookie(token), origin: PAGE }), 200);
	assert.deepEqual([attributes(answer)[0], attributes(answer).includes('Max-Age=0')], [`${NAME}=`, true]);
	must(await call('GET', '/auth/profile', cookie(token)), 401);
});

test('on http it has no prefix and is not Secure, or no browser would send it', async () => {
	const plain = await startTestService();
	const person = await registerAccount(plain.url);
	const answer = await send(`${plain.url}/auth/login`, 'POST', { body: { email: person.email, password: person.password } });
	const { token } = must(answer, 200).body.data;
	assert.equal(attributes(answer)[0], `gatehouse_token=${token}`);
	assert.ok(!attributes(answer).includes('Secure'));
	must(await send(`${plain.url}/auth/profile`, 'GET', { headers: { cookie: `gatehouse_token=${token}` } }), 200);
	await plain.stop();
});

test('it authenticates what reads, without an Origin', async () => {
	const answer = must(await call('GET', '/auth/profile', cookie(account.token)), 200);
	assert.equal(answer.body.data.email, account.email);
	must(await call('GET', '/gateways', cookie(account.token)), 200);
});

const CHANGES: [method: string, path: string, body: unknown, status: number][] = [
	['PATCH', '/auth/profile', { name: 'Ada Byron' }, 200],
	['POST', '/gateways', { name: 'g', type: 'mcp', endpoint: '/by-cookie' }, 201],
	['POST', '/auth/refresh', undefined, 200],
	['DELETE', '/gateways/00000000-0000-4000-8000-000000000000', undefined, 404],
];

const FOREIGN: Record<string, string | undefined> = {
	'no Origin': undefined,
	'Origin null': 'null',
	'a foreign Origin': 'https://evil.example',
	'an Origin that begins like ours': `${PAGE}.evil.example`,
	'our host over http': 'http://console.example',
	'another port of our host': `${PAGE}:8443`,
	'a loopback Origin': 'http://localhost:3002',
};
for (const [name, origin] of Object.entries(FOREIGN)) {
	test(`with ${name} it changes nothing: 403`, async () => {
		for (const [method, path, body] of CHANGES) {
			const answer = must(await call(method, path, { ...cookie(account.token), ...(origin && { origin }) }, body), 403);
			assert.equal(answer.body.error, 'FORBIDDEN');
			assert.match(answer.body.message, /the Origin header must name one\.$/);
		}
		must(await call('POST', '/auth/logout', { ...cookie(account.token), ...(origin && { origin }) }), 403);
	});
}

for (const [name, origin] of Object.entries({ FRONTEND_URL: PAGE, PUBLIC_URL: OWN })) {
	test(`from a page of ${name} it changes what a Bearer token would`, async () => {
		for (const [method, path, body, status] of CHANGES) {
			const answer = must(await call(method, path, { ...cookie(account.token), origin }, body), status);
			if (status === 201) must(await call('DELETE', `/gateways/${answer.body.data.id}`, { ...cookie(account.token), origin }), 200);
		}
	});
}

test('a Bearer token wins over it, and needs no Origin; a bad one does not fall back to it', async () => {
	const bearer = { authorization: `Bearer ${other.token}` };
	assert.equal(must(await call('GET', '/auth/profile', { ...cookie(account.token), ...bearer }), 200).body.data.email, other.email);
	must(await call('PATCH', '/auth/profile', { ...cookie(account.token), ...bearer }, { name: 'Ada Byron' }), 200);
	must(await call('PATCH', '/auth/profile', { ...bearer, origin: 'https://evil.example' }, { name: 'Ada Byron' }), 200);
	for (const authorization of ['Bearer x', 'Basic eDp5', 'Bearer', '']) {
		must(await call('GET', '/auth/profile', { ...cookie(account.token), authorization }), 401);
	}
});

const UNREADABLE: Record<string, () => string> = {
	'without the prefix': () => `gatehouse_token=${account.token}`,
	'sent twice': () => `${NAME}=${account.token}; ${NAME}=${other.token}`,
	empty: () => `${NAME}=`,
	damaged: () => `${NAME}=${account.token}x`,
	'in quotes': () => `${NAME}="${account.token}"`,
};
for (const [name, value] of Object.entries(UNREADABLE)) {
	test(`a cookie ${name} is no login: 401`, async () => {
		must(await call('GET', '/auth/profile', { cookie: value() }), 401);
	});
}

test('it does not open a gateway that the same token opens as Bearer (decisions, 20)', async () => {
	const gateway = await publishGateway(account);
	const url = `${service.url}${new URL(gateway.url).pathname}`;
	const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
	const status = async (headers: Record<string, string>): Promise<number> =>
		(await send(url, 'POST', { body: list, headers: { accept: 'application/json, text/event-stream', ...headers } })).status;
	assert.equal(await status({ authorization: `Bearer ${account.token}` }), 200);
	assert.equal(await status(cookie(account.token)), 401);
	assert.equal(await status({ ...cookie(account.token), origin: OWN }), 401);
});

test('only FRONTEND_URL’s pages may read answers with credentials, of preflights too (decisions, 19)', async () => {
	for (const method of ['GET', 'OPTIONS']) {
		const asked = { 'access-control-request-method': 'PATCH' };
		const page = await call(method, '/auth/profile', { ...cookie(account.token), ...asked, origin: PAGE });
		assert.equal(page.headers.get('access-control-allow-origin'), PAGE);
		assert.equal(page.headers.get('access-control-allow-credentials'), 'true');
		for (const origin of ['https://evil.example', 'null', OWN, 'http://localhost:3002']) {
			const { headers } = await call(method, '/auth/profile', { ...cookie(account.token), ...asked, origin });
			assert.equal(headers.get('access-control-allow-origin'), null, origin);
			assert.equal(headers.get('access-control-allow-credentials'), null, origin);
			assert.match(headers.get('vary') ?? '', /\borigin\b/);
		}
	}
});
