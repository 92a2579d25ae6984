// Tests texts that break parsers and stores, at every parameter of the authorization server: each is refused, and none causes a failure.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { authorizationUrl, METADATA, type OAuthClient, obtainTokens, pkce, REDIRECT, sendForm } from '../helpers/oauth.ts';
import { type Account, publishGateway, registerAccount, type SharedService, send, sharedService } from '../helpers/service.ts';

const NASTY = [
	'\u0000',
	'a\u0000b',
	'\uD800',
	'\uFFFF',
	'%',
	'%00',
	'%zz',
	'\r\nset-cookie: a=b',
	"'; DROP TABLE records; --",
	'$1',
	'{}',
	'[]',
	'__proto__',
	'constructor',
	'../../etc/passwd',
	'https://',
	'http://[',
	'https://[::1',
	'http://127.0.0.1:99999/',
	'💥'.repeat(100),
	'a'.repeat(10_000),
	'-1',
	'null',
	'svc_at_.',
	`svc_rt_${'A'.repeat(22)}.${'A'.repeat(43)}.${'A'.repeat(43)}`,
	`svc_at_${'A'.repeat(22)}.${'A'.repeat(43)}`,
];

let service: SharedService;
let account: Account;
let url: string;
let client: OAuthClient;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
	({ url } = await publishGateway(account, { auth: 'oauth2' }));
	({ client } = await obtainTokens(url, account));
});
after(() => service.stop());

test('authorize answers each of them', async () => {
	for (const name of [
		'client_id',
		'redirect_uri',
		'response_type',
		'state',
		'scope',
		'code_challenge',
		'code_challenge_method',
		'resource',
	])
		for (const text of NASTY) {
			const asked = authorizationUrl(url, client, { code_challenge: pkce().challenge, [name]: text });
			const { status } = await fetch(asked, { redirect: 'manual' });
			assert.ok([200, 303, 400].includes(status), `${name} ${JSON.stringify(text.slice(0, 40))}: ${status}`);
		}
	for (const query of ['%', '%zz=1', 'client_id=%', 'client_id=%ff', '&&&', '=', `a=${'b'.repeat(8000)}`])
		assert.equal((await fetch(`${url}/authorize?${query}`)).status, 400, query.slice(0, 40));
});

test('token and revoke answer each of them', async () => {
	const redemption = { grant_type: 'authorization_code', client_id: client.id, code: 'a', code_verifier: 'v'.repeat(43) };
	const refreshing = { grant_type: 'refresh_token', client_id: client.id, refresh_token: 'a', scope: 'tools:read' };
	const revocation = { client_id: client.id, token: 'a', token_type_hint: 'access_token' };
	for (const [at, fields] of [
		['token', redemption],
		['token', refreshing],
		['revoke', revocation],
	] as const)
		for (const name of [...Object.keys(fields), 'redirect_uri', 'resource', 'client_secret'])
			for (const text of NASTY) {
				const { status, body } = await sendForm(`${url}/${at}`, { ...fields, [name]: text });
				assert.ok([200, 400, 401].includes(status), `${at} ${name} ${JSON.stringify(text.slice(0, 40))}: ${status}`);
				// RFC 6749 §5.2 allows only these characters.
				if (status !== 200) assert.match(body.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/);
			}
});

test('token answers each Authorization header', async () => {
	for (const text of NASTY) {
		const pairs = [text, `${text}:${text}`, `${client.id}:${text}`].map((pair) => `Basic ${Buffer.from(pair).toString('base64')}`);
		for (const authorization of [...pairs, 'Basic', 'Basic ', 'Basic :', 'Basic =', 'Digest a=b']) {
			const { status } = await sendForm(`${url}/token`, { grant_type: 'refresh_token', refresh_token: 'a' }, { authorization });
			// 431: the header is longer than the server reads.
			assert.ok([400, 401, 431].includes(status), `${authorization.slice(0, 40)}: ${status}`);
		}
	}
});

test('register answers each of them, and each thing that is no text', async () => {
	const others = [null, 0, true, [], {}, [[]], [null], [{}], { length: 1 }];
	for (const name of ['client_name', 'redirect_uris', 'grant_types', 'response_types', 'token_endpoint_auth_method', 'scope', 'jwks'])
		for (const value of [...NASTY, ...NASTY.map((text) => [text]), ...others]) {
			const { status } = await send(`${url}/register`, 'POST', { body: { ...METADATA, [name]: value } });
			assert.ok([201, 400].includes(status), `${name} ${JSON.stringify(value).slice(0, 40)}: ${status}`);
		}
	for (const body of [
		'[',
		'{"a":',
		`${'['.repeat(1000)}`,
		'{"redirect_uris":["https://a.example/\\u0000"]}',
		`{"client_name":"\\ud800"}`,
		'\uFEFF{}',
	])
		assert.equal((await send(`${url}/register`, 'POST', { body })).status, 400, body.slice(0, 40));
});

test('a document’s name is answered, each of them', async () => {
	for (const text of NASTY) {
		const asked = authorizationUrl(
			url,
			{ ...client, id: `http://127.0.0.1:1/${text}`, redirectUri: REDIRECT },
			{ code_challenge: pkce().challenge },
		);
		assert.equal((await fetch(asked)).status, 400, text.slice(0, 40));
	}
});
