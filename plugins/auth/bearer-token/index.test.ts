// Tests of the method `bearer_token` at a published gateway: a token that its owner chose, and Gatehouse's own credentials.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, bearer, CALL, type GuardedGateway, guardedGateway } from '../../../test/helpers/gateway-auth.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	sharedService,
} from '../../../test/helpers/service.ts';

const TOKEN = 'a-token_of.16~ch';

let service: SharedService;
let account: Account;
let gateway: GuardedGateway;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
	gateway = await guardedGateway(account, [{ type: 'bearer_token', configuration: { token: TOKEN } }]);
});
after(() => service.stop());

const PLACES: Record<string, (secret: string) => Promise<Answer>> = {
	'X-API-Key': (secret) => ask(gateway.url, { 'x-api-key': secret }),
	'?api_key=': (secret) => ask(`${gateway.url}?api_key=${encodeURIComponent(secret)}`),
	Bearer: (secret) => ask(gateway.url, bearer(secret)),
};

test('the configured token, a gateway’s key, a member’s access key and a login’s token open it, in each place (5.2, 2; decisions, 24)', async () => {
	const { key } = must(await account.post(`/gateways/${gateway.id}/auth/api-keys`, { name: 'k' }), 201).body.data;
	const accessKey = must(await account.post('/access-keys', { name: 'k' }), 201).body.data.key;
	for (const [place, at] of Object.entries(PLACES)) {
		for (const secret of [TOKEN, key, accessKey, account.token])
			assert.equal((await at(secret)).status, 200, `${place}: ${secret.slice(0, 8)}`);
	}
});

test('whoever has the token may list and call', async () => {
	assert.equal((await ask(gateway.url, bearer(TOKEN), CALL)).status, 200);
});

test('strings that only resemble the token, and credentials for other gateways, do not open it', async () => {
	const other = await publishGateway(account);
	const theirs = await guardedGateway(account, [{ type: 'bearer_token', configuration: { token: 'another-token-of-16' } }]);
	const wrong = [TOKEN.toUpperCase(), TOKEN.slice(0, -1), `${TOKEN}x`, `x${TOKEN}`, other.key, 'another-token-of-16', 'x'.repeat(5000)];
	for (const [place, at] of Object.entries(PLACES)) {
		for (const secret of wrong) {
			const answer = await at(secret);
			assert.equal(answer.status, 401, `${place}: ${secret.slice(0, 20)}`);
			assert.equal(answer.body.message, 'The token is not valid for this gateway.');
			assert.ok(!JSON.stringify(answer.body).includes(secret));
		}
	}
	assert.equal((await ask(theirs.url, bearer(TOKEN))).status, 401);
	const stranger = await registerAccount(service.url);
	assert.equal((await ask(gateway.url, bearer(stranger.token))).status, 403);
});

test('without a configured token, only credentials of Gatehouse open it', async () => {
	const { url } = await guardedGateway(account, [{ type: 'bearer_token' }]);
	assert.equal((await ask(url, bearer(account.token))).status, 200);
	for (const secret of [TOKEN, 'undefined', 'null']) assert.equal((await ask(url, bearer(secret))).status, 401);
	assert.equal((await ask(url)).status, 401);
});

test('keyHeader replaces X-API-Key', async () => {
	const { url } = await guardedGateway(account, [{ type: 'bearer_token', configuration: { token: TOKEN, keyHeader: 'X-Team' } }]);
	assert.equal((await ask(url, { 'x-team': TOKEN })).status, 200);
	assert.equal((await ask(url, { 'x-api-key': TOKEN })).status, 401);
	assert.equal((await ask(url, bearer(TOKEN))).status, 200);
});

test('a token that could not be sent, or is too short, is refused without being shown', async () => {
	for (const token of ['short-token-15c', 'with a space in it', 'with\nnewlines-in-it', 'ümläut-tökèn-here', 'x'.repeat(4097), 5]) {
		const answer = await account.post(`/gateways/${gateway.id}/auth`, { type: 'bearer_token', configuration: { token } });
		assert.deepEqual([answer.status, answer.body.details[0].path], [400, '/configuration/token'], String(token).slice(0, 20));
		if (typeof token === 'string') assert.ok(!JSON.stringify(answer.body).includes(JSON.stringify(token).slice(1, -1)));
	}
});

test('lists never show the token', async () => {
	const listed = must(await account.get(`/gateways/${gateway.id}/auth`), 200);
	assert.deepEqual(listed.body.data.authMethods[0].configuration, {});
});
