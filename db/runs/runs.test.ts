// Tests how runs change hands, at the port: whoever was too slow writes nothing.

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { starts } from '../../core/runs/schedules.ts';
import type { ClaimedRun, FinishedStep, NewRun, Run, RunKind, RunSchedule, RunSignal, Topic } from '../../core/store/store.ts';
import { marks, until } from '../../test/helpers/clock.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';
import { LOCK, lockKey } from './rows.ts';
import { type Reads, wholeSignals } from './steps.ts';

let store: TestStore;
let organizationId: string;
before(async () => {
	store = await testStore();
	organizationId = (await addTenant(store)).organizationId;
});
after(() => store.close());

/** Makes a kind of its own for each test, so that none takes another's runs. */
const kindOf = (more: Partial<RunKind> = {}): RunKind => ({
	kind: randomUUID(),
	perAccount: null,
	perAccountUnfinished: null,
	maxLosses: 5,
	...more,
});
const USUAL = { definition: null, input: null, trigger: 'manual', priority: 0, deadlineMs: null, parentId: null, dedupe: null } as const;
const add = async (kind: RunKind, more: Partial<NewRun> = {}): Promise<{ run: Run; claimed: ClaimedRun | null }> =>
	(await store.runQueue.add({ ...USUAL, organizationId, kind: kind.kind, here: false, onLoss: 'resume', ...more }, kind)) ?? assert.fail();
const claim = async (kind: RunKind, count = 10): Promise<ClaimedRun[]> => (await store.runQueue.claim(kind, count)).runs;
const claimOne = async (kind: RunKind): Promise<ClaimedRun> => (await claim(kind))[0] ?? assert.fail('nothing to claim');
const step = (key: string, more: Partial<FinishedStep> = {}): FinishedStep => ({
	...{ key, once: false, status: 'done', output: key, error: null, until: null, durationMs: 1 },
	...more,
});
/** Does what the engine does when a holder is not heard of. */
const lose = ({ hold }: ClaimedRun): Promise<unknown> =>
	administer(
		store.database,
		`UPDATE engine.job_common SET state = 'retry', start_after = now() WHERE id = '${hold.job.id}' AND state = 'active'`,
		`UPDATE engine.job_common SET start_after = now() WHERE id = '${hold.job.id}' AND state = 'created'`,
	);
const GONE = { code: 'interrupted' as const, message: 'gone' };
const accountOf = async (id: string): Promise<string> =>
	(await administer(store.database, `SELECT account_id FROM runs WHERE id = '${id}'`))[0]?.['account_id'] as string;
const get = async ({ run }: { run: Run }): Promise<Run> => (await store.runQueue.get(organizationId, run.id)) ?? assert.fail();

test('a holder that was overtaken writes nothing, and what it wrote before is not done again', async () => {
	const kind = kindOf();
	await add(kind);
	const former = await claimOne(kind);
	assert.deepEqual([...(await store.runQueue.keep([former.hold]))], [former.run.id]);
	assert.equal(await store.runQueue.finish(former.hold, step('a')), true);
	assert.equal(await store.runQueue.begin(former.hold, { key: 'b', once: true, until: null }), true);
	assert.equal(await store.runQueue.begin(former.hold, { key: 'b', once: true, until: null }), true, 'an answer that was lost');
	await lose(former);
	assert.equal(await store.runQueue.progress(former.hold, { done: 1 }), true);
	const latter = await claimOne(kind);
	assert.deepEqual(
		[latter.run.attempt, latter.steps.map(({ key, status, once }) => [key, status, once])],
		[
			2,
			[
				['a', 'done', false],
				['b', 'started', true],
			],
		],
	);
	const { runQueue } = store;
	assert.equal((await runQueue.keep([former.hold])).size, 0);
	assert.equal(await runQueue.finish(former.hold, step('late')), false);
	assert.equal(await runQueue.begin(former.hold, { key: 'late', once: true, until: null }), false);
	assert.equal(await runQueue.suspend(former.hold, { events: [], at: null }), false);
	assert.equal(await runQueue.progress(former.hold, { done: 'late' }), false);
	assert.equal(await runQueue.release(former.hold, GONE), false);
	assert.equal(await runQueue.end(former.hold, { status: 'succeeded', output: 1 }), false);
	assert.equal(await runQueue.begin(latter.hold, { key: 'b', once: true, until: null }), false, 'it may have had its effect');
	assert.deepEqual(await runQueue.end(latter.hold, { status: 'succeeded', output: 2 }), { areOthersWaiting: false });
	assert.deepEqual([(await get(latter)).output, (await claim(kind)).length], [2, 0]);
	assert.deepEqual((await get(latter)).progress, { done: 1 });
});

