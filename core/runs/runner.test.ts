// Tests the loop that takes runs beside other work of its process, on a database.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PATIENCE_MS, until } from '../../test/helpers/clock.ts';
import { runReplica } from '../../test/helpers/runs.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import type { Topic } from '../store/store.ts';

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
