// An agent that runs another one, where its account has as many unfinished runs of that depth as it may.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentNodes } from '../../test/helpers/agent-nodes.ts';
import { agentWorld } from '../../test/helpers/agents.ts';
import { until } from '../../test/helpers/clock.ts';
import { graph } from '../../test/helpers/graphs.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { kindOf } from './definition.ts';

const MOST = 10_000;

test('an agent waits for room for the agent that it runs, instead of adding rows without end', async () => {
	await using world = await agentWorld(agentNodes({}));
	const { organizationId, core } = world;
	const inner = await world.addAgent(graph('in>out', { in: ['start'], out: ['finish'] }));
	const outer = await world.addAgent(graph('in>s s>out', { in: ['start'], s: ['sub', { agentId: inner.id }], out: ['finish'] }));
	const accountId = await core.store.organizations.account(organizationId);
	await administer(
		core.store.database,
		`INSERT INTO runs (id, organization_id, account_id, kind, status, trigger, definition, input)
		SELECT gen_random_uuid(), '${organizationId}', '${accountId}', '${kindOf(2)}', 'waiting', 'manual', 'null', 'null' FROM generate_series(1, ${MOST}) n`,
	);
	const { run } = await world.start(outer, {});
	const place = { organizationId, id: run.id };
	await until(async () => (await world.engine.get(place))?.run.status === 'waiting', 'it waits');
	const countChildren = async () => (await core.store.agents.executions(organizationId, inner.id, { limit: 1, offset: 0 })).total;
	assert.equal(await countChildren(), 0);
	await administer(core.store.database, `DELETE FROM runs WHERE kind = '${kindOf(2)}'`);
	const { run: ended } = await world.ended({ run } as Awaited<ReturnType<typeof world.start>>);
	assert.deepEqual([ended.status, ended.error, await countChildren()], ['succeeded', null, 1]);
});
