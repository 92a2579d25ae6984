// Tests runs over two replicas in this process: steps, waits, children, cancelling, forking, limits and schedules.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../core/contract/errors.ts';
import type { Json } from '../../core/contract/nouns.ts';
import { raceWith } from '../../core/kit/race.ts';
import type { RunContext } from '../../core/runs/context.ts';
import { RunError } from '../../core/runs/context.ts';
import type { Run } from '../../core/store/store.ts';
import { PATIENCE_MS, until } from '../helpers/clock.ts';
import { administer } from '../helpers/postgres.ts';
import { type Kinds, type RunReplica, runReplica } from '../helpers/runs.ts';
import { addTenant } from '../helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../helpers/store.ts';

/** Longer than the tests take. */
const NEVER_MS = 600_000;

let store: TestStore;
let otherStore: Awaited<ReturnType<typeof openReplica>>;
let one: RunReplica;
let other: RunReplica;
/** Knows no kind: it starts, follows and cancels. */
let desk: RunReplica;
let organizationId: string;

/** The steps that ran, in order, as `run step`. */
const effects: string[] = [];
const effect = (run: RunContext, key: string, result: Json = key) =>
	run.step(key, async () => {
		effects.push(`${run.id} ${key}`);
		return result;
	});
const effectsOf = (id: string): string[] => effects.filter((line) => line.startsWith(id)).map((line) => line.slice(id.length + 1));
const gate = Promise.withResolvers<void>();
let entered = Promise.withResolvers<void>();
let isAborted = false;
const attemptsAtOnce = { now: 0, most: 0 };

const KINDS: Kinds = {
	three: [
		async (run) => {
			const a = await effect(run, 'a', 1);
			const b = await effect(run, 'b', 2);
			return [run.input, a, b];
		},
	],
	approval: [
		async (run) => {
			await effect(run, 'before');
			const answer = await run.event('approve');
			await effect(run, 'after');
			return answer;
		},
	],
	held: [
		(run) =>
			run.step('wait', async (signal) => {
				entered.resolve();
				signal.addEventListener('abort', () => (isAborted = true));
				await raceWith(signal, gate.promise);
				return 'done';
			}),
	],
	doubtful: [
		(run) =>
			run.step(
				'charge',
				async (signal) => {
					effects.push(`${run.id} charge`);
					entered.resolve();
					return raceWith(signal, gate.promise).then(() => null);
				},
				{ once: true },
			),
	],
	failing: [
		async (run) => {
			await effect(run, 'good');
			await run.step('bad', async () => {
				effects.push(`${run.id} bad`);
				if (failures-- > 0) throw new GatewayError('upstream_failed', 'The upstream is away.');
				return null;
			});
			return effect(run, 'last');
		},
	],
	telling: [
		async (run) => {
			for (let done = 1; done <= 100; done++) run.progress({ done });
			await run.event('go on');
			run.progress({ done: 'all' });
			return null;
		},
	],
	parent: [async (run) => run.child('the child', { kind: 'approval', input: 'from the parent' })],
	late: [
		async (run) => run.event('never', { timeoutMs: 50 }).catch((error: unknown) => (error instanceof RunError ? error.code : 'other')),
	],
	asleep: [
		async (run) => {
			await effect(run, 'before');
			await run.sleep('nap', 1_500);
			return effect(run, 'after');
		},
	],
	branches: [
		async (run) => {
			const [, b] = await Promise.all([run.event('a'), run.step('b', () => sleep(50, 'b'))]);
			return b;
		},
	],
	counted: [
		async (run) =>
			run.step('count', async () => {
				attemptsAtOnce.most = Math.max(attemptsAtOnce.most, ++attemptsAtOnce.now);
				await sleep(30);
				attemptsAtOnce.now--;
				return null;
			}),
		{ perAccount: 2, places: 5 },
	],
	asking: [
		async (run) => {
			await run.sleep('nap', waitMs);
			const bad = run.step('bad', async () => {
				if (failures-- <= 0) return null;
				await until(async () => (await desk.runs.steps(place(run))).some(({ key }) => key === 'event:approve'), 'it waits');
				throw new GatewayError('upstream_failed', 'The upstream is away.');
			});
			const [answer] = await Promise.all([run.event('approve', { timeoutMs: waitMs }), bad]);
			return answer;
		},
	],
	buggy: [() => Promise.reject(new TypeError('secret'))],
};
let failures = 1;
let waitMs = 0;

