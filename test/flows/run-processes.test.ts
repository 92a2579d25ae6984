// Tests runs over processes that are killed and stopped: no finished step runs again, and none that may run once runs twice.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { Run } from '../../core/store/store.ts';
import { until } from '../helpers/clock.ts';
import { administer } from '../helpers/postgres.ts';
import { hurry, judge, runProcess } from '../helpers/run-processes.ts';
import { EFFECTS } from '../helpers/run-worker.ts';
import { type RunReplica, runReplica } from '../helpers/runs.ts';
import { addTenant } from '../helpers/samples.ts';
import { type TestStore, testStore } from '../helpers/store.ts';

const QUICK = { RUN_KEEP_MS: 500, RUN_NODE_MS: 150, RUN_PLACES: 6 };

let store: TestStore;
let desk: RunReplica;
let organizationId: string;
before(async () => {
	store = await testStore();
	desk = await runReplica(store);
	organizationId = (await addTenant(store)).organizationId;
	await administer(store.database, EFFECTS);
	await store.runQueue.open(['chain', 'approval', 'due']);
	await hurry(store.database, ['chain', 'approval', 'due'], 3);
});
beforeEach(() => administer(store.database, 'DELETE FROM runs', 'DELETE FROM effects'));
after(async () => {
	await desk[Symbol.asyncDispose]();
	await store.close();
});

const start = (kind: string): Promise<Run> => desk.runs.start({ organizationId, kind, input: null });
const count = async (sql: string): Promise<number> =>
	Number((await administer(store.database, `SELECT count(*) AS n FROM ${sql}`))[0]?.['n']);

test('a process is killed among its runs: another one ends them', async () => {
	await using dying = await runProcess(store.database, QUICK);
	await using living = await runProcess(store.database, QUICK);
	// So long that it is never over before the process is killed, however slow the machine is.
	const mine = await dying.start({ organizationId, kind: 'chain', input: 10_000, here: true, onLoss: 'fail' });
	for (let index = 0; index < 10; index++) await start('chain');
	await until(async () => (await count(`effects WHERE pid = ${dying.child.pid} AND what = 'ended'`)) >= 4, 'it has begun');
	dying.child.kill('SIGKILL');
	// The engine puts a run that began ahead of the queue off for 35 s; here those are over.
	await administer(store.database, `UPDATE engine.job_common SET start_after = now() WHERE data ->> 'runId' = '${mine.id}'`);
	await until(async () => (await count('runs WHERE finished_at IS NULL')) === 0, 'all have ended', 100);
	const { ends, repeated, twice, resumed } = await judge(store.database, 'chain');
	assert.deepEqual([repeated, twice], [0, 0]);
	assert.equal(ends['interrupted'], 1);
	assert.equal((ends['succeeded'] ?? 0) + (ends['in_doubt'] ?? 0), 10);
	assert.ok(resumed > 0 || (ends['in_doubt'] ?? 0) > 0, 'it died among its steps');
	assert.ok(living.child.exitCode === null);
});

test('a process that is told to stop gives its runs back at once', async () => {
	await using leaving = await runProcess(store.database, { ...QUICK, RUN_NODE_MS: 60_000, RUN_GRACE_MS: 300 });
	for (let index = 0; index < 5; index++) await start('chain');
	await until(async () => (await count(`effects WHERE pid = ${leaving.child.pid}`)) === 5, 'it has them');
	leaving.child.kill('SIGTERM');
	assert.equal(await leaving.ended, 0);
	assert.equal(await count(`runs WHERE status = 'queued'`), 5, 'given back before it ended');
	await using next = await runProcess(store.database, QUICK);
	await until(async () => (await count('runs WHERE finished_at IS NULL')) === 0, 'all have ended', 100);
	assert.deepEqual((await judge(store.database, 'chain')).ends, { succeeded: 5 });
	assert.ok(next.child.exitCode === null);
});

test('an approval is given after the process that asked for it is gone', async () => {
	const run = await start('approval');
	{
		await using asking = await runProcess(store.database, QUICK);
		await until(async () => (await count(`runs WHERE status = 'waiting'`)) === 1, 'it waits');
		asking.child.kill('SIGKILL');
	}
	assert.equal(await desk.runs.signal({ organizationId, id: run.id }, 'approve', 'yes'), true);
	await using answering = await runProcess(store.database, QUICK);
	const end = await desk.runs.wait({ organizationId, id: run.id }, 60_000);
	assert.deepEqual([end.output, (await judge(store.database, 'approval')).repeated], ['yes', 0]);
	assert.ok(answering.child.exitCode === null);
});
