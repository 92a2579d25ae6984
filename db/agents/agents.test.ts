// Tests of agents at the port: bounds, executions beside their runs, what they used, retries, questions, webhooks, removal.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import type { NewAgent, NewRun, RunKind } from '../../core/store/store.ts';
import { until } from '../../test/helpers/clock.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import { COUNT_LIST, LATEST, LIST } from './executions.ts';
import { open } from './questions.ts';

let store: TestStore;
let organizationId: string;
before(async () => {
	store = await testStore();
	organizationId = (await addTenant(store)).organizationId;
});
after(() => store.close());

const AGENT: NewAgent = { name: 'Helper', description: 'Helps.', pipeline: { nodes: [], edges: [] }, settings: {} };
const KIND: RunKind = { kind: 'agent', perAccount: null, perAccountUnfinished: null, maxLosses: 5 };
const PAGE = { limit: 100 };
const conflict = { code: 'conflict' };

const addAgent = (of = organizationId) => store.agents.create(of, randomUUID(), AGENT, 100);
const run = (more: Partial<NewRun> = {}): NewRun => ({
	...{ organizationId, kind: 'agent', definition: null, input: { a: 1 }, trigger: 'manual', priority: 0, deadlineMs: null },
	...{ parentId: null, dedupe: null, here: false, onLoss: 'resume', ...more },
});
async function start(agentId: string, more: Partial<NewRun> = {}, kind = KIND) {
	const started = await store.agents.start(run(more), kind, { agentId, revision: 1, startedBy: 'ada@example.com' });
	return started ?? assert.fail();
}
/** Runs what is due, and ends it. */
async function end(status: 'succeeded' | 'failed', output = { b: 2 }): Promise<void> {
	const { runs } = await store.runQueue.claim(KIND, 100);
	for (const { hold } of runs) {
		const fault = { code: 'upstream_failed' as const, message: 'x' };
		await store.runQueue.end(hold, status === 'succeeded' ? { status, output } : { status, error: fault });
	}
}

test('an organization has no more agents than it may, whoever comes at once', async () => {
	const { organizationId: other } = await addTenant(store);
	const made = await Promise.allSettled([1, 2, 3, 4].map(() => store.agents.create(other, randomUUID(), AGENT, 2)));
	assert.deepEqual(made.map(({ status }) => status).sort(), ['fulfilled', 'fulfilled', 'rejected', 'rejected']);
});

test('a change raises the version, an execution does not; an older version is refused', async () => {
	const { id, version, totalExecutions, status } = await addAgent();
	assert.deepEqual([version, totalExecutions, status], [1, 0, 'active']);
	await start(id);
	const changed = await store.agents.update(organizationId, id, { name: 'Other', settings: { timeoutMs: 5 } }, 1);
	assert.deepEqual([changed?.version, changed?.totalExecutions, changed?.settings], [2, 1, { timeoutMs: 5 }]);
	await assert.rejects(store.agents.update(organizationId, id, { name: 'x' }, 1), { code: 'precondition_failed' });
	const found = (await store.agents.list(organizationId, PAGE, { q: 'other' })).items;
	assert.deepEqual(
		found.map((row) => [row.id, row.totalExecutions]),
		[[id, 1]],
	);
	await end('succeeded');
});

test('executions are listed without payloads, newest first, by status and trigger; each is counted once', async () => {
	const { id } = await addAgent();
	const first = await start(id, { dedupe: 'once' });
	assert.deepEqual([first.execution.run.input, first.execution.tokensUsed, first.execution.cost], [{ a: 1 }, 0, 0]);
	assert.ok(first.execution.run.createdAt instanceof Date);
	await end('succeeded');
	const again = await start(id, { dedupe: 'once' });
	assert.deepEqual([again.execution.run.id, again.execution.run.output], [first.execution.run.id, { b: 2 }]);
	const second = await start(id, { trigger: 'webhook' });
	const { executions, total } = await store.agents.executions(organizationId, id, { limit: 1, offset: 0 });
	assert.deepEqual([total, executions[0]?.run.id, Object.hasOwn(executions[0]?.run ?? {}, 'input')], [2, second.execution.run.id, false]);
	const ids = async (filter: Parameters<typeof store.agents.executions>[3]) =>
		(await store.agents.executions(organizationId, id, { limit: 10, offset: 0 }, filter)).executions.map((one) => one.run.id);
	assert.deepEqual(await ids({ status: 'running' }), [second.execution.run.id]);
	assert.deepEqual(await ids({ status: 'success' }), [first.execution.run.id]);
	assert.deepEqual(await ids({ trigger: 'webhook', status: 'failed' }), []);
	assert.deepEqual(await ids({ trigger: 'webhook' }), [second.execution.run.id]);
	assert.equal((await store.agents.get(organizationId, id))?.totalExecutions, 2);
	await end('failed');
	assert.deepEqual(await ids({ status: 'failed' }), [second.execution.run.id]);
});

