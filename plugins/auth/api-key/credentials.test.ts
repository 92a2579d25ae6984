// Tests of every kind of credential that an `api_key` gateway accepts, in every location where a request may carry it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import Jwt from '@hapi/jwt';
import { until } from '../../../test/helpers/clock.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	SECRETS,
	send,
	startTestService,
	type TestService,
} from '../../../test/helpers/service.ts';

let service: TestService;
let owner: Account;
let gateway: { id: string; url: string; key: string };
let accessKey: { id: string; key: string };

before(async () => {
	service = await startTestService();
	owner = await registerAccount(service.url);
	gateway = await publishGateway(owner);
	const scope = { type: 'gateway', id: gateway.id };
	accessKey = must(await owner.post('/access-keys', { name: 'k', scope }), 201).body.data;
});
after(() => service.stop());

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const ACCEPT = { accept: 'application/json, text/event-stream' };

const ask = (headers: Record<string, string>, query = '', url = gateway.url): Promise<Answer> =>
	send(url + query, 'POST', { body: LIST, headers: { ...ACCEPT, ...headers } });

const PLACES: Record<string, (secret: string, url?: string) => Promise<Answer>> = {
	'X-API-Key': (secret, url) => ask({ 'x-api-key': secret }, '', url),
	'?api_key=': (secret, url) => ask({}, `?api_key=${secret}`, url),
	Bearer: (secret, url) => ask({ authorization: `Bearer ${secret}` }, '', url),
};

test('a gateway’s key, a member’s access key and a login’s token open it, in each of the three places (5.2, 2)', async () => {
	for (const [place, at] of Object.entries(PLACES)) {
		for (const secret of [gateway.key, accessKey.key, owner.token]) {
			assert.equal((await at(secret)).status, 200, `${place}: ${secret.slice(0, 8)}`);
		}
	}
});

test('credentials for other uses are refused: the cookie, another gateway’s key, another organization’s login', async () => {
	const stranger = await registerAccount(service.url);
	const theirs = await publishGateway(stranger);
	const theirKey = must(await stranger.post('/access-keys', { name: 'k' }), 201).body.data.key;
	const other = await publishGateway(owner);
	for (const [place, at] of Object.entries(PLACES)) {
		for (const secret of [theirs.key, other.key]) assert.equal((await at(secret)).status, 401, `${place}: ${secret.slice(0, 8)}`);
		// Valid credentials of a user who is no member of the organization (decisions, 22).
		for (const secret of [theirKey, stranger.token]) assert.equal((await at(secret)).status, 403, `${place}: ${secret.slice(0, 8)}`);
		assert.equal((await at(accessKey.key, other.url)).status, 403, place);
	}
	assert.equal((await ask({ cookie: `gatehouse_token=${owner.token}` })).status, 401);
});

test('a token from another issuer is refused with the message jwt issuer invalid (5.1 rule 1, 7)', async () => {
	const { iss: _iss, ...claims } = Jwt.token.decode(owner.token).decoded.payload;
	const token = Jwt.token.generate({ ...claims, iss: 'other' }, { key: SECRETS.JWT_SECRET, algorithm: 'HS256' });
	for (const [place, at] of Object.entries(PLACES)) {
		const { status, body, headers } = await at(token);
		assert.deepEqual([status, body.message], [401, 'jwt issuer invalid'], place);
		assert.ok(headers.get('www-authenticate'), place);
	}
});

test('a string that only resembles a credential is a 401, however long', async () => {
	const { pathname } = new URL(gateway.url);
	for (const good of [gateway.key, accessKey.key, owner.token]) {
		const wrong = [good.toUpperCase(), good.slice(0, -1), good.slice(1), `${good}x`, `${good}.`, good.padEnd(1_000_000, 'x')];
		for (const secret of wrong) {
			// The request is injected, since a header of a megabyte would not pass over a socket.
			const headers = { ...ACCEPT, authorization: `Bearer ${secret}` };
			const answer = await service.server.inject({ method: 'POST', url: pathname, headers, payload: LIST });
			assert.equal(answer.statusCode, 401, secret.slice(0, 60));
			assert.ok(!answer.payload.includes(secret), 'the answer shows the credential');
		}
	}
});

test('lastUsedAt of an access key moves with calls of gateways', async () => {
	const { key, id } = must(await owner.post('/access-keys', { name: 'fresh' }), 201).body.data;
	const lastUsedAt = async (): Promise<string | null> =>
		(await owner.get('/access-keys')).body.data.accessKeys.find((one: { id: string }) => one.id === id).lastUsedAt;
	assert.equal(await lastUsedAt(), null);
	assert.equal((await ask({ 'x-api-key': key })).status, 200);
	await until(lastUsedAt, 'its use is recorded');
});
