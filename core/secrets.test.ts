import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSecrets, type Place } from './secrets.ts';

const secrets = createSecrets('ab'.repeat(32));
const place: Place = { organizationId: 'o1', table: 'api_credentials', row: 'a1/api_key' };

test('what is sealed opens at its place, and no two envelopes are alike', () => {
	const first = secrets.seal('s3cret ☃', place);
	const second = secrets.seal('s3cret ☃', place);
	assert.notEqual(first, second);
	assert.equal(secrets.open(first, place), 's3cret ☃');
	assert.ok(secrets.isSealed(first));
	assert.ok(!first.includes('s3cret'));
});

for (const [field, other] of Object.entries({ organizationId: 'o2', table: 'tools', row: 'a2/api_key' })) {
	test(`a ciphertext copied to another ${field} does not open`, () => {
		const sealed = secrets.seal('s3cret', place);
		assert.throws(() => secrets.open(sealed, { ...place, [field]: other }), { code: 'internal' });
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
		[version, id, flip(nonce, 0), body],
		[version, id, nonce, flip(body, 0)],
		[version, id, nonce, flip(body, Buffer.from(body, 'base64url').length - 1)],
	]) {
		assert.throws(() => secrets.open(altered.join('.'), place), { code: 'internal' });
	}
});

test('another key says so by its id, and shows neither key nor text', () => {
	const sealed = secrets.seal('s3cret', place);
	assert.throws(
		() => createSecrets('cd'.repeat(32)).open(sealed, place),
		(error: Error) => error.message.includes('another ENCRYPTION_KEY') && !error.message.includes('s3cret'),
	);
});
