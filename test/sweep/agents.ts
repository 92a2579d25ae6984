// Ends processes and the database among runs of agents, many times, with the product's own times, and judges what was done: no finished node
// again, none that may run once twice, none left running. `node test/sweep/agents.ts [rounds]`, about twelve minutes.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { addChain, agentDesk, agentProcess, judged, startMany } from '../helpers/agent-processes.ts';
import { graph } from '../helpers/graphs.ts';
import { administer } from '../helpers/postgres.ts';
import type { Judged, RunProcess } from '../helpers/run-processes.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { writeTable } from './table.ts';

const ROUNDS = Number(process.argv[2] ?? 10);
const RUNS = 50;
const WAITING = 1_000;
const PATIENCE_MS = 300_000;
/** The time in which all runs have ended after a process was killed, and the memory that waiting runs may take. */
const MINUTE_S = 60;
const MOST_MIB = 10;

await using world = await agentDesk();
const { database } = world.core.store;
const rows: [what: string, value: number | string][] = [];
const faults: string[] = [];

const clear = (): Promise<unknown> => administer(database, 'DELETE FROM runs', 'DELETE FROM effects', 'DELETE FROM engine.job_common');
const count = async (from: string): Promise<number> => Number((await administer(database, `SELECT count(*) AS n FROM ${from}`))[0]?.['n']);

/** Waits for a condition. @returns the seconds that it took */
async function seconds(condition: () => Promise<boolean>, what: string): Promise<number> {
	const startedMs = performance.now();
	while (!(await condition())) {
		if (performance.now() - startedMs > PATIENCE_MS) throw new Error(`still not: ${what}`);
		await sleep(50);
	}
	return (performance.now() - startedMs) / 1000;
}

const allEnded = async (): Promise<boolean> => (await count('runs WHERE finished_at IS NULL')) === 0;
const range = (values: number[]): string => `${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)} s`;
const shown = (ends: Judged['ends']): string =>
	Object.entries(ends)
		.map(([how, many]) => `${many} ${how}`)
		.join(', ');

/** Notes what must not be. */
async function seen(what: string, started: ReadonlyMap<string, string>): Promise<Judged> {
	const found = await judged(world, started);
	if (found.repeated > 0) faults.push(`${what}: ${found.repeated} finished nodes ran again`);
	if (found.twice > 0) faults.push(`${what}: ${found.twice} nodes that may run once ran again`);
	for (const how of Object.keys(found.ends)) if (!['succeeded', 'in_doubt'].includes(how)) faults.push(`${what}: a run ended as ${how}`);
	return found;
}

async function kills(): Promise<void> {
	const agent = await addChain(world, 400);
	const [ends, all]: [number[], Record<string, number>] = [[], {}];
	for (let round = 0; round < ROUNDS; round++) {
		await clear();
		await using dying = await agentProcess(database);
		await using living = await agentProcess(database);
		const started = await startMany(world, agent, RUNS);
		// Each round at another place: among the first nodes, those at once, or the last.
		const done = 10 + ((round * 17) % 80);
		await seconds(
			async () => (await count(`effects WHERE pid = ${dying.child.pid} AND what = 'ended'`)) >= done || (await allEnded()),
			'it has begun',
		);
		dying.child.kill('SIGKILL');
		const ended = await seconds(allEnded, 'all have ended');
		ends.push(ended);
		if (ended > MINUTE_S) faults.push(`kill -9, round ${round}: it took ${ended.toFixed(1)} s`);
		const found = await seen(`kill -9, round ${round}`, started);
		for (const [how, many] of Object.entries(found.ends)) all[how] = (all[how] ?? 0) + many;
		console.log(
			`kill -9, round ${round}: ${shown(found.ends)}, ${found.resumed} nodes resumed, ${ended.toFixed(1)} s, ${living.child.pid}`,
		);
	}
	rows.push([`kill -9 of one of two processes among ${RUNS} runs, ${ROUNDS} rounds`, `all ended within ${range(ends)}`]);
	rows.push(['runs by end', shown(all)]);
}