test('a holder that was overtaken before it claimed does not get the run', async () => {
	const kind = kindOf();
	const { run } = await add(kind);
	const first = await claimOne(kind);
	// The row as it was before the claim of the one that fetched first, when the second has claimed.
	await administer(store.database, `UPDATE runs SET job_try = 1, attempt = 2 WHERE id = '${run.id}'`);
	assert.equal(await store.runQueue.finish(first.hold, step('a')), false);
	await lose(first);
	assert.deepEqual(await claim(kind), [], 'its turn is not later than that of the holder');
});

test('a run that lost too many processes is not resumed, nor one whose client is gone', async () => {
	const kind = kindOf({ maxLosses: 1 });
	await add(kind);
	const first = await claimOne(kind);
	assert.equal(first.resumable, true);
	await lose(first);
	assert.equal((await claimOne(kind)).resumable, false);
	const here = kindOf();
	const { claimed } = await add(here, { here: true, onLoss: 'fail' });
	assert.ok(claimed);
	assert.deepEqual([...(await store.runQueue.keep([claimed.hold]))], [claimed.run.id]);
	assert.deepEqual(await claim(here), [], 'its process keeps it');
	await lose(claimed);
	assert.equal((await claimOne(here)).resumable, false);
	assert.equal((await store.runQueue.keep([claimed.hold])).size, 0);
});

test('a run that is given back goes on, unless it is not to be resumed', async () => {
	const kind = kindOf();
	for (const onLoss of ['resume', 'fail'] as const) await add(kind, { onLoss });
	const taken = await claim(kind);
	for (const { hold } of taken) assert.equal(await store.runQueue.release(hold, GONE), true);
	assert.deepEqual((await Promise.all(taken.map(get))).map(({ status }) => status).sort(), ['failed', 'queued']);
	assert.equal((await claimOne(kind)).resumable, true);
});

test('a signal that comes while the run is about to wait is not lost', async () => {
	const kind = kindOf();
	await add(kind);
	const { hold, run } = await claimOne(kind);
	assert.equal(await store.runQueue.signal(organizationId, run.id, { name: 'go', payload: 1 }), true);
	assert.equal(await store.runQueue.suspend(hold, { events: ['go'], at: null }), true);
	const again = await claimOne(kind);
	assert.deepEqual(again.signals, [{ name: 'go', payload: 1 }]);
});

test('the higher priority comes first', async () => {
	const kind = kindOf();
	for (const priority of [0, 5, 1]) await add(kind, { priority });
	const priorities: number[] = [];
	for (let index = 0; index < 3; index++) for (const { run } of await claim(kind, 1)) priorities.push(run.priority);
	assert.deepEqual(priorities, [5, 1, 0]);
});

