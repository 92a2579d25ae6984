// A start with a wrong key.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../test/helpers/service.ts';
import { testStore } from '../test/helpers/store.ts';
import { checkEncryptionKey } from './key-check.ts';
import { createSecrets } from './secrets/envelopes.ts';

let service: TestService;
before(async () => {
	service = await startTestService();
});
after(() => service.stop());

test('a replica with another ENCRYPTION_KEY does not start, and says why; one with the same does', async () => {
	const starting = startTestService({ replicaOf: service, env: { ENCRYPTION_KEY: 'cd'.repeat(32) } });
	await assert.rejects(starting, /^Error: ENCRYPTION_KEY is not the key with which the secrets of this database were sealed\.$/);
	const replica = await startTestService({ replicaOf: service });
	await replica.stop();
});

test('of many concurrent starts on an empty database with two keys, those with one of the keys succeed', async () => {
	await using store = await testStore();
	const keys = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? 'ab' : 'cd').repeat(32));
	const starts = await Promise.allSettled(keys.map((key) => checkEncryptionKey(store, createSecrets(key))));
	const good = new Set(keys.filter((_key, at) => starts[at]?.status === 'fulfilled'));
	assert.equal(good.size, 1);
	assert.equal(starts.filter(({ status }) => status === 'fulfilled').length, 10);
});
