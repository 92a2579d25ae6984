import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSecrets, type Place } from './envelopes.ts';

const secrets = createSecrets('ab'.repeat(32));
const WHAT = 'The credential "api_key" of the API "Pets"';
const UNREADABLE = { code: 'secret_unreadable', status: 409, message: `${WHAT} could not be read: enter it again.` };
const place: Place = { organizationId: 'o1', table: 'api_credentials', row: 'a1/api_key' };

test('what is sealed opens at its place, and no two envelopes are alike', () => {
	const first = secrets.seal('s3cret ☃', place);
	const second = secrets.seal('s3cret ☃', place);
	assert.notEqual(first, second);
	assert.equal(secrets.open(first, place, WHAT), 's3cret ☃');
	assert.ok(secrets.isSealed(first));
	assert.ok(!first.includes('s3cret'));
});

for (const [field, other] of Object.entries({ organizationId: 'o2', table: 'tools', row: 'a2/api_key' })) {
	test(`a ciphertext copied to another ${field} does not open`, () => {
		const sealed = secrets.seal('s3cret', place);
		assert.throws(() => secrets.open(sealed, { ...place, [field]: other }, WHAT), UNREADABLE);
	});
}

test('an altered envelope does not open: nonce, text, tag', () => {
	const sealed = secrets.seal('s3cret', place);
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
		assert.throws(() => secrets.open(altered.join('.'), place, WHAT), UNREADABLE);
	}
});

test('an envelope that was cut off, or is none, does not open, and one that begins as such is taken for one', () => {
	const sealed = secrets.seal('s3cret', place);
	for (let length = 0; length < sealed.length; length++) {
		const cut = sealed.slice(0, length);
		assert.throws(() => secrets.open(cut, place, WHAT), UNREADABLE, cut);
		assert.equal(secrets.isSealed(cut), length >= 'v1.01234567.'.length, cut);
	}
	assert.throws(() => secrets.open(`${sealed}.x`.replaceAll('.', '..'), place, WHAT), UNREADABLE);
});

test('why a secret does not open is told to the log alone, with its place, and neither key nor text', () => {
	const told: object[] = [];
	const other = createSecrets('cd'.repeat(32), { warn: (fields) => void told.push(fields) });
	const sealed = secrets.seal('s3cret', place);
	assert.throws(() => other.open(sealed, place, WHAT), UNREADABLE);
	assert.throws(() => other.open(other.seal('s3cret', { ...place, row: 'a2' }), place, WHAT), UNREADABLE);
	const [, id] = sealed.split('.');
	assert.deepEqual(told, [
		{ ...place, reason: `it was sealed with another ENCRYPTION_KEY (id ${id})` },
		{ ...place, reason: 'it was altered, or belongs elsewhere' },
	]);
});