before(async () => {
	store = await testStore();
	otherStore = await openReplica(store);
	one = await runReplica(store, KINDS, NEVER_MS);
	other = await runReplica(otherStore, KINDS, NEVER_MS);
	desk = await runReplica(store);
	organizationId = (await addTenant(store)).organizationId;
});
after(async () => {
	gate.resolve();
	await one[Symbol.asyncDispose]();
	await other[Symbol.asyncDispose]();
	await desk[Symbol.asyncDispose]();
	await otherStore[Symbol.asyncDispose]();
	await store.close();
});

const start = (kind: string, more: object = {}): Promise<Run> => desk.runs.start({ organizationId, kind, input: null, ...more });
const place = ({ id }: Pick<Run, 'id'>) => ({ organizationId, id });
const ended = (run: Pick<Run, 'id'>): Promise<Run> => desk.runs.wait(place(run), PATIENCE_MS);
const is = async (run: Run, status: Run['status']): Promise<void> =>
	until(async () => (await desk.runs.get(place(run)))?.status === status, `the run is ${status}`);

test('a run ends with the output of its program, its trace names the steps', async () => {
	const run = await start('three', { input: { x: 1 } });
	const end = await ended(run);
	assert.deepEqual([end.status, end.output, end.attempt], ['succeeded', [{ x: 1 }, 1, 2], 1]);
	assert.deepEqual(
		(await desk.runs.steps(place(run))).map(({ key, status, output }) => [key, status, output]),
		[
			['a', 'done', 1],
			['b', 'done', 2],
		],
	);
	assert.equal(await desk.runs.cancel(place(run)), false, 'what has ended stays as it ended');
});

test('a run may begin at once in this process, ahead of the queue', async () => {
	const run = await one.runs.start({ organizationId, kind: 'three', input: 1, here: true, onLoss: 'fail' });
	assert.equal(run.status, 'running');
	assert.equal((await ended(run)).status, 'succeeded');
});

test('a run begins at once also while its process asks for those that are due', async () => {
	const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
	const claim: typeof store.runQueue.claim = async (...kind) => {
		const found = await store.runQueue.claim(...kind);
		asked.resolve();
		await answer.promise;
		return found;
	};
	await using busy = await runReplica({ ...store, runQueue: { ...store.runQueue, claim } }, { slow_claim: [async () => null] });
	const due = await desk.runs.start({ organizationId, kind: 'slow_claim', input: null });
	await asked.promise;
	const starting = busy.runs.start({ organizationId, kind: 'slow_claim', input: null, here: true });
	answer.resolve();
	assert.equal((await starting).status, 'running');
	for (const run of [due, await starting]) assert.equal((await ended(run)).status, 'succeeded');
});

test('two that are started under one text are one run', async () => {
	const [first, second] = await Promise.all([start('three', { dedupe: 'x' }), start('three', { dedupe: 'x' })]);
	assert.equal(first?.id, second?.id);
	assert.equal((await ended(first)).status, 'succeeded');
});

test('a run tells its progress to those who follow it on another replica, and keeps the last of it', async () => {
	const { id } = await desk.runs.start({ organizationId, kind: 'telling', input: null });
	const seen: Json[] = [];
	for await (const run of desk.runs.follow({ organizationId, id }, AbortSignal.timeout(PATIENCE_MS))) {
		if (!run) continue;
		if (run.progress !== null && JSON.stringify(run.progress) !== JSON.stringify(seen.at(-1))) seen.push(run.progress);
		if (run.status === 'waiting') await one.runs.signal({ organizationId, id }, 'go on', null);
	}
	assert.deepEqual(seen.slice(0, 1), [{ done: 100 }]);
	assert.deepEqual((await one.runs.get({ organizationId, id }))?.progress, { done: 'all' });
});

