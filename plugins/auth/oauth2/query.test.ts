// Tests that parameters of the body are not accepted in the URI, where logs would keep them (RFC 6749 §2.3.1).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { METADATA, obtainCode, obtainTokens, refresh, registerClient, sendForm } from '../../../test/helpers/oauth.ts';
import {
	type Account,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../../../test/helpers/service.ts';

let service: TestService;
let account: Account;
let url: string;
const lines: string[] = [];
before(async () => {
	service = await startTestService({ onLog: (line) => void lines.push(line) });
	account = await registerAccount(service.url);
	({ url } = await publishGateway(account, { auth: 'oauth2' }));
});
after(() => service.stop());

const CANARY = 'canary-in-the-uri';
const refused = (name: string) => ({ error: 'invalid_request', error_description: `${name} must be sent in the body, not in the URI` });

test('the token endpoint refuses such parameters, and redeems nothing', async () => {
	const client = await registerClient(url, { token_endpoint_auth_method: 'client_secret_post' });
	const { code, verifier } = await obtainCode(url, client, account);
	const fields = {
		grant_type: 'authorization_code',
		code,
		code_verifier: verifier,
		redirect_uri: client.redirectUri,
		client_id: client.id,
		client_secret: client.secret,
	};
	for (const name of [...Object.keys(fields), 'client_assertion', 'refresh_token', 'username', 'password', 'resource', 'scope']) {
		const answer = must(await sendForm(`${url}/token?other=1&${name}=${CANARY}`, fields), 400);
		assert.deepEqual(answer.body, refused(name));
		assert.equal(answer.headers.get('cache-control'), 'no-store');
	}
	const { client_secret: secret, ...public_ } = fields;
	assert.deepEqual(must(await sendForm(`${url}/token?client_secret=${secret}`, public_), 400).body, refused('client_secret'));
	// RFC 6749 §3.2: an empty parameter counts as absent, and an unknown one is ignored.
	must(await sendForm(`${url}/token?client_secret=&resource_id=x&utm_source=y`, fields), 200);
});

test('the revocation and the registration endpoint refuse them too', async () => {
	const { refresh: token, client } = await obtainTokens(url, account);
	for (const name of ['token', 'client_id', 'client_secret', 'token_type_hint'])
		assert.deepEqual(must(await sendForm(`${url}/revoke?${name}=${CANARY}`, { token, client_id: client.id }), 400).body, refused(name));
	must(await refresh(url, client, token), 200);
	for (const name of ['client_secret', 'redirect_uris', 'access_token'])
		assert.deepEqual(must(await send(`${url}/register?${name}=${CANARY}`, 'POST', { body: METADATA }), 400).body, refused(name));
	must(await send(`${url}/register?other=1`, 'POST', { body: METADATA }), 201);
});

test('no line of the log holds such a parameter', () => {
	assert.ok(lines.length > 20);
	assert.deepEqual(
		lines.filter((line) => line.includes(CANARY)),
		[],
	);
});
