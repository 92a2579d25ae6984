// The check of stored configs outlives an outage of the database; what it finds is held by test/flows/unfit-configs.test.ts.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import custom from '../../plugins/providers/custom/index.ts';
import { until } from '../../test/helpers/clock.ts';
import { addGateway, addTenant } from '../../test/helpers/samples.ts';
import { silent } from '../../test/helpers/silent.ts';
import { openReplica, testStore } from '../../test/helpers/store.ts';
import { startTcpProxy } from '../../test/helpers/tcp-proxy.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import { Registry } from './registry.ts';
import { countUnfitRows } from './unfit-rows.ts';

test('rows are counted when the database is back', async () => {
	await using own = await testStore();
	const { organizationId } = await addTenant(own);
	await addGateway(own, organizationId);
	await using proxy = await startTcpProxy(own.database);
	await using store = await openReplica({ database: { ...own.database, host: '127.0.0.1', port: proxy.port }, waits: {} });
	await proxy.cut();
	const parts = { store, registry: new Registry(), secrets: createSecrets('00'.repeat(32)), log: silent, isTold: true };
	const unfit = countUnfitRows(parts);
	await assert.rejects(store.configs.page(null, 1), 'the database is away');
	assert.deepEqual(await unfit.of(organizationId), []);
	await proxy.mend();
	await until(async () => (await unfit.of(organizationId)).length > 0, 'the rows are counted');
	assert.deepEqual(
		(await unfit.of(organizationId)).map(({ kind, missing }) => [kind, missing]),
		[['transport', 1]],
	);
	unfit.close();
});

test('LLM providers are counted by their plugin, with those whose config does not fit', async () => {
	await using own = await testStore();
	const { organizationId } = await addTenant(own);
	const columns = { name: 'm', configVersion: 1, model: null, configuration: {}, prices: null, budget: null, outbound: null };
	for (const [provider, connection] of [
		['gone', {}],
		['custom', { baseUrl: 'nowhere' }],
		['custom', { baseUrl: 'https://models.example.com', apiKey: 'k' }],
	] as const)
		await own.llmProviders.create(organizationId, randomUUID(), { ...columns, provider, connection }, 10);
	const registry = new Registry();
	registry.add(custom);
	registry.configure(null);
	const unfit = countUnfitRows({ store: own, registry, secrets: createSecrets('00'.repeat(32)), log: silent, isTold: false });
	await until(async () => (await unfit.of(organizationId)).length > 1, 'the rows are counted');
	assert.deepEqual(
		(await unfit.of(organizationId)).sort((one, other) => one.misfits - other.misfits),
		[
			{ kind: 'provider', name: 'gone', missing: 1, misfits: 0 },
			{ kind: 'provider', name: 'custom', missing: 0, misfits: 1 },
		],
	);
	unfit.close();
});
