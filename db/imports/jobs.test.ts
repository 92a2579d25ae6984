// Tests that an import and its run are one: each is as the other is, whichever of both changes, and neither is left alone.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Actor, ClaimedRun, ImportJobRow, Topic } from '../../core/store/store.ts';
import { until } from '../../test/helpers/clock.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addApi, addTenant, importRun } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
let organizationId: string;
let actor: Actor;
before(async () => {
	store = await testStore();
	const { userId, ...tenant } = await addTenant(store);
	organizationId = tenant.organizationId;
	actor = { userId, email: 'ada@example.com', accessKeyId: null, address: '127.0.0.1', userAgent: null, requestId: 'r' };
});
after(() => store.close());

async function add(here = false): Promise<{ job: ImportJobRow; claimed: ClaimedRun | null }> {
	const api = await addApi(store, organizationId);
	const asked = { actor, body: Buffer.from('{}'), ...importRun(organizationId, { here }) };
	const created = await store.imports.create(organizationId, api.id, asked);
	return created?.state === 'created' ? created : assert.fail();
}

async function begin(): Promise<{ job: ImportJobRow; hold: ClaimedRun['hold'] }> {
	const { job, claimed } = await add(true);
	return { job, hold: claimed?.hold ?? assert.fail() };
}

const get = async ({ apiId, id }: ImportJobRow): Promise<ImportJobRow> =>
	(await store.imports.get(organizationId, apiId, id)) ?? assert.fail();
const shown = async (job: ImportJobRow): Promise<unknown[]> => {
	const { status, phase, attempts, error } = await get(job);
	return [status, phase, attempts, error?.code ?? null];
};
const runOf = ({ id }: ImportJobRow) => store.runQueue.get(organizationId, id);
const take = async (perAccount: number | null = null): Promise<ClaimedRun[]> =>
	(await store.runQueue.claim(importRun(organizationId, { perAccount }).kind, 10)).runs;
const lose = (job: ImportJobRow): Promise<unknown> =>
	administer(store.database, `UPDATE engine.job_common SET start_after = now(), state = 'retry' WHERE data ->> 'runId' = '${job.id}'`);

test('an import is queued and runs as its run does, and counts the attempts that were not given back', async () => {
	const { job } = await add();
	assert.deepEqual([job.status, await shown(job)], ['queued', ['queued', null, 0, null]]);
	const [first = assert.fail()] = await take();
	assert.deepEqual(await shown(job), ['running', 'fetching', 1, null]);
	assert.equal(await store.importQueue.tell(first.hold, { phase: 'parsing', operations: 7 }), true);
	await store.runQueue.release(first.hold, { code: 'interrupted', message: 'gone' });
	assert.deepEqual(await shown(job), ['queued', null, 0, null]);
	await take();
	await lose(job);
	const [third = assert.fail()] = await take();
	assert.deepEqual(await shown(job), ['running', 'fetching', 2, null]);
	assert.equal((await store.importQueue.again(third.hold))?.attempts, 3);
	await store.importQueue.finish(third.hold, { status: 'succeeded', tools: null });
	await store.runQueue.end(third.hold, { status: 'failed', error: { code: 'internal', message: 'too late' } });
	assert.deepEqual(await shown(job), ['succeeded', 'fetching', 3, null]);
});

test('one that lost its process and has to wait for others of its account is not one that was given back', async () => {
	const { job } = await begin();
	const { hold: other } = await begin();
	await lose(job);
	assert.deepEqual(await take(1), []);
	assert.deepEqual(await shown(job), ['queued', null, 1, null]);
	await store.imports.cancel(organizationId, job.apiId, job.id);
	await store.runQueue.end(other, { status: 'succeeded', output: null });
});

