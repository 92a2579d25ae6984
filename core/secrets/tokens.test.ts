import assert from 'node:assert/strict';
import { createHmac, createSign, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { createTokens, hashId, hashKey, mintKey } from './tokens.ts';

const SECRET = 's'.repeat(64);
const tokens = createTokens(SECRET);
const now = Math.floor(Date.now() / 1000);
const LOGIN = { sessionId: 's1', userId: 'u1', at: new Date(now * 1000) };
const GOOD = { sub: 'u1', jti: 'j1', sid: 's1', auth_time: now, iss: 'svc', aud: 'svc-api', iat: now, exp: now + 3600 };

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function sign(payload: object, header: object = { alg: 'HS256', typ: 'JWT' }, algorithm = 'sha256'): string {
	const body = `${part(header)}.${part(payload)}`;
	return `${body}.${createHmac(algorithm, SECRET).update(body).digest('base64url')}`;
}

test('an issued token carries iss, aud, jti, sid and auth_time and lives 24 hours (5.1)', () => {
	const token = tokens.issue(LOGIN);
	const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, number | string>;
	assert.equal(payload['iss'], 'svc');
	assert.equal(payload['aud'], 'svc-api');
	assert.equal(Number(payload['exp']) - Number(payload['iat']), 24 * 60 * 60);
	const { sub, sid, auth_time: at, exp } = tokens.verify(token);
	assert.deepEqual([sub, sid, at, exp], ['u1', 's1', now, payload['exp']]);
});

test('the control of the cases below passes', () => assert.equal(tokens.verify(sign(GOOD)).jti, 'j1'));

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const rs256 = (): string => {
	const body = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(GOOD)}`;
	return `${body}.${createSign('sha256').update(body).sign(rsa.privateKey).toString('base64url')}`;
};

const BAD: [id: string, token: string, message: RegExp][] = [
	['wrong issuer', sign({ ...GOOD, iss: 'other' }), /^jwt issuer invalid$/],
	['no issuer', sign({ ...GOOD, iss: undefined }), /^jwt issuer invalid$/],
	['wrong audience', sign({ ...GOOD, aud: 'other' }), /audience/],
	['no audience', sign({ ...GOOD, aud: undefined }), /audience/],
	['audience as an array', sign({ ...GOOD, aud: ['svc-api'] }), /audience/],
	['expired', sign({ ...GOOD, exp: now - 1 }), /expired/i],
	['no expiry', sign({ ...GOOD, exp: undefined }), /Invalid token/],
	['not valid yet', sign({ ...GOOD, nbf: now + 3600 }), /expired|Invalid/i],
	['no subject', sign({ ...GOOD, sub: undefined }), /Invalid token/],
	['no login', sign({ ...GOOD, sid: undefined }), /Invalid token/],
	['alg none', `${part({ alg: 'none' })}.${part(GOOD)}.`, /Invalid token/],
	['HS512 with our secret', sign(GOOD, { alg: 'HS512', typ: 'JWT' }, 'sha512'), /Invalid token/],
	['RS256', rs256(), /Invalid token/],
	['crit', sign(GOOD, { alg: 'HS256', crit: ['b64'], b64: false }), /Invalid token/],
	['kid', sign(GOOD, { alg: 'HS256', kid: '../../dev/null' }), /Invalid token/],
	['jku', sign(GOOD, { alg: 'HS256', jku: 'https://evil.example/keys' }), /Invalid token/],
	['jwk', sign(GOOD, { alg: 'HS256', jwk: { kty: 'oct', k: '' } }), /Invalid token/],
	['x5u', sign(GOOD, { alg: 'HS256', x5u: 'https://evil.example/cert' }), /Invalid token/],
	['another secret', createTokens('t'.repeat(64)).issue(LOGIN), /Invalid token/],
	['payload swapped', sign(GOOD).replace(/\.[^.]+\./, `.${part({ ...GOOD, sub: 'admin' })}.`), /Invalid token/],
	['garbage', 'a.b.c', /Invalid token/],
	['empty', '', /Invalid token/],
	['one megabyte', 'x'.repeat(1_000_000), /Invalid token/],
];

for (const [id, token, message] of BAD) {
	test(`a token that is bad by "${id}" is refused with 401`, () => {
		assert.throws(
			() => tokens.verify(token),
			(error: { code?: string; message: string }) => error.code === 'unauthorized' && message.test(error.message),
		);
	});
}

// ── tokens issued by the operator ──────────────────────────────────────────────────────────────────────────────────

for (const [id, token, message] of BAD) {
	// A token with neither of our claims is the operator's own, and so is one of another issuer for another audience.
	if (id === 'wrong audience' || id === 'no audience') continue;
	test(`a token that is bad by "${id}" is not accepted as one of the operator’s`, () => {
		assert.throws(
			() => tokens.read(token),
			(error: { code?: string; message: string }) => error.code === 'unauthorized' && message.test(error.message),
		);
	});
}

test('a management token is read as one of the service', () => {
	assert.deepEqual(tokens.read(sign(GOOD)), { by: 'service', claims: tokens.verify(sign(GOOD)) });
});

const OPERATORS: [id: string, payload: object, claims: object][] = [
	['sub alone, for ever', { sub: 'bot' }, { subject: 'bot', exp: null, scopes: [] }],
	['userId alone', { userId: 'bot' }, { subject: 'bot', exp: null, scopes: [] }],
	['both, of which sub counts', { sub: 'bot', userId: 'other' }, { subject: 'bot', exp: null, scopes: [] }],
	['a sub that is empty beside a userId', { sub: '', userId: 'bot' }, { subject: 'bot', exp: null, scopes: [] }],
	[
		'a time and a scope',
		{ sub: 'bot', exp: now + 3600, nbf: now - 1, scope: 'a b' },
		{ subject: 'bot', exp: now + 3600, scopes: ['a', 'b'] },
	],
	['a time that is a clock’s difference away', { sub: 'bot', nbf: now + 20, iat: now + 20 }, { subject: 'bot', exp: null, scopes: [] }],
	['scopes in lists', { sub: 'bot', scope: ['a', 5], scp: ['b c'] }, { subject: 'bot', exp: null, scopes: ['a', 'b', 'c'] }],
	['another issuer and audience', { sub: 'bot', iss: 'ci', aud: ['x', 'y'] }, { subject: 'bot', exp: null, scopes: [] }],
];
for (const [id, payload, claims] of OPERATORS) {
	test(`a token with ${id} is the operator’s (decisions, 25)`, () => {
		assert.deepEqual(tokens.read(sign(payload)), { by: 'operator', claims });
	});
}

const NOBODYS: [id: string, token: string, message: RegExp][] = [
	['names nobody', sign({}), /"sub" or "userId"/],
	['has a number as its sub', sign({ sub: 7, userId: null }), /"sub" or "userId"/],
	['has an empty sub and userId', sign({ sub: '', userId: '' }), /"sub" or "userId"/],
	['has expired', sign({ sub: 'bot', exp: now - 1 }), /^Token expired/],
	['expires at a text', sign({ sub: 'bot', exp: String(now + 3600) }), /^Invalid token/],
	['expires at null', sign({ sub: 'bot', exp: null }), /^Invalid token/],
	['is not valid yet', sign({ sub: 'bot', nbf: now + 3600 }), /^Invalid token/],
	['is not valid before a text', sign({ sub: 'bot', nbf: '0' }), /^Invalid token/],
	['is for svc-api by another issuer', sign({ sub: 'bot', iss: 'ci', aud: 'svc-api' }), /^jwt issuer invalid$/],
	['is for svc-api among others', sign({ sub: 'bot', iss: 'ci', aud: ['x', 'svc-api'] }), /^jwt issuer invalid$/],
	['is for svc-api by nobody', sign({ sub: 'bot', aud: 'svc-api' }), /^jwt issuer invalid$/],
	['is by svc for nobody', sign({ sub: 'bot', iss: 'svc' }), /^jwt audience invalid$/],
	['is by svc for others', sign({ sub: 'bot', iss: 'svc', aud: 'x' }), /^jwt audience invalid$/],
	['is by svc among others', sign({ sub: 'bot', iss: ['svc'] }), /^jwt issuer invalid$/],
	['is a management token without a login', sign({ sub: 'bot', iss: 'svc', aud: 'svc-api', exp: now + 3600 }), /^Invalid token/],
];
for (const [id, token, message] of NOBODYS) {
	test(`a token that ${id} is refused, though its signature is good (decisions, 25)`, () => {
		assert.throws(
			() => tokens.read(token),
			(error: { code?: string; message: string }) => error.code === 'unauthorized' && message.test(error.message),
		);
	});
}

test('a minted key is long, has its prefix and is never the same', () => {
	const key = mintKey('svc_gw_');
	assert.match(key, /^svc_gw_[A-Za-z0-9_-]{43}$/);
	assert.notEqual(key, mintKey('svc_gw_'));
	assert.equal(hashKey(key).length, 32);
});

test('the hash of a key as a text is the stored hash', () => {
	for (const key of ['', 'svc_gw_abc', 'ключ'.repeat(100)]) assert.deepEqual(Buffer.from(hashId(key), 'latin1'), hashKey(key));
});
