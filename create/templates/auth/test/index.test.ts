// The contract of authentication methods, and what this one promises beside it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authContract, fakeCall, fakeRequest } from 'gatehouse/testing';
import plugin, { type Config } from '../src/index.ts';

const config: Config = { header: 'x-passphrase', passphrase: 'open, please, sesame' };
const withPassphrase = (passphrase: string) => ({ headers: { 'x-passphrase': passphrase } });

authContract(plugin, {
	config: { ...config },
	bad: [
		{ config: {}, says: /"passphrase" is required/ },
		{ config: { passphrase: 'short' }, says: /at least 12/ },
		{ config: { ...config, header: 'X-Passphrase' }, says: /"header"/ },
	],
	admitted: [withPassphrase(config.passphrase)],
	refused: [withPassphrase('guessed')],
});

test('a wrong passphrase is refused in words that a client can use', async () => {
	await using fake = fakeCall({ plugin, caller: null });
	const request = fakeRequest(withPassphrase('guessed'));
	await assert.rejects(plugin.authenticate(request, config), { code: 'unauthorized', message: 'The passphrase is wrong.' });
	assert.deepEqual(fake.lines, []);
});
