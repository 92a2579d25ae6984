import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSecrets, type SecretLocation } from './envelopes.ts';

const secrets = createSecrets('ab'.repeat(32));
const WHAT = 'The credential "api_key" of the API "Pets"';
const UNREADABLE = { code: 'secret_unreadable', status: 409, message: `${WHAT} could not be read: enter it again.` };
const location: SecretLocation = { organizationId: 'o1', table: 'api_credentials', row: 'a1/api_key' };

test('a sealed secret opens at its location, and no two envelopes are alike', () => {
	const first = secrets.seal('s3cret ☃', location);
	const second = secrets.seal('s3cret ☃', location);
	assert.notEqual(first, second);
	assert.equal(secrets.open(first, location, WHAT), 's3cret ☃');
	assert.ok(secrets.isSealed(first));
	assert.ok(!first.includes('s3cret'));
});

for (const [field, other] of Object.entries({ organizationId: 'o2', table: 'tools', row: 'a2/api_key' })) {
	test(`a ciphertext copied to another ${field} does not open`, () => {
		const sealed = secrets.seal('s3cret', location);
		assert.throws(() => secrets.open(sealed, { ...location, [field]: other }, WHAT), UNREADABLE);
	});
}

test('any JSON is sealed and opened as it was, a text as it always was', () => {
	for (const value of ['', 'text', '{"a":1}', 0, 7.5, true, false, [1, 'a'], { a: { b: ['ü'] } }]) {
		const sealed = secrets.sealJson(value, location);
		assert.ok(secrets.isSealed(sealed));
		assert.deepEqual(secrets.openJson(sealed, location, WHAT), value);
		assert.throws(() => secrets.openJson(sealed, { ...location, row: 'other' }, WHAT), UNREADABLE);
		const other = sealed.startsWith('v1') ? 'v2' : 'v1';
		assert.throws(() => secrets.openJson(other + sealed.slice(2), location, WHAT), UNREADABLE, 'what it holds cannot be relabelled');
	}
	assert.equal(secrets.openJson(secrets.seal('text', location), location, WHAT), 'text');
});

test('an envelope of an earlier version opens', () => {
	const earlier = 'v1.38ecef1a.Xx8STB9Af9nauPIQ.TbR15YBQUUb7qYnVFAG5XVcuVvY_D0Gj6l0';
	assert.equal(secrets.openJson(earlier, location, WHAT), 's3cret ☃');
});

test('bytes are sealed and opened, and others are returned unchanged', () => {
	const bytes = Buffer.from('{"key":"s3cret"}');
	const sealed = secrets.sealBytes(bytes, location);
	assert.ok(!sealed.includes('s3cret'));
	assert.deepEqual(secrets.openBytes(sealed, location, WHAT), bytes);
	assert.equal(secrets.openBytes(bytes, location, WHAT), bytes);
	assert.equal(secrets.openBytes(Buffer.alloc(0), location, WHAT).length, 0);
	assert.throws(() => secrets.openBytes(sealed, { ...location, row: 'other' }, WHAT), UNREADABLE);
	assert.throws(() => secrets.openBytes(sealed.subarray(0, -1), location, WHAT), UNREADABLE);
	assert.throws(() => secrets.openBytes(sealed.subarray(0, 6), location, WHAT), UNREADABLE);
});

test('an altered envelope does not open: nonce, text, tag', () => {
	const sealed = secrets.seal('s3cret', location);
	const [version, id, nonce = '', body = ''] = sealed.split('.');
	const flip = (text: string, at: number): string => {
		const bytes = Buffer.from(text, 'base64url');
		bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
		return bytes.toString('base64url');
	};
	for (const altered of [
		['v2', id, nonce, body],
		[version, '01234567', nonce, body],
		[version, id, flip(nonce, 0), body],
		[version, id, nonce, flip(body, 0)],
		[version, id, nonce, flip(body, Buffer.from(body, 'base64url').length - 1)],
	]) {
		assert.throws(() => secrets.open(altered.join('.'), location, WHAT), UNREADABLE);
	}
});

test('a truncated or malformed envelope does not open, and a text that starts like an envelope is treated as one', () => {
	const sealed = secrets.seal('s3cret', location);
	for (let length = 0; length < sealed.length; length++) {
		const cut = sealed.slice(0, length);
		assert.throws(() => secrets.open(cut, location, WHAT), UNREADABLE, cut);
		assert.equal(secrets.isSealed(cut), length >= 'v1.01234567.'.length, cut);
	}
	assert.throws(() => secrets.open(`${sealed}.x`.replaceAll('.', '..'), location, WHAT), UNREADABLE);
});

test('the reason why a secret does not open is only logged, with its location, and with neither key nor plain text', () => {
	const told: object[] = [];
	const other = createSecrets('cd'.repeat(32), { warn: (fields) => void told.push(fields) });
	const sealed = secrets.seal('s3cret', location);
	assert.throws(() => other.open(sealed, location, WHAT), UNREADABLE);
	assert.throws(() => other.open(other.seal('s3cret', { ...location, row: 'a2' }), location, WHAT), UNREADABLE);
	const [, id] = sealed.split('.');
	assert.deepEqual(told, [
		{ ...location, reason: `it was sealed with another ENCRYPTION_KEY (id ${id})` },
		{ ...location, reason: 'it was altered, or belongs elsewhere' },
	]);
});

test('a former key opens what it sealed, texts, JSON and bytes, and what is sealed anew needs it no more', () => {
	const [former, present] = ['ab'.repeat(32), 'cd'.repeat(32)];
	const both = createSecrets(present, undefined, ['ef'.repeat(32), former]);
	const alone = createSecrets(present);
	const bytes = Buffer.from([0, 1, 2]);
	const texts = [secrets.seal('plain', location), secrets.sealJson({ a: [1] }, location)];
	assert.deepEqual([both.open(texts[0] ?? '', location, 'It'), both.openJson(texts[1] ?? '', location, 'It')], ['plain', { a: [1] }]);
	assert.deepEqual(both.openBytes(secrets.sealBytes(bytes, location), location, 'It'), bytes);
	assert.throws(() => alone.openBytes(secrets.sealBytes(bytes, location), location, 'It'), { code: 'secret_unreadable' });
	const anew = texts.map((text) => both.renew(text, location, 'It'));
	assert.deepEqual([alone.openJson(anew[0] ?? '', location, 'It'), alone.openJson(anew[1] ?? '', location, 'It')], ['plain', { a: [1] }]);
	assert.equal(alone.open(both.seal('new', location), location, 'It'), 'new');
	assert.throws(() => both.renew(texts[0] ?? '', { ...location, row: 'another' }, 'It'), { code: 'secret_unreadable' });
	assert.throws(() => alone.renew(texts[0] ?? '', location, 'It'), { code: 'secret_unreadable' });
});
