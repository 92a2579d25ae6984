// Tests of import jobs on one database, run by replicas in this process. The importers' code exists in the worker only.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Joi from 'joi';
import openapi from '../../importers/openapi/index.ts';
import http from '../../plugins/executors/http/index.ts';
import { until } from '../../test/helpers/clock.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addApi, addMember, addTenant, importRun, schema } from '../../test/helpers/samples.ts';
import { silent } from '../../test/helpers/silent.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';
import type { SchemaImporter } from '../contract/kinds.ts';
import { Registry } from '../registry/registry.ts';
import { createRuns } from '../runs/runs.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import type { Actor, ApiRow, ClaimedRun, ImportJobRow, Store } from '../store/store.ts';
import { createImports } from './imports.ts';
import { createImportJobs, hasEnded, type ImportJobRunner } from './jobs.ts';

const secrets = createSecrets('ab'.repeat(32));
const NEVER = new AbortController().signal;
const PAGE = { limit: 100 };

let store: TestStore;
let organizationId: string;
let actor: Actor;
before(async () => {
	store = await testStore();
	const tenant = await addTenant(store);
	({ organizationId } = tenant);
	const ada = { userId: tenant.userId, email: 'ada@example.com', accessKeyId: null };
	actor = { ...ada, address: '127.0.0.1', userAgent: null, requestId: 'r' };
});
after(() => store.close());

/**
 * The document decides what the importer does: `quick`, `slow` (200 operations, one every 50 ms) or `slow` with a number of them, `broken`.
 */
const SOURCE = `export default { kind: 'importer', name: 'scripted', config: { describe: () => ({}), validate: (value) => ({ value }) }, detect: () => 1,
	async *parse({ text }) {
		const isSlow = text.startsWith('slow');
		for (let i = 0; i < (isSlow ? Number(text.slice(4)) || 200 : 3); i++) {
			if (isSlow) await new Promise((resolve) => setTimeout(resolve, 50));
			if (text === 'broken' && i === 2) throw Object.assign(new Error('line 2: broken'), { code: 'schema_invalid' });
			yield { key: 'GET /' + i, operationId: null, name: 'op_' + i, description: 'x'.repeat(isSlow ? 60000 : 1), method: 'GET', path: '/' + i, tags: [],
				deprecated: false, parameters: { type: 'object' }, outputSchema: null, definition: { path: '/' }, outcome: 'converted', reasons: [] };
		}
		return { format: 'test', title: null, version: null, servers: [] };
	} }`;
/** Its options may hold a secret, so that bodies lie sealed in the database. */
const options = Joi.object({ key: Joi.string().meta({ secret: true }) });
const scripted: SchemaImporter = { ...openapi, name: 'scripted', config: options };
const registry = new Registry();
registry.add(http);
registry.add(scripted, `data:text/javascript,${encodeURIComponent(SOURCE)}`);

interface Replica extends AsyncDisposable {
	jobs: ImportJobRunner;
	store: Store;
}

/** Keeps a thread from one test to the next. */
const shared = createImports({ registry, egressPolicy: { allow: [] }, secrets, log: silent });
after(() => shared.close());

/** Stands for a separate process, with its own connections and, when asked, its own imports, which end with it. */
async function replica({ isApart = false } = {}): Promise<Replica> {
	const own = await openReplica(store);
	const imports = isApart ? createImports({ registry, egressPolicy: { allow: [] }, secrets, log: silent }) : shared;
	const runs = createRuns({ store: own, log: silent });
	const jobs = createImportJobs({ store: own, registry, secrets, imports, runs, log: silent });
	await runs.open();
	const close = async (): Promise<void> => {
		await runs.close(0);
		if (isApart) await imports.close();
		await own[Symbol.asyncDispose]();
	};
	return { jobs, store: own, [Symbol.asyncDispose]: close };
}

const newApi = (): Promise<ApiRow> => addApi(store, organizationId, { type: 'scripted' });
const bodyOf = (schemaContent: string, more: object = {}): Buffer => Buffer.from(JSON.stringify({ schemaContent, ...more }));
const ask = (api: ApiRow, schemaContent: string, { waitMs = 30_000, more = {} } = {}) => ({
	organizationId,
	apiId: api.id,
	actor,
	body: { maxBytes: 1000, read: async () => bodyOf(schemaContent, more) },
	waitMs,
});

const jobOf = async ({ apiId, id }: ImportJobRow): Promise<ImportJobRow> =>
	(await store.imports.get(organizationId, apiId, id)) ?? assert.fail();
