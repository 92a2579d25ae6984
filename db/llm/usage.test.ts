// Budgets of runs and agents: what is set aside and what was spent, over all replicas.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { administer } from '../../test/helpers/postgres.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { openReplica, testStore } from '../../test/helpers/store.ts';

const USAGE = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, costMicroUsd: 40 };
const CONNECTION = { name: 'm', provider: 'custom', connection: {}, configVersion: 1, model: null, configuration: {} };

test('calls of a run count over connections and replicas, and never more is set aside than its budget', async () => {
	await using store = await testStore();
	await using other = await openReplica({ database: store.database, waits: {} });
	const { organizationId } = await addTenant(store);
	const ids = [randomUUID(), randomUUID()] as const;
	const columns = { ...CONNECTION, prices: null, budget: null, outbound: null };
	for (const id of ids) await store.llmProviders.create(organizationId, id, columns, 10);
	const run = { holder: 'run:1', period: 'all' as const, limit: 100 };
	const agent = { holder: 'agent:1', period: 'month' as const, limit: 1000 };
	const reserve = (at: typeof store, id: string, cost: number, holders = [run, agent]) =>
		at.llmProviders.reserve({ organizationId, id }, cost, { perMonth: null, holders }, 60_000);

	const made = await Promise.all([store, other, store, other].map((at, index) => reserve(at as typeof store, ids[index % 2] ?? '', 40)));
	const taken = made.filter((one) => typeof one === 'string');
	assert.equal(taken.length, 2);
	assert.deepEqual(
		made.filter((one) => typeof one !== 'string'),
		[{ holder: 'run:1' }, { holder: 'run:1' }],
	);
	const [first, second] = made.flatMap((one, index) => (typeof one === 'string' ? [{ one, id: ids[index % 2] ?? '' }] : []));
	assert.ok(first && second);
	await store.llmProviders.settle({ organizationId, id: first.id }, USAGE, first.one);
	await other.llmProviders.settle({ organizationId, id: second.id }, { ...USAGE, costMicroUsd: 10 }, second.one);
	const spent = await administer(store.database, 'SELECT holder, month::text, cost FROM llm_spending ORDER BY holder');
	assert.deepEqual(
		spent.map(({ holder, cost, month }) => [holder, cost, month === '1970-01-01']),
		[
			['agent:1', 50, false],
			['run:1', 50, true],
		],
	);
	assert.deepEqual(await reserve(store, ids[0], 51), { holder: 'run:1' });
	assert.equal(typeof (await reserve(store, ids[0], 50)), 'string');
	const little = { ...agent, limit: 60 };
	assert.deepEqual(await reserve(store, ids[1], 20, [{ ...run, limit: 1e9 }, little]), { holder: 'agent:1' });
	assert.equal(
		await store.llmProviders.reserve({ organizationId: randomUUID(), id: ids[0] }, 1, { perMonth: null, holders: [run] }, 1),
		null,
	);
});

test('costs of holders without a call for long are removed, with those of an organization', async () => {
	await using store = await testStore();
	const { organizationId } = await addTenant(store);
	const id = randomUUID();
	await store.llmProviders.create(organizationId, id, { ...CONNECTION, prices: null, budget: null, outbound: null }, 10);
	const holders = [{ holder: 'run:1', period: 'all' as const, limit: 100 }];
	const reservation = await store.llmProviders.reserve({ organizationId, id }, 1, { perMonth: null, holders }, 60_000);
	await store.llmProviders.settle({ organizationId, id }, USAGE, typeof reservation === 'string' ? reservation : assert.fail());
	assert.equal(await store.llmProviders.prune(new Date(Date.now() - 60_000)), 0);
	assert.equal(await store.llmProviders.prune(new Date(Date.now() + 60_000)), 1);
});
