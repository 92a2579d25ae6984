// Tests of the method `jwt` at a published gateway: tokens of the method's secret, of the service's, and of an issuer with public keys.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
	ask,
	bearer,
	CALL,
	type GuardedGateway,
	guardedGateway,
	hs256,
	issuerKey,
	jwt,
	startIssuer,
} from '../../../test/helpers/gateway-auth.ts';
import { rounds } from '../../../test/helpers/sampled.ts';
import { type Account, must, registerAccount, SECRETS, startTestService, type TestService } from '../../../test/helpers/service.ts';

const SECRET = 's'.repeat(32);
const seconds = (): number => Math.floor(Date.now() / 1000);

let service: TestService;
let account: Account;
before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

const made = (configuration: object): Promise<GuardedGateway> => guardedGateway(account, [{ type: 'jwt', configuration }]);
const statusOf = async (url: string, token: string): Promise<number> => (await ask(url, bearer(token))).status;

describe('jwt with a secret of its own (specification 5.2, 2)', () => {
	let gateway: GuardedGateway;
	before(async () => {
		gateway = await made({ secret: SECRET });
	});

	test('admits by sub or userId, and nobody without either', async () => {
		const timed = [
			{ sub: 'é漢', exp: seconds() + 60 },
			{ sub: 'a', nbf: seconds() - 5 },
			{ sub: 'a', nbf: seconds() + 25, iat: seconds() + 25 },
		];
		for (const claims of [{ sub: 'a' }, { userId: 'a' }, ...timed]) {
			assert.equal(await statusOf(gateway.url, hs256(claims, SECRET)), 200, JSON.stringify(claims));
		}
		const bad = [{}, { sub: '' }, { sub: 1 }, { sub: 1, userId: 'a' }, { sub: 'a\0b' }, { sub: '\ud800' }, { sub: 'a'.repeat(256) }];
		for (const claims of bad) assert.equal(await statusOf(gateway.url, hs256(claims, SECRET)), 401, JSON.stringify(claims));
	});

	test('a token without exp is good, one past it is not, also when it was good a moment ago', async () => {
		const token = hs256({ sub: 'a', exp: seconds() + 6 }, SECRET);
		assert.equal(await statusOf(gateway.url, token), 200);
		await sleep(6100);
		assert.equal(await statusOf(gateway.url, token), 401);
		for (const more of [{ exp: seconds() }, { exp: '9999999999' }, { exp: null }, { nbf: seconds() + 60 }, { nbf: 'now' }]) {
			assert.equal(await statusOf(gateway.url, hs256({ sub: 'a', ...more }, SECRET)), 401, JSON.stringify(more));
		}
	});

	test('kid and other members of the header that choose nothing are ignored; those that choose a key are refused', async () => {
		for (const header of [{ kid: '../../dev/null' }, { cty: 'x' }, { x5t: 'abc' }, { typ: 'at+jwt' }]) {
			assert.equal(await statusOf(gateway.url, hs256({ sub: 'a' }, SECRET, header)), 200, JSON.stringify(header));
		}
		const own = issuerKey('ES256', 'k');
		const refused = [
			{ crit: ['exp'] },
			{ crit: [] },
			{ jku: 'https://evil.example/' },
			{ jwk: own.jwk },
			{ x5u: 'https://evil.example/' },
			{ x5c: ['MIIB'] },
		];
		for (const header of [...refused, { b64: false }, { zip: 'DEF' }]) {
			assert.equal(await statusOf(gateway.url, hs256({ sub: 'a' }, SECRET, header)), 401, JSON.stringify(header));
		}
	});

	test('a token of another secret, the service’s own among them, is refused', async () => {
		for (const secret of ['x'.repeat(32), SECRETS.JWT_SECRET, `${SECRET}x`]) {
			assert.equal(await statusOf(gateway.url, hs256({ sub: 'a' }, secret)), 401);
		}
		assert.equal(await statusOf(gateway.url, account.token), 401);
	});

	test('a scope claim that names scopes of ours narrows what the token opens; any other opens all (decisions, 23)', async () => {
		const statuses = async (scope: unknown): Promise<number[]> => {
			const headers = bearer(hs256({ sub: 'a', scope }, SECRET));
			return [(await ask(gateway.url, headers)).status, (await ask(gateway.url, headers, CALL)).status];
		};
		assert.deepEqual(await statuses('tools:read'), [200, 403]);
		assert.deepEqual(await statuses('openid tools:execute'), [403, 200]);
		assert.deepEqual(await statuses('gateway:read'), [403, 403]);
		for (const scope of ['openid email', '', 5, ['openid', 5], 'Tools:read']) assert.deepEqual(await statuses(scope), [200, 200]);
	});

	test('scopes that an issuer writes as a list, or in scp, narrow as well', async () => {
		const statuses = async (claims: object): Promise<number[]> => {
			const headers = bearer(hs256({ sub: 'a', ...claims }, SECRET));
			return [(await ask(gateway.url, headers)).status, (await ask(gateway.url, headers, CALL)).status];
		};
		assert.deepEqual(await statuses({ scope: ['openid', 'tools:read'] }), [200, 403]);
		assert.deepEqual(await statuses({ scp: ['tools:read'] }), [200, 403]);
		assert.deepEqual(await statuses({ scp: 'openid tools:execute' }), [403, 200]);
		assert.deepEqual(await statuses({ scope: 'openid', scp: ['tools:read'] }), [200, 403]);
		assert.deepEqual(await statuses({ scp: ['openid'] }), [200, 200]);
	});

	test('only Authorization: Bearer holds a token; anything else there is refused', async () => {
		const token = hs256({ sub: 'a' }, SECRET);
		assert.equal((await ask(`${gateway.url}?api_key=${token}`)).status, 401);
		assert.equal((await ask(gateway.url, { 'x-api-key': token })).status, 401);
		assert.equal((await ask(gateway.url, { authorization: `bearer  ${token} ` })).status, 200);
		for (const text of ['x', 'a.b.c', `${token}.x`, token.replace(/\.[^.]*$/, '.'), `${token}${'A'.repeat(9000)}`]) {
			const answer = await ask(gateway.url, bearer(text));
			assert.equal(answer.status, 401);
			assert.equal(answer.headers.get('www-authenticate'), `Bearer realm="${gateway.url}", error="invalid_token"`);
		}
	});

	test('a UTF-8 secret counts in bytes, and signs as bytes', async () => {
		const secret = 'é'.repeat(16);
		const other = await made({ secret });
		assert.equal(await statusOf(other.url, hs256({ sub: 'a' }, secret)), 200);
		assert.equal(await statusOf(other.url, hs256({ sub: 'a' }, Buffer.from(secret, 'latin1'))), 401);
	});
});

