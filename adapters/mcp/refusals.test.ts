// Tests of refusals as JSON-RPC errors, and of those that stay in core's form.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS, type ErrorCode, GatewayError, type Incoming } from '../../core/index.ts';
import { fail } from './refusals.ts';

const AT = { url: 'https://gatehouse.example/acme/main', name: 'Main' };
const CONFIG = { allowedOrigins: ['https://app.example'] };
// No other member of the request is read.
const post = (change: Partial<Incoming> = {}): Incoming =>
	({ method: 'POST', path: '/', headers: {}, origin: { value: null, trusted: false }, ...change }) as Incoming;
const told = (code: ErrorCode, request = post()) => fail(new GatewayError(code, 'Not so.'), request, CONFIG, AT);

const OF_AUTHORIZATION: readonly ErrorCode[] = ['unauthorized', 'forbidden', 'insufficient_scope', 'no_organization'];

for (const code of Object.keys(ERRORS) as ErrorCode[]) {
	if (OF_AUTHORIZATION.includes(code)) continue;
	test(`${code} of a message is a JSON-RPC error with its status`, () => {
		const number = ERRORS[code] < 500 ? -32600 : -32603;
		const body = { jsonrpc: '2.0', id: null, error: { code: number, message: 'Not so.' } };
		assert.deepEqual(told(code), { status: ERRORS[code], body });
	});
}

test('fields are named in the data of the error', () => {
	const details = [{ path: 'query/a', message: 'is not UTF-8.' }];
	const { body } = fail(new GatewayError('validation_failed', 'No.', { details }), post(), CONFIG, AT) ?? {};
	assert.deepEqual(body, { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'No.', data: { details } } });
});

test('authorization refuses in HTTP', () => {
	for (const code of OF_AUTHORIZATION) assert.equal(told(code), null, code);
	assert.equal(told('forbidden', post({ origin: { value: 'https://app.example', trusted: false } })), null);
});

test('a foreign page is refused in JSON-RPC (transports, “Security Warning”)', () => {
	assert.equal(told('forbidden', post({ origin: { value: 'https://evil.example', trusted: false } }))?.status, 403);
});

test('what is no message is refused in HTTP', () => {
	assert.equal(told('method_not_allowed', post({ method: 'GET' })), null);
	assert.equal(told('not_found', post({ path: '/other' })), null);
});
