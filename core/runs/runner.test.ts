// Tests the loop that takes runs beside other work of its process, on a database.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PATIENCE_MS, until } from '../../test/helpers/clock.ts';
import { runReplica } from '../../test/helpers/runs.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import type { Topic } from '../store/store.ts';
import type { RunProgram } from './context.ts';

let store: TestStore;
let organizationId: string;
before(async () => {
	store = await testStore();
	organizationId = (await addTenant(store)).organizationId;
});
after(() => store.close());

test('a process takes runs while it fires schedules, in one pass at a time, and finishes the schedule under way before it ends', async () => {
	const { runQueue, changes } = store;
	const planned = { organizationId, kind: 'timed', cron: '0 0 1 1 *', timeZone: 'UTC', missed: 'once', overlap: 'allow' } as const;
	for (const key of ['a', 'b'])
		await runQueue.putSchedule({ ...planned, key, definition: null, input: null }, new Date('2026-01-01T00:00:00Z'));
	const [entered, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
	const fired: string[] = [];
	let [looks, pages] = [0, 0];
	let tell: (topics: Topic[]) => void = () => assert.fail();
	const watched = {
		runQueue: {
			...runQueue,
			look: (kinds: readonly string[]) => runQueue.look(kinds).finally(() => looks++),
			dueSchedules: (...asked: Parameters<typeof runQueue.dueSchedules>) => {
				pages++;
				return runQueue.dueSchedules(...asked);
			},
		},
		changes: {
			...changes,
			subscribe: (listener: typeof tell) => {
				tell = listener;
				return changes.subscribe(listener);
			},
		},
	};
	const { runs } = await runReplica(watched, {
		quick: [async () => 'done'],
		timed: [
			async () => null,
			{
				fire: async (due, nextAt, starts) => {
					entered.resolve();
					await gate.promise;
					fired.push(due.key);
					return runQueue.fire(due, nextAt, starts);
				},
			},
		],
	});
	await entered.promise;
	const run = await runs.start({ organizationId, kind: 'quick', input: null });
	assert.equal((await runs.wait({ organizationId, id: run.id }, PATIENCE_MS)).output, 'done');
	const seen = looks;
	tell(['*']);
	await until(() => looks > seen, 'it looks again');
	const closing = runs.close(0).then(() => fired.length);
	gate.resolve();
	assert.deepEqual([await closing, pages], [1, 1]);
});

test('a signal that comes when the time of its wait is over, and before that is written, counts', async () => {
	const { runQueue } = store;
	let isAccepted = false;
	const signal = async (run: { id: string }): Promise<void> => {
		const { runs } = replica;
		isAccepted = await runs.signal({ organizationId, id: run.id }, 'go', 'yes');
	};
	const finish: typeof runQueue.finish = async (hold, step) => {
		if (step.status === 'failed') await signal(hold);
		return runQueue.finish(hold, step);
	};
	const late: typeof runQueue.late = async (hold, ...more) => {
		await signal(hold);
		return runQueue.late(hold, ...more);
	};
	const program: RunProgram = (run) => run.event('go', { timeoutMs: 20 });
	await using replica = await runReplica({ ...store, runQueue: { ...runQueue, finish, late } }, { late: [program] });
	const { id } = await replica.runs.start({ organizationId, kind: 'late', input: null });
	const run = await replica.runs.wait({ organizationId, id }, PATIENCE_MS);
	assert.equal(isAccepted, true);
	assert.deepEqual([run.error, run.output], [null, 'yes']);
});

test('a signal that comes when it is written that none came is refused', async () => {
	const gate = Promise.withResolvers<void>();
	const program: RunProgram = async (run) => {
		const said = await run.event<string>('go', { timeoutMs: 20 }).catch(({ code }) => code);
		const leave = run.hold();
		isOver.resolve();
		await gate.promise;
		leave();
		return said;
	};
	const isOver = Promise.withResolvers<void>();
	await using replica = await runReplica(store, { over: [program] });
	const place = { organizationId, id: (await replica.runs.start({ organizationId, kind: 'over', input: null })).id };
	await isOver.promise;
	assert.equal(await replica.runs.signal(place, 'go', 'yes'), false);
	gate.resolve();
	assert.equal((await replica.runs.wait(place, PATIENCE_MS)).output, 'timed_out');
});

test('a wait may have a part of a millisecond, as what is left of a longer one has', async () => {
	const gate = Promise.withResolvers<null>();
	await using replica = await runReplica(store, { slow: [() => gate.promise] });
	const place = { organizationId, id: (await replica.runs.start({ organizationId, kind: 'slow', input: null })).id };
	await replica.runs.untilEnded(place, 20.5);
	assert.equal((await replica.runs.wait(place, 20.5)).finishedAt, null);
	gate.resolve(null);
	assert.equal((await replica.runs.wait(place, PATIENCE_MS)).status, 'succeeded');
});