test('an approval is waited for outside of any process; the first answer counts', async () => {
	const run = await start('approval');
	await is(run, 'waiting');
	assert.equal(await desk.runs.signal(place(run), 'other', 0), true);
	assert.equal(await desk.runs.signal(place(run), 'approve', { yes: true }), true);
	assert.equal(await desk.runs.signal(place(run), 'approve', { yes: false }), false);
	const end = await ended(run);
	assert.deepEqual([end.output, end.attempt, effectsOf(run.id)], [{ yes: true }, 2, ['before', 'after']]);
	assert.equal(await desk.runs.signal(place(run), 'too late', 0), false);
});

test('an answer that comes before the question is kept', async () => {
	const run = await start('branches');
	await desk.runs.signal(place(run), 'a', 1);
	assert.equal((await ended(run)).output, 'b');
});

test('a run sleeps, and goes on by itself', async () => {
	const run = await start('asleep');
	await is(run, 'waiting');
	assert.deepEqual([(await ended(run)).output, effectsOf(run.id)], ['after', ['before', 'after']]);
});

test('an event that does not come in time is told to the program', async () =>
	assert.equal((await ended(await start('late'))).output, 'timed_out'));

test('a run is cancelled from another replica, and its step is aborted', async () => {
	entered = Promise.withResolvers();
	const run = await start('held');
	await entered.promise;
	assert.equal(await desk.runs.cancel(place(run)), true);
	// Replicas do not look after their runs here, so only the announcement can have come.
	await until(() => isAborted, 'the step is aborted');
	const end = await ended(run);
	assert.deepEqual([end.status, end.error?.code], ['cancelled', 'cancelled']);
	assert.equal(await desk.runs.signal(place(run), 'x', 0), false);
});

test('a step that may run once, and was begun by a process that is gone, is in doubt and never repeated', async () => {
	entered = Promise.withResolvers();
	const run = await start('doubtful');
	await entered.promise;
	await administer(store.database, `UPDATE engine.job_common SET state = 'retry' WHERE data ->> 'runId' = '${run.id}'`);
	const end = await ended(run);
	assert.deepEqual([end.status, end.error?.code, effectsOf(run.id)], ['failed', 'in_doubt', ['charge']]);
	const [step] = await desk.runs.steps(place(run));
	assert.deepEqual([step?.status, step?.once], ['started', true]);
});

test('a parent waits for its child, and takes it along when it is cancelled', async () => {
	const run = await start('parent');
	const childOf = async (): Promise<string | undefined> =>
		(await administer(store.database, `SELECT id FROM runs WHERE parent_id = '${run.id}'`))[0]?.['id'] as string | undefined;
	await until(childOf, 'the child is there');
	const child = { id: (await childOf()) ?? '' };
	await desk.runs.signal(place(child), 'approve', 'yes');
	assert.deepEqual([(await ended(child)).input, (await ended(run)).output], ['from the parent', 'yes']);
	const second = await start('parent');
	await is(second, 'waiting');
	await desk.runs.cancel(place(second));
	const [left] = await administer(store.database, `SELECT status FROM runs WHERE parent_id = '${second.id}'`);
	assert.equal(left?.['status'], 'cancelled');
});

test('a parent that fails while it waits takes its child along', async () => {
	const run = await start('parent', { deadlineMs: 1_500 });
	assert.equal((await ended(run)).error?.code, 'timed_out');
	const [left] = await administer(store.database, `SELECT status, error FROM runs WHERE parent_id = '${run.id}'`);
	assert.deepEqual(left, { status: 'cancelled', error: { code: 'cancelled', message: 'The run that waited for it has failed.' } });
});

