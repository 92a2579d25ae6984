// Tests which callers, challenges and descriptions of an authentication method are accepted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller } from '../contract/nouns.ts';
import { checkCaller, checkChallenge, checkTakes, withoutRealm } from './check-caller.ts';

const MEMBER: Caller = {
	method: 'login',
	subject: 'user:1',
	userId: '1',
	memberSince: new Date(0),
	scopes: ['tools:read', 'tools:execute'],
};
const KEY: Caller = { method: 'key', subject: 'key:2', keyId: '2', scopes: ['tools:read'] };
const LOGIN: Caller = { method: 'login', subject: 'user:3', credential: 'login:3', expiresAt: new Date(1_000), scopes: [] };
const given = (subject: string): Caller | undefined => [MEMBER, KEY, LOGIN].find((caller) => caller.subject === subject);
const check = (value: unknown) => checkCaller('acme', value, given);

const WRONG: [title: string, value: unknown, fault: RegExp][] = [
	['true', true, /must be an object or null/],
	['a text', 'user:1', /must be an object or null/],
	['a list', [], /must be an object or null/],
	['an empty object', {}, /must have a subject/],
	['an empty subject', { subject: '', scopes: [] }, /must have a subject/],
	['a subject of lines', { subject: 'a\nb', scopes: [] }, /must have a subject/],
	['a long subject', { subject: 'x'.repeat(1025), scopes: [] }, /must have a subject/],
	['half a character', { subject: '\ud800', scopes: [] }, /must have a subject/],
	['no scopes', { subject: 'x' }, /must have a list of scopes/],
	['scopes as a text', { subject: 'x', scopes: 'tools:read tools:execute' }, /must have a list of scopes/],
	['an unknown scope', { subject: 'x', scopes: ['admin'] }, /must have a list of scopes/],
	['an inherited name', { subject: 'x', scopes: ['toString'] }, /must have a list of scopes/],
	['endless scopes', { subject: 'x', scopes: Array(17).fill('tools:read') }, /must have a list of scopes/],
	['a user whom nobody gave', { subject: 'x', scopes: [], userId: '1' }, /userId, memberSince and keyId/],
	['a key that nobody gave', { subject: 'x', scopes: [], keyId: '2' }, /userId, memberSince and keyId/],
	['another one’s user', { subject: 'key:2', scopes: [], userId: '1' }, /userId, memberSince and keyId/],
	['a credential of lines', { subject: 'x', scopes: [], credential: 'a\nb' }, /must have as credential/],
	['a long credential', { subject: 'x', scopes: [], credential: 'x'.repeat(201) }, /must have as credential/],
	['another credential than was given', { ...LOGIN, credential: 'login:other' }, /must have as credential/],
	['a text as its end', { subject: 'x', scopes: [], expiresAt: '2030-01-01' }, /must have a date as expiresAt/],
	['no time as its end', { subject: 'x', scopes: [], expiresAt: new Date(Number.NaN) }, /must have a date as expiresAt/],
	['another time of joining', { ...MEMBER, memberSince: new Date(1) }, /userId, memberSince and keyId/],
];
for (const [title, value, fault] of WRONG) {
	test(`${title} is no caller, and the fault names the method`, () => {
		assert.throws(
			() => check(value),
			({ name, message }: Error) => name === 'PluginFault' && message.startsWith('auth:acme: ') && fault.test(message),
		);
	});
}

const SUBJECTS: [given: string, counted: string][] = [
	['alice', 'acme:alice'],
	['acme:alice', 'acme:alice'],
	['user:7', 'acme:user:7'],
	['jwt:alice', 'acme:jwt:alice'],
	['acmeother:alice', 'acme:acmeother:alice'],
	['anonymous', 'anonymous'],
	['user:1', 'user:1'],
	['key:2', 'key:2'],
];
for (const [subject, counted] of SUBJECTS) {
	test(`the subject ${subject} is counted as ${counted}`, () => assert.equal(check({ subject, scopes: [] })?.subject, counted));
}

test('a realm is named in subjects that the method gives, and nowhere else; the method is asked again without it', () => {
	const of = (subject: string) => checkCaller('acme', { subject, scopes: [] }, given, 'r') ?? assert.fail();
	for (const subject of ['alice', 'acme:alice']) assert.equal(of(subject).subject, 'acme#r:alice');
	assert.equal(check({ subject: 'acme#r:alice', scopes: [] })?.subject, 'acme:acme#r:alice');
	for (const subject of ['anonymous', 'user:1', 'key:2']) assert.equal(of(subject).subject, subject);
	assert.equal(withoutRealm(of('alice'), 'acme', 'r').subject, 'acme:alice');
	for (const [caller, realm] of [[of('alice'), 's'], [of('alice')], [of('user:1'), 'r']] as const)
		assert.equal(withoutRealm(caller, 'acme', realm), caller);
});

test('no credential is null', () => {
	for (const none of [null, undefined]) assert.equal(check(none), null);
});

test('a caller that core gave keeps its user, with fewer scopes and the method’s name', () => {
	const { method, scopes, userId } = check({ ...MEMBER, method: 'x', scopes: ['tools:read'] }) ?? assert.fail();
	assert.deepEqual([method, scopes, userId], ['acme', ['tools:read'], '1']);
	assert.equal(check({ subject: 'user:1', scopes: [] })?.userId, '1');
});

test('a caller is frozen, and the plugin’s own object is not', () => {
	const own = { method: 'acme', subject: 'alice', scopes: ['tools:read'] };
	const caller = check(own) ?? assert.fail();
	assert.ok(Object.isFrozen(caller) && Object.isFrozen(caller.scopes));
	own.scopes.push('tools:execute');
	assert.deepEqual(caller.scopes, ['tools:read']);
});

test('challenges and descriptions are lines that can be sent', () => {
	assert.equal(checkChallenge('acme', 'Bearer realm="x"'), 'Bearer realm="x"');
	for (const none of [undefined, null, '']) assert.equal(checkChallenge('acme', none), '');
	for (const wrong of ['a\nb', 'ключ', 7, {}, 'x'.repeat(4097)])
		assert.throws(() => checkChallenge('acme', wrong), /^PluginFault: auth:acme: challenge must/);
	assert.equal(checkTakes('acme', 'a key'), 'a key');
	assert.equal(checkTakes('acme', undefined), undefined);
	for (const wrong of ['', 'a\nb', 7, null, 'x'.repeat(501)])
		assert.throws(() => checkTakes('acme', wrong), /^PluginFault: auth:acme: takes must/);
});

test('a credential is kept by its name, and ends no later than what was given', () => {
	assert.deepEqual(check({ subject: 'x', scopes: [], credential: 'c', expiresAt: new Date(5) }), {
		...{ method: 'acme', subject: 'acme:x', scopes: [], credential: 'c', expiresAt: new Date(5) },
	});
	assert.equal(check({ ...MEMBER, credential: 'grant' })?.credential, 'grant');
	assert.deepEqual([check({ ...LOGIN })?.credential, check({ ...LOGIN })?.expiresAt], ['login:3', new Date(1_000)]);
	assert.deepEqual(check({ ...LOGIN, expiresAt: new Date(2_000) })?.expiresAt, new Date(1_000));
	assert.deepEqual(check({ ...LOGIN, expiresAt: new Date(500) })?.expiresAt, new Date(500));
});
