// Tests of the schedules and versions of agents at the port: fired once, and bounded.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { NewAgent, NewRun, RunKind } from '../../core/store/store.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
let organizationId: string;
before(async () => {
	store = await testStore();
	organizationId = (await addTenant(store)).organizationId;
});
after(() => store.close());

const AGENT: NewAgent = { name: 'a', description: '', pipeline: { nodes: [], edges: [] }, settings: {} };
const KIND: RunKind = { kind: 'agent', perAccount: null, perAccountUnfinished: null, maxLosses: 5 };
const SCHEDULE = { cron: '* * * * *', timeZone: 'UTC', missed: 'once' as const, overlap: 'allow' as const, input: 'sealed' };
const PAST = new Date('2026-01-01T00:00:00Z');
const NEXT = new Date('2099-01-01T00:00:00Z');

const addAgent = async () => (await store.agents.create(organizationId, randomUUID(), AGENT, 100)).id;
const RUN: Omit<NewRun, 'organizationId'> = {
	...{ kind: 'agent', definition: null, input: null, trigger: 'schedule', priority: 0, deadlineMs: null },
	...{ parentId: null, dedupe: null, here: false, onLoss: 'resume' },
};

test('three replicas that see a due time at once start one run with its execution', async () => {
	const agentId = await addAgent();
	await store.agents.putSchedule(organizationId, agentId, SCHEDULE, { kind: 'agent', definition: { agentId }, firstAt: PAST });
	const [due = assert.fail()] = await store.runQueue.dueSchedules(['agent']);
	const started = { run: { ...RUN, organizationId }, kind: KIND, execution: { agentId, revision: 1, startedBy: null } };
	const fired = await Promise.all([1, 2, 3].map(() => store.agents.fire(due, NEXT, started, null)));
	assert.deepEqual(fired.sort(), [false, false, true]);
	const { executions } = await store.agents.executions(organizationId, agentId, { limit: 10, offset: 0 }, { trigger: 'schedule' });
	assert.deepEqual(
		executions.map(({ run }) => [run.schedule, run.scheduledFor]),
		[[`agent:${agentId}`, PAST]],
	);
	await store.agents.remove(organizationId, agentId);
	assert.deepEqual(await administer(store.database, 'SELECT key FROM run_schedules'), [], 'the engine forgets it with the agent');
});

test('the look for the next time reads one row of 5,000 schedules', async () => {
	await administer(
		store.database,
		`INSERT INTO run_schedules (organization_id, key, kind, cron, time_zone, missed, overlap, definition, input, next_at)
		SELECT '${organizationId}', 'k' || n, 'agent', '0 0 1 1 *', 'UTC', 'skip', 'skip', 'null', 'null', now() + n * interval '1 hour'
		FROM generate_series(1, 5000) n; ANALYZE run_schedules`,
	);
	const [row] = await administer(
		store.database,
		`EXPLAIN (ANALYZE, FORMAT JSON) SELECT min(s.next_at) FROM run_schedules s WHERE s.next_at IS NOT NULL AND s.kind = ANY('{agent}')`,
	);
	const plan = JSON.stringify(row);
	assert.match(plan, /run_schedules_due/);
	const read = [...plan.matchAll(/"Actual Rows":\s?(\d+)/g)].map(([, count]) => Number(count));
	assert.ok(Math.max(...read) <= 1, plan);
});

test('the oldest versions give way, numbers are never given again, and the characters of an organization are bounded', async () => {
	const agentId = await addAgent();
	const save = (bounds: { versions: number; chars: number }) =>
		store.agents.saveVersion(organizationId, agentId, { changelog: '', createdBy: null }, bounds);
	for (let count = 0; count < 4; count++) await save({ versions: 2, chars: 1e6 });
	const kept = await store.agents.versions(organizationId, agentId);
	assert.deepEqual(
		kept.map(({ versionIndex }) => versionIndex),
		[3, 2],
	);
	await assert.rejects(save({ versions: 9, chars: 10 }), { code: 'conflict' });
	assert.equal((await store.agents.versions(organizationId, agentId)).length, 2);
});