test('the limit of an account counts for all of its organizations, and those over it get their turn', async () => {
	const kind = kindOf({ perAccount: 2 });
	const second = (await addTenant(store)).organizationId;
	const account = randomUUID();
	await administer(store.database, `UPDATE organizations SET created_by = '${account}' WHERE id IN ('${organizationId}', '${second}')`);
	for (const owner of [organizationId, second, organizationId, second]) await add(kind, { organizationId: owner });
	const taken = await claim(kind);
	assert.equal(taken.length, 2);
	assert.deepEqual(
		(await store.runQueue.look([kind.kind])).kinds.map(({ due, running, parked }) => [due, running, parked]),
		[[0, 2, 2]],
	);
	await store.runQueue.admit(kind);
	assert.deepEqual(await claim(kind), []);
	assert.equal((await add(kind, { here: true })).claimed, null, 'nor one that would begin at once');
	for (const here of [true, false])
		await assert.rejects(add(kind, { here, hereOnly: true, dedupe: 'only' }), { code: 'rate_limited', headers: { 'retry-after': '1' } });
	assert.equal((await store.runQueue.look([kind.kind])).kinds[0]?.parked, 3, 'one that must begin at once is not there');
	for (const { hold } of taken) await store.runQueue.end(hold, { status: 'succeeded', output: null });
	await store.runQueue.admit(kind);
	assert.equal((await claim(kind)).length, 2);
});

