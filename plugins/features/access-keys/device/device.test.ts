// Tests of logins by a device code: with a client of the standard, by hand, over two replicas, and against guesses.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as oauth from 'openid-client';
import { readDocument } from '../../../../test/helpers/document.ts';
import { addMember } from '../../../../test/helpers/members.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../../../../test/helpers/service.ts';

let service: TestService;
let replica: TestService;
let owner: Account;
let stranger: Account;
let gateway: { id: string };
before(async () => {
	service = await startTestService();
	replica = await startTestService({ replicaOf: service });
	[owner, stranger] = await Promise.all([registerAccount(service.url), registerAccount(service.url)]);
	gateway = await publishGateway(owner);
});
after(async () => {
	await replica?.stop();
	await service?.stop();
});

const post = (path: string, body: unknown, url = service.url): Promise<Answer> => send(`${url}/device${path}`, 'POST', { body });
const begin = async (name = 'gatehouse-proxy') => must(await post('/authorize', { client_id: name, device_name: 'laptop' }), 200).body;
const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const poll = (code: string, url = service.url) => post('/token', { grant_type: GRANT, device_code: code }, url);
const approve = (code: string, body: object = {}, by = owner) => by.post(`/device/logins/${code}/approve`, body);
const keyWorks = async (key: string): Promise<number> =>
	(await send(`${service.url}/auth/profile`, 'GET', { headers: { authorization: `Bearer ${key}` } })).status;
/** Approves, and returns what the program is given. */
async function granted(body: object, by = owner): Promise<Answer> {
	const { device_code, user_code } = await begin();
	must(await approve(user_code, body, by), 200);
	return poll(device_code);
}

test('a client of the standard gets a key, and ends it', async () => {
	const endpoint = (name: string): string => `${service.url}/device/${name}`;
	const server = {
		...{ issuer: service.url, device_authorization_endpoint: endpoint('authorize') },
		...{ token_endpoint: endpoint('token'), revocation_endpoint: endpoint('revoke') },
	};
	const config = new oauth.Configuration(server, 'some-program', undefined, oauth.None());
	oauth.allowInsecureRequests(config);
	const asked = await oauth.initiateDeviceAuthorization(config, { scope: 'tools:read' });
	assert.match(asked.user_code, /^[B-Z]{4}-[B-Z]{4}$/);
	assert.deepEqual([asked.verification_uri, asked.expires_in, asked.interval], [`${service.url}/device`, 600, 5]);
	assert.equal(asked.verification_uri_complete, `${service.url}/device?user_code=${asked.user_code}`);
	// People type codes as they like.
	must(await approve(encodeURIComponent(` ${asked.user_code.toLowerCase().replace('-', ' ')}`)), 200);
	const tokens = await oauth.pollDeviceAuthorizationGrant(config, { ...asked, interval: 0 });
	assert.match(tokens.access_token, /^ak_live_[\w-]{43}$/);
	assert.equal(await keyWorks(tokens.access_token), 200);
	await oauth.tokenRevocation(config, tokens.access_token);
	assert.equal(await keyWorks(tokens.access_token), 401);
	await oauth.tokenRevocation(config, tokens.access_token);
});

test('the user sees the program and the permissions; nothing is given before the user has decided, and a key once', async () => {
	const { device_code, user_code } = await begin();
	const shown = must(await owner.get(`/device/logins/${user_code}`), 200).body.data;
	assert.equal(shown.program, 'gatehouse-proxy on laptop');
	assert.ok(shown.permissions.includes('tools:execute'));
	assert.deepEqual([(await poll(device_code)).status, (await poll(device_code)).body.error], [400, 'slow_down']);
	const body = { scope: { type: 'gateway', id: gateway.id }, permissions: ['tools:read'] };
	assert.deepEqual(must(await approve(user_code, body), 200).body.data, { decision: 'approved' });
	assert.equal((await owner.get(`/device/logins/${user_code}`)).status, 404);
	assert.equal((await approve(user_code)).status, 404);
	const other = await granted(body);
	assert.deepEqual(other.body, {
		access_token: other.body.access_token,
		...{ token_type: 'Bearer', scope: 'tools:read', key_id: other.body.key_id, email: owner.email },
		organization: owner.organization,
	});
	assert.equal(other.headers.get('cache-control'), 'no-store');
	const { accessKeys } = must(await owner.get('/access-keys'), 200).body.data;
	const row = accessKeys.find(({ id }: { id: string }) => id === other.body.key_id);
	assert.deepEqual([row.name, row.scope, row.permissions], ['gatehouse-proxy on laptop', body.scope, ['tools:read']]);
	const { entries } = must(await owner.get('/audit-log?action=create'), 200).body.data;
	assert.ok(JSON.stringify(entries).includes(other.body.key_id) || entries.length > 0);
});

test('of parallel questions on both replicas one gets the key', async () => {
	const { device_code, user_code } = await begin();
	must(await approve(user_code), 200);
	const answers = await Promise.all([...Array(8).keys()].map((at) => poll(device_code, at % 2 === 0 ? service.url : replica.url)));
	assert.equal(answers.filter(({ status }) => status === 200).length, 1);
	for (const { status, body } of answers) if (status !== 200) assert.match(body.error, /^(slow_down|expired_token)$/);
});

test('of parallel decisions one counts; a program that was denied is told', async () => {
	const { user_code } = await begin();
	const decide = (how: string) => owner.post(`/device/logins/${user_code}/${how}`, how === 'approve' ? {} : undefined);
	const statuses = (await Promise.all(['deny', 'approve', 'deny', 'approve'].map(decide))).map(({ status }) => status);
	assert.equal(statuses.filter((status) => status === 200).length, 1);
	assert.ok(
		statuses.every((status) => [200, 404, 409].includes(status)),
		statuses.join(),
	);
	const denied = await begin();
	must(await owner.post(`/device/logins/${denied.user_code}/deny`), 200);
	assert.deepEqual([(await poll(denied.device_code)).body.error, (await keyWorks('ak_live_x')) === 401], ['access_denied', true]);
});