test('issuer and audience are required where they are configured; a wrong issuer has its own message (7)', async () => {
	const { url } = await made({ secret: SECRET, issuer: 'https://id.example', audience: ['main', 'other'] });
	const good = { sub: 'a', iss: 'https://id.example', aud: 'main' };
	const ok = async (more: object): Promise<number> => statusOf(url, hs256({ ...good, ...more }, SECRET));
	for (const aud of ['main', 'other', ['main'], ['x', 'main'], ['main', 'other']])
		assert.equal(await ok({ aud }), 200, JSON.stringify(aud));
	const numbers = [5, [5], ['main', 5], [5, 'main']];
	for (const aud of ['x', 'MAIN', 'main ', '', undefined, [], ['x'], null, true, { main: true }, ['main', null], [['main']], ...numbers])
		assert.equal(await ok({ aud }), 401, JSON.stringify(aud));
	for (const iss of ['https://id.example/', 'HTTPS://ID.EXAMPLE', undefined, null, ['https://id.example']]) {
		const answer = await ask(url, bearer(hs256({ ...good, iss }, SECRET)));
		assert.deepEqual([answer.status, answer.body.message], [401, 'jwt issuer invalid'], JSON.stringify(iss));
	}
	// Without a valid signature the answer does not reveal the expected issuer.
	assert.notEqual((await ask(url, bearer(hs256({ ...good, iss: 'x' }, 'y'.repeat(32))))).body.message, 'jwt issuer invalid');
});

test('an aud of another shape than RFC 7519 §4.1.3 gives it is refused also where no audience is configured', async () => {
	const { url } = await made({ secret: SECRET });
	const statuses = async (list: unknown[]): Promise<Set<number>> =>
		new Set(await Promise.all(list.map((aud) => statusOf(url, hs256({ sub: 'a', aud }, SECRET)))));
	assert.deepEqual(await statuses([undefined, 'x', ['x'], ['x', 'y']]), new Set([200]));
	assert.deepEqual(await statuses([[], 5, [5], ['x', 5], null, true, {}, [['x']]]), new Set([401]));
});

