// Tokens signed with the service's secret, at gateways (decisions, 25): those of logins, and those of the operator.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import Jwt from '@hapi/jwt';
import { gatewayOf, logIn, SECRET, startIdentities, type TestIdentities, tokens } from '../../test/helpers/identities.ts';
import { addTenant, type Tenant } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import type { Gateway } from '../contract/nouns.ts';
import { ACCESS_KEY_PREFIX, hashKey, mintKey } from '../secrets/tokens.ts';

const ALL = ['tools:read', 'tools:execute', 'gateway:read'];
const MINUTE_MS = 60_000;

let store: TestStore;
let identities: TestIdentities;
let owner: Tenant;
let gateway: Gateway;
/** Counts the verifications of tokens. */
let reads = 0;

before(async () => {
	store = await testStore();
	owner = await addTenant(store);
	gateway = await gatewayOf(store, owner.organizationId, '/main');
	const counted = (token: string) => {
		reads++;
		return tokens.read(token);
	};
	identities = await startIdentities(store, { tokens: { ...tokens, read: counted } });
});
after(async () => {
	await identities.close();
	await store.close();
});
beforeEach(() => {
	reads = 0;
});

const ask = (token: string, at = gateway) => identities.at(at).token(token);
const sign = (payload: object, secret = SECRET): string => Jwt.token.generate(payload, { key: secret, algorithm: 'HS256' });
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

test('the operator’s token identifies whomever it names, at every gateway, with all scopes', async () => {
	const token = sign({ sub: 'nightly-build' });
	const caller = { method: 'token', subject: 'jwt:nightly-build', scopes: ALL };
	assert.deepEqual(await ask(token), caller);
	const other = await addTenant(store);
	assert.deepEqual(await ask(token, await gatewayOf(store, other.organizationId, '/main')), caller);
	assert.equal((await ask(sign({ userId: 'u' }))).subject, 'jwt:u');
});

const SCOPES: [scope: unknown, scopes: string[]][] = [
	['tools:read', ['tools:read']],
	['openid gateway:read  tools:execute', ['tools:execute', 'gateway:read']],
	['openid profile', ALL],
	['', ALL],
	[['tools:read'], ['tools:read']],
	[['openid', 5], ALL],
];
for (const [scope, scopes] of SCOPES) {
	test(`the operator’s token with the scope ${JSON.stringify(scope)} may ${scopes.join(', ')}`, async () => {
		assert.deepEqual((await ask(sign({ sub: 'bot', scope }))).scopes, scopes);
	});
}

test('a name that looks like a member’s makes nobody a member', async () => {
	const caller = await ask(sign({ sub: owner.userId }));
	assert.deepEqual([caller.subject, caller.userId], [`jwt:${owner.userId}`, undefined]);
	assert.equal((await ask(sign({ sub: `user:${owner.userId}` }))).subject, `jwt:user:${owner.userId}`);
});

test('a verified token is not verified again for a minute', async (t) => {
	const token = sign({ sub: 'bot' });
	t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
	for (let asked = 0; asked < 10; asked++) await ask(token);
	t.mock.timers.tick(MINUTE_MS - 1);
	await ask(token);
	assert.equal(reads, 1);
	t.mock.timers.tick(1);
	for (let asked = 0; asked < 10; asked++) await ask(token);
	assert.equal(reads, 2);
});

test('a token that expires while it is cached is refused', async (t) => {
	const token = sign({ sub: 'bot', exp: inSeconds(10) });
	t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
	await ask(token);
	t.mock.timers.tick(10_000);
	await assert.rejects(ask(token), { code: 'unauthorized', message: 'Token expired.' });
});

test('an invalid token is verified each time, and refused with the reason', async () => {
	const bad: [token: string, message: RegExp][] = [
		[sign({ sub: 'bot' }, 't'.repeat(64)), /^Invalid token/],
		[`${sign({ sub: 'bot' }).split('.').slice(0, 2).join('.')}.`, /^Invalid token/],
		[sign({}), /"sub" or "userId"/],
		[sign({ sub: 'bot', iss: 'ci', aud: 'svc-api' }), /^jwt issuer invalid$/],
		['', /^Invalid token/],
		['x'.repeat(1_000_000), /^Invalid token/],
	];
	for (const [token, message] of bad) {
		for (const _again of [1, 2]) await assert.rejects(ask(token), { code: 'unauthorized', message });
	}
});

test('a login’s token identifies the member, with one look-up shared with its use as a credential', async () => {
	const { token, sessionId } = await logIn(store, owner.userId);
	const [membership] = await store.accounts.memberships(owner.userId);
	const user = { subject: `user:${owner.userId}`, userId: owner.userId };
	const caller = { method: 'login', ...user, memberSince: membership?.joinedAt, scopes: ALL, credential: `login:${sessionId}` };
	assert.deepEqual(await ask(token), caller);
	assert.deepEqual(await identities.at(gateway).credential(token), caller);
	assert.deepEqual(await ask(token), caller);
	assert.equal(reads, 1);
	await store.accounts.endSession(sessionId);
	await store.changes.fresh(0);
	await assert.rejects(ask(token), { code: 'unauthorized', message: 'The login of this token has ended.' });
});

test('an unknown login identifies nobody, and not the operator either', async () => {
	const token = tokens.issue({ sessionId: owner.userId, userId: owner.userId, at: new Date() });
	for (const _again of [1, 2]) await assert.rejects(ask(token), { code: 'unauthorized' });
});

test('a login of a user outside the organization is a 403 each time', async () => {
	const stranger = await addTenant(store);
	const { token } = await logIn(store, stranger.userId);
	for (const _again of [1, 2]) await assert.rejects(ask(token), { code: 'forbidden' });
});

test('an access key is no token, also when it is cached as a credential', async () => {
	const key = mintKey(ACCESS_KEY_PREFIX);
	const row = { name: 'k', prefix: key.slice(0, 12), reach: { type: 'account' as const }, permissions: null, hash: hashKey(key) };
	await store.accessKeys.create(owner.userId, row);
	assert.ok(await identities.at(gateway).credential(key));
	await assert.rejects(ask(key), { code: 'unauthorized' });
});

test('the operator’s token is no credential, also when it is cached as a token', async () => {
	const token = sign({ sub: 'bot' });
	assert.ok(await ask(token));
	await assert.rejects(identities.at(gateway).credential(token), { code: 'unauthorized', message: 'jwt issuer invalid' });
});
