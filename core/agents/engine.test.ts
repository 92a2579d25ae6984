// Tests the engine of agents over PostgreSQL, with small nodes.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { agentNodes } from '../../test/helpers/agent-nodes.ts';
import { type AgentWorld, agentWorld, statuses } from '../../test/helpers/agents.ts';
import { until } from '../../test/helpers/clock.ts';
import { graph, type Nodes, work } from '../../test/helpers/graphs.ts';
import type { GatewayError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/nouns.ts';
import { NO_IDENTITY } from '../tools/no-identity.ts';

let world: AgentWorld;
const begun: string[] = [];
const aborted = new Set<string>();
const begunOf = (tag: string): string[] => begun.filter((line) => line.startsWith(`${tag} `)).map((line) => line.slice(tag.length + 1));
before(async () => {
	const note = (tag: string, name: string, signal: AbortSignal): void => {
		begun.push(`${tag} ${name}`);
		signal.addEventListener('abort', () => aborted.add(`${tag} ${name}`));
	};
	world = await agentWorld(agentNodes({ begun: note }));
});
after(() => world[Symbol.asyncDispose]());

test('a run of three nodes gives its output, its trace, and rows that tell nothing', async () => {
	const agent = await world.addAgent(
		graph('in>a a>out', {
			in: ['start'],
			a: work('a', { value: 'Hello {{input.name}}' }),
			out: ['finish', { value: { said: '{{nodes.a.output}}' } }],
		}),
	);
	const { run } = await world.ended(await world.start(agent, { name: 'Ada Lovelace' }));
	assert.deepEqual(
		[run.status, run.output, run.input, run.error],
		['succeeded', { said: 'Hello Ada Lovelace' }, { name: 'Ada Lovelace' }, null],
	);
	assert.deepEqual(await statuses(world, run.id), { in: 'success', a: 'success', out: 'success' });
	const place = { organizationId: world.organizationId, id: run.id };
	const trace = await world.engine.trace(place);
	assert.deepEqual(
		trace.map(({ output }) => output),
		[{ name: 'Ada Lovelace' }, 'Hello Ada Lovelace', { said: 'Hello Ada Lovelace' }],
	);
	const row = await world.core.store.runQueue.get(world.organizationId, run.id);
	const steps = await world.core.store.runQueue.steps(world.organizationId, run.id);
	assert.equal(steps.length, 1);
	assert.ok(!JSON.stringify([row?.input, row?.output, row?.progress, steps]).includes('Lovelace'));
});

const ask: [string, { message: string }] = ['ask', { message: 'Sure about {{input.what}}?' }];

test('a question holds nothing, is answered once, and by what fits its form', async () => {
	const agent = await world.addAgent(graph('in>q q>out', { in: ['start'], q: ask, out: ['finish'] }));
	const told: string[] = [];
	world.engine.tells(async ({ key, message }) => void told.push(`${key} ${message}`));
	const { run } = await world.start(agent, { what: 'it' });
	const place = { organizationId: world.organizationId, id: run.id };
	await until(async () => (await world.engine.get(place))?.run.status === 'waiting', 'it waits');
	assert.deepEqual(told, ['q Sure about it?']);
	assert.deepEqual(await statuses(world, run.id), { in: 'success', q: 'waiting' });
	const [question] = await world.engine.waiting(place);
	assert.deepEqual([question?.key, question?.message, question?.nodeId], ['q', 'Sure about it?', 'q']);
	await assert.rejects(world.engine.answer(place, 'q', { ok: 'yes' }), { code: 'validation_failed' });
	await assert.rejects(world.engine.answer(place, 'other', { ok: true }), { code: 'not_found' });
	await world.engine.answer(place, 'q', { ok: true });
	await assert.rejects(world.engine.answer(place, 'q', { ok: false }), { code: 'conflict' });
	const { run: ended } = await world.engine.wait(place, 60_000);
	assert.deepEqual(ended.output, { ok: true });
	await assert.rejects(world.engine.answer(place, 'q', { ok: false }), { code: 'conflict' });
});

test('a question that has been answered since the run was read is a conflict', async () => {
	const agent = await world.addAgent(graph('in>q q>out', { in: ['start'], q: ask, out: ['finish'] }));
	const { run } = await world.start(agent, { what: 'it' });
	const place = { organizationId: world.organizationId, id: run.id };
	await until(async () => (await world.engine.get(place))?.run.status === 'waiting', 'it waits');
	await world.core.store.agents.answered(place.organizationId, run.id, 'q', 'ada');
	await assert.rejects(world.engine.answer(place, 'q', { ok: false }), { code: 'conflict' });
	await world.engine.cancel(place);
	await assert.rejects(world.engine.answer(place, 'q', { ok: false }), { code: 'conflict' });
});

test('an input that does not fit the schema is refused with its place, and defaults are filled in', async () => {
	const schema = {
		type: 'object',
		properties: { n: { type: 'integer' }, unit: { default: 'm' } },
		required: ['n'],
		additionalProperties: false,
	};
	const agent = await world.addAgent(graph('in>out', { in: ['start', { schema }], out: ['finish'] }));
	await assert.rejects(world.start(agent, { n: 'one' }), (error: GatewayError) => {
		assert.deepEqual([error.code, error.details.map(({ path }) => path)], ['validation_failed', ['/n']]);
		return true;
	});
	assert.deepEqual((await world.ended(await world.start(agent, { n: 1 }))).run.output, { n: 1, unit: 'm' });
});

test('an inactive agent does not start', async () => {
	const { id, organizationId } = await world.addAgent(graph('in>out', { in: ['start'], out: ['finish'] }));
	const agent = await world.core.store.agents.update(organizationId, id, { status: 'inactive' });
	await assert.rejects(world.start(agent ?? assert.fail(), {}), { code: 'conflict' });
});

test('a retry goes on from the node that failed, with what the others did', async () => {
	const nodes = { in: ['start'], a: work('a'), b: work('b', { fails: 1 }), s: work('c'), out: ['finish'] } as const;
	const agent = await world.addAgent(graph('in>a a>b b>s s>out', nodes as unknown as Nodes));
	const failed = await world.ended(await world.start(agent, { tag: 'retried' }));
	assert.deepEqual([failed.run.status, failed.run.error?.message], ['failed', 'Node "b": b failed.']);
	const place = { organizationId: world.organizationId, id: failed.run.id };
	const again = await world.ended(await world.engine.retry(place, 'Ada'));
	assert.deepEqual([again.run.status, again.run.output, again.run.originId], ['succeeded', 'c', failed.run.id]);
	assert.deepEqual(begunOf('retried'), ['a', 'b', 'b', 'c']);
	assert.deepEqual(await statuses(world, again.run.id), { in: 'success', a: 'success', b: 'success', s: 'success', out: 'success' });
	await assert.rejects(world.engine.retry({ ...place, id: again.run.id }, null), { code: 'conflict' });
	assert.equal((await world.engine.get(place))?.run.status, 'failed');
});

test('an execution of an inactive agent is not retried', async () => {
	const agent = await world.addAgent(graph('in>a a>out', { in: ['start'], a: work('a', { fails: 1 }), out: ['finish'] }));
	const { run } = await world.ended(await world.start(agent, { tag: 'switched off' }));
	const place = { organizationId: world.organizationId, id: run.id };
	const set = (status: 'active' | 'inactive') => world.core.store.agents.update(world.organizationId, agent.id, { status });
	await set('inactive');
	await assert.rejects(world.engine.retry(place, null), { code: 'conflict', message: 'The agent "Agent" is not active.' });
	await set('active');
	assert.equal((await world.ended(await world.engine.retry(place, null))).run.status, 'succeeded');
});

test('a retry does not run an agent again that had ended', async () => {
	const inner = await world.addAgent(graph('in>x x>out', { in: ['start'], x: work('x'), out: ['finish'] }));
	const agent = await world.addAgent(
		graph('in>s s>b b>out', {
			...{ in: ['start'], s: ['sub', { agentId: inner.id, input: { tag: '{{input.tag}}' } }], b: work('b', { fails: 1 }) },
			out: ['finish', { value: '{{nodes.s.output}}' }],
		}),
	);
	const failed = await world.ended(await world.start(agent, { tag: 'inner' }));
	const again = await world.ended(await world.engine.retry({ organizationId: world.organizationId, id: failed.run.id }, null));
	assert.deepEqual([again.run.output, begunOf('inner')], ['x', ['x', 'b', 'b']]);
});

test('the trace tells of nodes alone, also where a step or a wait ends like the id of a node', async () => {
	const inner = await world.addAgent(graph('in>out', { in: ['start'], out: ['finish'] }));
	const body = graph('q>end', { q: ['ask', { message: 'Sure?', timeoutMs: 600_000 }], end: ['finish'] });
	const agent = await world.addAgent(
		graph('in>p p>x x>s s>each each>output', {
			...{ in: ['start'], p: ['parts', { names: ['x'] }], x: work('x'), s: ['sub', { agentId: inner.id }] },
			...{ each: ['each', { items: [1], body } as unknown as JsonObject], output: ['finish'] },
		}),
	);
	const { run } = await world.start(agent, {});
	const place = { organizationId: world.organizationId, id: run.id };
	await until(async () => (await world.engine.waiting(place)).length === 1, 'it asks');
	await until(async () => (await world.engine.get(place))?.run.status === 'waiting', 'it waits');
	const done = { in: 'success', p: 'success', x: 'success', s: 'success' };
	assert.deepEqual(await statuses(world, run.id), { ...done, each: 'running', 'each[0]/q': 'waiting' });
	await world.engine.answer(place, 'each[0]/q', { ok: true });
	await world.engine.wait(place, 60_000);
	const ended = { each: 'success', 'each[0]/q': 'success', 'each[0]/end': 'success', output: 'success' };
	assert.deepEqual(await statuses(world, run.id), { ...done, ...ended });
});

test('cancelling ends the node under way, the agents that it runs, and stays', async () => {
	const inner = await world.addAgent(graph('in>x x>out', { in: ['start'], x: work('x', { ms: 600_000 }), out: ['finish'] }));
	const agent = await world.addAgent(
		graph('in>s s>out', { in: ['start'], s: ['sub', { agentId: inner.id, input: { tag: '{{input.tag}}' } }], out: ['finish'] }),
	);
	const { run } = await world.start(agent, { tag: 'cancelled' });
	await until(() => begunOf('cancelled').length === 1, 'the inner one is under way');
	const place = { organizationId: world.organizationId, id: run.id };
	assert.equal(await world.engine.cancel(place), true);
	await until(() => aborted.has('cancelled x'), 'its node is ended');
	assert.equal(await world.engine.cancel(place), false);
	assert.equal((await world.engine.get(place))?.run.status, 'cancelled');
	const { executions } = await world.core.store.agents.executions(world.organizationId, inner.id, { limit: 10, offset: 0 });
	assert.deepEqual(
		executions.map((one) => [one.run.status, one.startedBy]),
		[['cancelled', `agent:${agent.id}`]],
	);
});

test('a node of several ways out that fails ends the run, also where it was saved to go on', async () => {
	const i: [string, JsonObject] = ['choose', { way: '{{input.way}}', policy: { onError: 'continue' } }];
	const agent = await world.addAgent(graph('in>i i.yes>out', { in: ['start'], i, out: ['finish'] }));
	const ended = async (way: string) => (await world.ended(await world.start(agent, { way }))).run;
	assert.deepEqual([(await ended('yes')).status, (await ended('elsewhere')).status], ['succeeded', 'failed']);
	assert.match((await ended('elsewhere')).error?.message ?? '', /^Node "i": /);
});

test('agents that run each other in a circle are refused when saved, and end when they do', async () => {
	const first = await world.addAgent(graph('in>out', { in: ['start'], out: ['finish'] }));
	const second = await world.addAgent(graph('in>s s>out', { in: ['start'], s: ['sub', { agentId: first.id }], out: ['finish'] }));
	const pipeline = graph('in>s s>out', { in: ['start'], s: ['sub', { agentId: second.id }], out: ['finish'] });
	assert.deepEqual(await world.engine.check(world.organizationId, pipeline, first.id), [
		{ path: '/nodes/1/data/agentId', message: 'Node "s": the agents would run each other in a circle.' },
	]);
	const ring = await world.core.store.agents.update(world.organizationId, first.id, { pipeline });
	const { run } = await world.ended(await world.start(ring ?? assert.fail(), {}));
	assert.deepEqual([run.status, run.error?.code], ['failed', 'conflict']);
	assert.match(run.error?.message ?? '', /circle/);
});

test('an agent runs as a tool of a call, with its progress, and ends with the call', async () => {
	const agent = await world.addAgent(graph('in>a a>out', { in: ['start'], a: work('a', { ms: 400 }), out: ['finish'] }));
	const progress: number[] = [];
	const call = {
		...{ plugin: 'executor:agent', organizationId: world.organizationId, gateway: null, caller: null, shelf: null, identity: NO_IDENTITY },
		...{ entry: null, signal: new AbortController().signal, listener: (done: number) => void progress.push(done) },
	};
	assert.equal(await world.desk.of(call).run(agent.id, { tag: 'tool' }), 'a');
	assert.deepEqual(
		progress,
		[...progress].sort((a, b) => a - b),
	);
	await assert.rejects(world.desk.of({ ...call, ofAgent: { runId: randomUUID(), chain: [agent.id], within: [] } }).run(agent.id, {}), {
		code: 'conflict',
	});
	await assert.rejects(world.desk.of(call).run(randomUUID(), {}), { code: 'not_found' });
	const leaving = new AbortController();
	const slow = await world.addAgent(graph('in>a a>out', { in: ['start'], a: work('slow', { ms: 600_000 }), out: ['finish'] }));
	const running = world.desk.of(call).run(slow.id, { tag: 'left' }, { signal: leaving.signal });
	await until(() => begunOf('left').length === 1, 'it is under way');
	leaving.abort(new Error('gone'));
	await assert.rejects(running, { message: 'gone' });
	await until(() => aborted.has('left slow'), 'its node is ended');
});

test('a branch goes on while another one waits for a person', async () => {
	const agent = await world.addAgent(
		graph('in>q q>out in>a a>b b>c c>d d>out', {
			...{ in: ['start'], q: ask, a: work('a', { ms: 100 }), b: work('b', { effect: 'none' }), c: work('c'), d: work('d') },
			out: ['finish'],
		}),
	);
	const { run } = await world.start(agent, { tag: 'branch' });
	const place = { organizationId: world.organizationId, id: run.id };
	await until(async () => (await world.engine.get(place))?.run.status === 'waiting', 'it waits');
	assert.deepEqual(begunOf('branch'), ['a', 'b', 'c', 'd']);
	await world.engine.cancel(place);
});

test('a run goes on under the definition with which it began', async () => {
	const agent = await world.addAgent(graph('in>q q>a a>out', { in: ['start'], q: ask, a: work('old'), out: ['finish'] }));
	const { run } = await world.start(agent, { tag: 'pinned' });
	const place = { organizationId: world.organizationId, id: run.id };
	await until(async () => (await world.engine.waiting(place)).length === 1, 'it waits');
	const pipeline = graph('in>out', { in: ['start'], out: ['finish', { value: 'new' }] });
	await world.core.store.agents.update(world.organizationId, agent.id, { pipeline });
	await world.engine.answer(place, 'q', { ok: true });
	assert.equal((await world.engine.wait(place, 60_000)).run.output, 'old');
});

test('a large output is cut in the trace, and whole on demand', async () => {
	const text = 'x'.repeat(100_000);
	const agent = await world.addAgent(
		graph('in>a a>b b>out', {
			in: ['start'],
			...{
				a: work('a', { value: '{{input.text}}' }),
				b: work('b', { effect: 'none', value: '{{input.text}}' }),
				out: ['finish', { value: 1 }],
			},
		}),
	);
	const { run } = await world.ended(await world.start(agent, { text }));
	const place = { organizationId: world.organizationId, id: run.id };
	for (const entry of await world.engine.trace(place)) {
		assert.equal(entry.isTruncated, entry.key !== 'out', entry.key);
		assert.ok(JSON.stringify(entry.output).length < 70_000);
	}
	for (const key of ['a', 'b']) {
		const [whole, ...others] = await world.engine.trace(place, { full: key });
		assert.deepEqual([whole?.output, whole?.isTruncated, others], [text, false, []]);
	}
	await assert.rejects(world.engine.trace(place, { full: 'c' }), { code: 'not_found' });
});

test('an output that is too large to be read with others is cut in the trace, and whole on demand', async () => {
	const text = 'x'.repeat(300_000);
	const agent = await world.addAgent(graph('in>a a>out', { in: ['start'], a: work('a', { value: '{{input.text}}' }), out: ['finish'] }));
	const { run } = await world.ended(await world.start(agent, { text }));
	const place = { organizationId: world.organizationId, id: run.id };
	const shown = (await world.engine.trace(place)).find(({ key }) => key === 'a');
	assert.deepEqual([shown?.status, shown?.tries, shown?.output, shown?.isTruncated], ['success', 1, null, true]);
	const [whole] = await world.engine.trace(place, { full: 'a' });
	assert.deepEqual([whole?.output, whole?.isTruncated], [text, false]);
	const bare = await world.engine.trace(place, { outputs: false });
	assert.deepEqual(
		bare.map(({ key, status }) => [key, status]),
		[
			['in', 'success'],
			['a', 'success'],
			['out', 'success'],
		],
	);
});

test('who follows an execution reads what lists show of it, and neither its input nor its output', async () => {
	const agent = await world.addAgent(graph('in>q q>out', { in: ['start'], q: ask, out: ['finish'] }));
	const { run } = await world.start(agent, { what: 'it' });
	const place = { organizationId: world.organizationId, id: run.id };
	const seen: string[] = [];
	for await (const execution of world.engine.follow(place, AbortSignal.timeout(60_000))) {
		if (!execution) continue;
		for (const large of ['definition', 'input', 'output', 'progress']) assert.ok(!(large in execution.run), large);
		assert.equal(execution.agentId, agent.id);
		if (execution.run.status === 'waiting' && !seen.includes('waiting')) await world.engine.answer(place, 'q', { ok: true });
		seen.push(execution.run.status);
	}
	assert.deepEqual([seen.includes('waiting'), seen.at(-1)], [true, 'succeeded']);
});

test('an unknown execution is not found', async () => {
	const place = { organizationId: world.organizationId, id: randomUUID() };
	assert.equal(await world.engine.get(place), null);
	const { engine } = world;
	const verbs = [
		() => engine.trace(place),
		() => engine.cancel(place),
		() => engine.retry(place, null),
		() => engine.answer(place, 'q', 1),
	];
	for (const verb of verbs) await assert.rejects(verb(), { code: 'not_found' });
});
