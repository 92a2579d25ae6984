// Tests clients that sign (private_key_jwt, RFC 7523), and ChatGPT, which announces that method and may send none, at the token and
// revocation endpoints.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { openBrowser } from '../helpers/browser.ts';
import { ask, bearer, hs256, issuerKey } from '../helpers/gateway-auth.ts';
import { type OAuthClient, obtainCode, obtainTokens, redeem, refresh, sendForm } from '../helpers/oauth.ts';
import {
	ASSERTION_TYPE,
	CHATGPT,
	claimsOf,
	publishSigner,
	redemption,
	SIGNING,
	type Signer,
	seconds,
	signedBy,
} from '../helpers/oauth-signers.ts';
import { HOUR, passTime } from '../helpers/oauth-time.ts';
import { isSampled } from '../helpers/sampled.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	startTestService,
	type TestService,
} from '../helpers/service.ts';

let services: [TestService, TestService];
let account: Account;
let url: string;
/** URL of the same gateway at the other replica. */
let there: string;
before(async () => {
	const first = await startTestService();
	// Both replicas are one issuer, which clients name in what they sign.
	const replica = await startTestService({ replicaOf: first, env: { PUBLIC_URL: first.url } });
	services = [first, replica];
	account = await registerAccount(first.url);
	({ url } = await publishGateway(account, { auth: 'oauth2' }));
	there = `http://127.0.0.1:${replica.config.port}${new URL(url).pathname}`;
});
after(async () => {
	await services[1].stop();
	await services[0].stop();
});

const sign = (client: Signer, change: object = {}, header: object = {}): string =>
	client.key.token({ ...claimsOf(client.id, url), ...change }, header);
const newCode = (client: OAuthClient) => obtainCode(url, client, account, { browser: openBrowser() });
const told = ({ status, body }: Answer): string => `${status} ${body?.error ?? ''}`.trim();

describe('ChatGPT’s document', () => {
	test('makes it a public client: it redeems, refreshes and revokes without signing', async (t) => {
		const client = await publishSigner(t);
		const first = must(await redeem(url, client, await newCode(client)), 200).body;
		must(await ask(url, bearer(first.access_token)), 200);
		const { body } = must(await refresh(url, client, first.refresh_token), 200);
		must(await sendForm(`${url}/revoke`, { token: body.refresh_token, client_id: client.id }), 200);
		assert.equal(client.keys.requests(), 0);
	});

	test('lets it sign all the same: what it signs is checked, and it is the same client', async (t) => {
		const client = await publishSigner(t);
		const code = await newCode(client);
		const first = must(await sendForm(`${url}/token`, { ...redemption(client, code), ...signedBy(sign(client)) }), 200).body;
		const again = { grant_type: 'refresh_token', client_id: client.id };
		const next = await sendForm(`${url}/token`, { ...again, refresh_token: first.refresh_token, ...signedBy(sign(client)) });
		const third = must(await refresh(url, client, must(next, 200).body.refresh_token), 200).body;
		must(await sendForm(`${url}/revoke`, { token: third.refresh_token, ...signedBy(sign(client)) }), 200);
		must(await ask(url, bearer(third.access_token)), 401);
		assert.equal(client.keys.requests(), 1, 'its keys are remembered');
	});

	test('shows ChatGPT and its host to the user, and as a public client to the owners', async (t) => {
		const { id, url: own } = await publishGateway(account, { auth: 'oauth2' });
		const client = await publishSigner(t);
		await obtainCode(own, client, account, { browser: openBrowser() });
		const { clients } = must(await account.get(`/gateways/${id}/oauth/clients`), 200).body.data;
		assert.deepEqual(
			[clients[0].name, clients[0].tokenEndpointAuthMethod, clients[0].redirectUris],
			['ChatGPT', 'none', CHATGPT.redirect_uris],
		);
	});
});

const other = issuerKey('RS256', 'other');