test('a fork begins with what was finished, from the failed step or from a named one', async () => {
	failures = 1;
	const run = await start('failing');
	const end = await ended(run);
	assert.deepEqual([end.status, end.error], ['failed', { code: 'upstream_failed', message: 'The upstream is away.' }]);
	const retried = await desk.runs.fork(place(run));
	assert.deepEqual([(await ended(retried)).output, retried.originId, effectsOf(retried.id)], ['last', run.id, ['bad', 'last']]);
	const earlier = await desk.runs.fork(place(retried), { from: 'good' });
	await ended(earlier);
	assert.deepEqual(effectsOf(earlier.id), ['good', 'bad', 'last']);
	await assert.rejects(desk.runs.fork(place(retried), { from: 'nothing' }), { code: 'not_found' });
});

for (const [what, faults, ms, code] of [
	['nobody answered in time', 0, 20, 'timed_out'],
	['another step failed while it was open', 1, 1_500, 'upstream_failed'],
] as const)
	test(`a fork asks anew where ${what}, and sleeps no more`, async () => {
		[waitMs, failures] = [ms, faults];
		const run = await start('asking');
		assert.equal((await ended(run)).error?.code, code);
		await sleep(ms);
		waitMs = NEVER_MS;
		const retried = await desk.runs.fork(place(run));
		const isLeft = async () => ['waiting', 'failed'].includes((await desk.runs.get(place(retried)))?.status ?? '');
		await until(isLeft, 'it is left');
		assert.equal((await desk.runs.get(place(retried)))?.status, 'waiting');
		assert.equal(await desk.runs.signal(place(retried), 'approve', 'yes'), true);
		assert.equal((await ended(retried)).output, 'yes');
	});

test('a kind is defined once, by a plain name, before the start', () => {
	const program = () => Promise.resolve(null);
	assert.throws(() => one.runs.define('later', program), /after the start/);
	assert.throws(() => desk.runs.define('a:b', program), /no name/);
	assert.throws(() => one.runs.define('three', program), /twice/);
});

test('a bug of a program ends its run, and nothing of it is told', async () => {
	const end = await ended(await start('buggy'));
	assert.equal(end.error?.code, 'internal');
	assert.ok(!JSON.stringify(end).includes('secret'));
});

test('a run past its deadline fails, also one that waits', async () => {
	const run = await start('approval', { deadlineMs: 1_200 });
	assert.equal((await ended(run)).error?.code, 'timed_out');
});

test('an account has no more at a time than it may, over all replicas, and none is forgotten', async () => {
	const runs = await Promise.all(Array.from({ length: 20 }, () => start('counted')));
	for (const run of runs) assert.equal((await ended(run)).status, 'succeeded');
	assert.equal(attemptsAtOnce.most, 2);
});

test('another organization does not find a run', async () => {
	const stranger = await addTenant(store);
	const run = await start('approval');
	const there = { organizationId: stranger.organizationId, id: run.id };
	assert.equal(await desk.runs.get(there), null);
	assert.deepEqual(await desk.runs.steps(there), []);
	assert.equal(await desk.runs.cancel(there), false);
	assert.equal(await desk.runs.signal(there, 'approve', 1), false);
	await assert.rejects(desk.runs.fork(there), { code: 'not_found' });
	await assert.rejects(desk.runs.wait(there, 1), { code: 'not_found' });
	await desk.runs.cancel(place(run));
});

test('a schedule starts one run at each time, over all replicas', async () => {
	await desk.runs.schedule({
		...{ organizationId, key: 'each second', kind: 'three', cron: '* * * * * *', timeZone: 'Europe/Kyiv' },
		...{ missed: 'skip', overlap: 'allow', definition: null, input: 7 },
	});
	const times = async () =>
		(await administer(store.database, `SELECT scheduled_for FROM runs WHERE schedule = 'each second' ORDER BY 1`)).map((row) =>
			Number(row['scheduled_for']),
		);
	await until(async () => (await times()).length >= 3, 'three runs');
	assert.equal(await desk.runs.unschedule({ organizationId, key: 'each second' }), true);
	const found = await times();
	assert.equal(new Set(found).size, found.length);
	assert.ok(found.every((time) => time % 1000 === 0));
});
