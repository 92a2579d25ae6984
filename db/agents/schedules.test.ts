// Tests of the schedules and versions of agents at the port: fired once, and bounded.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { fireDue } from '../../core/runs/schedules.ts';
import type { NewAgent, NewRun, RunKind, RunQueue } from '../../core/store/store.ts';
import { until } from '../../test/helpers/clock.ts';
import { administer, silent } from '../../test/helpers/postgres.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import { NEXT_DUE } from '../runs/queue.ts';
import { DUE } from '../runs/schedules.ts';

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
	const [due = assert.fail()] = await store.runQueue.dueSchedules(['agent'], null);
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

test('a schedule that fires while its agent is removed waits for the removal, which does not wait for it', async () => {
	const agentId = await addAgent();
	await store.agents.putSchedule(organizationId, agentId, SCHEDULE, { kind: 'agent', definition: { agentId }, firstAt: PAST });
	const [due = assert.fail()] = await store.runQueue.dueSchedules(['agent'], null);
	const started = { run: { ...RUN, organizationId }, kind: KIND, execution: { agentId, revision: 1, startedBy: null } };
	const { host, port, username, password, name } = store.database;
	const remover = new pg.Client({ host, port, user: username, password, database: name });
	await remover.connect();
	await remover.query('BEGIN');
	await remover.query('SELECT FROM agents WHERE id = $1 FOR UPDATE', [agentId]);
	const fired = store.agents.fire(due, NEXT, started, null);
	const waiting = async () => (await administer(store.database, 'SELECT pid FROM pg_locks WHERE NOT granted')).length > 0;
	await until(waiting, 'it waits');
	await remover.query('DELETE FROM agents WHERE id = $1', [agentId]);
	await remover.query('COMMIT');
	await remover.end();
	assert.equal(await fired, false);
});

test('the looks for the next time, and for what is due, read one row of 5,000 schedules', async () => {
	await administer(
		store.database,
		`INSERT INTO run_schedules (organization_id, key, kind, cron, time_zone, missed, overlap, definition, input, next_at)
		SELECT '${organizationId}', 'k' || n, 'agent', '0 0 1 1 *', 'UTC', 'skip', CASE n % 2 WHEN 0 THEN 'skip' ELSE 'queue' END, 'null', 'null', now() + n * interval '1 hour'
		FROM generate_series(1, 5000) n; ANALYZE run_schedules`,
	);
	const given: Record<string, string> = { $1: `'{agent}'`, $2: `'-infinity'`, $3: `'00000000-0000-0000-0000-000000000000'`, $4: `''` };
	for (const statement of [`SELECT ${NEXT_DUE}`, DUE]) {
		const [row] = await administer(
			store.database,
			`EXPLAIN (ANALYZE, FORMAT JSON) ${statement.replace(/\$\d/g, (name) => given[name] ?? '')}`,
		);
		const plan = JSON.stringify(row);
		assert.match(plan, /run_schedules_due/);
		const read = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)":\s?(\d+)/g)].map(([, count]) => Number(count));
		assert.ok(read.length > 0 && Math.max(...read) <= 1, plan);
	}
});

const DST: [cron: string, timeZone: string, firstAt: string, times: string[]][] = [
	// 02:30 is skipped, and comes at 03:30.
	['30 2 * * *', 'Europe/Berlin', '2026-03-28T01:30Z', ['2026-03-28T01:30', '2026-03-29T01:30', '2026-03-30T00:30']],
	// 02:30 comes twice, and counts once.
	['30 2 * * *', 'Europe/Berlin', '2026-10-24T00:30Z', ['2026-10-24T00:30', '2026-10-25T00:30', '2026-10-26T01:30']],
	['30 2 * * *', 'America/New_York', '2026-03-07T07:30Z', ['2026-03-07T07:30', '2026-03-08T07:30', '2026-03-09T06:30']],
	['30 1 * * *', 'America/New_York', '2026-10-31T05:30Z', ['2026-10-31T05:30', '2026-11-01T05:30', '2026-11-02T06:30']],
];

for (const [cron, timeZone, firstAt, times] of DST)
	test(`clocks that change in ${timeZone} after ${firstAt.slice(0, 10)} lose no run and add none`, async () => {
		const agentId = await addAgent();
		const schedule = { ...SCHEDULE, cron, timeZone };
		await store.agents.putSchedule(organizationId, agentId, schedule, { kind: 'dst', definition: { agentId }, firstAt: new Date(firstAt) });
		let left = times.length;
		const queue = {
			dueSchedules: async (...asked: Parameters<RunQueue['dueSchedules']>) => (left-- > 0 ? store.runQueue.dueSchedules(...asked) : []),
			fire: store.runQueue.fire,
		};
		// The clock stands at each due time, so that none is missed.
		await fireDue(queue, ['dst'], { log: silent, now: () => 0 });
		const runs = await administer(
			store.database,
			`SELECT scheduled_for FROM runs WHERE schedule = 'agent:${agentId}' ORDER BY scheduled_for`,
		);
		assert.deepEqual(
			runs.map((run) => (run['scheduled_for'] as Date).toISOString().slice(0, 16)),
			times,
		);
		await store.agents.remove(organizationId, agentId);
	});

test('schedules that always fail, more than a page of them, keep no other from its time', async () => {
	const kind = 'failing';
	const planned = {
		organizationId,
		kind,
		cron: '0 0 1 1 *',
		timeZone: 'UTC',
		missed: 'once',
		overlap: 'allow',
		definition: null,
		input: null,
	} as const;
	const firstAt = new Date('2026-01-01T00:00:00Z');
	for (let n = 0; n < 150; n++) await store.runQueue.putSchedule({ ...planned, key: `bad ${n}` }, firstAt);
	await store.runQueue.putSchedule({ ...planned, key: 'good' }, new Date('2026-01-01T00:01:00Z'));
	const tried: string[] = [];
	const fire: RunQueue['fire'] = async (due) => {
		tried.push(due.key);
		if (due.key.startsWith('bad')) throw new Error('never');
		return true;
	};
	await fireDue({ dueSchedules: store.runQueue.dueSchedules, fire }, [kind], { log: silent });
	assert.equal(tried.at(-1), 'good');
	assert.equal(new Set(tried).size, 151);
	assert.equal(tried.length, 151, 'each once');
});

test('a problem of any characters is told with the schedule', async () => {
	const agentId = await addAgent();
	const planned = { kind: 'told', definition: { agentId }, firstAt: new Date('2026-01-01T00:00:00Z') };
	await store.agents.putSchedule(organizationId, agentId, SCHEDULE, planned);
	const [due = assert.fail()] = await store.runQueue.dueSchedules(['told'], null);
	assert.equal(await store.agents.fire(due, null, null, 'no "a\0\ud800"'), true);
	assert.equal((await store.agents.schedule(organizationId, agentId))?.problem, 'no "a\ufffd"');
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