async function outage(): Promise<void> {
	await clear();
	await using proxy = await startTcpProxy(database);
	await using one = await agentProcess(database, { RUN_PROXY_PORT: proxy.port });
	await using other = await agentProcess(database, { RUN_PROXY_PORT: proxy.port });
	const started = await startMany(world, await addChain(world, 1_500), RUNS);
	await seconds(async () => (await count(`effects WHERE what = 'ended'`)) >= 25, 'they have begun');
	await proxy.cut();
	await sleep(10_000);
	await proxy.mend();
	const ended = await seconds(allEnded, 'all have ended');
	const found = await seen('outage', started);
	rows.push(['the database away for 10 s: runs by end', `${shown(found.ends)}, ${ended.toFixed(1)} s after its return`]);
	rows.push(['nodes begun, of those needed', `${await count(`effects WHERE what = 'begun'`)} of ${RUNS * 4}`]);
	if (one.child.exitCode !== null || other.child.exitCode !== null) faults.push('a process ended in the outage');
}

async function stop(): Promise<void> {
	await clear();
	await using leaving = await agentProcess(database, { RUN_GRACE_MS: 2_000 });
	const started = await startMany(world, await addChain(world, 6_000), 20);
	await seconds(async () => (await count('effects')) === 20, 'it has them');
	await using next = await agentProcess(database);
	const startedMs = performance.now();
	leaving.child.kill('SIGTERM');
	await leaving.ended;
	const stopped = (performance.now() - startedMs) / 1000;
	await seconds(async () => (await count(`effects WHERE pid = ${next.child.pid}`)) > 0, 'the next one has them');
	await seconds(allEnded, 'all have ended');
	const found = await seen('SIGTERM', started);
	rows.push(['SIGTERM with 20 runs, 2 s of grace', `stopped after ${stopped.toFixed(1)} s, ${shown(found.ends)}`]);
}

async function memoryOf({ child }: RunProcess): Promise<{ heap: number; timers: number }> {
	child.send('memory');
	const [message] = await once(child, 'message');
	return message;
}

async function waiting(): Promise<void> {
	await clear();
	await using asking = await agentProcess(database, {}, ['--expose-gc']);
	const agent = await world.addAgent(graph('in>q q>out', { in: ['start'], q: ['ask', { message: 'Sure?' }], out: ['finish'] }));
	// The first ones load code, which is not theirs.
	await startMany(world, agent, 20);
	await seconds(async () => (await count(`runs WHERE status = 'waiting'`)) === 20, 'the first ones wait');
	await sleep(5_000);
	const before = await memoryOf(asking);
	await startMany(world, agent, WAITING);
	await seconds(async () => (await count(`runs WHERE status = 'waiting'`)) === WAITING + 20, 'they wait');
	await sleep(5_000);
	const after = await memoryOf(asking);
	const mib = (after.heap - before.heap) / 2 ** 20;
	const timers = after.timers - before.timers;
	if (mib > MOST_MIB) faults.push(`waiting: ${mib.toFixed(1)} MiB`);
	if (timers > 5) faults.push(`waiting: ${timers} timers`);
	rows.push([`${WAITING.toLocaleString('en')} runs that wait for a person`, `${mib.toFixed(1)} MiB, ${timers} timers`]);
	const ids = await administer(database, 'SELECT id FROM runs');
	const startedMs = performance.now();
	for (const { id } of ids) await world.engine.answer({ organizationId: world.organizationId, id: String(id) }, 'q', { ok: true });
	await seconds(allEnded, 'all have ended');
	rows.push(['answered one by one', `all ended after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`]);
}

await kills();
await outage();
await stop();
await waiting();
writeTable('agents', [...rows, ['faults (a finished node again, a once node twice, another end)', faults.length]]);
for (const fault of faults) console.log(`fault: ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