const counts = async (api: ApiRow): Promise<[operations: number, schemas: number]> => [
	await store.apis.countOperations(organizationId, api.id),
	(await store.apis.schemas(organizationId, api.id, PAGE)).items.length,
];

/** Creates a job whose run is held by a process that is soon gone; `lose` does what the engine does when it is not heard of for so long. */
async function begin(api: ApiRow, body: Buffer): Promise<{ job: ImportJobRow; hold: ClaimedRun['hold']; lose(): Promise<unknown> }> {
	const created = await store.imports.create(organizationId, api.id, { actor, body, ...importRun(organizationId, { here: true }) });
	assert.ok(created?.state === 'created' && created.claimed);
	const { job, claimed } = created;
	const lose = `UPDATE engine.job_common SET start_after = now() WHERE id = '${claimed.hold.job.id}'`;
	return { job, hold: claimed.hold, lose: () => administer(store.database, lose) };
}

const bodies = async (): Promise<unknown> =>
	(await administer(store.database, 'SELECT count(*)::int AS count FROM import_bodies'))[0]?.['count'];

async function ended(job: ImportJobRow): Promise<ImportJobRow> {
	await until(async () => hasEnded(await jobOf(job)), 'it has ended');
	return jobOf(job);
}

const parsing = (job: ImportJobRow): Promise<void> => until(async () => (await jobOf(job)).operations > 0, 'it has begun');

test('a waiting client gets the result, with the schema and the tools; nothing of the body is kept', async () => {
	await using one = await replica();
	const api = await newApi();
	const job = await one.jobs.run(ask(api, 'quick', { more: { generateTools: true } }), NEVER, NEVER);
	assert.deepEqual([job.status, job.error, job.requestedBy, job.attempts], ['succeeded', null, actor.userId, 1]);
	assert.deepEqual(job.tools, { created: 3, updated: 0, unchanged: 0, total: 3 });
	assert.equal((await store.apis.schema(organizationId, api.id, job.schemaId ?? ''))?.format, 'test');
	assert.deepEqual(await counts(api), [3, 1]);
	assert.equal(await bodies(), 0);
});

test('a document that is refused ends the job with its fault, and leaves nothing behind', async () => {
	await using one = await replica();
	const api = await newApi();
	const job = await one.jobs.run(ask(api, 'broken'), NEVER, NEVER);
	assert.deepEqual([job.status, job.error?.code, job.error?.message], ['failed', 'schema_invalid', 'line 2: broken']);
	const bad = await one.jobs.run(ask(api, 'quick', { more: { other: 1 } }), NEVER, NEVER);
	assert.deepEqual([bad.error?.code, bad.error?.details[0]?.path], ['validation_failed', '/other']);
	assert.deepEqual(await counts(api), [0, 0]);
	assert.equal(await bodies(), 0);
});

test('one of fifty concurrent requests that do not wait runs, over all replicas, and the others get its id', async () => {
	await using one = await replica();
	await using two = await replica();
	const api = await newApi();
	const answers = await Promise.all(
		Array.from({ length: 50 }, (_, index) =>
			(index % 2 ? one : two).jobs.run(ask(api, 'slow', { waitMs: 0 }), NEVER, NEVER).catch((error: Error & { code: string }) => error),
		),
	);
	const begun = answers.filter((answer) => !(answer instanceof Error));
	assert.equal(begun.length, 1);
	const [job] = begun as ImportJobRow[];
	for (const answer of answers)
		if (answer instanceof Error) assert.deepEqual([answer.code, answer.message.includes(job?.id ?? '?')], ['conflict', true]);
	assert.equal((await store.imports.list(organizationId, api.id, PAGE)).items.length, 1);
	await store.imports.cancel(organizationId, api.id, job?.id ?? '');
});

test('waiting imports are limited per organization at a replica, in number and in bytes', async () => {
	await using one = await replica();
	const api = await newApi();
	await one.jobs.run(ask(api, 'slow', { waitMs: 0 }), NEVER, NEVER);
	const leaving = new AbortController();
	const waiting = Array.from({ length: 16 }, () => one.jobs.run(ask(api, 'quick'), leaving.signal, NEVER));
	await sleep(1_000);
	const refusal = { code: 'unavailable', message: /Too many imports/ };
	let isRead = false;
	const read = async (): Promise<Buffer> => {
		isRead = true;
		return bodyOf('quick');
	};
	const large = { ...ask(api, 'quick'), body: { maxBytes: 128 * 1024 * 1024, read } };
	await assert.rejects(one.jobs.run(large, NEVER, NEVER), refusal);
	assert.equal(isRead, false);
	await assert.rejects(one.jobs.run(ask(api, 'quick'), NEVER, NEVER), refusal);
	const tenant = await addTenant(store);
	const theirs = await addApi(store, tenant.organizationId, { type: 'scripted' });
	const other = await one.jobs.run({ ...ask(theirs, 'quick'), organizationId: tenant.organizationId }, NEVER, NEVER);
	assert.equal(other.status, 'succeeded');
	leaving.abort();
	const ends = await Promise.allSettled(waiting);
	assert.ok(ends.every(({ status }) => status === 'rejected'));
	assert.equal((await store.imports.list(organizationId, api.id, PAGE)).items.length, 1);
	await store.apis.remove(organizationId, api.id, false);
	const after = await one.jobs.run({ ...large, apiId: (await newApi()).id }, NEVER, NEVER);
	assert.equal(after.status, 'succeeded', 'the room is given back');
});

