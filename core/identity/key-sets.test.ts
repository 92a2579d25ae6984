// The times at which the keys of an issuer are read again. The clock is the test's; the issuer, the guard and the memory are real.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { jwtVerify } from 'jose';
import { local } from '../../test/helpers/egress.ts';
import { issuerKey, startIssuer } from '../../test/helpers/gateway-auth.ts';
import { silent } from '../../test/helpers/silent.ts';
import type { Context } from '../contract/context.ts';
import { Memo } from '../shared/memo.ts';
import { type KeySetRules, keysAt, readKeySet } from './key-sets.ts';
import { verifyToken } from './verify-token.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const RULES: KeySetRules = { maxBytes: 256 * 1024, maxKeys: 100, logged: 'warn' };

/** Verifies a token with the keys at `url`. */
const verify = (token: string, url: string, context: Context) =>
	verifyToken(token, { url, rules: RULES }, { algorithms: ['ES256', 'RS256'] }, context);

/** Makes the part of a gateway's context that keys need, and a clock that only `wait` moves. */
function setUp(t: TestContext): { context: Context; wait(ms: number): void } {
	let nowMs = performance.now();
	t.mock.method(performance, 'now', () => nowMs);
	const egress = local(t);
	const memo = new Memo(1000);
	const context = {
		log: silent,
		request: (options) => egress.request(options),
		memo: (key, ttlMs, compute) => memo.get('organization', key, ttlMs, compute),
	} satisfies Partial<Context>;
	return {
		// The method uses no other part of it.
		context: context as Partial<Context> as Context,
		wait(ms) {
			nowMs += ms;
		},
	};
}

test('a new key of the issuer is found when a token names it, at most every 30 seconds', async (t) => {
	const [old, fresh, newest] = ['old', 'fresh', 'newest'].map((kid) => issuerKey('ES256', kid));
	assert.ok(old && fresh && newest);
	const issuer = await startIssuer(t, [old.jwk]);
	const { context, wait } = setUp(t);
	const admits = (key: typeof old): Promise<boolean> =>
		verify(key.token({ sub: 'a' }), issuer.url, context).then(
			() => true,
			() => false,
		);
	assert.equal(await admits(old), true);
	issuer.publish([fresh.jwk, newest.jwk]);
	wait(29 * SECOND);
	assert.equal(await admits(fresh), false, 'too early');
	assert.equal(issuer.requests(), 1);
	wait(2 * SECOND);
	assert.deepEqual(await Promise.all([admits(fresh), admits(newest), admits(fresh)]), [true, true, true]);
	assert.equal(issuer.requests(), 2, 'once for all who asked');
	assert.equal(await admits(old), false, 'what the issuer no longer publishes is gone');
	assert.equal(issuer.requests(), 2);
});

test('the keys are read again every ten minutes, so a withdrawn one is refused by then', async (t) => {
	const key = issuerKey('ES256', 'k');
	const issuer = await startIssuer(t, [key.jwk]);
	const { context, wait } = setUp(t);
	const check = (): Promise<unknown> => verify(key.token({ sub: 'a' }), issuer.url, context);
	await check();
	issuer.publish([]);
	wait(9 * MINUTE);
	await check();
	assert.equal(issuer.requests(), 1);
	wait(MINUTE);
	await assert.rejects(check(), { code: 'ERR_JWKS_NO_MATCHING_KEY' });
	assert.equal(issuer.requests(), 2);
});

test('an issuer that cannot be reached is retried after five seconds, not before', async (t) => {
	const key = issuerKey('ES256', 'k');
	const issuer = await startIssuer(t);
	const { context, wait } = setUp(t);
	const check = (): Promise<unknown> => verify(key.token({ sub: 'a' }), issuer.url, context);
	issuer.answer((response) => void response.writeHead(500).end());
	for (let at = 0; at < 3; at++) await assert.rejects(check(), { code: 'unavailable' });
	assert.equal(issuer.requests(), 1);
	issuer.publish([key.jwk]);
	wait(4 * SECOND);
	await assert.rejects(check(), { code: 'unavailable' });
	wait(2 * SECOND);
	await check();
	assert.equal(issuer.requests(), 2);
});

test('when it fails while a new key is looked up, the known keys stay valid', async (t) => {
	const [key, fresh] = ['k', 'fresh'].map((kid) => issuerKey('ES256', kid));
	assert.ok(key && fresh);
	const issuer = await startIssuer(t, [key.jwk]);
	const { context, wait } = setUp(t);
	await verify(key.token({ sub: 'a' }), issuer.url, context);
	issuer.answer((response) => void response.destroy());
	wait(31 * SECOND);
	await assert.rejects(verify(fresh.token({ sub: 'a' }), issuer.url, context), { code: 'unavailable' });
	await verify(key.token({ sub: 'b' }), issuer.url, context);
	assert.equal(issuer.requests(), 2);
	issuer.publish([key.jwk, fresh.jwk]);
	wait(31 * SECOND);
	await verify(fresh.token({ sub: 'a' }), issuer.url, context);
});

test('when the first caller leaves, the others still get the keys', async (t) => {
	const key = issuerKey('ES256', 'k');
	const issuer = await startIssuer(t, [key.jwk]);
	const { context } = setUp(t);
	const left = AbortSignal.abort();
	// Like a call, it has a signal of its own, unless the request brings another.
	const leaving: Context = { ...context, request: (options) => context.request({ signal: left, ...options }) };
	const keys = await keysAt(issuer.url, RULES, leaving);
	await jwtVerify(key.token({ sub: 'a' }), await keys.current(leaving));
	assert.equal(issuer.requests(), 1);
});

test('only the members of a key that verification needs are kept; a private, overlong or foreign key is left out', () => {
	const { jwk } = issuerKey('ES256', 'k');
	const rsa = issuerKey('RS256', 'r').jwk;
	const kept = readKeySet(
		{
			keys: [
				{ ...jwk, x5c: ['MIIB'], extra: 'x'.repeat(10_000) },
				{ ...rsa, key_ops: ['verify'] },
			],
			more: 1,
		},
		10,
	);
	assert.deepEqual(kept, { keys: [jwk, { ...rsa, key_ops: ['verify'] }] });
	const bad = [
		{ ...jwk, d: 'AAAA' },
		{ ...rsa, n: 'A'.repeat(1367) },
		// With an exponent as long as the modulus, one verification would take as long as a signature.
		{ ...rsa, e: 'A'.repeat(342) },
		{ ...jwk, kid: 5 },
		{ ...jwk, kid: 'k'.repeat(2000) },
		{ ...jwk, key_ops: 'verify' },
		{ ...jwk, key_ops: Array(11).fill('verify') },
		{ kty: 'oct', k: 'AAAA' },
		{ kty: ['RSA'] },
		null,
		[],
		'key',
	];
	assert.deepEqual(readKeySet({ keys: bad }, 100), { keys: [] });
	for (const none of [null, [], {}, { keys: jwk }, 'keys']) assert.throws(() => readKeySet(none, 10), /no list of keys/);
	assert.throws(() => readKeySet({ keys: Array(11).fill(jwk) }, 10), /more than 10 keys/);
});
