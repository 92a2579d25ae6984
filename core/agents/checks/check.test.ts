// Tests what is found wrong with a pipeline when it is saved: all of it at once, each with its place.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import Joi from 'joi';
import { agentNodes } from '../../../test/helpers/agent-nodes.ts';
import { type AgentWorld, agentWorld } from '../../../test/helpers/agents.ts';
import { graph, type Nodes, work } from '../../../test/helpers/graphs.ts';
import type { PipelineNode } from '../../contract/nodes.ts';
import type { JsonObject } from '../../contract/nouns.ts';
import type { Pipeline } from '../../store/store.ts';

const CROWD: PipelineNode<{ agentIds: string[] }> = {
	...{ kind: 'node', api: 1, name: 'crowd', summary: 'Names many agents.', effect: 'none' },
	config: Joi.object({ agentIds: Joi.array().items(Joi.string()).required() }),
	uses: ({ agentIds }) => agentIds.map((id, at) => ({ kind: 'agent', id, path: `/agentIds/${at}` })),
	run: async () => ({ output: null }),
};

let world: AgentWorld;
before(async () => {
	world = await agentWorld([...agentNodes(), CROWD]);
});
after(() => world[Symbol.asyncDispose]());

const START: [string] = ['start'];
const FINISH: [string] = ['finish'];
const check = async (pipeline: Pipeline): Promise<string[]> =>
	(await world.engine.check(world.organizationId, pipeline, null)).map(({ path, message }) => `${path} ${message}`);
const finds = async (pipeline: Pipeline, ...expected: RegExp[]): Promise<void> => {
	const found = await check(pipeline);
	assert.equal(found.length, expected.length, found.join('\n'));
	for (const one of expected)
		assert.ok(
			found.some((fault) => one.test(fault)),
			`${one}\n${found.join('\n')}`,
		);
};
const around = (data: JsonObject, nodes: Nodes = {}) =>
	graph('in>a a>out', { in: START, a: ['work', { name: 'a', ...data }], out: FINISH, ...nodes });

test('a graph that is right has no fault', () => finds(around({ value: '{{input.a}} {{nodes.in.output.b}}' })));

test('a cycle', () =>
	finds(
		graph('in>a a>b b>c c>a c>out', { in: START, a: work('a'), b: work('b'), c: work('c'), out: FINISH }),
		...['a', 'b', 'c'].map((id) => new RegExp(`^/nodes/\\d Node "${id}": it is part of a cycle`)),
	));

test('a node that leads to itself', () =>
	finds(graph('in>a a>a a>out', { in: START, a: work('a'), out: FINISH }), /^\/nodes\/1 Node "a": it is part of a cycle/));

test('a node that is never reached', () =>
	finds(graph('in>out a>out', { in: START, a: work('a'), out: FINISH }), /^\/nodes\/1 Node "a": no path leads to it/));

test('no output, no input, no nodes', async () => {
	await finds(graph('in>a', { in: START, a: work('a') }), /^\/nodes A graph has a node that gives its output/);
	await finds(graph('a>out', { a: work('a'), out: FINISH }), /^\/nodes A pipeline has a node at which a run enters/);
	await finds({ nodes: [], edges: [] }, /enters/, /output/, /one node at least/);
});

test('two inputs, an edge to an input, and one from an output', () =>
	finds(
		graph('in>out in2>out out>a a>in', { in: START, in2: START, a: work('a'), out: FINISH }),
		/^\/nodes\/1 Node "in2": a pipeline has one node/,
		...[/^\/edges\/2 Edge "e2": no edge leaves node "out"/, /^\/edges\/3 Edge "e3": no edge leads to node "in"/],
		...['in', 'a', 'out'].map((id) => new RegExp(`Node "${id}": it is part of a cycle`)),
	));

test('ids that are used twice, edges that lead nowhere, and ways out that are not there', () => {
	const pipeline = graph('in>a in>gone gone>out a.up>out i>out i.yes>out in>out', {
		...{ in: START, a: work('a'), i: ['choose', { way: 'yes' }], out: FINISH },
	});
	pipeline.edges.push({ id: 'e0', source: 'in', target: 'i' });
	pipeline.edges.push({ id: 'e9', source: 'in', target: 'a' });
	pipeline.nodes.push({ id: 'a', type: 'work', data: { name: 'again' } });
	return finds(
		pipeline,
		/^\/nodes\/4\/id Two nodes have the id "a"/,
		/^\/edges\/1\/target Edge "e1": there is no node "gone"/,
		/^\/edges\/2\/source Edge "e2": there is no node "gone"/,
		/^\/edges\/3\/sourceHandle Edge "e3": node "a" has no way out "up"/,
		/^\/edges\/4\/sourceHandle Edge "e4": node "i" has no way out without a name: .* it has "yes", "no"/,
		/^\/edges\/7\/id Two edges have the id "e0"/,
		/^\/edges\/8 Edge "e9": another edge leads from "in" to "a"/,
	);
});

test('types, configs and policies that do not fit, all at once', () => {
	const pipeline = graph('in>a a>b b>c c>out', {
		...{
			in: START,
			a: ['unheard'],
			b: ['work', { effect: 'never', extra: 1, policy: { retries: -1, onError: 'panic' } }],
			c: work('c'),
			out: FINISH,
		},
	});
	return finds(
		pipeline,
		/^\/nodes\/1\/type Node "a": there is no type "unheard"; the types are .*work/,
		/^\/nodes\/2\/data\/effect Node "b": /,
		/^\/nodes\/2\/data\/extra Node "b": /,
		/^\/nodes\/2\/data\/name Node "b": /,
		/^\/nodes\/2\/data\/policy\/retries Node "b": /,
		/^\/nodes\/2\/data\/policy\/onError Node "b": /,
	);
});