test('a replica begins two imports at a time, however many come at once, and the others when there is room', async () => {
	await using one = await replica();
	const apis = await Promise.all([newApi(), newApi(), newApi()]);
	const jobs = await Promise.all(apis.map((api) => one.jobs.run(ask(api, 'slow', { waitMs: 0 }), NEVER, NEVER)));
	const byStatus = async () => Object.groupBy(await Promise.all(jobs.map(jobOf)), ({ status }) => status);
	// A replica that looks for work at this moment has its places reserved, and takes what was queued meanwhile.
	await until(async () => (await byStatus()).running?.length === 2, 'two run');
	const { running = [], queued: [queued = assert.fail()] = [] } = await byStatus();
	const [first = assert.fail()] = running;
	assert.equal(running.length, 2);
	await store.imports.cancel(organizationId, first.apiId, first.id);
	await until(async () => (await jobOf(queued)).status === 'running', 'it begins');
	for (const { apiId, id } of jobs) await store.imports.cancel(organizationId, apiId, id);
});

test('waiting imports run one after the other', async () => {
	await using one = await replica();
	await using two = await replica();
	const api = await newApi();
	const jobs = await Promise.all([one, two, one].map(({ jobs: each }) => each.run(ask(api, 'quick'), NEVER, NEVER)));
	assert.deepEqual(
		jobs.map(({ status }) => status),
		['succeeded', 'succeeded', 'succeeded'],
	);
	assert.deepEqual(await counts(api), [3, 3]);
});

test('progress can be followed on another replica, to the end', async () => {
	await using one = await replica();
	await using two = await replica();
	const api = await newApi();
	const job = await one.jobs.run(ask(api, 'slow', { waitMs: 0 }), NEVER, NEVER);
	const seen: ImportJobRow[] = [];
	for await (const now of two.jobs.follow(job, NEVER)) if (now) seen.push(now);
	assert.equal(seen.at(-1)?.status, 'succeeded');
	assert.equal(seen.at(-1)?.operations, 200);
	const steps = new Set(seen.map(({ operations }) => operations));
	assert.ok(steps.size >= 4, `seen: ${[...steps]}`);
	assert.ok(
		seen.every(({ operations }, index) => operations >= (seen[index - 1]?.operations ?? 0)),
		'it only grows',
	);
});

test('a job that is cancelled on another replica stops within a second, and leaves nothing behind', async () => {
	await using one = await replica();
	await using two = await replica();
	const api = await newApi();
	const job = await one.jobs.run(ask(api, 'slow', { waitMs: 0 }), NEVER, NEVER);
	await parsing(job);
	await until(async () => (await openTransactions()) === 1, 'a transaction is open');
	const cancelled = await two.store.imports.cancel(organizationId, api.id, job.id);
	assert.equal(cancelled?.status, 'cancelled');
	assert.equal((await two.store.imports.cancel(organizationId, api.id, job.id))?.status, 'cancelled', 'twice is once');
	// The connection of the import's transaction is given back when its worker has ended.
	await until(async () => (await openTransactions()) === 0, 'the transaction ends');
	assert.deepEqual(await counts(api), [0, 0]);
	assert.equal((await one.jobs.run(ask(api, 'quick'), NEVER, NEVER)).status, 'succeeded', 'the next may begin');
	assert.equal((await store.imports.cancel(organizationId, api.id, job.id))?.status, 'cancelled');
});

test('a client that disconnects cancels its import', async () => {
	await using one = await replica();
	const api = await newApi();
	const client = new AbortController();
	const asked = one.jobs.run(ask(api, 'slow'), client.signal, NEVER);
	setTimeout(() => client.abort(new Error('gone')), 800);
	await assert.rejects(asked, { code: 'unavailable', message: /client disconnected/ });
	const [job] = (await store.imports.list(organizationId, api.id, PAGE)).items;
	assert.equal(job?.status, 'cancelled');
});