test('a queued run that is cancelled while it is found to have no room stays cancelled', async () => {
	const kind = kindOf({ perAccount: 1 });
	const { run: running } = await add(kind);
	await claimOne(kind);
	// It was given its turn when there was room.
	const { run } = await add({ ...kind, perAccount: null });
	const { host, port, username, password, name } = store.database;
	await using client = Object.assign(new pg.Client({ host, port, user: username, password, database: name }), {
		[Symbol.asyncDispose]: () => client.end(),
	});
	await client.connect();
	await client.query('BEGIN');
	await client.query(LOCK, [lockKey(kind.kind, await accountOf(running.id))]);
	const claiming = claim(kind);
	const WAITS = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`;
	await until(async () => (await administer(store.database, WAITS)).length === 1, 'the claim waits');
	assert.equal(await store.runQueue.cancel(organizationId, run.id, 'no more'), true);
	await client.query('COMMIT');
	assert.deepEqual(await claiming, []);
	assert.equal((await get({ run })).status, 'cancelled');
});

test('a run that another process has claimed meanwhile is not put back by one that finds no room for it', async () => {
	const kind = kindOf({ perAccount: 1 });
	const { run } = await add(kind);
	const first = await claimOne(kind);
	await lose(first);
	// The second attempt has begun, and so has another run of the account.
	await administer(store.database, `UPDATE runs SET job_try = 1, attempt = 2 WHERE id = '${run.id}'`);
	await add({ ...kind, perAccount: null }, { here: true });
	assert.deepEqual(await claim(kind), []);
	assert.equal((await get({ run })).status, 'running');
});

test('an account has no more unfinished runs of a kind than it may, over all of its organizations', async () => {
	const kind = kindOf({ perAccountUnfinished: 3 });
	const added = await Promise.allSettled(Array.from({ length: 6 }, (_, index) => add(kind, { dedupe: `${index}` })));
	const refused = added.filter((one) => one.status === 'rejected');
	assert.equal(refused.length, 3);
	for (const { reason } of refused) assert.deepEqual([reason.code, reason.headers], ['rate_limited', { 'retry-after': '60' }]);
	const index = added.findIndex((one) => one.status === 'fulfilled');
	assert.ok(await add(kind, { dedupe: `${index}` }), 'one that is there is returned');
	await store.runQueue.end((await claimOne(kind)).hold, { status: 'succeeded', output: null });
	assert.ok(await add(kind));
	await assert.rejects(add(kind), { code: 'rate_limited' });
	assert.ok(await add(kind, { organizationId: (await addTenant(store)).organizationId }), 'another account has its own');
});

/** Makes a text that PostgreSQL does not make smaller. */
const randomText = (bytes: number): string => randomBytes(Math.ceil((bytes * 3) / 4)).toString('base64');

test('a run is resumed with the outputs that were kept, however large they are in all', async () => {
	const kind = kindOf();
	await add(kind);
	const former = await claimOne(kind);
	const outputs = [1.5, 1.5, 1.5, 5, 0.1, 2, 2].map((mib, index) => [`${index}`, randomText(mib * 1024 * 1024)] as const);
	for (const [key, output] of outputs) assert.equal(await store.runQueue.finish(former.hold, step(key, { output })), true);
	await store.runQueue.finish(former.hold, step('none', { output: null }));
	await store.runQueue.begin(former.hold, { key: 'begun', once: true, until: null });
	await lose(former);
	const { steps, keptChars } = await claimOne(kind);
	const expected = new Map<string, unknown>([...outputs, ['none', null], ['begun', null]]);
	assert.deepEqual(new Map(steps.map(({ key, output }) => [key, output])), expected);
	const chars = outputs.reduce((sum, [, output]) => sum + output.length, 0);
	assert.ok(keptChars >= chars && keptChars < chars + 1_000, `${keptChars} of ${chars}`);
});

test('signals are read whole, some megabytes in a statement, however large they are in all', async () => {
	const kind = kindOf();
	await add(kind);
	const { hold, run } = await claimOne(kind);
	const sent = [1.5, 1.5, 1.5, 5, 0.1, 2, 2].map((mib, index) => ({ name: `${index}`, payload: randomText(mib * 1024 * 1024) }));
	for (const signal of sent) assert.equal(await store.runQueue.signal(organizationId, run.id, signal), true);
	const byName = (signals: RunSignal[]) => new Map(signals.map(({ name, payload }) => [name, payload]));
	assert.deepEqual(byName(await store.runQueue.signals(hold)), byName(sent));
	const { host, port, username, password, name } = store.database;
	await using client = Object.assign(new pg.Client({ host, port, user: username, password, database: name }), {
		[Symbol.asyncDispose]: () => client.end(),
	});
	await client.connect();
	const sizes: number[] = [];
	const reads: Reads = async (text, values) => {
		const { rows } = await client.query(text, values);
		sizes.push(JSON.stringify(rows).length);
		return rows;
	};
	assert.deepEqual(byName(await wholeSignals(reads, run.id)), byName(sent));
	assert.ok(sizes.length > 1 && sizes.every((chars) => chars < 5.1 * 1024 * 1024), `${sizes}`);
});

test('readers of steps get small outputs up to some megabytes, none where they want none, and any by its key', async () => {
	const kind = kindOf();
	await add(kind);
	const { run, hold } = await claimOne(kind);
	const [large, small] = [randomText(300_000), randomText(200_000)];
	await store.runQueue.finish(hold, step('large', { output: large }));
	const keys = Array.from({ length: 45 }, (_, index) => `${index}`);
	for (const key of keys) await store.runQueue.finish(hold, step(key, { output: small }));
	const read = await store.runQueue.steps(organizationId, run.id);
	assert.deepEqual(
		read.map(({ key }) => key),
		['large', ...keys],
	);
	const shown = read.filter(({ isLeftOut }) => !isLeftOut);
	assert.deepEqual(
		shown.map(({ key, output }) => [key, output === small]),
		keys.slice(0, 41).map((key) => [key, true]),
	);
	for (const { isLeftOut, output, size } of read) assert.ok(isLeftOut ? output === null && size >= 200_000 : output === small);
	const bare = await store.runQueue.steps(organizationId, run.id, { outputs: false });
	assert.deepEqual([bare.length, bare.filter(({ output, isLeftOut }) => output !== null || !isLeftOut)], [46, []]);
	const whole = await store.runQueue.steps(organizationId, run.id, { keys: ['large', '44', 'absent'] });
	assert.deepEqual(
		whole.map(({ key, output, isLeftOut }) => [key, output, isLeftOut]),
		[
			['large', large, false],
			['44', small, false],
		],
	);
	assert.deepEqual(await store.runQueue.steps((await addTenant(store)).organizationId, run.id), []);
});

test('whoever reads steps has no connection of those that runs need', async () => {
	const kind = kindOf();
	const [first, second] = [await add(kind), await add(kind)];
	const taken = await claim(kind);
	const { host, port, username, password, name } = store.database;
	const client = new pg.Client({ host, port, user: username, password, database: name });
	await client.connect();
	await client.query('BEGIN');
	await client.query('SELECT FROM runs WHERE id = ANY($1) FOR UPDATE', [[first.run.id, second.run.id]]);
	const telling = taken.map(({ hold }) => store.runQueue.progress(hold, 1));
	const reading = store.runQueue.steps(organizationId, first.run.id).finally(() => client.end());
	assert.deepEqual(await Promise.all([...telling, reading]), [true, true, []]);
});

/** Keeps the engine from adding jobs until it is released. */
async function holdJobs(): Promise<AsyncDisposable & { release(): Promise<unknown>; waiting(count: number): Promise<void> }> {
	const { host, port, username, password, name } = store.database;
	const client = new pg.Client({ host, port, user: username, password, database: name });
	await client.connect();
	await client.query('BEGIN; LOCK TABLE engine.job_common IN SHARE MODE');
	const WAITING = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
	return {
		release: () => client.query('COMMIT'),
		waiting: (count) => until(async () => (await administer(store.database, WAITING)).length === count, `${count} wait`),
		[Symbol.asyncDispose]: () => client.end(),
	};
}

test('a run that has ended gets no child, and one that is being added is cancelled with its tree', async () => {
	const kind = kindOf();
	const { run: top } = await add(kind);
	const { run: parent } = await add(kind, { parentId: top.id });
	const child = { ...USUAL, organizationId, kind: kind.kind, here: false, onLoss: 'resume' as const, parentId: parent.id };
	await using jobs = await holdJobs();
	const adding = store.runQueue.add({ ...child, dedupe: 'first' }, kind);
	await jobs.waiting(1);
	const cancelling = store.runQueue.cancel(organizationId, top.id, 'no more');
	await jobs.waiting(2);
	await jobs.release();
	const added = (await adding) ?? assert.fail();
	assert.equal(await cancelling, true);
	const statuses = (await Promise.all([{ run: top }, { run: parent }, added].map(get))).map(({ status }) => status);
	assert.deepEqual(statuses, ['cancelled', 'cancelled', 'cancelled']);
	assert.equal(await store.runQueue.add(child, kind), null);
	assert.equal((await store.runQueue.add({ ...child, dedupe: 'first' }, kind))?.run.id, added.run.id, 'one that is there is returned');
	assert.deepEqual(await claim(kind), []);
});

test('a running parent keeps its steps and tells its progress while a child is being added', async () => {
	const kind = kindOf();
	await add(kind);
	const { run, hold } = await claimOne(kind);
	await using jobs = await holdJobs();
	const adding = add(kind, { parentId: run.id });
	await jobs.waiting(1);
	assert.equal(await store.runQueue.finish(hold, step('a')), true);
	assert.equal(await store.runQueue.progress(hold, { done: 1 }), true);
	await jobs.release();
	assert.equal((await adding).run.parentId, run.id);
});

test('a job whose run is gone is dropped, and takes nobody with it', async () => {
	const kind = kindOf();
	const { run } = await add(kind);
	await add(kind);
	await administer(store.database, `DELETE FROM runs WHERE id = '${run.id}'`);
	assert.equal((await claim(kind)).length, 1);
	assert.deepEqual(await administer(store.database, `SELECT id FROM engine.job_common WHERE data ->> 'runId' = '${run.id}'`), []);
});

const SCHEDULE: Omit<RunSchedule, 'organizationId' | 'kind'> = {
	...{ key: 'k', cron: '0 9 * * *', timeZone: 'UTC', missed: 'once', overlap: 'queue' },
	...{ definition: { version: 1 }, input: { a: 1 } },
};

test('a due time is taken once; the next one waits for the run if the schedule says so', async () => {
	const { kind } = kindOf();
	const schedule = { ...SCHEDULE, organizationId, kind };
	const [due, next] = [new Date('2026-01-01T09:00:00Z'), new Date('2026-01-02T09:00:00Z')];
	await store.runQueue.putSchedule(schedule, due);
	await store.runQueue.putSchedule(schedule, next);
	const [found = assert.fail()] = await store.runQueue.dueSchedules([kind], null);
	assert.deepEqual([found.dueAt, found.isBusy], [due, false], 'an unchanged schedule keeps its time');
	const fired = await Promise.all([1, 2, 3].map(() => store.runQueue.fire(found, next, true)));
	assert.deepEqual(fired.filter((isFirst) => isFirst).length, 1);
	assert.deepEqual(await store.runQueue.dueSchedules([kind], null), [], 'its run is under way');
	const { run, hold } = await claimOne({ ...kindOf(), kind });
	assert.deepEqual([run.trigger, run.schedule, run.scheduledFor, run.definition], ['schedule', 'k', due, { version: 1 }]);
	await store.runQueue.end(hold, { status: 'succeeded', output: null });
	const [after = assert.fail()] = await store.runQueue.dueSchedules([kind], null);
	assert.equal(after.dueAt.getTime(), next.getTime());
	const skips = { missed: 'skip' } as const;
	assert.deepEqual(
		[starts({ ...found, ...skips }), starts({ ...after, ...skips })],
		[false, true],
		'the time that had to wait is not missed',
	);
	await store.runQueue.putSchedule({ ...schedule, cron: '0 10 * * *' }, new Date('2099-01-01T10:00:00Z'));
	assert.deepEqual(await store.runQueue.dueSchedules([kind], null), [], 'a changed one gets a new time');
});

test('runs that ended before the time of retention are removed with their traces, others stay', async () => {
	const kind = kindOf();
	await add(kind);
	const { hold, run } = await claimOne(kind);
	await store.runQueue.finish(hold, step('a'));
	await store.runQueue.end(hold, { status: 'succeeded', output: null });
	assert.equal(await store.runQueue.prune(new Date(Date.now() - 60_000)), 0);
	await administer(store.database, `UPDATE runs SET finished_at = now() - interval '1 day' WHERE id = '${run.id}'`);
	assert.equal(await store.runQueue.prune(new Date(Date.now() - 60_000)), 1);
	assert.deepEqual(await store.runQueue.steps(organizationId, run.id), []);
});

test('an organization that is removed takes its runs along', async () => {
	const gone = await addTenant(store);
	const kind = kindOf();
	const { run } = await add(kind, { organizationId: gone.organizationId });
	await administer(store.database, `DELETE FROM organizations WHERE id = '${gone.organizationId}'`);
	assert.equal(await store.runQueue.get(gone.organizationId, run.id), null);
	assert.deepEqual(await claim(kind), []);
	const asked = { ...USUAL, organizationId: gone.organizationId, kind: kind.kind, here: false, onLoss: 'resume' as const };
	assert.equal(await store.runQueue.add(asked, kind), null);
});

test('another replica hears of everything, and of one moment at once', async () => {
	await using other = await openReplica(store);
	const kind = kindOf();
	const heard = new Set<Topic>();
	other.changes.subscribe((topics) => topics.forEach((topic) => void heard.add(topic)));
	const heardAt = marks();
	other.changes.subscribe(() => heardAt.mark());
	const added = await Promise.all(Array.from({ length: 20 }, () => add(kind)));
	await Promise.all(added.map(({ run }) => store.runQueue.cancel(organizationId, run.id, 'no more')));
	await until(() => added.every(({ run }) => heard.has(`run:ended:${run.id}`)), 'all are heard');
	assert.ok(heardAt.count < 40, `${heardAt.count} announcements`);
});

test('a run is read while all connections that runs are kept by wait', async () => {
	const kind = kindOf();
	await add(kind);
	const held = await claimOne(kind);
	const { host, port, username, password, name } = store.database;
	const other = new pg.Client({ host, port, user: username, password, database: name });
	await other.connect();
	await other.query('BEGIN');
	await other.query('SELECT FROM runs WHERE id = $1 FOR UPDATE', [held.run.id]);
	const blocked = ['a', 'b', 'c', 'd'].map((key) => store.runQueue.finish(held.hold, step(key)));
	assert.equal((await get(held)).id, held.run.id);
	await other.query('COMMIT');
	await other.end();
	assert.deepEqual(await Promise.all(blocked), [true, true, true, true]);
});
