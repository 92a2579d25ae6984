import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Config, loadConfig } from '../config/config.ts';
import { isLocal, isTrustedOrigin, publicUrlOf } from './origins.ts';

const SECRETS = { JWT_SECRET: 'j'.repeat(64), ENCRYPTION_KEY: 'ab'.repeat(32) };
const configOf = (PUBLIC_URL: string): Config => loadConfig({ ...SECRETS, PUBLIC_URL, FRONTEND_URL: 'https://app.example' });

test('the PUBLIC_URL that matches Host is used, else the first; Host has no other effect (decisions, 21)', () => {
	const config = configOf('https://a.example,https://b.example:8443');
	assert.equal(publicUrlOf(config, 'a.example'), 'https://a.example');
	assert.equal(publicUrlOf(config, 'B.EXAMPLE:8443'), 'https://b.example:8443');
	for (const host of ['evil.example', 'b.example', '', undefined]) assert.equal(publicUrlOf(config, host), 'https://a.example');
});

test('a Host with the default port of the scheme is that without it', () => {
	const config = configOf('https://a.example,https://b.example,http://c.example');
	assert.equal(publicUrlOf(config, 'b.example:443'), 'https://b.example');
	assert.equal(publicUrlOf(config, 'C.example:80'), 'http://c.example');
	for (const host of ['b.example:80', 'c.example:443', 'b.example:8443'])
		assert.equal(publicUrlOf(config, host), 'https://a.example', host);
});

test('trusted pages: PUBLIC_URL and FRONTEND_URL; loopback only while PUBLIC_URL is loopback (decisions, 19)', () => {
	const published = configOf('https://a.example');
	for (const origin of ['https://a.example', 'https://app.example']) assert.ok(isTrustedOrigin(published, origin), origin);
	for (const origin of ['http://localhost:5173', 'https://a.example.evil', 'http://a.example', 'null'])
		assert.ok(!isTrustedOrigin(published, origin), origin);
	const local = configOf('http://localhost:3000');
	for (const origin of ['http://localhost:5173', 'http://127.0.0.1:1', 'http://[::1]:2']) assert.ok(isTrustedOrigin(local, origin), origin);
	for (const origin of ['https://localhost.evil.example', 'https://evil-localhost.example', 'https://127.0.0.1.evil.example', 'null'])
		assert.ok(!isTrustedOrigin(local, origin), origin);
});

test('a service is local at each name and address of loopback', () => {
	for (const url of ['http://localhost:3000', 'http://gate.localhost', 'http://127.0.0.1:1', 'http://127.8.0.1', 'http://[::1]:2']) {
		assert.ok(isLocal(configOf(url)), url);
		assert.ok(isTrustedOrigin(configOf('http://localhost:3000'), url), url);
	}
	for (const url of ['https://a.example', 'https://localhost.example', 'http://10.0.0.1', 'https://a.example,http://localhost:3000'])
		assert.ok(!isLocal(configOf(url)), url);
});
