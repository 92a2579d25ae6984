// Tests what happens while an execution waits for a person or another agent, over PostgreSQL, with small nodes.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { agentNodes } from '../../test/helpers/agent-nodes.ts';
import { type AgentWorld, agentWorld } from '../../test/helpers/agents.ts';
import { until } from '../../test/helpers/clock.ts';
import { graph } from '../../test/helpers/graphs.ts';
import type { AgentQuestion } from '../contract/agents.ts';
import type { GatewayError } from '../contract/errors.ts';
import { NO_IDENTITY } from '../tools/no-identity.ts';

let world: AgentWorld;
before(async () => {
	world = await agentWorld(agentNodes());
});
after(() => world[Symbol.asyncDispose]());

const ask: [string, { message: string }] = ['ask', { message: 'Sure?' }];
const place = (id: string) => ({ organizationId: world.organizationId, id });

test('people are told of a question once, however often its run goes on, and of those of a retry', async () => {
	const told: string[] = [];
	world.engine.tells(async ({ runId, key }) => void told.push(`${runId} ${key}`));
	const agent = await world.addAgent(graph('in>p in>q in>r p>out q>out r>out', { in: ['start'], p: ask, q: ask, r: ask, out: ['finish'] }));
	const { run } = await world.start(agent, {});
	for (const [times, key] of ['p', 'q'].entries()) {
		await until(async () => {
			const now = (await world.engine.get(place(run.id)))?.run;
			return now?.status === 'waiting' && now.attempt === times + 1;
		}, 'it waits');
		await world.engine.answer(place(run.id), key, { ok: true });
		await world.core.store.agents.answered(world.organizationId, run.id, key, null);
	}
	await until(async () => (await world.engine.get(place(run.id)))?.run.attempt === 3, 'it goes on');
	await until(async () => (await world.engine.get(place(run.id)))?.run.status === 'waiting', 'it waits for the last one');
	assert.deepEqual(told.sort(), [`${run.id} p`, `${run.id} q`, `${run.id} r`]);
	await world.engine.cancel(place(run.id));
	const again = await world.engine.retry(place(run.id), null);
	await until(async () => (await world.engine.get(place(again.run.id)))?.run.status === 'waiting', 'the retry waits');
	assert.deepEqual(told.filter((line) => line.startsWith(again.run.id)).sort(), [`${again.run.id} r`]);
	await world.engine.cancel(place(again.run.id));
});

const call = () => ({
	...{ plugin: 'executor:agent', organizationId: world.organizationId, gateway: null, caller: null, shelf: null, identity: NO_IDENTITY },
	...{ entry: null, signal: new AbortController().signal, listener: null },
});

test('the client of a tool is asked the questions of the agents that its own one runs, too, and is told where else they are answered', async () => {
	const inner = await world.addAgent(graph('in>p p>q q>out', { in: ['start'], p: ask, q: ask, out: ['finish'] }));
	const agent = await world.addAgent(
		graph('in>s s>p p>out', { in: ['start'], s: ['sub', { agentId: inner.id }], p: ask, out: ['finish'] }),
	);
	const asked: AgentQuestion[] = [];
	/** Returns the run of the inner agent, which is in the key of its questions. */
	const nested = (): string => asked[0]?.key.split('/')[0] ?? '';
	const run = (isAnswered: (key: string) => boolean, resume?: string) =>
		world.desk.of(call()).run(
			agent.id,
			{},
			{
				...(resume !== undefined && { resume }),
				answer: async (question) => {
					asked.push(question);
					return isAnswered(question.key) ? { ok: true } : null;
				},
			},
		);
	await assert.rejects(
		run((key) => key.endsWith('/p')),
		({ code, message }: GatewayError) => {
			assert.equal(code, 'conflict');
			assert.match(message, new RegExp(`POST /agents/${inner.id}/executions/${nested()}/approve`));
			return true;
		},
	);
	const executionId = asked[0]?.executionId ?? '';
	assert.deepEqual(await run(() => true, executionId), { ok: true });
	assert.deepEqual(
		asked.map((one) => [one.executionId, one.key]),
		[`${nested()}/p`, `${nested()}/q`, `${nested()}/q`, 'p'].map((each) => [executionId, each]),
	);
});

test('a question that the client of a tool has answered waits for nobody any more, and is not asked again', async () => {
	const agent = await world.addAgent(graph('in>p p>q q>out', { in: ['start'], p: ask, q: ask, out: ['finish'] }));
	const asked: AgentQuestion[] = [];
	const run = (answers: readonly string[], resume?: string) =>
		world.desk.of(call()).run(
			agent.id,
			{},
			{
				...(resume !== undefined && { resume }),
				answer: async (question) => {
					asked.push(question);
					return answers.includes(question.key) ? { ok: true } : null;
				},
			},
		);
	await assert.rejects(run(['p']), { code: 'conflict' });
	const id = asked[0]?.executionId ?? '';
	assert.deepEqual(
		(await world.engine.waiting(place(id))).map(({ key }) => key),
		['q'],
	);
	assert.deepEqual(await run(['q'], id), { ok: true });
	assert.deepEqual(
		asked.map(({ key }) => key),
		['p', 'q', 'q'],
	);
});

test('an agent that is deactivated while another one waits for it ends what it has begun, and begins nothing', async () => {
	const { organizationId } = world;
	const inner = await world.addAgent(graph('in>q q>out', { in: ['start'], q: ask, out: ['finish'] }));
	const agent = await world.addAgent(graph('in>s s>out', { in: ['start'], s: ['sub', { agentId: inner.id }], out: ['finish'] }));
	const { run } = await world.start(agent, {});
	await until(async () => (await world.engine.get(place(run.id)))?.run.status === 'waiting', 'it waits');
	const list = () => world.core.store.agents.executions(organizationId, inner.id, { limit: 10, offset: 0 });
	const [child] = (await list()).executions;
	await until(async () => (await world.engine.waiting(place(child?.run.id ?? ''))).length === 1, 'it asks');
	await world.core.store.agents.update(organizationId, inner.id, { status: 'inactive' });
	await world.engine.answer(place(child?.run.id ?? ''), 'q', { ok: true });
	const { run: ended } = await world.ended({ run } as Awaited<ReturnType<typeof world.start>>);
	assert.deepEqual([ended.error, ended.output], [null, { ok: true }]);
	const { run: refused } = await world.ended(await world.start(agent, {}));
	assert.deepEqual([refused.error?.code, refused.error?.message], ['conflict', 'Node "s": The agent "Agent" is not active.']);
	assert.equal((await list()).total, 1);
});
