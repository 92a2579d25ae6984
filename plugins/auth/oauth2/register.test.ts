// Tests of refusals: each has OAuth's form (RFC 6749 §5.2, RFC 7591 §3.2.2), except the 429, whose body specification 7 gives.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { guardedGateway } from '../../../test/helpers/gateway-auth.ts';
import { METADATA, obtainCode, redeem, registerClient } from '../../../test/helpers/oauth.ts';
import { administer } from '../../../test/helpers/postgres.ts';
import { type Account, must, registerAccount, type SharedService, send, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
let account: Account;
let url: string;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
	({ url } = await guardedGateway(account, [{ type: 'oauth2' }]));
});
after(() => service.stop());

describe('malformed registrations and token requests are refused in the form of OAuth', () => {
	const SENT: [what: string, path: string, status: number, error: string, headers: Record<string, string>, body: string][] = [
		['a registration of more than 1 MiB', 'register', 413, 'invalid_client_metadata', {}, ' '.repeat(1_100_000)],
		['a registration that is compressed', 'register', 415, 'invalid_client_metadata', { 'content-encoding': 'gzip' }, '{}'],
		['a registration of another type', 'register', 400, 'invalid_client_metadata', { 'content-type': 'text/plain' }, '{}'],
		['a registration that is cut off', 'register', 400, 'invalid_client_metadata', {}, '{"redirect_uris":["https://'],
		['a registration with a name that no object may have', 'register', 400, 'invalid_client_metadata', {}, '{"__proto__":{}}'],
		['a registration without a body', 'register', 400, 'invalid_client_metadata', {}, ''],
		['a request for tokens of more than 64 KB', 'token', 413, 'invalid_request', {}, 'a'.repeat(70_000)],
		['a request for tokens that is compressed', 'token', 415, 'invalid_request', { 'content-encoding': 'br' }, 'a=b'],
		['a revocation of more than 64 KB', 'revoke', 413, 'invalid_request', {}, 'a'.repeat(70_000)],
	];
	for (const [what, path, status, error, headers, body] of SENT) {
		test(`${what}: ${status} ${error}`, async () => {
			const answer = must(
				await send(`${url}/${path}`, 'POST', { body, headers: { 'content-type': 'application/json', ...headers } }),
				status,
			);
			assert.deepEqual(Object.keys(answer.body).sort(), ['error', 'error_description']);
			assert.equal(answer.body.error, error);
			assert.match(answer.body.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
			assert.equal(answer.headers.get('cache-control'), 'no-store');
		});
	}

	const uris = (count: number, length: number) =>
		Array.from({ length: count }, (_none, at) => `https://a.example/${at}`.padEnd(length, 'a'));
	const jwks = (...keys: object[]) => ({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys } });
	const key = { kty: 'EC', crv: 'P-256', kid: 'k'.repeat(100), x: 'x', y: 'y', key_ops: ['verify'] };
	const rsa = { kty: 'RSA', n: 'n'.repeat(1366), e: 'AQAB' };
	const REDIRECTS = 'invalid_redirect_uri: redirect_uris must have at most 8192 characters together';
	const METADATA_BYTES = 'invalid_client_metadata: the metadata must take at most 15360 bytes: name fewer redirect URIs, or use jwks_uri';
	const named = (name: string) => `invalid_client_metadata: ${name} of a key in jwks must have at most 100 characters`;
	const LARGE: [what: string, metadata: object, refusal: string | null][] = [
		['redirect URIs of 8,192 characters', { redirect_uris: uris(8, 1024) }, null],
		['redirect URIs of more', { redirect_uris: [...uris(8, 1024), METADATA.redirect_uris[0]] }, REDIRECTS],
		['names in a key of 100 characters', jwks(key), null],
		...['kid', 'use', 'alg', 'crv'].map((name): [string, object, string] => [
			`a longer ${name}`,
			jwks(key, { ...key, [name]: 'k'.repeat(101) }),
			named(name),
		]),
		['a longer operation of a key', jwks({ ...key, key_ops: ['verify', 'v'.repeat(101)] }), named('key_ops')],
		['eight keys of 8,192 bits', jwks(...Array(8).fill(rsa)), null],
		['ten of them and long redirect URIs', { ...jwks(...Array(10).fill(rsa)), redirect_uris: uris(4, 1024) }, METADATA_BYTES],
	];
	for (const [what, metadata, refusal] of LARGE)
		test(`a registration with ${what}: ${refusal ?? 'taken'}`, async () => {
			const { body } = must(await send(`${url}/register`, 'POST', { body: { ...METADATA, ...metadata } }), refusal ? 400 : 201);
			if (refusal) assert.equal(`${body.error}: ${body.error_description}`, refusal);
		});

	test('null counts as left out of a registration', async () => {
		const left = { client_name: null, grant_types: null, response_types: null, token_endpoint_auth_method: null, jwks: null, scope: null };
		const { body } = must(await send(`${url}/register`, 'POST', { body: { redirect_uris: METADATA.redirect_uris, ...left } }), 201);
		assert.deepEqual([body.grant_types, body.response_types, body.client_name], [['authorization_code'], ['code'], undefined]);
	});

	test('a registration where registration is off: 403 access_denied', async () => {
		const shut = await guardedGateway(account, [{ type: 'oauth2', configuration: { dynamicRegistration: false } }]);
		const { body } = must(await send(`${shut.url}/register`, 'POST', { body: METADATA }), 403);
		assert.deepEqual(body, { error: 'access_denied', error_description: 'This gateway does not let clients register themselves.' });
	});
});

test('where three thousand clients wait for a user, the oldest give way to those that register, at once too; an allowed one stays', async () => {
	const [full, other] = [await guardedGateway(account, [{ type: 'oauth2' }]), await guardedGateway(account, [{ type: 'oauth2' }])];
	const query = (sql: string) => administer(service.config.database ?? assert.fail(), sql);
	/** Stores clients with the ids `<tag>1`, `<tag>2` and so on. */
	const fill = (gateway: { id: string }, count: number, tag: string) =>
		query(
			`INSERT INTO records (organization_id, gateway_id, plugin, key, value, tags, expires_at)
			SELECT '${account.organization.id}', '${gateway.id}', 'auth:oauth2', '${tag}' || n, json_build_object('id', '${tag}' || n),
				ARRAY['client', '${tag}', 'client:' || translate(encode(sha256(('${tag}' || n)::bytea), 'base64'), '+/=', '-_')],
				now() + interval '1 hour'
			FROM generate_series(1, ${count}) AS n ORDER BY n`,
		);
	const waiting = async (gateway: { id: string }) =>
		(await query(`SELECT key FROM records WHERE gateway_id = '${gateway.id}' AND tags @> '{unused}' ORDER BY seq`)).map(({ key }) => key);
	const allowed = await registerClient(full.url);
	await fill(full, 10_000, 'used');
	await fill(full, 2_999, 'unused');
	await fill(other, 1, 'unused');
	await query('ANALYZE records');
	await obtainCode(full.url, allowed, account);
	const logsIn = await registerClient(full.url);
	assert.deepEqual((await waiting(full)).slice(0, 2), ['unused1', 'unused2'], 'nobody gives way at the bound');
	const registered = await Promise.all(Array.from({ length: 40 }, () => registerClient(full.url)));
	const kept = await waiting(full);
	assert.deepEqual([kept.length, kept[0]], [3_000, 'unused41']);
	for (const client of [allowed, logsIn, ...registered.slice(-1)])
		must(await redeem(full.url, client, await obtainCode(full.url, client, account)), 200);
	assert.deepEqual(await waiting(other), ['unused1']);
});