/** Explains a statement with its values. @returns the plan, and the most rows that one of its nodes read */
async function explain(statement: string, values: (string | number | null)[]): Promise<{ plan: string; read: number }> {
	const told = values.map((value) => (typeof value === 'string' ? `'${value}'` : `${value}`));
	const [row] = await administer(
		store.database,
		// Tables as small as here are else read whole.
		'SET enable_seqscan = off',
		`EXPLAIN (ANALYZE, FORMAT JSON) ${statement.replaceAll(/\$(\d)/g, (_, at) => told[at - 1] ?? assert.fail())}`,
	);
	const plan = JSON.stringify(row);
	const counts = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by (?:Filter|Join Filter))":\s?(\d+)/g)].map(([, count]) => Number(count));
	assert.ok(counts.length > 0, plan);
	return { plan, read: Math.max(...counts) };
}

test('a page of executions by state and trigger is read by an index, wherever they are among 2,000, and so are questions of an agent', async () => {
	const { id: busy } = await addAgent();
	const { id: quiet } = await addAgent();
	const place = [organizationId, busy];
	// The older half was started by a webhook, and nearly all of it failed: whoever walks from the newest passes the others.
	await administer(
		store.database,
		`INSERT INTO runs (id, organization_id, account_id, kind, status, trigger, definition, input, error, finished_at)
		SELECT gen_random_uuid(), '${organizationId}', '${organizationId}', 'past', CASE WHEN n > 960 THEN 'waiting' ELSE 'failed' END,
			CASE WHEN n > 1000 THEN 'manual' ELSE 'webhook' END, 'null', 'null', CASE WHEN n <= 960 THEN '{}'::json END, CASE WHEN n <= 960 THEN now() END
		FROM generate_series(1, 2000) n`,
		`INSERT INTO agent_executions (organization_id, agent_id, run_id, revision)
		SELECT organization_id, '${busy}', id, 1 FROM runs WHERE kind = 'past' ORDER BY seq`,
		// The few of the one are answered, the many of the other are open.
		`INSERT INTO agent_questions (organization_id, agent_id, run_id, key, node_id, message, schema, answered_at)
		SELECT e.organization_id, a.id, e.run_id, a.id, 'n', 'm', '{}', CASE a.id WHEN '${busy}' THEN now() END
		FROM agent_executions e, agents a WHERE e.agent_id = '${busy}' AND (a.id = '${quiet}' OR a.id = '${busy}' AND e.seq % 20 = 0)`,
		'ANALYZE',
	);
	for (const [trigger, state, matching] of [
		[null, null, 2000],
		[null, 'failed', 960],
		['webhook', null, 1000],
		['webhook', 'running', 40],
		['manual', 'failed', 0],
		[null, 'success', 0],
	] as const) {
		const listed = await explain(LIST, [...place, trigger, state, 20, 0]);
		assert.ok(listed.read <= 20, `${trigger} ${state}: ${listed.plan}`);
		const counted = await explain(COUNT_LIST, [...place, trigger, state]);
		assert.ok(counted.read <= Math.max(matching, 1), `${trigger} ${state}: ${counted.plan}`);
	}
	const latest = await explain(LATEST, [...place, 1]);
	assert.ok(latest.read <= 1, latest.plan);
	const asked = await explain(open('>', 'ASC'), [...place, null, 0, 20, null]);
	assert.ok(asked.read <= 1, asked.plan);
	await administer(store.database, `DELETE FROM runs WHERE kind = 'past'`);
});

test('an execution that is added while its run ends has the state of the end', async () => {
	const { id: agentId } = await addAgent();
	const { run: ending } = (await store.runQueue.add(run(), KIND)) ?? assert.fail();
	const { host, port, username, password, name } = store.database;
	const ender = new pg.Client({ host, port, user: username, password, database: name });
	await ender.connect();
	await ender.query('BEGIN');
	await ender.query('SELECT FROM runs WHERE id = $1 FOR UPDATE', [ending.id]);
	await ender.query(`UPDATE runs SET status = 'succeeded', finished_at = now(), job_id = NULL WHERE id = $1`, [ending.id]);
	const added = store.agents.enlist(organizationId, ending.id, { agentId, revision: 1, startedBy: null });
	const waiting = async () => (await administer(store.database, 'SELECT pid FROM pg_locks WHERE NOT granted')).length > 0;
	await until(waiting, 'it waits');
	await ender.query('COMMIT');
	await ender.end();
	assert.equal(await added, true);
	const { total } = await store.agents.executions(organizationId, agentId, { limit: 1, offset: 0 }, { status: 'success' });
	assert.equal(total, 1);
});