test('requireExpiry refuses tokens without exp: by default with jwksUrl, not with a secret', async (t) => {
	const key = issuerKey('ES256', 'k');
	const { url: jwksUrl } = await startIssuer(t, [key.jwk]);
	const tokens = (exp: unknown) => ({ secret: hs256({ sub: 'a', exp }, SECRET), jwksUrl: key.token({ sub: 'a', exp }) });
	const cases: [configuration: object, by: 'secret' | 'jwksUrl', status: number][] = [
		[{ secret: SECRET }, 'secret', 200],
		[{ secret: SECRET, requireExpiry: false }, 'secret', 200],
		[{ secret: SECRET, requireExpiry: true }, 'secret', 401],
		[{ jwksUrl }, 'jwksUrl', 401],
		[{ jwksUrl, requireExpiry: true }, 'jwksUrl', 401],
		[{ jwksUrl, requireExpiry: false }, 'jwksUrl', 200],
	];
	for (const [configuration, by, status] of cases) {
		const { url } = await made(configuration);
		assert.equal(await statusOf(url, tokens(undefined)[by]), status, JSON.stringify(configuration));
		assert.equal(await statusOf(url, tokens(seconds() + 60)[by]), 200);
		for (const exp of [null, 'tomorrow', [seconds() + 60], seconds() - 1]) assert.equal(await statusOf(url, tokens(exp)[by]), 401);
	}
});

test('the least length of a secret is in the document (RFC 7518 §3.2)', async () => {
	const { components } = must(await account.get('/openapi.json'), 200).body;
	assert.match(components.schemas['auth.jwt'].properties.secret.description, /at least 32 bytes as UTF-8, which RFC 7518 §3.2 asks for/);
});

test('without secret and jwksUrl, the service’s secret: members’ logins, and what the operator signs (decisions, 25)', async () => {
	const { url } = await made({});
	const operator = (claims: object): string => hs256(claims, SECRETS.JWT_SECRET);
	assert.equal(await statusOf(url, account.token), 200);
	assert.equal(await statusOf(url, operator({ userId: 'billing' })), 200);
	assert.equal(await statusOf(url, operator({ sub: 'billing', iss: 'ops', exp: seconds() + 60 })), 200);
	const refused = [{}, { sub: 'a', exp: seconds() - 1 }, { sub: 'a', iss: 'svc' }, { sub: 'a', iss: 'svc', aud: 'svc-api' }];
	for (const claims of refused) assert.equal(await statusOf(url, operator(claims)), 401, JSON.stringify(claims));
	assert.equal(await statusOf(url, hs256({ sub: 'a' }, SECRET)), 401);
	const stranger = await registerAccount(service.url);
	assert.equal(await statusOf(url, stranger.token), 403, 'good, but of no member');
	must(await stranger.post('/auth/logout'), 200);
	assert.equal(await statusOf(url, stranger.token), 401);
});

test('every fault of a token except its issuer has the same message', async () => {
	const own = await made({ secret: SECRET });
	const services = await made({});
	const messages = new Set<string>();
	for (const [url, secret] of [
		[own.url, SECRET],
		[services.url, SECRETS.JWT_SECRET],
	] as const) {
		for (const token of [hs256({ sub: 'a', exp: 1 }, secret), hs256({ sub: 'a' }, 'x'.repeat(32)), hs256({}, secret), 'a.b.c', 'x']) {
			const answer = await ask(url, bearer(token));
			assert.equal(answer.status, 401);
			messages.add(answer.body.message);
		}
	}
	assert.deepEqual([...messages], ['The token is not valid for this gateway.']);
});

test('a key of an issuer signs as it was allowed to: RS256 and ES256, others when they are named', async (t) => {
	const keys = (['RS256', 'ES256', 'PS256', 'EdDSA'] as const).map((alg) => issuerKey(alg, alg));
	const issuer = await startIssuer(
		t,
		keys.map(({ jwk }) => jwk),
	);
	const usual = await made({ jwksUrl: issuer.url });
	const named = await made({ jwksUrl: issuer.url, algorithms: ['PS256', 'EdDSA'] });
	const statuses = (url: string): Promise<number[]> => Promise.all(keys.map((key) => statusOf(url, key.token({ sub: 'a' }))));
	assert.deepEqual(await statuses(usual.url), [200, 200, 401, 401]);
	assert.deepEqual(await statuses(named.url), [401, 401, 200, 200]);
	assert.equal(issuer.requests(), 2, 'one for each gateway');
});

