import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../config/config.ts';
import { readTokenCookie, tokenCookie } from './cookies.ts';

const SECRETS = { JWT_SECRET: 'j'.repeat(64), ENCRYPTION_KEY: 'ab'.repeat(32) };
const plain = loadConfig({ ...SECRETS, PUBLIC_URL: 'http://gate.example' });
const secure = loadConfig({ ...SECRETS, PUBLIC_URL: 'https://gate.example' });
const both = loadConfig({ ...SECRETS, PUBLIC_URL: 'https://gate.example,http://localhost:3000' });

test('the cookie is httpOnly and SameSite=Lax, for all of this host, and lives as long as its token (5.1)', () => {
	assert.equal(tokenCookie(plain, undefined, 't'), 'gatehouse_token=t; Path=/; HttpOnly; SameSite=Lax; Max-Age=86400');
});

test('on https it is Secure and has the prefix that keeps other hosts and http from setting it (RFC 6265bis §4.1.3.2)', () => {
	assert.equal(tokenCookie(secure, undefined, 't'), '__Host-gatehouse_token=t; Path=/; HttpOnly; SameSite=Lax; Max-Age=86400; Secure');
});

test('among several public addresses, the one that the browser used decides', () => {
	assert.match(tokenCookie(both, 'gate.example', 't'), /^__Host-.*Secure$/);
	assert.doesNotMatch(tokenCookie(both, 'localhost:3000', 't'), /__Host-|Secure/);
	assert.match(tokenCookie(both, 'unknown.example', 't'), /^__Host-.*Secure$/);
});

test('clearing the cookie leaves nothing of it', () => {
	assert.equal(tokenCookie(plain, undefined, null), 'gatehouse_token=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0');
});

const READ: [cookie: string | undefined, token: string | null][] = [
	[undefined, null],
	['', null],
	['a=b', null],
	['gatehouse_token=t', 't'],
	['a=b; gatehouse_token=t; c=d', 't'],
	['a=b;gatehouse_token=t', 't'],
	['gatehouse_token=a.b=c', 'a.b=c'],
	['gatehouse_token=', null],
	['gatehouse_token', null],
	['gatehouse_token=t; gatehouse_token=u', null],
	['Gatehouse_Token=t', null],
	['xgatehouse_token=t', null],
	['__Host-gatehouse_token=t', null],
];
for (const [cookie, token] of READ) {
	test(`in "${cookie}" the token is ${token}`, () => assert.equal(readTokenCookie(plain, { cookie }), token));
}

test('on https, a cookie without the prefix is not ours: another host of the domain may have set it', () => {
	assert.equal(readTokenCookie(secure, { cookie: 'gatehouse_token=theirs' }), null);
	assert.equal(readTokenCookie(secure, { cookie: 'gatehouse_token=theirs; __Host-gatehouse_token=ours' }), 'ours');
});