test('tokens and cost add up, an unknown cost makes the whole unknown, and counts survive the runs', async () => {
	const { id } = await addAgent();
	const [known, unknown] = [(await start(id)).execution.run.id, (await start(id)).execution.run.id];
	await store.agents.count(organizationId, known, { tokens: 10, cost: 5 });
	await store.agents.count(organizationId, known, { tokens: 3, cost: 0.5 });
	await store.agents.count(organizationId, unknown, { tokens: 1, cost: 7 });
	await store.agents.count(organizationId, unknown, { tokens: 1, cost: null });
	const [one, two] = [await store.agents.executionOf(organizationId, known), await store.agents.execution(organizationId, id, unknown)];
	assert.deepEqual([one?.tokensUsed, one?.cost, two?.tokensUsed, two?.cost], [13, 5.5, 2, null]);
	const usage = { executions: 2, tokens: 15, cost: 12.5, unpriced: 1 };
	assert.deepEqual(await store.agents.usage(organizationId, id), usage);
	await end('succeeded');
	const history = await store.agents.history(organizationId, id, 1);
	assert.deepEqual(
		[history.executions, history.cost, history.tokens],
		[2, { min: 5.5, typical: 5.5, max: 5.5 }, { min: 2, typical: 7.5, max: 13 }],
	);
	assert.equal((await store.agents.history(organizationId, id, 2)).executions, 0);
	await store.runQueue.prune(new Date(Date.now() + 60_000));
	assert.equal(await store.agents.executionOf(organizationId, known), null);
	assert.deepEqual(await store.agents.usage(organizationId, id), usage);
});

test('a child gets its execution once; an execution of nobody’s agent is none', async () => {
	const { id } = await addAgent();
	const added = (await store.runQueue.add(run(), KIND)) ?? assert.fail();
	const execution = { agentId: id, revision: 1, startedBy: null };
	assert.equal(await store.agents.enlist(organizationId, added.run.id, { ...execution, agentId: randomUUID() }), false);
	assert.equal(await store.agents.enlist(organizationId, added.run.id, execution), true);
	assert.equal(await store.agents.enlist(organizationId, added.run.id, execution), false);
	assert.equal((await store.agents.get(organizationId, id))?.totalExecutions, 1);
	assert.equal(await store.agents.start(run(), KIND, { ...execution, agentId: randomUUID() }), null);
	await end('succeeded');
});

test('only a failed execution is retried, as one of its own with its steps, within the bound of unfinished ones', async () => {
	const { id } = await addAgent();
	const { execution } = await start(id);
	const retry = (most: number | null) =>
		store.agents.retry(
			organizationId,
			execution.run.id,
			{ startedBy: 'bob', from: null, deadlineMs: 60_000 },
			{ ...KIND, perAccountUnfinished: most },
		);
	await assert.rejects(retry(null), conflict);
	const [{ hold } = assert.fail()] = (await store.runQueue.claim(KIND, 1)).runs;
	const step = { key: 'a', once: false, status: 'done' as const, output: 1, error: null, until: null, durationMs: 1 };
	await store.runQueue.finish(hold, step);
	await store.runQueue.end(hold, { status: 'failed', error: { code: 'internal', message: 'x' } });
	await assert.rejects(retry(0), { code: 'rate_limited' });
	const made = (await retry(null)) ?? assert.fail();
	assert.deepEqual([made.run.originId, made.agentId, made.startedBy, made.run.status], [execution.run.id, id, 'bob', 'queued']);
	assert.ok(made.run.deadlineAt);
	assert.deepEqual(
		(await store.runQueue.steps(organizationId, made.run.id)).map(({ key }) => key),
		['a'],
	);
	assert.equal((await store.agents.get(organizationId, id))?.totalExecutions, 2);
	await end('succeeded');
});

test('a question is stored once, listed until it is answered or its run has ended, and answered once', async () => {
	const { id } = await addAgent();
	const runId = (await start(id)).execution.run.id;
	const asked = {
		key: 'n',
		nodeId: 'n',
		message: 'Go on?',
		schema: { type: 'object' },
		approvers: { emails: ['ada@example.com'] },
		until: null,
	};
	const question = (await store.agents.ask(organizationId, runId, asked)) ?? assert.fail();
	assert.deepEqual(await store.agents.ask(organizationId, runId, { ...asked, message: 'Other' }), question);
	assert.deepEqual([question.approvers, question.schema, question.agentId], [{ emails: ['ada@example.com'] }, { type: 'object' }, id]);
	await store.agents.ask(organizationId, runId, { ...asked, key: 'late', until: new Date(Date.now() - 1000) });
	const open = async () => (await store.agents.questions(organizationId, PAGE, { agentId: id })).items.map(({ key }) => key);
	assert.deepEqual(await open(), ['n']);
	assert.deepEqual(
		[await store.agents.answered(organizationId, runId, 'n', 'ada'), await store.agents.answered(organizationId, runId, 'n', 'bob')],
		[true, false],
	);
	assert.deepEqual(await open(), []);
	assert.equal((await store.agents.question(organizationId, question.id))?.answeredBy, 'ada');
	await store.agents.ask(organizationId, runId, { ...asked, key: 'm' });
	assert.deepEqual(await open(), ['m']);
	await end('failed');
	assert.deepEqual(await open(), []);
	assert.equal(await store.agents.ask(organizationId, randomUUID(), asked), null);
});