test('no key of an issuer can be taken for a secret, and none that a token brings along for one of the issuer’s', async (t) => {
	const [rsa, own] = [issuerKey('RS256', 'k'), issuerKey('RS256', 'k')];
	const oct = { kty: 'oct', kid: 'secret', k: Buffer.from(SECRET).toString('base64url') };
	const issuer = await startIssuer(t, [rsa.jwk, oct]);
	const { url } = await made({ jwksUrl: issuer.url, algorithms: ['RS256'] });
	assert.equal(await statusOf(url, rsa.token({ sub: 'a' })), 200);
	const publicForms = [
		rsa.publicKey.export({ type: 'spki', format: 'pem' }),
		rsa.publicKey.export({ type: 'spki', format: 'der' }),
		JSON.stringify(rsa.jwk),
	];
	for (const form of publicForms) assert.equal(await statusOf(url, hs256({ sub: 'a' }, form, { kid: 'k' })), 401);
	assert.equal(await statusOf(url, hs256({ sub: 'a' }, SECRET, { kid: 'secret' })), 401);
	for (const header of [{ jwk: own.jwk }, { jku: 'https://evil.example/' }, { x5c: ['MIIB'] }, { alg: 'none' }, {}]) {
		assert.equal(await statusOf(url, own.token({ sub: 'a' }, header)), 401, JSON.stringify(header));
	}
	const unsigned = jwt({ alg: 'none' }, { sub: 'a' }, () => Buffer.alloc(0));
	assert.equal(await statusOf(url, unsigned), 401);
});

test('keys that are weak, of another use or ambiguous open nothing', async (t) => {
	const [weak, encrypts, twin, other] = ['weak', 'enc', 'twin', 'twin'].map((kid) => issuerKey('RS256', kid, kid === 'weak' ? 1024 : 2048));
	assert.ok(weak && encrypts && twin && other);
	const issuer = await startIssuer(t, [weak.jwk, { ...encrypts.jwk, use: 'enc' }, twin.jwk, other.jwk]);
	const { url } = await made({ jwksUrl: issuer.url });
	for (const key of [weak, encrypts, twin, other]) assert.equal(await statusOf(url, key.token({ sub: 'a' })), 401, key.kid);
});

/** So many are through before the keys may be asked for again, on a busy machine too. */
const UNKNOWN = rounds({ few: 1000, all: 10_000 });

test(`${UNKNOWN} tokens of unknown keys cost the issuer one request`, async (t) => {
	const key = issuerKey('ES256', 'known');
	const issuer = await startIssuer(t, [key.jwk]);
	const { url } = await made({ jwksUrl: issuer.url });
	const [, claims, signature] = key.token({ sub: 'a' }).split('.');
	const path = new URL(url).pathname;
	for (let at = 0; at < UNKNOWN; at += 100) {
		const statuses = await Promise.all(
			Array.from({ length: 100 }, async (_, index) => {
				const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid: `k${at + index}` })).toString('base64url');
				const headers = { ...bearer(`${header}.${claims}.${signature}`), accept: 'application/json, text/event-stream' };
				return (await service.server.inject({ method: 'POST', url: path, headers, payload: {} })).statusCode;
			}),
		);
		assert.ok(statuses.every((status) => status === 401));
	}
	assert.equal(issuer.requests(), 1);
	assert.equal(await statusOf(url, key.token({ sub: 'a' })), 200);
});

test('while the keys cannot be read, nobody is admitted: 503, and one request to the issuer for many calls', async (t) => {
	const key = issuerKey('ES256', 'k');
	const many = Array.from({ length: 101 }, () => key.jwk);
	const ways: Record<string, Parameters<Awaited<ReturnType<typeof startIssuer>>['answer']>[0]> = {
		'status 500': (response) => void response.writeHead(500).end(JSON.stringify({ keys: [key.jwk] })),
		'a redirect': (response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
		'no JSON': (response) => void response.end('<html>'),
		'no list': (response) => void response.end(JSON.stringify({ keys: key.jwk })),
		null: (response) => void response.end('null'),
		'more than 100 keys': (response) => void response.end(JSON.stringify({ keys: many })),
		'more than 256 KB': (response) => void response.end(JSON.stringify({ keys: [key.jwk], more: 'x'.repeat(300_000) })),
		'a broken connection': (response) => void response.destroy(),
	};
	for (const [way, how] of Object.entries(ways)) {
		const issuer = await startIssuer(t);
		issuer.answer(how);
		const { url } = await guardedGateway(account, [{ type: 'jwt', configuration: { jwksUrl: issuer.url } }, { type: 'api_key' }]);
		const answers = await Promise.all(Array.from({ length: 20 }, () => ask(url, bearer(key.token({ sub: 'a' })))));
		for (const answer of answers) {
			assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '5'], way);
			assert.ok(!JSON.stringify(answer.body).includes('127.0.0.1'), 'the answer names the issuer');
		}
		assert.equal(issuer.requests(), 1, way);
		assert.equal(await statusOf(url, hs256({ sub: 'a' }, SECRET)), 401, 'what is no token of an issuer is not looked up');
		assert.equal((await ask(url, { 'x-api-key': account.token })).status, 200, 'the other method does not need them');
	}
});