test('a foreign gateway and organization are not found, and nothing is decided', async () => {
	const { device_code, user_code } = await begin();
	assert.equal((await approve(user_code, { scope: { type: 'gateway', id: gateway.id } }, stranger)).status, 404);
	assert.equal((await approve(user_code, { organizationId: owner.organization.id }, stranger)).status, 404);
	assert.equal((await approve(user_code, { permissions: [] }, stranger)).status, 400);
	assert.equal((await approve(user_code, { scope: { type: 'all' } }, stranger)).status, 400);
	assert.equal((await poll(device_code)).body.error, 'authorization_pending');
});

test('what the user may no longer reach is not given', async () => {
	const member = await addMember(owner, 'member');
	const { device_code, user_code } = await begin();
	must(await approve(user_code, { scope: { type: 'gateway', id: gateway.id } }, member), 200);
	const { id } = must(await member.get('/auth/profile'), 200).body.data;
	must(await owner.del(`/organizations/${owner.organization.id}/members/${id}`), 200);
	const answer = await poll(device_code);
	assert.deepEqual([answer.status, answer.body.error], [400, 'access_denied']);
});

test('only a login decides: no access key, and nobody without a credential', async () => {
	const { user_code } = await begin();
	const key = must(await owner.post('/access-keys', { name: 'k' }), 201).body.data.key;
	for (const headers of [{}, { authorization: `Bearer ${key}` }])
		for (const [method, path] of [
			['GET', ''],
			['POST', '/approve'],
			['POST', '/deny'],
		] as const) {
			const { status } = await send(`${service.url}/device/logins/${user_code}${path}`, method, { headers });
			assert.equal(status, 'authorization' in headers ? 403 : 401);
		}
});

test('bad input has OAuth’s form, an unknown code is over, and names lose what could mislead', async () => {
	const faults: [path: string, body: unknown, error: string][] = [
		['/authorize', {}, 'invalid_request'],
		['/authorize', { client_id: 'x'.repeat(300) }, 'invalid_request'],
		['/authorize', { client_id: { a: 1 } }, 'invalid_request'],
		['/authorize', '[', 'invalid_request'],
		['/token', { grant_type: 'password', device_code: 'x' }, 'unsupported_grant_type'],
		['/token', { grant_type: GRANT }, 'invalid_request'],
		['/token', { grant_type: GRANT, device_code: 'x' }, 'expired_token'],
		['/token', { grant_type: GRANT, device_code: 'x'.repeat(43) }, 'expired_token'],
		['/revoke', {}, 'invalid_request'],
	];
	for (const [path, body, error] of faults) {
		const answer = await post(path, body);
		assert.deepEqual([answer.status, answer.body.error], [400, error], JSON.stringify(body));
		assert.equal(typeof answer.body.error_description, 'string');
	}
	const twice = { body: 'client_id=a&client_id=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
	assert.equal((await send(`${service.url}/device/authorize`, 'POST', twice)).body.error, 'invalid_request');
	assert.equal((await post('/authorize', { client_id: 'x'.repeat(10_000) })).status, 413);
	assert.equal(
		(await send(`${service.url}/device/authorize`, 'POST', { body: 'x', headers: { 'content-type': 'text/plain' } })).status,
		415,
	);
	const { user_code } = await begin('a\u202Eb\n<i>');
	const { program } = must(await owner.get(`/device/logins/${user_code}`), 200).body.data;
	assert.doesNotMatch(program, /[\n\u202E]/);
	for (const code of ['x', 'BBBB-BBBB', '%00', 'ÄÄÄÄ-ÄÄÄÄ'])
		assert.ok([400, 404].includes((await owner.get(`/device/logins/${code}`)).status), code);
});

test('guesses at codes are limited by address', async () => {
	const limited = await startTestService({
		replicaOf: service,
		limits: (await import('../../../../core/limits/table.ts')).limitTable({ rateLimit: { max: 1000, windowSeconds: 60 } }),
	});
	try {
		const login = await send(`${limited.url}/auth/login`, 'POST', { body: { email: owner.email, password: owner.password } });
		const headers = { authorization: `Bearer ${must(login, 200).body.data.token}` };
		const statuses: number[] = [];
		for (let at = 0; at < 25; at += 1) statuses.push((await send(`${limited.url}/device/logins/BBBB-BBBB`, 'GET', { headers })).status);
		assert.deepEqual([statuses[0], statuses.filter((status) => status === 404).length, statuses.at(-1)], [404, 20, 429]);
	} finally {
		await limited.stop();
	}
});

test('answers are what the document says', async () => {
	const judge = await readDocument(service.url);
	const { device_code, user_code } = await begin();
	assert.equal(judge.fault('POST /device/authorize', await post('/authorize', { client_id: 'x' })), null);
	assert.equal(judge.fault('POST /device/authorize', await post('/authorize', {})), null);
	assert.equal(judge.fault('GET /device/logins/{userCode}', await owner.get(`/device/logins/${user_code}`)), null);
	assert.equal(judge.fault('POST /device/logins/{userCode}/approve', await approve(user_code)), null);
	assert.equal(judge.fault('POST /device/token', await poll(device_code)), null);
	assert.equal(judge.fault('POST /device/token', await poll(device_code)), null);
	assert.equal(judge.fault('POST /device/revoke', await post('/revoke', { token: 'x' })), null);
});
