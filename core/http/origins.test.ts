import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Config, loadConfig } from '../config/config.ts';
import { isTrustedOrigin, publicUrlOf } from './origins.ts';

const SECRETS = { JWT_SECRET: 'j'.repeat(64), ENCRYPTION_KEY: 'ab'.repeat(32) };
const configOf = (PUBLIC_URL: string): Config => loadConfig({ ...SECRETS, PUBLIC_URL, FRONTEND_URL: 'https://app.example' });

test('the PUBLIC_URL that matches Host is used, else the first; Host has no other effect (decisions, 21)', () => {
	const config = configOf('https://a.example,https://b.example:8443');
	assert.equal(publicUrlOf(config, 'a.example'), 'https://a.example');
	assert.equal(publicUrlOf(config, 'B.EXAMPLE:8443'), 'https://b.example:8443');
	for (const host of ['evil.example', 'b.example', '', undefined]) assert.equal(publicUrlOf(config, host), 'https://a.example');
});

test('trusted pages: PUBLIC_URL and FRONTEND_URL; loopback only while PUBLIC_URL is loopback (decisions, 19)', () => {
	const published = configOf('https://a.example');
	for (const origin of ['https://a.example', 'https://app.example']) assert.ok(isTrustedOrigin(published, origin), origin);
	for (const origin of ['http://localhost:5173', 'https://a.example.evil', 'http://a.example', 'null'])
		assert.ok(!isTrustedOrigin(published, origin), origin);
	const local = configOf('http://localhost:3000');
	for (const origin of ['http://localhost:5173', 'http://127.0.0.1:1', 'http://[::1]:2']) assert.ok(isTrustedOrigin(local, origin), origin);
	assert.ok(!isTrustedOrigin(local, 'https://localhost.evil.example'));
});
