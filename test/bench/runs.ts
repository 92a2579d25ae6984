// Measures runs: their cost, the time until a cancellation and a change are heard on another replica, the cost of waiting, and of idling.
// `node test/bench/runs.ts`. All replicas are in this process, each with connections of its own. It fails when a cancellation takes more than
// 100 ms in the median.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../../core/store/store.ts';
import { administer, type Endpoint } from '../helpers/postgres.ts';
import { type Kinds, runReplica } from '../helpers/runs.ts';
import { addTenant } from '../helpers/samples.ts';
import { openReplica, testStore } from '../helpers/store.ts';
import { median } from './rounds.ts';

const CANCEL_LIMIT_MS = 100;
const IDLE_MS = 10_000;

let begun = Promise.withResolvers<void>();
let aborted = Promise.withResolvers<void>();
const KINDS: Kinds = {
	three: [
		async (run) => {
			for (const key of ['a', 'b', 'c']) await run.step(key, () => sleep(1, null));
			return null;
		},
		{ places: 64 },
	],
	long: [
		(run) =>
			run.step('held', async (signal) => {
				begun.resolve();
				signal.addEventListener('abort', () => aborted.resolve());
				await sleep(60_000, undefined, { signal }).catch(() => undefined);
				return null;
			}),
	],
	approval: [(run) => run.event('approve'), { places: 64 }],
};

const store = await testStore();
await administer({ ...store.database }, `ALTER DATABASE ${store.database.name} RESET synchronous_commit`);
const { organizationId } = await addTenant(store);
const place = ({ id }: Pick<Run, 'id'>) => ({ organizationId, id });

const commitsOf = async (database: Endpoint): Promise<number> => {
	// The figures of a connection arrive within a second.
	await sleep(1_200);
	const [row] = await administer(database, 'SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()');
	return Number(row?.['xact_commit']);
};

/** Measures some time in which nothing is done. @returns commits a second, milliseconds of CPU in ten seconds, connections */
async function idle(what: string, afterMs = 3_000): Promise<void> {
	// Whatever is opened when it begins is not idling.
	await sleep(afterMs);
	const before = await commitsOf(store.database);
	const cpu = process.cpuUsage();
	await sleep(IDLE_MS);
	const { user, system } = process.cpuUsage(cpu);
	const commits = (await commitsOf(store.database)) - before;
	const [row] = await administer(
		store.database,
		`SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'gatehouse-runs' AND datname = current_database()`,
	);
	// Two commits are those of the measurement.
	const perSecond = ((commits - 2) / ((IDLE_MS + 1_200) / 1000)).toFixed(1);
	console.log(`| ${what} | ${perSecond} | ${((user + system) / 1000).toFixed(0)} | ${row?.['n']} |`);
}

async function overhead(): Promise<void> {
	await using here = await runReplica(store, KINDS);
	console.log('\n| way | at once | runs/s | p50 ms | CPU µs a run |\n|---|---|---|---|---|');
	for (const isHere of [true, false])
		for (const [concurrent, count] of [
			[1, 100],
			[16, 400],
			[64, 600],
		] as const) {
			const times: number[] = [];
			let left = count;
			const cpu = process.cpuUsage();
			const startedMs = performance.now();
			const worker = async (): Promise<void> => {
				while (left-- > 0) {
					const beganMs = performance.now();
					const run = await here.runs.start({ organizationId, kind: 'three', input: null, here: isHere });
					await here.runs.wait(place(run), 60_000);
					times.push(performance.now() - beganMs);
				}
			};
			await Promise.all(Array.from({ length: concurrent }, worker));
			const seconds = (performance.now() - startedMs) / 1000;
			const { user, system } = process.cpuUsage(cpu);
			const cells = [isHere ? 'here' : 'queue', concurrent, (count / seconds).toFixed(0), median(times).toFixed(0)];
			console.log(`| ${[...cells, ((user + system) / count).toFixed(0)].join(' | ')} |`);
		}
}

async function acrossReplicas(): Promise<boolean> {
	const otherStore = await openReplica(store);
	await using other = await runReplica(otherStore, { long: KINDS['long'] as Kinds[string], approval: KINDS['approval'] as Kinds[string] });
	await using desk = await runReplica(store);
	const [cancels, ends]: [number[], number[]] = [[], []];
	for (let round = 0; round < 20; round++) {
		[begun, aborted] = [Promise.withResolvers(), Promise.withResolvers()];
		const run = await desk.runs.start({ organizationId, kind: 'long', input: null });
		await begun.promise;
		const startedMs = performance.now();
		await desk.runs.cancel(place(run));
		await aborted.promise;
		cancels.push(performance.now() - startedMs);
	}
	for (let round = 0; round < 20; round++) {
		const run = await desk.runs.start({ organizationId, kind: 'approval', input: null });
		while ((await desk.runs.get(place(run)))?.status !== 'waiting') await sleep(5);
		const ended = desk.runs.wait(place(run), 60_000);
		const startedMs = performance.now();
		await desk.runs.signal(place(run), 'approve', null);
		await ended;
		ends.push(performance.now() - startedMs);
	}
	console.log('\n| on another replica | median ms | worst ms |\n|---|---|---|');
	console.log(`| a cancelled step is aborted | ${median(cancels).toFixed(0)} | ${Math.max(...cancels).toFixed(0)} |`);
	console.log(`| a signal resumes a run, its end is seen | ${median(ends).toFixed(0)} | ${Math.max(...ends).toFixed(0)} |`);
	await waiting(desk.runs, other.runs);
	await otherStore[Symbol.asyncDispose]();
	return median(cancels) <= CANCEL_LIMIT_MS;
}

async function waiting(desk: Awaited<ReturnType<typeof runReplica>>['runs'], _other: object): Promise<void> {
	const runs: Run[] = [];
	for (let index = 0; index < 1_000; index += 20)
		runs.push(...(await Promise.all(Array.from({ length: 20 }, () => desk.start({ organizationId, kind: 'approval', input: null })))));
	const count = async (status: string): Promise<number> =>
		Number((await administer(store.database, `SELECT count(*) AS n FROM runs WHERE kind = 'approval' AND status = '${status}'`))[0]?.['n']);
	while ((await count('waiting')) < 1_000) await sleep(100);
	console.log('\n| | commits/s | CPU ms in 10 s | connections |\n|---|---|---|---|');
	// The figures of the starts may take long to arrive.
	await idle('1,000 waiting runs, two replicas', 15_000);
	const startedMs = performance.now();
	for (let index = 0; index < runs.length; index += 20)
		await Promise.all(runs.slice(index, index + 20).map((run) => desk.signal(place(run), 'approve', null)));
	while ((await count('waiting')) + (await count('queued')) + (await count('running')) > 0) await sleep(100);
	console.log(`\nAll 1,000 resumed and ended in ${((performance.now() - startedMs) / 1000).toFixed(1)} s.`);
}

try {
	console.log('| | commits/s | CPU ms in 10 s | connections |\n|---|---|---|---|');
	await idle('a store alone: it looks for changes twice a second');
	{
		await using _none = await runReplica(store);
		await idle('with runs, no kind known');
	}
	{
		await using _some = await runReplica(store, KINDS);
		await idle('three kinds known');
	}
	await overhead();
	if (!(await acrossReplicas())) throw new Error('A cancellation takes too long.');
} finally {
	await store.close();
}
