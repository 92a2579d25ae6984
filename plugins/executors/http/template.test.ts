// Header templates that write a secret out, and others.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writesSecret } from './template.ts';

test('a header’s name says that it is a secret', () => {
	for (const name of [
		...['Authorization', 'Proxy-Authorization', 'Cookie', 'X-Auth-Token', 'x-token', 'Client-Secret', 'X-PASSWORD'],
		...['X-API-Key', 'api_key', 'Apikey'],
	])
		assert.equal(writesSecret(name, 'value'), true, name);
	for (const name of ['Accept', 'X-Team', 'X-Key-Id', 'Content-Type']) assert.equal(writesSecret(name, 'value'), false, name);
});

const HARMLESS = [
	...['{token}', 'Bearer {token}', 'Basic {a}:{b}', 'Token token="{key}"', 'OAuth oauth_consumer_key="{k}", oauth_token="{t}"'],
	...['session={sid}', 'session={sid}; theme={theme}', 'sid={sid}; lang=en', 'AWS4-HMAC-SHA256 Credential={c}, Signature={s}'],
];
const WRITTEN = [
	...['', 'value', '••••', 'Bearer abc', '{not a placeholder}', 'Bearer secret-0123{x}', 'session={sid}; key=0123456789'],
	...['{x} 0123456789', 'prefix-0{x}', '0123456789={x}0123456789', `${'a='.repeat(40)}{x}`],
];

test('a template of placeholders, with the text that such headers require around them, writes no secret', () => {
	for (const template of HARMLESS) assert.equal(writesSecret('Authorization', template), false, template);
	for (const template of WRITTEN) assert.equal(writesSecret('Authorization', template), true, template);
});
