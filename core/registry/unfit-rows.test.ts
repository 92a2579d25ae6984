// The check of stored configs outlives an outage of the database; what it finds is held by test/flows/unfit-configs.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
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
