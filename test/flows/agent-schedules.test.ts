// Tests agents that run by the clock over replicas that come and go: each time starts one run, also when the replica that saw it is killed.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { AgentRow } from '../../core/store/store.ts';
import { agentDesk, agentProcess } from '../helpers/agent-processes.ts';
import type { AgentWorld } from '../helpers/agents.ts';
import { until } from '../helpers/clock.ts';
import { graph, work } from '../helpers/graphs.ts';
import { administer, type Endpoint } from '../helpers/postgres.ts';
import { hurry, type RunProcess } from '../helpers/run-processes.ts';
import { rounds } from '../helpers/sampled.ts';

/** The minutes of a schedule, which the test lets pass: a third of them ends a replica gently. */
const MINUTES = rounds({ few: 3, all: 20 });

let world: AgentWorld;
let database: Endpoint;
let agent: AgentRow;
before(async () => {
	world = await agentDesk();
	({ database } = world.core.store);
	await world.core.store.runQueue.open(['agent']);
	await hurry(database, ['agent'], 3);
	agent = await world.addAgent(graph('in>a a>out', { in: ['start'], a: work('a', { ms: 20 }), out: ['finish', { value: 'done' }] }));
	const schedule = { cron: '0 0 1 1 *', timeZone: 'UTC', missed: 'once' as const, overlap: 'allow' as const, input: { tag: TAG } };
	await world.engine.schedules.set(agent, schedule, world.core.store);
});
after(() => world?.[Symbol.asyncDispose]());

const TAG = '00000000-0000-4000-8000-000000000001';

/** Lets the next minute come now. @returns it, in milliseconds since 1970 */
async function comes(): Promise<number> {
	const [row] = await administer(
		database,
		`UPDATE run_schedules SET next_at = date_trunc('milliseconds', clock_timestamp()) WHERE agent_id = '${agent.id}' RETURNING next_at`,
	);
	return Number(row?.['next_at']);
}

/** Returns the times of which runs were started, and how many have ended. */
async function fired(): Promise<{ times: number[]; ended: number }> {
	const rows = await administer(
		database,
		`SELECT scheduled_for, status FROM runs WHERE schedule = 'agent:${agent.id}' ORDER BY scheduled_for`,
	);
	const ended = rows.filter(({ status }) => status === 'succeeded').length;
	return { times: rows.map((row) => Number(row['scheduled_for'])), ended };
}

test('each minute starts one run while replicas are killed, stopped and begun', async () => {
	await using stack = new AsyncDisposableStack();
	const begin = async (): Promise<RunProcess> => stack.use(await agentProcess(database, { RUN_KEEP_MS: 500 }));
	const replicas = [await begin(), await begin(), await begin()];
	const due: number[] = [];
	for (let minute = 0; minute < MINUTES; minute++) {
		due.push(await comes());
		// One of them goes as the time has come; whether it has seen it is left to chance, and nobody knows.
		const leaving = replicas.shift() ?? assert.fail();
		leaving.child.kill(minute % 3 === 2 ? 'SIGTERM' : 'SIGKILL');
		await until(async () => (await fired()).times.length === due.length, `minute ${minute + 1} has its run`);
		if (minute + 1 < MINUTES) replicas.push(await begin());
	}
	await until(async () => (await fired()).ended === MINUTES, 'all runs have ended', 100);
	assert.deepEqual((await fired()).times, due);
});

test('a replica that slept through a time starts no second run of it when it wakes', async () => {
	await administer(database, 'DELETE FROM runs');
	await using sleeping = await agentProcess(database);
	sleeping.child.kill('SIGSTOP');
	const due = await comes();
	await using awake = await agentProcess(database);
	await until(async () => (await fired()).ended === 1, 'another one ran it');
	sleeping.child.kill('SIGCONT');
	const next = await comes();
	await until(async () => (await fired()).ended === 2, 'the next one');
	sleeping.child.kill('SIGTERM');
	awake.child.kill('SIGTERM');
	await Promise.all([sleeping.ended, awake.ended]);
	assert.deepEqual((await fired()).times, [due, next]);
});
