// Tests the lines of the request log that runs leave, over PostgreSQL: one for each end, with what the run has used in all of its attempts.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import local from '../../plugins/providers/local/index.ts';
import { agentNodes } from '../../test/helpers/agent-nodes.ts';
import { type AgentWorld, addLocalModel, agentReplica, agentWorld } from '../../test/helpers/agents.ts';
import { until } from '../../test/helpers/clock.ts';
import type { TestCore } from '../../test/helpers/core.ts';
import { graph, type Nodes, work } from '../../test/helpers/graphs.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { openReplica } from '../../test/helpers/store.ts';
import type { Plugin } from '../contract/kinds.ts';
import type { AgentRow, Execution } from '../store/store.ts';

const CHUNK = { id: 'c', object: 'chat.completion.chunk', created: 0, model: 'small' };
const ANSWER = [
	{ ...CHUNK, choices: [{ index: 0, delta: { content: 'It is so.' }, finish_reason: 'stop' }] },
	{ ...CHUNK, choices: [], usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } },
]
	.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
	.join('');
/** A call costs 40 millionths of a dollar. */
const PRICES = { small: { input: 2e6, output: 1e7 } };
const upstream = createServer((request, response) => {
	request.resume().on('end', () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${ANSWER}data: [DONE]\n\n`));
});

let world: AgentWorld;
let talk: Nodes[string];
before(async () => {
	await once(upstream.listen(0, '127.0.0.1'), 'listening');
	world = await agentWorld([...agentNodes(), local] as Plugin[]);
	talk = ['talk', { providerId: await addLocalModel(world, (upstream.address() as AddressInfo).port, PRICES), text: 'So?' }];
});
after(async () => {
	await world[Symbol.asyncDispose]();
	upstream.closeAllConnections();
	upstream.close();
});

const ask: Nodes[string] = ['ask', { message: 'Sure?' }];
const place = (id: string) => ({ organizationId: world.organizationId, id });
const sql = (...statements: string[]) => administer(world.core.store.database, ...statements);
const addAsking = () => world.addAgent(graph('in>a a>q q>b b>out', { in: ['start'], a: talk, q: ask, b: talk, out: ['finish'] }));

/** Starts a run that waits for a person. */
async function startWaiting(agent: AgentRow): Promise<Execution> {
	const started = await world.start(agent, {});
	await until(async () => (await world.engine.get(place(started.run.id)))?.run.status === 'waiting', 'it waits');
	return started;
}

type Line = [outcome: string, inputTokens: number | null, outputTokens: number | null, cost: number | null];

/** Returns the lines of some agents. All that this process has recorded before are written when a later one is. */
async function linesOf(...agents: AgentRow[]): Promise<Line[]> {
	const last = await world.addAgent(graph('in>out', { in: ['start'], out: ['finish'] }));
	const read = (ids: string[]) =>
		sql(`SELECT outcome, input_tokens, output_tokens, cost FROM request_log WHERE kind = 'agent' AND agent_id IN ('${ids.join("','")}')
			ORDER BY started_at, seq`);
	await world.ended(await world.start(last, {}));
	await until(async () => (await read([last.id])).length > 0, 'the lines are written');
	const numbered = (value: unknown): number | null => (value === null ? null : Number(value));
	return (await read(agents.map(({ id }) => id))).map((line) => [
		String(line['outcome']),
		...([numbered(line['input_tokens']), numbered(line['output_tokens']), numbered(line['cost'])] as const),
	]);
}

test('a run that waited for a person counts the use of all its attempts in its line, and in its execution', async () => {
	const agent = await addAsking();
	const { run } = await startWaiting(agent);
	await world.engine.answer(place(run.id), 'q', { ok: true });
	const ended = await world.ended({ run } as Execution);
	assert.deepEqual([ended.run.status, ended.run.attempt, ended.tokensUsed, ended.cost], ['succeeded', 2, 16, 80]);
	assert.deepEqual(await linesOf(agent), [['success', 10, 6, 80]]);
});

test('a retry counts what it used itself, since the line of the run that failed has the rest', async () => {
	const nodes = { in: ['start'], a: talk, w: work('w', { fails: 1 }), b: talk, out: ['finish'] } as Nodes;
	const agent = await world.addAgent(graph('in>a a>w w>b b>out', nodes));
	const failed = await world.ended(await world.start(agent, { tag: 'line' }));
	assert.equal(failed.run.status, 'failed');
	const again = await world.ended(await world.engine.retry(place(failed.run.id), null));
	assert.deepEqual([again.run.status, again.tokensUsed, again.cost], ['succeeded', 8, 40]);
	assert.deepEqual(await linesOf(agent), [
		['upstream_failed', 5, 3, 40],
		['success', 5, 3, 40],
	]);
});

test('a run whose deadline is over while it waits leaves one line, whichever of the replicas ends it', async () => {
	const agent = await addAsking();
	const { run } = await startWaiting(agent);
	await using opened = new AsyncDisposableStack();
	const store = opened.use(await openReplica(world.core.store));
	agentReplica({ ...world.core, store } as TestCore, opened);
	await sql(`UPDATE runs SET deadline_at = now() - interval '1 minute' WHERE id = '${run.id}'`);
	const ended = await Promise.all([store, world.core.store].map(({ runQueue }) => runQueue.expire([])));
	assert.equal(
		ended.reduce((sum, one) => sum + one, 0),
		1,
	);
	// The other one writes what it has recorded.
	await opened.disposeAsync();
	assert.deepEqual(await linesOf(agent), [['timed_out', 5, 3, 40]]);
});

test('a run whose process is gone, and that is not resumed, leaves one line', async () => {
	const agent = await addAsking();
	const asked = { organizationId: world.organizationId, kind: 'agent', definition: null, input: null, trigger: 'manual' as const };
	const lost = { ...asked, priority: 0, deadlineMs: null, parentId: null, dedupe: null, here: true, onLoss: 'fail' as const };
	const kind = { kind: 'agent', perAccount: null, perAccountUnfinished: null, maxLosses: 5 };
	const started = await world.core.store.agents.start(lost, kind, { agentId: agent.id, revision: agent.version, startedBy: null });
	const { id } = started?.execution.run ?? assert.fail();
	await sql(`UPDATE engine.job_common SET start_after = now() WHERE data ->> 'runId' = '${id}'`);
	await until(async () => (await sql(`SELECT FROM runs WHERE id = '${id}' AND finished_at IS NOT NULL`)).length > 0, 'it ends');
	assert.deepEqual(await linesOf(agent), [['interrupted', null, null, null]]);
});

test('runs that are cancelled leave one line each: under way or not, with those that they wait for, and with their agent', async () => {
	const inner = await addAsking();
	const sub: Nodes[string] = ['sub', { agentId: inner.id }];
	const outer = await world.addAgent(graph('in>s s>out', { in: ['start'], s: sub, out: ['finish'] }));
	const { run } = await startWaiting(outer);
	await until(async () => (await world.engine.asked(place(run.id))) !== null, 'the inner one asks');
	assert.equal(await world.engine.cancel(place(run.id)), true);
	assert.equal(await world.engine.cancel(place(run.id)), false);
	assert.deepEqual(await linesOf(inner), [['cancelled', 5, 3, 40]]);
	assert.deepEqual(await linesOf(outer), [['cancelled', null, null, null]]);

	const slow = await world.addAgent(graph('in>a a>w w>out', { in: ['start'], a: talk, w: work('w', { ms: 60_000 }), out: ['finish'] }));
	const begun = await world.start(slow, {});
	await until(async () => (await world.engine.trace(place(begun.run.id))).some(({ key }) => key === 'w'), 'it works');
	await world.engine.cancel(place(begun.run.id));
	assert.deepEqual(await linesOf(slow), [['cancelled', 5, 3, 40]]);

	const removed = await addAsking();
	await startWaiting(removed);
	await world.core.store.agents.remove(world.organizationId, removed.id);
	const [line] = await linesOf(removed);
	assert.deepEqual([line?.[0], line?.[3]], ['cancelled', 40]);
});