/** Claims and headers of assertions that prove nothing, with a pattern for the error's description. */
const WRONG: [what: string, make: (client: Signer) => string, told: RegExp][] = [
	['is of another key of the same name', ({ id, key }) => issuerKey('RS256', key.kid).token(claimsOf(id, url)), /signed with/],
	['names a key that there is not', (client) => sign(client, {}, { kid: 'none' }), /signed with/],
	['brings its own key', (client) => other.token(claimsOf(client.id, url), { jwk: other.jwk }), /signed with/],
	['names where its key is', (client) => other.token(claimsOf(client.id, url), { jku: 'https://evil.example/' }), /signed with/],
	['is signed by nobody', (client) => `${sign(client, {}, { alg: 'none' }).replace(/\.[^.]*$/, '.')}`, /signed with/],
	[
		'takes the public key for a secret',
		(client) => hs256(claimsOf(client.id, url), JSON.stringify(client.key.jwk), { kid: client.key.kid }),
		/signed with/,
	],
	['says another algorithm than it registered', (client) => sign(client, {}, { alg: 'PS256' }), /signed with/],
	['is no token', () => 'a.b.c', /signed with/],
	['was changed', (client) => sign(client).replace(/^[^.]*\.[^.]{8}/, (start) => `${start.slice(0, -1)}A`), /signed with/],
	['is of another issuer', (client) => sign(client, { iss: 'https://evil.example/' }), /iss of client_assertion must be the client_id/],
	['is about another subject', (client) => sign(client, { sub: 'https://evil.example/' }), /sub of client_assertion must be the client_id/],
	['names no issuer', (client) => sign(client, { iss: undefined }), /iss of/],
	['names no subject', (client) => sign(client, { sub: undefined }), /sub of/],
	['is for another server', (client) => sign(client, { aud: 'https://evil.example/' }), /aud of client_assertion must be http/],
	['is for another gateway', (client) => sign(client, { aud: `${url}x` }), /aud of/],
	['is for this server and another', (client) => sign(client, { aud: [url, 'https://evil.example/'] }), /aud of/],
	['is for nobody', (client) => sign(client, { aud: [] }), /aud of/],
	['does not say for whom', (client) => sign(client, { aud: undefined }), /aud of/],
	['is for a number', (client) => sign(client, { aud: 5 }), /aud of/],
	['has expired', (client) => sign(client, { exp: seconds() - 60 }), /has expired/],
	['never expires', (client) => sign(client, { exp: undefined }), /must have an exp/],
	['expires in two hours', (client) => sign(client, { exp: seconds() + 7200 }), /at most an hour/],
	['expires at no time', (client) => sign(client, { exp: 'tomorrow' }), /exp/],
	['is not good yet', (client) => sign(client, { nbf: seconds() + 600 }), /nbf/],
	['has a number for a name', (client) => sign(client, { jti: 5 }), /jti/],
	['has 9,000 characters', (client) => sign(client, { more: 'x'.repeat(9000) }), /8192 characters/],
];

describe('a client is refused with invalid_client and the reason when its assertion', () => {
	for (const [at, [what, make, why]] of WRONG.entries())
		test(`${what}; it costs it nothing`, async (t) => {
			for (const metadata of [CHATGPT, SIGNING].filter((_metadata, turn) => isSampled(at + turn, 2))) {
				const client = await publishSigner(t, metadata);
				const code = await newCode(client);
				const refused = await sendForm(`${url}/token`, { ...redemption(client, code), ...signedBy(make(client)) });
				assert.equal(told(refused), '401 invalid_client');
				assert.match(refused.body.error_description, why);
				assert.equal(refused.headers.get('cache-control'), 'no-store');
				must(await sendForm(`${url}/token`, { ...redemption(client, code), ...signedBy(sign(client)) }), 200);
			}
		});
});

test('an assertion is for the server by its name or by an endpoint, alone or in a list, with or without a jti and a client_id', async (t) => {
	const client = await publishSigner(t);
	const good = [
		{ aud: `${url}/token` },
		{ aud: `${url}/` },
		{ aud: [url] },
		{ aud: [url, `${url}/token`] },
		{ jti: undefined },
		{ exp: seconds() - 10 },
	];
	for (const change of [...good, { exp: seconds() + 3600 }, { nbf: seconds() + 10 }]) {
		const { client_id: _named, ...fields } = redemption(client, await newCode(client));
		must(await sendForm(`${url}/token`, { ...fields, ...signedBy(sign(client, change)) }), 200);
	}
});

test('a client that offers nothing but to sign must: unsigned, with a secret or in a header it is refused', async (t) => {
	const client = await publishSigner(t, SIGNING);
	const fields = redemption(client, await newCode(client));
	assert.equal(told(await sendForm(`${url}/token`, fields)), '401 invalid_client');
	assert.equal(told(await sendForm(`${url}/token`, { ...fields, client_secret: 'guess' })), '401 invalid_client');
	assert.equal(told(await sendForm(`${url}/revoke`, { token: 'a', client_id: client.id })), '401 invalid_client');
	must(await sendForm(`${url}/token`, { ...fields, ...signedBy(sign(client)) }), 200);
});