test('a run that is cancelled, or ends without a result, takes its import along', async () => {
	const [{ job: one }, { job: two, hold }] = [await begin(), await begin()];
	assert.equal(await store.runQueue.cancel(organizationId, one.id, 'No more.'), true);
	assert.deepEqual(await shown(one), ['cancelled', 'fetching', 1, null]);
	await store.runQueue.end(hold, { status: 'failed', error: { code: 'interrupted', message: 'It is gone.' } });
	assert.deepEqual(await shown(two), ['failed', 'fetching', 1, 'internal']);
	assert.equal((await get(two)).error?.message, 'It is gone.');
});

test('an import that is cancelled takes its run along; one whose schema is written does not', async () => {
	const [{ job: one }, { job: two }] = [await begin(), await begin()];
	assert.equal((await store.as(actor).imports.cancel(organizationId, one.apiId, one.id))?.status, 'cancelled');
	assert.equal((await runOf(one))?.status, 'cancelled');
	await administer(store.database, `UPDATE import_jobs SET schema_id = gen_random_uuid() WHERE id = '${two.id}'`);
	assert.equal((await store.as(actor).imports.cancel(organizationId, two.apiId, two.id))?.status, 'running');
	assert.equal((await runOf(two))?.status, 'running');
	await store.runQueue.cancel(organizationId, two.id, 'No more.');
});

test('with its API an import goes, and its run, and whoever runs it hears of that', async () => {
	const heard = new Set<Topic>();
	const unsubscribe = store.changes.subscribe((topics) => topics.forEach((topic) => void heard.add(topic)));
	const { job, hold } = await begin();
	await store.apis.remove(organizationId, job.apiId, false);
	await until(() => heard.has(`run:ended:${job.id}`), 'it is announced');
	unsubscribe();
	assert.equal(await runOf(job), null);
	assert.deepEqual(
		[await store.importQueue.find(hold), await store.importQueue.finish(hold, { status: 'succeeded', tools: null })],
		[null, false],
	);
	await lose(job);
	assert.deepEqual(await take(), [], 'its turn is dropped');
});

test('an API may be removed whatever happens to its import and to the run of it at the moment', async () => {
	for (let round = 0; round < 15; round++) {
		const { job, hold } = await begin();
		await Promise.all([
			store.importQueue.finish(hold, { status: 'succeeded', tools: null }),
			store.runQueue.release(hold, { code: 'interrupted', message: 'gone' }),
			store.importQueue.tell(hold, { phase: 'parsing', operations: round }),
			store.apis.remove(organizationId, job.apiId, false),
			store.imports.cancel(organizationId, job.apiId, job.id),
		]);
		assert.equal(await runOf(job), null);
	}
});

test('imports that ended long ago are removed with their runs', async () => {
	const { job, hold } = await begin();
	await store.importQueue.finish(hold, { status: 'succeeded', tools: null });
	await store.runQueue.end(hold, { status: 'succeeded', output: null });
	assert.ok((await store.importQueue.prune(new Date(Date.now() + 60_000))) > 0);
	assert.deepEqual([await store.imports.get(organizationId, job.apiId, job.id), await runOf(job)], [null, null]);
});

test('of forty imports at once an organization has twenty, and the others leave nothing behind', async () => {
	const tenant = await addTenant(store);
	const here = tenant.organizationId;
	const asked = { actor, body: Buffer.from('{}'), ...importRun(here) };
	const create = async (apiId: string) => (await store.imports.create(here, apiId, asked))?.state;
	const apis: string[] = [];
	for (let made = 0; made < 40; made++) apis.push((await addApi(store, here)).id);
	const states = await Promise.all(apis.map(create));
	assert.deepEqual(
		['created', 'full'].map((state) => states.filter((each) => each === state).length),
		[20, 20],
	);
	for (const table of ['import_jobs', 'import_bodies', 'runs']) {
		const [row] = await administer(store.database, `SELECT count(*)::int FROM ${table} WHERE organization_id = '${here}'`);
		assert.deepEqual(row, { count: 20 }, table);
	}
	assert.equal(await create((await addApi(store, here)).id), 'full');
});