test('a replica that stops gives its job back, and another one finishes it', async () => {
	const api = await newApi();
	const one = await replica({ isApart: true });
	const job = await one.jobs.run(ask(api, 'slow 40', { waitMs: 0 }), NEVER, NEVER);
	await parsing(job);
	await one[Symbol.asyncDispose]();
	const queued = await jobOf(job);
	assert.deepEqual([queued.status, queued.attempts, queued.phase], ['queued', 0, null]);
	assert.deepEqual(await counts(api), [0, 0]);
	await using _two = await replica({ isApart: true });
	const end = await ended(job);
	assert.deepEqual([end.status, end.attempts], ['succeeded', 1]);
	assert.deepEqual(await counts(api), [40, 1]);
});

/**
 * Terminates the connections of imports that are being written, and of tools that are being made, whatever they do at the moment: other
 * transactions are shorter. @returns how many there were
 */
async function breakConnections(): Promise<number> {
	const isLong = `xact_start < clock_timestamp() - interval '150 ms' AND pid <> pg_backend_pid()`;
	const sql = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND ${isLong}`;
	return (await administer(store.database, sql)).length;
}

test('a job whose connection breaks starts anew, and one whose connection keeps breaking leaves nothing behind', async () => {
	await using one = await replica();
	const [api, other] = [await newApi(), await newApi()];
	const once = await one.jobs.run(ask(api, 'slow 30', { waitMs: 0 }), NEVER, NEVER);
	await parsing(once);
	await until(async () => (await breakConnections()) === 1, 'its connection is broken');
	const end = await ended(once);
	assert.deepEqual([end.status, end.attempts, end.error], ['succeeded', 2, null]);
	assert.deepEqual(await counts(api), [30, 1]);
	const often = await one.jobs.run(ask(other, 'slow', { waitMs: 0 }), NEVER, NEVER);
	while (!hasEnded(await jobOf(often))) {
		await breakConnections();
		await sleep(50);
	}
	const { status, attempts, error } = await jobOf(often);
	assert.deepEqual([status, attempts, error?.code], ['failed', 3, 'unavailable']);
	assert.deepEqual([await counts(other), await bodies()], [[0, 0], 0]);
});

test('a replica that lost its run writes nothing, even when its work is done', async () => {
	const api = await newApi();
	const { job, hold, lose } = await begin(api, bodyOf('quick'));
	await lose();
	const writer = (await store.apis.beginImport(organizationId, api.id)) ?? assert.fail();
	await using _one = await replica();
	await until(async () => (await jobOf(job)).attempts === 2, 'another replica takes it over');
	await assert.rejects(writer.commit(schema, undefined, { ...hold, generation: null, operations: 0 }), { code: 'conflict' });
	assert.equal(await store.importQueue.tell(hold, { phase: 'parsing', operations: 1_000 }), false);
	assert.equal(await store.importQueue.again(hold), null);
	assert.equal(await store.importQueue.finish(hold, { status: 'succeeded', tools: null }), false);
	assert.equal((await ended(job)).status, 'succeeded');
	assert.deepEqual(await counts(api), [3, 1]);
});

test('a job whose schema is written only makes its tools when resumed', async () => {
	const api = await newApi();
	const { job, hold, lose } = await begin(api, bodyOf('quick'));
	const tie = { hold, progress: () => undefined };
	await shared.importSchema(store, api, bodyOf('quick', { generateTools: true, paths: ['/1'] }), NEVER, tie);
	assert.equal((await store.imports.cancel(organizationId, api.id, job.id))?.status, 'running', 'too late to cancel');
	await lose();
	await using _one = await replica();
	const end = await ended(job);
	assert.deepEqual([end.status, end.tools?.created], ['succeeded', 1]);
	assert.deepEqual(await counts(api), [3, 1]);
});

test('a job whose replicas died three times is not retried', async () => {
	const api = await newApi();
	const created = await store.imports.create(organizationId, api.id, { actor, body: bodyOf('quick'), ...importRun(organizationId) });
	assert.equal(created?.state, 'created');
	await administer(store.database, `UPDATE import_jobs SET attempts = 3 WHERE id = '${created.job.id}'`);
	await using _one = await replica();
	const end = await ended(created.job);
	assert.deepEqual([end.status, /ended 3 times/.test(end.error?.message ?? '')], ['failed', true]);
	assert.deepEqual(await counts(api), [0, 0]);
});

test('removing an API removes its job', async () => {
	await using one = await replica();
	const api = await newApi();
	const job = await one.jobs.run(ask(api, 'slow', { waitMs: 0 }), NEVER, NEVER);
	await parsing(job);
	await store.apis.remove(organizationId, api.id, false);
	assert.equal(await store.imports.get(organizationId, api.id, job.id), null);
	await until(async () => (await openTransactions()) === 0, 'the transaction ends');
	assert.equal(await bodies(), 0);
	await assert.rejects(one.jobs.run(ask(api, 'quick'), NEVER, NEVER), { code: 'not_found' });
});

test('a body of many parts is restored unchanged', async () => {
	const api = await newApi();
	const body = Buffer.alloc(3 * 1024 * 1024 + 7, 'abcdefg');
	const { job, hold } = await begin(api, body);
	assert.deepEqual(await store.importQueue.body(hold), body);
	assert.equal(await store.importQueue.body({ ...hold, attempt: 2 }), null);
	await store.imports.cancel(organizationId, api.id, job.id);
	assert.equal(await bodies(), 0);
});

test('an organization has at most twenty jobs; so many of an account run at a time, and the others delay nobody', async () => {
	const [tenant, other] = [await addTenant(store), await addTenant(store)];
	const add = async ({ organizationId: of }: { organizationId: string }) => {
		const api = await addApi(store, of, { type: 'scripted' });
		return store.imports.create(of, api.id, { actor, body: bodyOf('quick'), ...importRun(of, { perAccount: 4 }) });
	};
	for (let index = 0; index < 20; index++) assert.equal((await add(tenant))?.state, 'created');
	assert.equal((await add(tenant))?.state, 'full');
	const late = await add(other);
	assert.equal(late?.state, 'created');
	const { kind } = importRun(organizationId, { perAccount: 4 });
	const ours = new Set([tenant.organizationId, other.organizationId]);
	/** Claims all that is due: turns of runs that other tests removed may be among the first. */
	const claimAll = async () => {
		const all: ClaimedRun[] = [];
		for (let isMore = true; isMore; ) {
			const claimed = await store.runQueue.claim(kind, 5);
			all.push(...claimed.runs.filter(({ run }) => ours.has(run.organizationId)));
			({ isMore } = claimed);
		}
		return all;
	};
	const runs = await claimAll();
	assert.deepEqual([runs.length, runs.some(({ run }) => run.id === late.job.id)], [5, true]);
	const first = runs.find(({ run }) => run.organizationId === tenant.organizationId) ?? assert.fail();
	await store.runQueue.end(first.hold, { status: 'failed', error: { code: 'internal', message: 'It ended.' } });
	await store.runQueue.admit(kind);
	assert.equal((await claimAll()).length, 1, 'whoever waited gets the room');
	await administer(
		store.database,
		`DELETE FROM import_jobs WHERE organization_id IN ('${tenant.organizationId}', '${other.organizationId}')`,
	);
	const left = `SELECT id FROM runs WHERE organization_id IN ('${tenant.organizationId}', '${other.organizationId}')`;
	assert.deepEqual(await administer(store.database, left), []);
});

test('only the cancellation is recorded in the audit log, under the name of the user who cancelled', async () => {
	await using one = await replica();
	const api = await newApi();
	const canceller = await addMember(store, { organizationId, userId: actor.userId, slug: '' }, 'admin');
	const job = await one.jobs.run(ask(api, 'slow', { waitMs: 0 }), NEVER, NEVER);
	await store.as({ ...actor, userId: canceller }).imports.cancel(organizationId, api.id, job.id);
	const rows = await administer(store.database, `SELECT actor_id, action, changes FROM audit_log WHERE resource_id = '${job.id}'`);
	assert.deepEqual(rows, [{ actor_id: canceller, action: 'update', changes: { status: { from: 'begun', to: 'cancelled' } } }]);
});

test('ended jobs are pruned, running ones are not', async () => {
	await using one = await replica();
	const api = await newApi();
	const done = await one.jobs.run(ask(api, 'quick'), NEVER, NEVER);
	const running = await one.jobs.run(ask(api, 'slow', { waitMs: 0 }), NEVER, NEVER);
	assert.ok((await store.importQueue.prune(new Date(Date.now() + 60_000))) >= 1);
	assert.equal(await store.imports.get(organizationId, api.id, done.id), null);
	assert.ok(await store.imports.get(organizationId, api.id, running.id));
	await store.imports.cancel(organizationId, api.id, running.id);
});

/** Counts the transactions of imports that are being written. */
async function openTransactions(): Promise<unknown> {
	const sql = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`;
	return (await administer(store.database, sql))[0]?.['count'];
}