test('an agent has no more webhooks than it may; one is found by its id, changed and removed', async () => {
	const { id } = await addAgent();
	const hook = { name: 'push', scheme: 'standard' as const, secret: 'sealed' };
	const add = (of = id) => store.agents.addWebhook(organizationId, of, randomUUID(), hook, 2);
	const made = await Promise.allSettled([add(), add(), add()]);
	assert.deepEqual(made.map(({ status }) => status).sort(), ['fulfilled', 'fulfilled', 'rejected']);
	assert.equal(await add(randomUUID()), null);
	const [first = assert.fail()] = (await store.agents.webhooks(organizationId, id, PAGE)).items;
	assert.deepEqual(await store.agents.webhookOf(first.id), first);
	const changed = await store.agents.updateWebhook(organizationId, id, first.id, { secret: 'other', status: 'inactive' }, 1);
	assert.deepEqual([changed?.version, changed?.secret, changed?.status], [2, 'other', 'inactive']);
	await assert.rejects(store.agents.updateWebhook(organizationId, id, first.id, { name: 'x' }, 1), { code: 'precondition_failed' });
	assert.deepEqual(
		[await store.agents.removeWebhook(organizationId, id, first.id), await store.agents.removeWebhook(organizationId, id, first.id)],
		[true, false],
	);
	assert.equal(await store.agents.webhookOf(first.id), null);
});

test('a removed agent leaves nothing: its runs are cancelled with their children, and its holders write nothing', async () => {
	const { id } = await addAgent();
	const other = await addAgent();
	const parent = await start(id);
	const child = await start(other.id, { parentId: parent.execution.run.id });
	const [{ hold } = assert.fail()] = (await store.runQueue.claim(KIND, 1)).runs;
	await assert.rejects(store.agents.remove(organizationId, id, 7), { code: 'precondition_failed' });
	assert.deepEqual(await store.agents.remove(organizationId, id), { executions: 1, webhooks: 0, accessKeys: 0 });
	assert.equal(await store.agents.remove(organizationId, id), null);
	assert.equal(await store.runQueue.end(hold, { status: 'succeeded', output: null }), false);
	assert.equal(await store.runQueue.get(organizationId, parent.execution.run.id), null);
	assert.equal((await store.agents.executionOf(organizationId, child.execution.run.id))?.run.status, 'cancelled');
});

test('who counts, or asks, while an agent is being removed waits for that, and does not end it', async () => {
	const question = { key: 'n', nodeId: 'n', message: 'Go on?', schema: { type: 'object' }, approvers: null, until: null };
	const writers = {
		count: (runId: string) => store.agents.count(organizationId, runId, { tokens: 1, cost: 1 }),
		ask: (runId: string) => store.agents.ask(organizationId, runId, question),
	};
	const { host, port, username, password, name } = store.database;
	for (const [what, write] of Object.entries(writers)) {
		const { id } = await addAgent();
		const { execution } = await start(id);
		const remover = new pg.Client({ host, port, user: username, password, database: name });
		await remover.connect();
		await remover.query('BEGIN');
		await remover.query('SELECT FROM agents WHERE id = $1 FOR UPDATE', [id]);
		const written = write(execution.run.id);
		const waiting = async () => (await administer(store.database, 'SELECT pid FROM pg_locks WHERE NOT granted')).length > 0;
		await until(waiting, `${what} waits`);
		await remover.query('DELETE FROM runs WHERE id = $1', [execution.run.id]);
		await remover.query('DELETE FROM agents WHERE id = $1', [id]);
		await remover.query('COMMIT');
		await remover.end();
		await written;
		assert.equal(await store.agents.executionOf(organizationId, execution.run.id), null, what);
	}
});

test('the lists and the log of another organization have nothing of it', async () => {
	const { id } = await addAgent();
	const { execution } = await start(id);
	const { organizationId: other } = await addTenant(store);
	assert.equal(await store.agents.get(other, id), null);
	assert.equal(await store.agents.execution(other, id, execution.run.id), null);
	const retried = { startedBy: null, from: null, deadlineMs: null };
	assert.equal(await store.agents.retry(other, execution.run.id, retried, KIND), null);
	assert.deepEqual(await store.agents.executions(other, id, { limit: 10, offset: 0 }), { executions: [], total: 0 });
	await end('succeeded');
});
