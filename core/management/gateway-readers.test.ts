// Tests of gateways' keys as readers, on the real store: how often the store is queried for them.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { Request } from '@hapi/hapi';
import { addGateway, addTenant, type Tenant } from '../../test/helpers/samples.ts';
import { silent } from '../../test/helpers/silent.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import { loadConfig } from '../config/config.ts';
import { GATEWAY_KEY_PREFIX, hashKey, mintKey } from '../secrets/tokens.ts';
import { Recorder } from '../store/recorder.ts';
import type { Store } from '../store/store.ts';
import { GatewayReaders } from './gateway-readers.ts';

let store: TestStore;
let owner: Tenant;
let readers: GatewayReaders;
let recorder: Recorder;
let lookUps = 0;

function watched(real: Store): Store {
	const gateways: Store['gateways'] = {
		...real.gateways,
		liveKey(...asked) {
			lookUps++;
			return real.gateways.liveKey(...asked);
		},
		auth(...asked) {
			lookUps++;
			return real.gateways.auth(...asked);
		},
	};
	return { ...real, gateways };
}

before(async () => {
	store = await testStore();
	owner = await addTenant(store);
	recorder = new Recorder(store, silent);
	readers = new GatewayReaders({ config: loadConfig({}), store: watched(store), recorder });
});
after(async () => {
	readers.close();
	await recorder.close();
	await store.close();
});
beforeEach(() => {
	lookUps = 0;
});

async function addReader(endpoint: string) {
	const { id } = await addGateway(store, owner.organizationId, endpoint);
	const secret = mintKey(GATEWAY_KEY_PREFIX);
	const key = { name: 'k', prefix: secret.slice(0, 12), scopes: ['gateway:read' as const], expiresAt: null, hash: hashKey(secret) };
	await store.gateways.addKey(owner.organizationId, id, key);
	await store.changes.fresh(0);
	// Only the gateway in the path of the request is read.
	const request = { params: { id } } as Partial<Request> as Request;
	return { id, ask: (asked = secret) => readers.identify(asked, request) };
}

test('a key is looked up once, also by concurrent requests, until something of its organization changes', async () => {
	const { id, ask } = await addReader('/one');
	const found = await Promise.all(Array.from({ length: 20 }, () => ask()));
	assert.equal(await ask(), found[0]);
	assert.equal(lookUps, 2, 'the key, and the methods of its gateway');
	const stranger = await addTenant(store);
	await addGateway(store, stranger.organizationId, '/theirs');
	await store.changes.fresh(0);
	await ask();
	assert.equal(lookUps, 2, 'others change what they like');
	await store.gateways.update(owner.organizationId, id, { description: 'new' });
	await store.changes.fresh(0);
	await ask();
	assert.equal(lookUps, 4);
});

test('an unknown key is looked up again, and a text too long for a key is not looked up', async () => {
	const { id, ask } = await addReader('/two');
	const unknown = mintKey(GATEWAY_KEY_PREFIX);
	for (let round = 0; round < 2; round++) await assert.rejects(ask(unknown), { code: 'unauthorized' });
	assert.equal(lookUps, 2);
	await assert.rejects(ask(GATEWAY_KEY_PREFIX + 'x'.repeat(300)), { code: 'unauthorized' });
	assert.equal(lookUps, 2);
	await store.gateways.update(owner.organizationId, id, { status: 'inactive' });
	await store.changes.fresh(0);
	await assert.rejects(ask(), { code: 'unauthorized' });
	await store.gateways.update(owner.organizationId, id, { status: 'active' });
	assert.ok(await ask(), 'also before the change was heard');
});