test('the users of two configured issuers are not each other, nor can a name pretend it; those of the first keep the plain name', async () => {
	const secrets = [SECRET, 't'.repeat(32)];
	const { id } = await guardedGateway(account, [
		{ type: 'jwt', configuration: { secret: secrets[0] } },
		{ type: 'jwt', configuration: { secret: secrets[1] } },
	]);
	const subjectOf = async (sub: string, secret = ''): Promise<string> => {
		const asked = { credential: hs256({ sub }, secret), tool: 'look', arguments: {} };
		return must(await account.post(`/gateways/${id}/explain`, asked), 200).body.data.caller.subject;
	};
	const [first, second] = [await subjectOf('alice', secrets[0]), await subjectOf('alice', secrets[1])];
	assert.equal(first, 'jwt:alice');
	assert.match(second, /^jwt#[\w-]{36}:alice$/);
	assert.equal(await subjectOf(second, secrets[0]), `jwt:${second}`);
});

test('an inconsistent configuration is refused, naming the field', async () => {
	const { id } = await made({});
	const configurations: [configuration: object, path: string][] = [
		[{ secret: 's'.repeat(31) }, '/configuration/secret'],
		[{ secret: 5 }, '/configuration/secret'],
		[{ secret: SECRET, jwksUrl: 'https://id.example/jwks' }, '/configuration'],
		[{ algorithms: ['RS256'] }, '/configuration'],
		[{ secret: SECRET, algorithms: ['RS256'] }, '/configuration'],
		[{ issuer: 'x' }, '/configuration'],
		[{ audience: 'x' }, '/configuration'],
		[{ requireExpiry: true }, '/configuration'],
		[{ requireExpiry: false }, '/configuration'],
		[{ secret: SECRET, requireExpiry: 'yes' }, '/configuration/requireExpiry'],
		[{ jwksUrl: 'https://id.example/jwks', algorithms: ['HS256'] }, '/configuration/algorithms/0'],
		[{ jwksUrl: 'https://id.example/jwks', algorithms: ['none'] }, '/configuration/algorithms/0'],
		[{ jwksUrl: 'https://id.example/jwks', algorithms: [] }, '/configuration/algorithms'],
		[{ secret: SECRET, audience: [] }, '/configuration/audience'],
		[{ jwksUrl: 'ftp://id.example/jwks' }, '/configuration/jwksUrl'],
		[{ jwksUrl: 'jwks' }, '/configuration/jwksUrl'],
		[{ jwksUrl: 'http://id.example/jwks' }, '/configuration/jwksUrl'],
		[{ jwksUrl: 'http://8.8.8.8/jwks' }, '/configuration/jwksUrl'],
		[{ jwksUrl: 'http://10.evil.example/jwks' }, '/configuration/jwksUrl'],
		[{ other: 1 }, '/configuration/other'],
	];
	for (const [configuration, path] of configurations) {
		const answer = await account.post(`/gateways/${id}/auth`, { type: 'jwt', configuration });
		assert.equal(answer.status, 400, JSON.stringify(configuration));
		assert.equal(answer.body.details[0].path, path, JSON.stringify(answer.body));
		assert.ok(!JSON.stringify(answer.body).includes('sssssss'), 'the answer shows the secret');
	}
});

test('a jwksUrl that the egress guard refuses is a 400 when it is saved', async () => {
	const { id } = await made({});
	for (const jwksUrl of [
		'https://10.0.0.1/jwks',
		'http://10.0.0.1/jwks',
		'http://[::1]/',
		'https://169.254.169.254/',
		'https://u:p@id.example/',
	]) {
		const answer = await account.post(`/gateways/${id}/auth`, { type: 'jwt', configuration: { jwksUrl } });
		assert.deepEqual([answer.status, answer.body.error], [400, 'EGRESS_REFUSED'], jwksUrl);
	}
});

test('lists, and the answer to adding it, never show the secret', async () => {
	const { id } = await made({ secret: SECRET, issuer: 'https://id.example' });
	const listed = must(await account.get(`/gateways/${id}/auth`), 200);
	assert.deepEqual(listed.body.data.authMethods[0].configuration, { issuer: 'https://id.example' });
	const added = must(await account.post(`/gateways/${id}/auth`, { type: 'jwt', configuration: { secret: SECRET } }), 201);
	assert.deepEqual(added.body.data.configuration, {});
});
