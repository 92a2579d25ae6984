// Tests the keys that clients publish or register, and the authentication methods that metadata announce (RFC 7591 §2, RFC 8414 §2).

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openBrowser } from '../helpers/browser.ts';
import { issuerKey, startIssuer } from '../helpers/gateway-auth.ts';
import { authorizationUrl, METADATA, type OAuthClient, obtainCode, pkce, REDIRECT, redeem, sendForm } from '../helpers/oauth.ts';
import { CHATGPT, claimsOf, publishSigner, redemption, type Signer, signedBy } from '../helpers/oauth-signers.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let service: TestService;
let account: Account;
let url: string;
before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
	({ url } = await publishGateway(account, { auth: 'oauth2' }));
});
after(() => service.stop());

const sign = (client: Signer, change: object = {}, header: object = {}): string =>
	client.key.token({ ...claimsOf(client.id, url), ...change }, header);
const newCode = (client: OAuthClient) => obtainCode(url, client, account, { browser: openBrowser() });
const told = ({ status, body }: Answer): string => `${status} ${body?.error ?? ''}`.trim();

describe('the keys of a client', () => {
	const refusedBy = async (client: Signer, at = url): Promise<string> => {
		const fields = { grant_type: 'refresh_token', refresh_token: 'nothing', client_id: client.id };
		const answer = await sendForm(`${at}/token`, { ...fields, ...signedBy(sign(client, { aud: at })) });
		assert.equal(told(answer), '401 invalid_client');
		return answer.body.error_description;
	};

	test('that cannot be read are its fault, and are not asked for again at once', async (t) => {
		const key = issuerKey('RS256', 'k');
		const ways: Parameters<Signer['keys']['answer']>[0][] = [
			(response) => void response.writeHead(500).end(),
			(response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
			(response) => void response.end('<html>'),
			(response) => void response.end(JSON.stringify({ keys: Array(21).fill(key.jwk) })),
			(response) => void response.end(JSON.stringify({ keys: [key.jwk], more: 'x'.repeat(70_000) })),
			(response) => void response.destroy(),
		];
		for (const way of ways) {
			const own = await publishSigner(t, CHATGPT, key);
			own.keys.answer(way);
			const told = await Promise.all(Array.from({ length: 10 }, () => refusedBy(own)));
			assert.deepEqual(new Set(told), new Set(['the keys of the client cannot be read']));
			assert.equal(own.keys.requests(), 1);
		}
	});

	test('are fetched through the guard: not a packet where it is shut', async (t) => {
		const guarded = await startTestService({ env: { EGRESS_ALLOW: '192.0.2.1' } });
		try {
			const gateway = await publishGateway(await registerAccount(guarded.url), { auth: 'oauth2' });
			const canary = await httpUpstream(t, (_request, response) => void response.end('{}'));
			const key = issuerKey('RS256', 'k');
			for (const jwks_uri of [
				`http://127.0.0.1:${canary.port}/k`,
				`https://[::ffff:127.0.0.1]:${canary.port}/k`,
				'https://169.254.169.254/k',
			]) {
				const metadata = { ...METADATA, token_endpoint_auth_method: 'private_key_jwt', jwks_uri };
				const { client_id: id } = must(await send(`${gateway.url}/register`, 'POST', { body: metadata }), 201).body;
				const client = { id, secret: null, redirectUri: REDIRECT, key, keys: await startIssuer(t) };
				assert.equal(await refusedBy(client, gateway.url), 'the keys of the client cannot be read');
			}
			assert.equal(canary.connections(), 0);
		} finally {
			await guarded.stop();
		}
	});

	test('that are unknown cost its server one request, however many are named', async (t) => {
		const client = await publishSigner(t);
		const answers = Array.from({ length: 100 }, (_none, at) =>
			sendForm(`${url}/token`, { grant_type: 'refresh_token', client_id: client.id, ...signedBy(sign(client, {}, { kid: `k${at}` })) }),
		);
		for (const answer of await Promise.all(answers)) assert.equal(told(answer), '401 invalid_client');
		assert.equal(client.keys.requests(), 1);
	});
});

describe('a client that registers', () => {
	const register = (metadata: object): Promise<Answer> => send(`${url}/register`, 'POST', { body: { ...METADATA, ...metadata } });
	const key = issuerKey('ES256', 'k');
	const jwks = { keys: [key.jwk] };

	test('with keys of its own proves itself by them', async () => {
		const { body } = must(await register({ token_endpoint_auth_method: 'private_key_jwt', jwks }), 201);
		assert.deepEqual([body.token_endpoint_auth_method, body.client_secret, body.jwks], ['private_key_jwt', undefined, jwks]);
		const client = { id: body.client_id, secret: null, redirectUri: REDIRECT };
		const fields = redemption(client, await newCode(client));
		assert.equal(told(await sendForm(`${url}/token`, fields)), '401 invalid_client');
		must(await sendForm(`${url}/token`, { ...fields, ...signedBy(key.token(claimsOf(client.id, url))) }), 200);
	});

	test('is public when it offers none among its methods, and gets no secret', async () => {
		const cases = [
			{ token_endpoint_auth_method: 'client_secret_basic', token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'] },
			{ token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'], jwks },
			{ token_endpoint_auth_method: undefined, token_endpoint_auth_methods_supported: ['none'] },
			{ token_endpoint_auth_method: 'none', token_endpoint_auth_methods_supported: ['private_key_jwt'] },
		];
		for (const metadata of cases) {
			const { body } = must(await register(metadata), 201);
			assert.deepEqual([body.token_endpoint_auth_method, body.client_secret], ['none', undefined], JSON.stringify(metadata));
			const client = { id: body.client_id, secret: null, redirectUri: REDIRECT };
			must(await redeem(url, client, await newCode(client)), 200);
		}
	});

	test('otherwise gets the first method of its own that there is', async () => {
		const offers: [offer: object, method: string][] = [
			[
				{ token_endpoint_auth_method: 'tls_client_auth', token_endpoint_auth_methods_supported: ['client_secret_post'] },
				'client_secret_post',
			],
			[
				{ token_endpoint_auth_method: 'client_secret_post', token_endpoint_auth_methods_supported: ['client_secret_basic'] },
				'client_secret_post',
			],
			[{ token_endpoint_auth_method: undefined, token_endpoint_auth_methods_supported: ['private_key_jwt'], jwks }, 'private_key_jwt'],
			[{ token_endpoint_auth_method: null, token_endpoint_auth_methods_supported: [] }, 'client_secret_basic'],
		];
		for (const [offer, method] of offers) {
			const { body } = must(await register(offer), 201);
			assert.deepEqual([body.token_endpoint_auth_method, 'client_secret' in body], [method, method.startsWith('client_secret')]);
		}
	});

	test('with keys that cannot be meant is refused, by the name of the field', async () => {
		const { d, ...rest } = { d: 'AAAA', ...key.jwk };
		const bad: [metadata: object, field: RegExp][] = [
			[{}, /^private_key_jwt needs jwks_uri or jwks$/],
			[{ jwks, jwks_uri: 'https://client.example/jwks.json' }, /^jwks_uri and jwks exclude each other$/],
			[{ jwks_uri: 'http://client.example/jwks.json' }, /^jwks_uri /],
			[{ jwks_uri: 'file:///etc/passwd' }, /^jwks_uri /],
			[{ jwks_uri: 'https://a:b@client.example/' }, /^jwks_uri /],
			[{ jwks_uri: 'https://%/' }, /^jwks_uri /],
			[{ jwks_uri: 5 }, /^jwks_uri /],
			[{ jwks_uri: `https://client.example/${'a'.repeat(1000)}` }, /^jwks_uri /],
			[{ jwks: { keys: [] } }, /^jwks must hold a public key/],
			[{ jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } }, /^jwks must hold public keys only$/],
			[{ jwks: { keys: [{ ...rest, d }] } }, /^jwks must hold public keys only$/],
			[{ jwks: { keys: Array(11).fill(key.jwk) } }, /^jwks must be a set of at most 10 keys$/],
			[{ jwks: [key.jwk] }, /^jwks must be a set/],
			[{ jwks: 'keys' }, /^jwks must be a set/],
			[{ jwks, token_endpoint_auth_signing_alg: 'HS256' }, /^token_endpoint_auth_signing_alg must be one of RS256 PS256 ES256 EdDSA$/],
			[{ jwks, token_endpoint_auth_signing_alg: 'none' }, /^token_endpoint_auth_signing_alg /],
			[{ jwks, token_endpoint_auth_signing_alg: ['RS256'] }, /^token_endpoint_auth_signing_alg /],
			[{ jwks, token_endpoint_auth_methods_supported: 'none' }, /^token_endpoint_auth_methods_supported must be a list/],
			[{ jwks, token_endpoint_auth_methods_supported: [5] }, /^token_endpoint_auth_methods_supported must be a list/],
			[{ jwks, token_endpoint_auth_methods_supported: Array(1000).fill('none') }, /^token_endpoint_auth_methods_supported must be a list/],
			[{ jwks, token_endpoint_auth_method: ['none'] }, /^token_endpoint_auth_method must be a text$/],
		];
		for (const [metadata, field] of bad) {
			const refused = await register({ token_endpoint_auth_method: 'private_key_jwt', ...metadata });
			assert.equal(told(refused), '400 invalid_client_metadata', JSON.stringify(metadata));
			assert.match(refused.body.error_description, field);
		}
	});

	test('may ask for signatures by one algorithm only, and then no other is taken', async () => {
		const rsa = issuerKey('RS256', 'r');
		const { alg: _alg, ...plain } = rsa.jwk as Record<string, unknown>;
		const metadata = { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [plain] } };
		const { body } = must(await register({ ...metadata, token_endpoint_auth_signing_alg: 'PS256' }), 201);
		assert.equal(body.token_endpoint_auth_signing_alg, 'PS256');
		const fields = { grant_type: 'refresh_token', refresh_token: 'nothing' };
		const claims = claimsOf(body.client_id, url);
		assert.equal(told(await sendForm(`${url}/token`, { ...fields, ...signedBy(rsa.token(claims)) })), '401 invalid_client');
	});
});

test('a public client that signs by an algorithm that is not taken is public all the same; one that must sign is refused', async (t) => {
	const client = await publishSigner(t, { ...CHATGPT, token_endpoint_auth_signing_alg: 'RS384' });
	const fields = redemption(client, await newCode(client));
	const refused = await sendForm(`${url}/token`, { ...fields, ...signedBy(sign(client)) });
	assert.equal(told(refused), '401 invalid_client');
	must(await sendForm(`${url}/token`, fields), 200);
	const metadata = { ...CHATGPT, token_endpoint_auth_signing_alg: 'RS384', token_endpoint_auth_methods_supported: undefined };
	const asked = authorizationUrl(url, await publishSigner(t, metadata), { code_challenge: pkce().challenge });
	assert.match(await (await fetch(asked)).text(), /token_endpoint_auth_signing_alg must be one of RS256 PS256 ES256 EdDSA/);
});

test('a document that asks for a secret is refused, and one that offers a way without is not', async (t) => {
	const visit = async (metadata: object): Promise<number> => {
		const asked = authorizationUrl(url, await publishSigner(t, { ...CHATGPT, ...metadata }), { code_challenge: pkce().challenge });
		return (await fetch(asked, { redirect: 'manual' })).status;
	};
	for (const token_endpoint_auth_method of ['client_secret_basic', 'client_secret_post', 'client_secret_jwt'])
		assert.equal(await visit({ token_endpoint_auth_method, token_endpoint_auth_methods_supported: undefined }), 400);
	for (const offer of [['client_secret_post', 'none'], ['private_key_jwt']])
		assert.equal(await visit({ token_endpoint_auth_method: 'client_secret_post', token_endpoint_auth_methods_supported: offer }), 200);
	assert.equal(await visit({ token_endpoint_auth_methods_supported: undefined, jwks_uri: undefined }), 400, 'it has no keys');
});

test('the metadata name what is taken', async () => {
	const { body } = must(await send(`${url}/.well-known/oauth-authorization-server`, 'GET'), 200);
	const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'];
	for (const endpoint of ['token', 'revocation']) {
		assert.deepEqual(body[`${endpoint}_endpoint_auth_methods_supported`], [
			'none',
			'client_secret_basic',
			'client_secret_post',
			'private_key_jwt',
		]);
		assert.deepEqual(body[`${endpoint}_endpoint_auth_signing_alg_values_supported`], algorithms);
	}
});
