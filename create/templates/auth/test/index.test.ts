import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Incoming } from 'gatehouse';
import plugin, { type Config } from '../src/index.ts';

const config: Config = { header: 'x-passphrase', passphrase: 'open, please, sesame' };
const incoming = (headers: Record<string, string>): Incoming => ({ headers }) as Incoming;

test('a request without the header is left to other methods', async () => {
	assert.equal(await plugin.authenticate(incoming({}), config), null);
});

test('the passphrase admits', async () => {
	const caller = await plugin.authenticate(incoming({ 'x-passphrase': config.passphrase }), config);
	assert.deepEqual(caller?.scopes, ['tools:read', 'tools:execute']);
});

test('another one is refused, and not repeated', async () => {
	await assert.rejects(plugin.authenticate(incoming({ 'x-passphrase': 'guessed' }), config), {
		code: 'unauthorized',
		message: 'The passphrase is wrong.',
	});
});

test('a short passphrase cannot be stored', () => {
	assert.match(plugin.config.validate({ passphrase: 'short' }).error?.message ?? '', /at least 12/);
});
