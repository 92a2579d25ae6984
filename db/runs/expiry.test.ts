// Tests the ends of runs that nobody takes: their plugin was removed, or their deadline is over while they wait.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { NewRun, Run } from '../../core/store/store.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
let organizationId: string;
before(async () => {
	store = await testStore();
	organizationId = (await addTenant(store)).organizationId;
});
after(() => store.close());

const boundless = (kind: string) => ({ kind, perAccount: null, perAccountUnfinished: null, maxLosses: 5 });
const USUAL = { definition: null, input: null, trigger: 'manual', priority: 0, deadlineMs: null, parentId: null, dedupe: null } as const;
async function add(kind: string, more: Partial<NewRun> = {}): Promise<string> {
	const asked = { ...USUAL, organizationId, kind, here: false, onLoss: 'resume' as const, ...more };
	return ((await store.runQueue.add(asked, boundless(kind))) ?? assert.fail()).run.id;
}
const get = async (id: string): Promise<Run> => (await store.runQueue.get(organizationId, id)) ?? assert.fail();
const endOf = async (id: string): Promise<unknown[]> => {
	const { status, error } = await get(id);
	return [status, error?.code ?? null];
};
const jobsOf = (id: string) => administer(store.database, `SELECT id FROM engine.job_common WHERE data ->> 'runId' = '${id}'`);
const late = (id: string, by: string) =>
	administer(store.database, `UPDATE runs SET deadline_at = now() - interval '${by}' WHERE id = '${id}'`);

test('a run that waits beyond its deadline fails, known or not; a running one when its holder had a minute to end it', async () => {
	const kind = randomUUID();
	const waits = await add(kind);
	const event = await add(kind);
	const held = await add(kind);
	const inTime = await add(kind, { deadlineMs: 60_000 });
	const { runs } = await store.runQueue.claim(boundless(kind), 10);
	for (const { run, hold } of runs) {
		if (run.id === event) await store.runQueue.suspend(hold, { events: ['never'], at: null });
		if (run.id === waits || run.id === inTime) await store.runQueue.suspend(hold, { events: [], at: new Date(Date.now() + 600_000) });
	}
	const queued = await add(kind);
	for (const id of [waits, event, held, queued]) await late(id, '10 seconds');
	await using other = await openReplica(store);
	const ended = await Promise.all([store.runQueue.expire([kind]), other.runQueue.expire([])]);
	assert.equal(ended[0] + ended[1], 3, 'each is ended once');
	for (const id of [waits, event, queued]) {
		assert.deepEqual(await endOf(id), ['failed', 'timed_out']);
		assert.deepEqual(await jobsOf(id), []);
	}
	assert.deepEqual(
		[await endOf(held), await endOf(inTime)],
		[
			['running', null],
			['waiting', null],
		],
	);
	await late(held, '2 minutes');
	assert.equal(await store.runQueue.expire([kind]), 1);
	assert.deepEqual(await endOf(held), ['failed', 'timed_out']);
});

test('the run that waits for an overdue one hears of its end', async () => {
	const kind = randomUUID();
	const parent = await add(kind);
	const [claimed = assert.fail()] = (await store.runQueue.claim(boundless(kind), 1)).runs;
	const child = await add(randomUUID(), { parentId: parent });
	await store.runQueue.suspend(claimed.hold, { events: [`child:${child}`], at: null });
	await late(child, '1 second');
	await store.runQueue.expire([kind]);
	const [again = assert.fail()] = (await store.runQueue.claim(boundless(kind), 1)).runs;
	assert.deepEqual(
		again.signals.map(({ name }) => name),
		[`child:${child}`],
	);
});

test('an overdue run takes along those that it waits for, and theirs', async () => {
	const kind = randomUUID();
	const top = await add(kind);
	const child = await add(kind, { parentId: top });
	const grandchild = await add(kind, { parentId: child });
	await late(top, '1 second');
	assert.equal(await store.runQueue.expire([kind]), 1);
	for (const id of [child, grandchild]) {
		assert.deepEqual(await endOf(id), ['cancelled', 'cancelled']);
		assert.deepEqual(await jobsOf(id), []);
	}
	const [held] = [await add(kind)];
	const [claimed = assert.fail()] = (await store.runQueue.claim(boundless(kind), 1)).runs;
	const left = await add(kind, { parentId: held });
	await store.runQueue.end(claimed.hold, { status: 'failed', error: { code: 'internal', message: 'no' } });
	assert.deepEqual(await endOf(left), ['cancelled', 'cancelled']);
});

test('runs of a kind that nobody has known for a week fail, others stay', async () => {
	const [gone, known, used] = [randomUUID(), randomUUID(), randomUUID()];
	const old = await Promise.all([gone, known, used].map((kind) => add(kind)));
	const young = await add(gone);
	const waiting = await add(gone);
	// It was begun by a process that knew the kind, and waits for an event.
	await administer(
		store.database,
		`UPDATE runs SET status = 'waiting', job_id = NULL, due_at = NULL, created_at = now() - interval '9 days' WHERE id = '${waiting}'`,
		`UPDATE runs SET due_at = now() - interval '8 days' WHERE id = ANY('{${old.join(',')}}')`,
	);
	// Another replica knows this kind.
	await add(used);
	await administer(store.database, `UPDATE runs SET due_at = now() - interval '8 days' WHERE kind = '${used}'`);
	await store.runQueue.claim(boundless(used), 1);
	assert.equal(await store.runQueue.expire([known]), 1);
	assert.deepEqual(await endOf(old[0] ?? ''), ['failed', 'not_implemented']);
	for (const id of [young, old[1] ?? '']) assert.deepEqual(await endOf(id), ['queued', null]);
	assert.deepEqual(await endOf(waiting), ['waiting', null]);
	const left = await administer(store.database, `SELECT status FROM runs WHERE kind = '${used}' ORDER BY status`);
	assert.deepEqual(
		left.map(({ status }) => status),
		['queued', 'running'],
	);
});

test('the look for overdue runs reads an index', async () => {
	const [plan] = await administer(
		store.database,
		'SET enable_seqscan = off',
		`EXPLAIN (FORMAT JSON) SELECT id FROM runs WHERE finished_at IS NULL AND deadline_at <= now()
			AND (status <> 'running' OR deadline_at <= now() - interval '1 minute') ORDER BY deadline_at LIMIT 500`,
	);
	assert.match(JSON.stringify(plan), /runs_deadline/);
});

test('queues that are there are opened without the engine, others are made', async () => {
	const kind = randomUUID();
	await store.runQueue.open([kind]);
	const [row] = await administer(store.database, `SELECT name FROM engine.queue WHERE name = '${kind}'`);
	assert.equal(row?.['name'], kind);
	await using other = await openReplica(store);
	await other.runQueue.open([kind]);
	const id = await add(kind);
	assert.deepEqual(
		(await other.runQueue.claim(boundless(kind), 1)).runs.map(({ run }) => run.id),
		[id],
	);
});