test('a policy that goes on with a fallback at a node of several ways out', async () => {
	const pipeline = (onError: string) =>
		graph('in>i i.yes>a i.no>out a>out', {
			...{ in: START, a: work('a', { policy: { onError: 'continue' } }), out: FINISH },
			i: ['choose', { way: 'yes', policy: { onError } }],
		});
	await finds(pipeline('continue'), /^\/nodes\/3\/data\/policy\/onError Node "i": "continue" takes no way out/);
	await finds(pipeline('branch'));
});

test('references to what is not before the node', async () => {
	await finds(
		around({ value: '{{nodes.out.output}}' }),
		/^\/nodes\/1\/data\/value Node "a": {{nodes.out.output}} names the node "out", which is not before it/,
	);
	await finds(around({ value: ['{{nodes.a.output}}', '{{nodes.b.output}}'] }), /\/value\/0 .*"a"/, /\/value\/1 .*"b"/);
	await finds(around({ value: '{{nodes.in.input}}' }), /must go on with output, or error/);
	await finds(
		around({ value: '{{item}} {{index}} {{parent.item}} {{other}}' }),
		/item/,
		/index/,
		/parent/,
		/begins with none of input, nodes/,
	);
	await finds(around({ value: '{{input' }), /is not closed/);
});

test('members that the schema of the input does not allow, where it is closed', async () => {
	const inner = { type: 'object', properties: { b: {} }, additionalProperties: false };
	const schema = { type: 'object', properties: { a: inner, l: { items: inner }, any: {} }, additionalProperties: false };
	const of = (value: string) => around({ value }, { in: ['start', { schema }] });
	await finds(of('{{input.a.b.c}} {{input.any.x}} {{input.l[0].b}}'));
	await finds(of('{{input.z}}'), /{{input.z}} names "z", which the schema of the input does not allow/);
	await finds(of('{{input.a.z}}'), /names "z"/);
	await finds(of('{{input.l[0].z}}'), /names "z"/);
});

test('bodies, by the same rules', async () => {
	const body = (edges: string, nodes: Nodes): Pipeline =>
		graph('in>m m>out', { in: START, m: ['each', { items: [], body: graph(edges, nodes) }], out: FINISH });
	await finds(body('x>y', { x: work('{{item.a}} {{index}} {{nodes.in.output}} {{input.a}}'), y: FINISH }));
	const at = '^/nodes/1/data/body';
	await finds(body('x>y', { x: work('{{nodes.m.output}}'), y: FINISH }), new RegExp(`${at}/nodes/0/data/name Node "x": .*"m"`));
	await finds(body('x>y', { x: work('{{parent.item}}'), y: FINISH }), /names a body around this one/);
	await finds(body('x>y', { x: work('x'), y: work('y') }), new RegExp(`${at}/nodes A graph has a node that gives its output`));
	await finds(body('s>y', { s: START, y: FINISH }), new RegExp(`${at}/nodes/0 Node "s": a body has no node at which a run enters`));
	await finds(body('out>y', { out: work('x'), y: FINISH }), new RegExp(`${at}/nodes/0/id Two nodes have the id "out"`));
	await finds(body('x>y y>x x>z', { x: work('x'), y: work('y'), z: FINISH }), /"x": it is part of a cycle/, /"y": it is part of a cycle/);
});

test('rows that the organization does not have', async () => {
	const of = (agentId: string) => graph('in>s s>out', { in: START, s: ['sub', { agentId }], out: FINISH });
	await finds(of(randomUUID()), /^\/nodes\/1\/data\/agentId Node "s": there is no agent/);
	await finds(of('nonsense'), /there is no agent "nonsense"/);
	const own = await world.addAgent(graph('in>out', { in: START, out: FINISH }));
	await finds(of(own.id));
});

test('sizes are bounded before anything else', async () => {
	const many = Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`n${index}`, work('n')]));
	await finds(graph('', many), /^\/nodes A pipeline has a list of at most 200 nodes/);
	const edges = Array.from({ length: 1_001 }, (_, index) => ({ id: `e${index}`, source: 'a', target: 'b' }));
	await finds({ nodes: [], edges }, /^\/edges A pipeline has a list of at most 1000 edges/);
	await finds(around({ value: 'x'.repeat(600_000) }), /^\/nodes A pipeline has at most 524288 characters/);
	const body = { nodes: Object.entries(many).map(([id, [type, data]]) => ({ id, type, data })), edges: [] };
	await finds(
		graph('in>m m>out', { in: START, m: ['each', { items: [], body } as unknown as JsonObject], out: FINISH }),
		/bodies included/,
	);
});

test('a node has at most 2,000 placeholders, in one text or in many', async () => {
	const value = '{{input.a}}'.repeat(1_000);
	await finds(around({ value: [value, value] }));
	await finds(around({ value: [value, value, '{{input.a}}'] }), /\/value\/2 Node "a": its texts have more than 2000 placeholders/);
	await finds(around({ value: '{{input.a}}'.repeat(40_000) }), /\/value Node "a": it has more than 2000 placeholders/);
});

test('more rows than a pipeline may name: none of them is looked up', async () => {
	const naming = (count: number): Pipeline =>
		graph('in>a a>out', { in: START, a: ['crowd', { agentIds: Array.from({ length: count }, () => randomUUID()) }], out: FINISH });
	await finds(naming(501), /^\/nodes A pipeline may name 500 tools, gateways, agents and LLM providers, and this one names 501\.$/);
	assert.match((await check(naming(500))).join('\n'), /there is no agent/);
});
