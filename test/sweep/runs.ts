// Ends processes and the database among runs, many times, with the product's own times, and judges what was done: no finished step again,
// no step twice that may run once. `node test/sweep/runs.ts`, about twelve minutes.

import { setTimeout as sleep } from 'node:timers/promises';
import { administer } from '../helpers/postgres.ts';
import { type Judged, judge, type RunProcess, runProcess } from '../helpers/run-processes.ts';
import { EFFECTS } from '../helpers/run-worker.ts';
import { runReplica } from '../helpers/runs.ts';
import { addTenant } from '../helpers/samples.ts';
import { testStore } from '../helpers/store.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { writeTable } from './table.ts';

const ROUNDS = Number(process.argv[2] ?? 10);
const RUNS = 50;
const WAITING = 1_000;
const PATIENCE_MS = 300_000;

const store = await testStore();
const { database } = store;
const desk = await runReplica(store);
const { organizationId } = await addTenant(store);
await administer(database, EFFECTS);

const rows: [what: string, value: number | string][] = [];
const faults: string[] = [];

const clear = (): Promise<unknown> => administer(database, 'DELETE FROM runs', 'DELETE FROM effects', 'DELETE FROM engine.job_common');
const count = async (from: string): Promise<number> => Number((await administer(database, `SELECT count(*) AS n FROM ${from}`))[0]?.['n']);
const startMany = async (kind: string, many: number): Promise<void> => {
	for (let index = 0; index < many; index += 10)
		await Promise.all(Array.from({ length: Math.min(10, many - index) }, () => desk.runs.start({ organizationId, kind, input: null })));
};

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
const shown = ({ ends }: Judged): string =>
	Object.entries(ends)
		.map(([how, many]) => `${many} ${how}`)
		.join(', ');

/** Notes what must not be. */
async function judged(what: string, kind: string): Promise<Judged> {
	const found = await judge(database, kind);
	if (found.repeated > 0) faults.push(`${what}: ${found.repeated} finished steps ran again`);
	if (found.twice > 0) faults.push(`${what}: ${found.twice} steps that may run once ran again`);
	for (const how of Object.keys(found.ends)) if (!['succeeded', 'in_doubt'].includes(how)) faults.push(`${what}: a run ended as ${how}`);
	return found;
}

async function kills(): Promise<void> {
	const [takeovers, ends, all]: [number[], number[], Record<string, number>] = [[], [], {}];
	for (let round = 0; round < ROUNDS; round++) {
		await clear();
		await using dying = await runProcess(database, { RUN_NODE_MS: 400 });
		await using living = await runProcess(database, { RUN_NODE_MS: 400 });
		await startMany('chain', RUNS);
		// Each round at another place: among the first steps, those that may run once, or the last.
		const done = 15 + ((round * 17) % 90);
		await seconds(async () => (await count(`effects WHERE pid = ${dying.child.pid} AND what = 'ended'`)) >= done, 'it has begun');
		dying.child.kill('SIGKILL');
		const [first, ended] = await Promise.all([
			seconds(async () => (await count('runs WHERE attempt > 1')) > 0, 'a takeover'),
			seconds(allEnded, 'all have ended'),
		]);
		takeovers.push(first);
		ends.push(ended);
		const found = await judged(`kill -9, round ${round}`, 'chain');
		for (const [how, many] of Object.entries(found.ends)) all[how] = (all[how] ?? 0) + many;
		console.log(`kill -9, round ${round}: ${shown(found)}, ${first.toFixed(1)} s, ${ended.toFixed(1)} s, ${living.child.pid}`);
	}
	rows.push([`kill -9 of one of two processes among ${RUNS} runs`, `${ROUNDS} rounds`]);
	rows.push(['first takeover, all ended', `${range(takeovers)}, ${range(ends)}`]);
	rows.push(['runs by end', shown({ ends: all } as Judged)]);
}

async function outage(): Promise<void> {
	await clear();
	await using proxy = await startTcpProxy(database);
	await using one = await runProcess(database, { RUN_PROXY_PORT: proxy.port, RUN_NODE_MS: 1_500 });
	await using other = await runProcess(database, { RUN_PROXY_PORT: proxy.port, RUN_NODE_MS: 1_500 });
	await startMany('chain', RUNS);
	await seconds(async () => (await count(`effects WHERE what = 'ended'`)) >= 25, 'they have begun');
	await proxy.cut();
	await sleep(10_000);
	await proxy.mend();
	const ended = await seconds(allEnded, 'all have ended');
	const found = await judged('outage', 'chain');
	const begun = await count(`effects WHERE what = 'begun'`);
	rows.push(['the database away for 10 s: runs by end', shown(found)]);
	rows.push(['steps begun, of those needed', `${begun} of ${RUNS * 5}; all ended ${ended.toFixed(1)} s after its return`]);
	if (one.child.exitCode !== null || other.child.exitCode !== null) faults.push('a process ended in the outage');
}

