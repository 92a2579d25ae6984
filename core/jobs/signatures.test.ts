// Tests the signatures of webhooks.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretFault, webhookHeaders } from './signatures.ts';

test('the example of the reference libraries of Standard Webhooks is signed as they sign it', () => {
	const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at: new Date(1_614_265_330_000), body: '{"test": 2432232314}' };
	const headers = webhookHeaders(message, { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' });
	assert.deepEqual(headers, {
		'webhook-id': message.id,
		'webhook-timestamp': '1614265330',
		'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
	});
});

test('the example of GitHub is signed as GitHub signs it', () => {
	const message = { id: 'msg_1', at: new Date(0), body: 'Hello, World!' };
	const headers = webhookHeaders(message, { secret: "It's a Secret to Everybody", scheme: 'sha256' });
	assert.equal(headers['x-hub-signature-256'], 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17');
	assert.equal(headers['webhook-signature'], undefined);
	assert.deepEqual(Object.keys(webhookHeaders(message, null)), ['webhook-id', 'webhook-timestamp']);
});

test('a secret is long enough, and base64 where it says so', () => {
	const bytes = (count: number): string => `whsec_${Buffer.alloc(count, 7).toString('base64')}`;
	for (const secret of ['x'.repeat(16), bytes(24), bytes(64)]) assert.equal(secretFault(secret), null, secret);
	for (const secret of ['', 'x'.repeat(15), 'x'.repeat(513), bytes(23), bytes(65), 'whsec_not base64 at all, but long enough'])
		assert.notEqual(secretFault(secret), null, secret);
});