test('a request that authenticates in two ways, or in half of one, is invalid', async (t) => {
	const client = await publishSigner(t);
	const fields = redemption(client, await newCode(client));
	const assertion = sign(client);
	const bad: [more: Record<string, string>, headers?: Record<string, string>][] = [
		[{ ...signedBy(assertion), client_secret: 'secret' }],
		[signedBy(assertion), { authorization: `Basic ${Buffer.from('a:b').toString('base64')}` }],
		[{ client_assertion: assertion }],
		[{ client_assertion_type: ASSERTION_TYPE }],
		[{ ...signedBy(assertion), client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' }],
	];
	for (const [more, headers] of bad)
		assert.equal(told(await sendForm(`${url}/token`, { ...fields, ...more }, headers)), '400 invalid_request');
	must(await sendForm(`${url}/token`, { ...fields, ...signedBy(assertion) }), 200);
});

test('an assertion of one client is none of another’s, whoever is named beside it', async (t) => {
	const [client, stranger] = [await publishSigner(t), await publishSigner(t, CHATGPT, other)];
	const fields = redemption(client, await newCode(client));
	assert.equal(told(await sendForm(`${url}/token`, { ...fields, ...signedBy(sign(stranger)) })), '401 invalid_client');
	const { client_id: _named, ...unnamed } = fields;
	assert.equal(told(await sendForm(`${url}/token`, { ...unnamed, ...signedBy(sign(stranger)) })), '400 invalid_grant');
	assert.equal(told(await sendForm(`${url}/token`, { ...unnamed, ...signedBy(sign(client, { sub: 'nobody' })) })), '401 invalid_client');
});

describe('an assertion is accepted once', () => {
	/** A refresh token of another client: the gateway knows it, and gives nothing for it. */
	let known: string;
	before(async () => {
		known = (await obtainTokens(url, account)).refresh;
	});

	/** Sends assertions all at once to alternating replicas, and counts those that are accepted. */
	async function takenOf(client: Signer, assertions: string[]): Promise<number> {
		const fields = { grant_type: 'refresh_token', refresh_token: known, client_id: client.id };
		const answers = await Promise.all(
			assertions.map((assertion, turn) => sendForm(`${turn % 2 === 0 ? url : there}/token`, { ...fields, ...signedBy(assertion) })),
		);
		for (const answer of answers) assert.match(told(answer), /^(400 invalid_grant|401 invalid_client)$/);
		for (const { body } of answers.filter(({ status }) => status === 401))
			assert.equal(body.error_description, 'client_assertion has been used');
		return answers.filter(({ status }) => status === 400).length;
	}

	test('over all replicas, of twenty that come at once, and ever after', async (t) => {
		const client = await publishSigner(t);
		const assertion = sign(client);
		assert.equal(await takenOf(client, Array(20).fill(assertion)), 1);
		assert.equal(await takenOf(client, [assertion, assertion]), 0);
	});

	test('by its jti, whatever else it says; another client may have the same', async (t) => {
		const [client, stranger] = [await publishSigner(t), await publishSigner(t)];
		const jti = randomUUID();
		assert.equal(await takenOf(client, [sign(client, { jti }), sign(client, { jti, exp: seconds() + 90 })]), 1);
		assert.equal(await takenOf(stranger, [sign(stranger, { jti })]), 1);
	});

	test('without a jti, by what was signed: another signature of the same is the same', async (t) => {
		// ECDSA makes another signature each time.
		const client = await publishSigner(t, { ...CHATGPT, token_endpoint_auth_signing_alg: undefined }, issuerKey('ES256', 'k'));
		const claims = { ...claimsOf(client.id, url), jti: undefined };
		const [one, same] = [client.key.token(claims), client.key.token(claims)];
		assert.notEqual(one, same);
		assert.equal(await takenOf(client, [one, same]), 1);
		assert.equal(await takenOf(client, [client.key.token({ ...claims, exp: seconds() + 90 })]), 1);
	});

	test('and is remembered as long as it could come again, not longer', async (t) => {
		const client = await publishSigner(t);
		const jti = randomUUID();
		assert.equal(await takenOf(client, [sign(client, { jti, exp: seconds() + 3600 })]), 1);
		await passTime(services[0], HOUR);
		assert.equal(await takenOf(client, [sign(client, { jti })]), 0);
		await passTime(services[0], HOUR / 2);
		assert.equal(await takenOf(client, [sign(client, { jti })]), 1);
	});
});

describe('an assertion is not recorded', () => {
	const SECRET = 'x'.repeat(43);
	const MADE_UP: [what: string, make: (pair: { access: string; refresh: string }) => string][] = [
		['a code', () => SECRET],
		['a refresh token', () => `svc_rt_${'x'.repeat(22)}.${SECRET}.${SECRET}`],
		['a refresh token of a grant', ({ refresh: token }) => token.replace(/\..*/, `.${SECRET}.${SECRET}`)],
		['an access token of a grant', ({ access }) => access.replace(/\..*/, `.${SECRET}`)],
	];
	for (const [what, make] of MADE_UP)
		test(`beside ${what} that somebody made up, and is beside a real one`, async (t) => {
			const pair = await obtainTokens(url, account);
			const client = await publishSigner(t, SIGNING);
			const secret = make(pair);
			const assertion = signedBy(sign(client));
			const sent = (it: string) => ({ code: it, refresh_token: it, ...assertion });
			// Had it been recorded, the next one would be refused as used.
			for (const type of ['authorization_code', 'refresh_token', 'refresh_token', 'password'])
				assert.match(
					told(await sendForm(`${url}/token`, { grant_type: type, ...sent(secret) })),
					/^400 (invalid_grant|unsupported_grant_type)$/,
				);
			for (const at of [url, there]) must(await sendForm(`${at}/revoke`, { token: secret, ...assertion }), 200);
			must(await sendForm(`${url}/revoke`, { token: pair.access, ...assertion }), 200);
			assert.equal(told(await sendForm(`${url}/token`, { grant_type: 'refresh_token', ...sent(pair.refresh) })), '401 invalid_client');
			must(await ask(url, bearer(pair.access)), 200);
		});
});