async function stop(): Promise<void> {
	await clear();
	await using leaving = await runProcess(database, { RUN_NODE_MS: 120_000, RUN_GRACE_MS: 2_000 });
	await startMany('chain', 20);
	await seconds(async () => (await count('effects')) === 20, 'it has them');
	await using next = await runProcess(database, { RUN_NODE_MS: 100 });
	const startedMs = performance.now();
	leaving.child.kill('SIGTERM');
	await leaving.ended;
	const stopped = (performance.now() - startedMs) / 1000;
	await seconds(async () => (await count(`effects WHERE pid = ${next.child.pid}`)) > 0, 'the next one has them');
	const taken = (performance.now() - startedMs) / 1000;
	await seconds(allEnded, 'all have ended');
	const found = await judged('SIGTERM', 'chain');
	rows.push([
		'SIGTERM with 20 long ones, 2 s of grace',
		`stopped after ${stopped.toFixed(1)} s, taken by another ${taken.toFixed(1)} s after the signal at the latest, ${shown(found)}`,
	]);
}

async function waiting(): Promise<void> {
	await clear();
	{
		await using asking = await runProcess(database, { RUN_NODE_MS: 1 });
		await startMany('approval', WAITING);
		await seconds(async () => (await count(`runs WHERE status = 'waiting'`)) === WAITING, 'they wait');
		asking.child.kill('SIGKILL');
	}
	await using answering = await runProcess(database, { RUN_NODE_MS: 1 });
	const ids = await administer(database, 'SELECT id FROM runs');
	const startedMs = performance.now();
	for (const { id } of ids) await desk.runs.signal({ organizationId, id: String(id) }, 'approve', 'yes');
	await seconds(allEnded, 'all have ended');
	const took = ((performance.now() - startedMs) / 1000).toFixed(1);
	const found = await judged('waiting', 'approval');
	rows.push(['1,000 that wait over a kill -9, signalled one by one', `${shown(found)}, in ${took} s`]);
	if (answering.child.exitCode !== null) faults.push('the process that answers ended');
}

async function schedule(): Promise<void> {
	await clear();
	const replicas: RunProcess[] = [];
	for (let index = 0; index < 3; index++) replicas.push(await runProcess(database, { RUN_NODE_MS: 10 }));
	await desk.runs.schedule({
		...{ organizationId, key: 's', kind: 'due', cron: '*/2 * * * * *', timeZone: 'Europe/Kyiv' },
		...{ missed: 'once', overlap: 'allow', definition: null, input: null },
	});
	for (let round = 0; round < 6; round++) {
		await sleep(10_000);
		const [gone] = replicas.splice(0, 1);
		gone?.child.kill(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
		await gone?.ended;
		replicas.push(await runProcess(database, { RUN_NODE_MS: 10 }));
	}
	await desk.runs.unschedule({ organizationId, key: 's' });
	await seconds(allEnded, 'all have ended');
	await judged('schedule', 'due');
	const found = await administer(
		database,
		`SELECT scheduled_for AS at, extract(epoch FROM created_at - scheduled_for)::float8 AS late FROM runs WHERE kind = 'due' ORDER BY 1`,
	);
	const times = found.map(({ at }) => new Date(String(at)).getTime());
	const gaps = times.slice(1).filter((time, index) => time - (times[index] ?? 0) !== 2_000);
	if (gaps.length > 0) faults.push(`schedule: ${gaps.length} times are missing or twice`);
	const late = found.map((row) => Number(row['late']));
	rows.push(['a schedule every 2 s for 60 s, three replicas, six of them ended', `${times.length} of ${times.length} times, once each`]);
	rows.push(['late by', `${(Math.min(...late) * 1000).toFixed(0)} to ${(Math.max(...late) * 1000).toFixed(0)} ms`]);
	for (const replica of replicas) await replica[Symbol.asyncDispose]();
}

try {
	for (const part of [stop, waiting, outage, schedule, kills]) {
		console.log(`${part.name} …`);
		await part();
	}
	writeTable('runs', [...rows, ['faults (a finished step again, a once step twice, another end)', faults.length]]);
} finally {
	await desk[Symbol.asyncDispose]();
	await store.close();
}
for (const fault of faults) console.log(`fault: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
