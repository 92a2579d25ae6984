import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import plugin, { digestOf, sign } from 'acme-hmac';
import type { GateContext, Incoming } from 'gatehouse';
import { authContract, fakeCall, fakeRequest } from 'gatehouse/testing';

const SECRET = 'a shared secret of thirty-two characters';
const config = { keys: [{ id: 'shop', secret: SECRET }], toleranceSeconds: 300 };

/** Makes a signed request. */
function signed({ secret = SECRET, id = 'shop', body = '', ageSeconds = 0 } = {}): Partial<Incoming> {
	const head = { time: String(Math.floor(Date.now() / 1000) - ageSeconds), nonce: randomUUID(), digest: digestOf(body) };
	const signature = sign(fakeRequest(), head, secret);
	const { time, nonce, digest } = head;
	return {
		headers: { 'x-acme-key': id, 'x-acme-time': time, 'x-acme-nonce': nonce, 'x-acme-digest': digest, 'x-acme-signature': signature },
	};
}

authContract(plugin, {
	config,
	bad: [
		{ config: { keys: [] }, says: /"keys" must contain at least 1 items/ },
		{ config: { keys: [{ id: 'shop', secret: 'short' }] }, says: /secret" length must be at least 32/ },
		{ config: { ...config, toleranceSeconds: 0 }, says: /toleranceSeconds/ },
	],
	admitted: [signed()],
	refused: [signed({ secret: 'x'.repeat(32) }), signed({ id: 'nobody' }), signed({ ageSeconds: 400 }), signed({ ageSeconds: -400 })],
});

test('a signature is good once, and only for its body', async () => {
	const request = fakeRequest(signed({ body: '{"a":1}' }));
	await using fake = fakeCall({ plugin: plugin, caller: null, request });
	// An auth method always has a gateway.
	const context = fake.call as GateContext;
	const caller = await plugin.authenticate(request, config, context);
	assert.equal(caller?.subject, 'shop');
	await plugin.verifyBody({ ...request, rawBody: Buffer.from('{"a":1}') });
	await assert.rejects(plugin.verifyBody({ ...request, rawBody: Buffer.from('{"a":2}') }), { code: 'unauthorized' });
	await assert.rejects(plugin.authenticate(request, config, context), { code: 'unauthorized', message: 'The signature was used already.' });
});
