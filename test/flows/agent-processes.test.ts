// Tests runs of agents over processes that are killed and stopped.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { addChain, agentDesk, agentProcess, judged, startMany } from '../helpers/agent-processes.ts';
import type { AgentWorld } from '../helpers/agents.ts';
import { until } from '../helpers/clock.ts';
import { graph } from '../helpers/graphs.ts';
import { administer, type Endpoint } from '../helpers/postgres.ts';
import { hurry } from '../helpers/run-processes.ts';

const QUICK = { RUN_KEEP_MS: 500 };

let world: AgentWorld;
let database: Endpoint;
before(async () => {
	world = await agentDesk();
	({ database } = world.core.store);
	await world.core.store.runQueue.open(['agent']);
	await hurry(database, ['agent'], 3);
});
beforeEach(() => administer(database, 'DELETE FROM runs', 'DELETE FROM effects'));
after(() => world[Symbol.asyncDispose]());

const count = async (sql: string): Promise<number> => Number((await administer(database, `SELECT count(*) AS n FROM ${sql}`))[0]?.['n']);
const allEnded = (): Promise<void> => until(async () => (await count('runs WHERE finished_at IS NULL')) === 0, 'all have ended', 100);

test('a process is killed among its runs: another one ends them, and the trace says what was repeated', async () => {
	const agent = await addChain(world, 500);
	await using dying = await agentProcess(database, QUICK);
	const started = await startMany(world, agent, 12);
	const [begun, ended] = ['begun', 'ended'].map((what) => `count(*) FILTER (WHERE what = '${what}')`);
	const isAmong = `(SELECT FROM effects WHERE pid = ${dying.child.pid} HAVING ${ended} >= 1 AND ${begun} > ${ended}) AS among`;
	await until(async () => (await count(isAmong)) === 1, 'it is among its runs', 5);
	dying.child.kill('SIGKILL');
	// It starts after the other one is gone, or it could have taken all of the runs.
	await using living = await agentProcess(database, QUICK);
	await allEnded();
	const { ends, repeated, twice } = await judged(world, started);
	assert.deepEqual([repeated, twice], [0, 0]);
	assert.equal((ends['succeeded'] ?? 0) + (ends['in_doubt'] ?? 0), 12, JSON.stringify(ends));
	assert.ok((await count('runs WHERE attempt > 1')) > 0, 'it died among them');
	for (const id of started.values()) {
		const trace = await world.engine.trace({ organizationId: world.organizationId, id });
		const again = await administer(
			database,
			`SELECT key FROM effects WHERE run_id = '${id}' AND what = 'begun' GROUP BY key HAVING count(*) > 1`,
		);
		for (const { key } of again) assert.ok((trace.find((entry) => entry.key === key)?.attempt ?? 0) > 1, String(key));
		for (const { status } of trace) assert.ok(status !== 'running' && status !== 'waiting');
	}
	assert.ok(living.child.exitCode === null);
});

test('a process that is told to stop gives its runs back, and another one goes on', async () => {
	const slow = await addChain(world, 60_000);
	await using leaving = await agentProcess(database, { ...QUICK, RUN_GRACE_MS: 300 });
	await startMany(world, slow, 5);
	await until(async () => (await count('effects')) === 5, 'it has them');
	leaving.child.kill('SIGTERM');
	assert.equal(await leaving.ended, 0);
	assert.equal(await count(`runs WHERE status = 'queued'`), 5, 'given back before it ended');
});

test('a question is answered after the process that asked it is gone', async () => {
	const agent = await world.addAgent(
		graph('in>q q>a a>out', { in: ['start'], q: ['ask', { message: 'Sure?' }], a: ['work', { name: 'a' }], out: ['finish'] }),
	);
	const started = await startMany(world, agent, 1);
	const [id = ''] = started.values();
	const place = { organizationId: world.organizationId, id };
	{
		await using asking = await agentProcess(database, QUICK);
		await until(
			async () => (await world.engine.waiting(place)).length === 1 && (await count(`runs WHERE status = 'waiting'`)) === 1,
			'it waits',
		);
		asking.child.kill('SIGKILL');
	}
	await world.engine.answer(place, 'q', { ok: true });
	await using answering = await agentProcess(database, QUICK);
	const { run } = await world.engine.wait(place, 60_000);
	assert.equal(run.output, 'a');
	assert.ok(answering.child.exitCode === null);
});
