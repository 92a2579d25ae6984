// Tests the identity part of the catalog against the whole service: forged, damaged or malformed credentials grant nothing.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import Jwt from '@hapi/jwt';
import {
	ADDRESS_CASES,
	HELD_ELSEWHERE,
	KEY_CASES,
	MAIL_CASES,
	NOT_YET,
	PASSWORD_CASES,
	RULE_CASES,
	TOKEN_CASES,
} from '../catalog/identity.ts';
import { until } from '../helpers/clock.ts';
import {
	type Account,
	must,
	publishGateway,
	registerAccount,
	SECRETS,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const MCP = { accept: 'application/json, text/event-stream' };

let service: TestService;
let account: Account;
let gateway: { id: string; url: string; key: string };
before(async () => {
	service = await startTestService({ env: { TRUST_PROXY: '127.0.0.1' } });
	account = await registerAccount(service.url);
	gateway = await publishGateway(account);
});
after(() => service.stop());

const profile = (headers: Record<string, string>) => send(`${service.url}/auth/profile`, 'GET', { headers });
const list = (headers: Record<string, string>, query = '') =>
	send(gateway.url + query, 'POST', { body: LIST, headers: { ...MCP, ...headers } });

test('the token of which the forged ones are made is good itself, at both doors', async () => {
	assert.equal((await profile({ authorization: `Bearer ${account.token}` })).status, 200);
	assert.equal((await list({ authorization: `Bearer ${account.token}` })).status, 200);
});

for (const { row, id, make, message } of TOKEN_CASES) {
	test(`${row}: a token with ${id} opens neither the management API nor a gateway`, async () => {
		const { payload } = Jwt.token.decode(account.token).decoded;
		const authorization = `Bearer ${make({ ...payload }, SECRETS.JWT_SECRET)}`;
		for (const answer of [await profile({ authorization }), await list({ authorization })]) {
			assert.equal(answer.status, 401, JSON.stringify(answer.body));
			assert.ok(answer.headers.get('www-authenticate'));
			if (message) assert.equal(answer.body.message, message);
		}
	});
}

for (const { row, id, make } of KEY_CASES) {
	test(`${row}: a key ${id} opens nothing, wherever it is put`, async () => {
		const { key } = must(await account.post('/access-keys', { name: 'k' }), 201).body.data;
		assert.equal((await profile({ authorization: `Bearer ${key}` })).status, 200);
		assert.equal((await profile({ authorization: `Bearer ${make(key)}` })).status, 401);
		for (const good of [key, gateway.key]) {
			const bad = make(good);
			assert.equal((await list({ 'x-api-key': good })).status, 200);
			assert.equal((await list({ 'x-api-key': bad })).status, 401);
			assert.equal((await list({ authorization: `Bearer ${bad}` })).status, 401);
			if (bad.length < 4000) assert.equal((await list({}, `?api_key=${encodeURIComponent(bad)}`)).status, 401);
		}
	});
}

test('73: a key of another gateway, a revoked one and an expired one open nothing', async () => {
	const other = await publishGateway(account);
	assert.equal((await list({ 'x-api-key': other.key })).status, 401);
	const path = `/gateways/${gateway.id}/auth/api-keys`;
	const revoked = must(await account.post(path, { name: 'r' }), 201).body.data;
	must(await account.del(`${path}/${revoked.id}`), 200);
	assert.equal((await list({ 'x-api-key': revoked.key })).status, 401);
	const expiring = must(await account.post(path, { name: 'e', expiresAt: new Date(Date.now() + 3000).toISOString() }), 201).body.data;
	assert.equal((await list({ 'x-api-key': expiring.key })).status, 200);
	await until(async () => (await list({ 'x-api-key': expiring.key })).status === 401, 'also though it is remembered');
});

test('74: each scope admits its own act, and none implies another', async () => {
	const call = { ...LIST, method: 'tools/call', params: { name: 'nothing', arguments: {} } };
	const made = async (scopes: string[]): Promise<string> =>
		must(await account.post(`/gateways/${gateway.id}/auth/api-keys`, { name: 's', scopes }), 201).body.data.key;
	const statuses = async (scopes: string[]) => {
		const headers = { ...MCP, 'x-api-key': await made(scopes) };
		const listed = await send(gateway.url, 'POST', { body: LIST, headers });
		const called = await send(gateway.url, 'POST', { body: call, headers });
		return [listed.status, called.status];
	};
	assert.deepEqual(await statuses(['tools:read']), [200, 403]);
	assert.deepEqual(await statuses(['gateway:read']), [403, 403]);
	assert.deepEqual((await statuses(['tools:execute']))[0], 403);
});

test('76: no method admits nobody; a good credential beside a bad one does not make it good', async () => {
	const made = must(await account.post('/gateways', { name: 'bare', type: 'mcp', endpoint: '/bare' }), 201).body.data;
	for (const headers of [{}, { authorization: `Bearer ${account.token}` }, { 'x-api-key': gateway.key }]) {
		assert.equal((await send(made.url, 'POST', { body: LIST, headers: { ...MCP, ...headers } })).status, 401);
	}
	// The header takes precedence, even when its key is wrong.
	assert.equal((await list({ 'x-api-key': 'wrong', authorization: `Bearer ${gateway.key}` })).status, 401);
	assert.equal((await list({ authorization: 'Bearer wrong' }, `?api_key=${gateway.key}`)).status, 200);
	const cookie = `gatehouse_token=${account.token}`;
	assert.equal((await list({ cookie })).status, 401, 'the cookie is not for gateways');
});

for (const { row, id, rules } of RULE_CASES) {
	test(`${row}: a rule with ${id} is refused when it is saved`, async () => {
		const answer = await account.post(`/gateways/${gateway.id}/auth`, { type: 'none', validationRules: rules });
		assert.equal(answer.status, 400, JSON.stringify(answer.body));
		assert.match(JSON.stringify(answer.body.details), /validationRules/);
	});
}

for (const { row, id, ranges, forwardedFor, isIn } of ADDRESS_CASES) {
	test(`${row}: ${id} is ${isIn ? 'let in' : 'kept out'}`, async () => {
		const endpoint = `/r${Math.random().toString(36).slice(2)}`;
		const made = must(await account.post('/gateways', { name: 'r', type: 'mcp', endpoint }), 201).body.data;
		must(await account.post(`/gateways/${made.id}/auth`, { type: 'none', validationRules: { allowedIpRanges: ranges } }), 201);
		const headers = { ...MCP, ...(forwardedFor !== null && { 'x-forwarded-for': forwardedFor }) };
		assert.equal((await send(made.url, 'POST', { body: LIST, headers })).status, isIn ? 200 : 403);
	});
}

test('82: a required header counts in any case, once or often, and not when it is empty', async () => {
	const made = must(await account.post('/gateways', { name: 'h', type: 'mcp', endpoint: '/headers' }), 201).body.data;
	must(await account.post(`/gateways/${made.id}/auth`, { type: 'none', validationRules: { requiredHeaders: ['X-Tenant'] } }), 201);
	const ask = async (headers: Record<string, string>) =>
		(await send(made.url, 'POST', { body: LIST, headers: { ...MCP, ...headers } })).status;
	assert.deepEqual([await ask({}), await ask({ 'x-tenant': '' }), await ask({ 'x-other': 'a' })], [403, 403, 403]);
	assert.deepEqual([await ask({ 'x-tenant': 'a' }), await ask({ 'X-TENANT': 'a' }), await ask({ 'x-tenant': 'a, b' })], [200, 200, 200]);
});

for (const { row, id, email } of MAIL_CASES) {
	test(`${row}: ${id} is no address to write to`, async () => {
		const invited = await account.post(`/organizations/${account.organization.id}/invitations`, { email });
		const forgotten = await send(`${service.url}/auth/forgot-password`, 'POST', { body: { email } });
		const registered = await send(`${service.url}/auth/register`, 'POST', {
			body: { email, password: 'Correct1Horse', firstName: 'A', lastName: 'B', organizationName: 'C' },
		});
		for (const answer of [invited, forgotten, registered]) {
			assert.equal(answer.status, 400, JSON.stringify(answer.body));
			assert.match(JSON.stringify(answer.body.details), /email/);
		}
	});
}

for (const { row, id, password } of PASSWORD_CASES) {
	test(`${row}: a password with ${id} is not taken, at any of the places that set one`, async () => {
		const email = `p${Math.random().toString(36).slice(2)}@example.com`;
		const register = { email, password, firstName: 'A', lastName: 'B', organizationName: 'C' };
		const answers = [
			await send(`${service.url}/auth/register`, 'POST', { body: register }),
			await account.patch('/auth/change-password', { currentPassword: account.password, newPassword: password }),
			await send(`${service.url}/auth/reset-password`, 'POST', { body: { token: `svc_rst_${'x'.repeat(43)}`, newPassword: password } }),
		];
		for (const answer of answers) {
			assert.equal(answer.status, 400, JSON.stringify(answer.body));
			assert.match(JSON.stringify(answer.body.details), /[pP]assword/);
		}
	});
}

test('every row of this part of the catalog is here, elsewhere by name, or about what does not exist yet', () => {
	const here = [TOKEN_CASES, KEY_CASES, RULE_CASES, ADDRESS_CASES, MAIL_CASES, PASSWORD_CASES].flatMap((cases) =>
		cases.map(({ row }) => row),
	);
	assert.ok(here.length >= 150, `${here.length} cases`);
	for (const [row, file] of Object.entries(HELD_ELSEWHERE))
		assert.ok(existsSync(new URL(`../../${file}`, import.meta.url)), `${row}: ${file}`);
	const rows = new Set([...here, 74, 76, ...Object.keys(HELD_ELSEWHERE).map(Number), ...NOT_YET]);
	const missing = Array.from({ length: 89 - 66 }, (_, at) => at + 67).filter((row) => !rows.has(row));
	assert.deepEqual(missing, []);
});
