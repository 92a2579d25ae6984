// Tests of where a key is read from, and how a wrong one is refused.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Caller, type Context, type Gateway, GatewayError, type Incoming } from '../../../core/index.ts';
import apiKey from './index.ts';

const CALLER: Caller = { method: 'api_key', subject: 'key:1', keyId: '1', scopes: ['tools:read'] };
const asked: string[] = [];
// The method uses nothing else of its context.
const context = {
	identity: {
		credential: async (secret: string) => {
			asked.push(secret);
			if (secret === 'a.b.c') throw new GatewayError('unauthorized', 'jwt issuer invalid');
			return secret === 'svc_gw_good' ? CALLER : null;
		},
	},
} as Partial<Context> as Context;

// Makes a request with the parts that the method reads.
const incoming = (headers: Record<string, string>, query = ''): Incoming =>
	({ headers, query: new URLSearchParams(query) }) as Partial<Incoming> as Incoming;

const authenticate = (headers: Record<string, string>, { query = '', keyHeader }: { query?: string; keyHeader?: string } = {}) =>
	apiKey.authenticate(incoming(headers, query), keyHeader === undefined ? {} : { keyHeader }, context);

describe('api_key (specification 5.2, 2)', () => {
	test('takes the key from X-API-Key, from ?api_key= or as a Bearer token', async () => {
		assert.equal(await authenticate({ 'x-api-key': 'svc_gw_good' }), CALLER);
		assert.equal(await authenticate({}, { query: 'api_key=svc_gw_good' }), CALLER);
		assert.equal(await authenticate({ authorization: 'Bearer svc_gw_good' }), CALLER);
		assert.equal(await authenticate({ authorization: 'bearer  svc_gw_good ' }), CALLER);
	});

	test('is null when there is no key at all, so that another method may try', async () => {
		assert.equal(await authenticate({}), null);
		assert.equal(await authenticate({ 'x-api-key': '' }, { query: 'api_key=' }), null);
		assert.equal(await authenticate({ authorization: 'Basic dTpw' }), null);
		assert.equal(await authenticate({ authorization: 'Bearer' }), null);
	});

	test('the first location that holds a key counts, also when the key is wrong', async () => {
		const wrong = { 'x-api-key': 'svc_gw_bad', authorization: 'Bearer svc_gw_good' };
		await assert.rejects(authenticate(wrong, { query: 'api_key=svc_gw_good' }), { code: 'unauthorized' });
		await assert.rejects(authenticate({ authorization: 'Bearer svc_gw_good' }, { query: 'api_key=svc_gw_bad' }), { code: 'unauthorized' });
	});

	test('keyHeader replaces X-API-Key, in whatever case', async () => {
		assert.equal(await authenticate({ 'x-team-key': 'svc_gw_good' }, { keyHeader: 'X-Team-Key' }), CALLER);
		assert.equal(await authenticate({ 'x-api-key': 'svc_gw_good' }, { keyHeader: 'X-Team-Key' }), null);
	});

	test('an overlong key is refused without being looked up, in the same words as a wrong one', async () => {
		const messages = await Promise.all(
			['k'.repeat(4097), 'svc_gw_bad'].map((key) => authenticate({ 'x-api-key': key }).catch((error: Error) => error.message)),
		);
		assert.equal(messages[0], messages[1]);
		assert.ok(!asked.some((secret) => secret.length > 4096));
	});

	test('core’s own error for an invalid token reaches the client', async () => {
		await assert.rejects(authenticate({ authorization: 'Bearer a.b.c' }), { code: 'unauthorized', message: 'jwt issuer invalid' });
	});

	test('the refusal does not show the key', async () => {
		await assert.rejects(authenticate({ 'x-api-key': 'svc_gw_bad' }), ({ message }: Error) => !message.includes('svc_gw_bad'));
	});

	test('the challenge names the gateway as realm (RFC 6750 §3)', () => {
		const gateway = { url: 'https://gatehouse.example/acme/main' } as Partial<Gateway> as Gateway;
		assert.equal(apiKey.challenge(gateway, {}, null), 'Bearer realm="https://gatehouse.example/acme/main"');
	});

	test('the challenge says what was wrong with a credential that was sent (RFC 6750 §3.1)', () => {
		const gateway = { url: 'https://gatehouse.example/acme/main' } as Partial<Gateway> as Gateway;
		const realm = 'Bearer realm="https://gatehouse.example/acme/main"';
		assert.equal(apiKey.challenge(gateway, {}, { error: 'invalid_token' }), `${realm}, error="invalid_token"`);
		const fault = { error: 'insufficient_scope', scopes: ['tools:read', 'tools:execute'] } as const;
		assert.equal(apiKey.challenge(gateway, {}, fault), `${realm}, error="insufficient_scope", scope="tools:read tools:execute"`);
	});

	test('a keyHeader named like a member of every object is looked up among the headers only', async () => {
		for (const keyHeader of ['constructor', 'toString', '__proto__', 'hasOwnProperty'])
			assert.equal(await authenticate({}, { keyHeader }), null);
		assert.equal(await authenticate({ constructor: 'svc_gw_good' } as Record<string, string>, { keyHeader: 'Constructor' }), CALLER);
	});

	test('keyHeader must be an HTTP token that is no other header’s (RFC 9110 §5.6.2)', () => {
		for (const keyHeader of ['X-Team-Key', 'x_key', 'a'.repeat(100)]) assert.ifError(apiKey.config.validate({ keyHeader }).error);
		for (const keyHeader of ['', 'a b', 'a:b', 'ä', 'a\r\nb', 'a'.repeat(101), 'Authorization', 'COOKIE', 5]) {
			assert.ok(apiKey.config.validate({ keyHeader }).error, String(keyHeader));
		}
		assert.ok(apiKey.config.validate({ other: 1 }).error);
	});
});
