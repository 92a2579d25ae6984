// Graphs with bodies: iterations, nested ones, and those that fail.

import type { Json, JsonObject } from '../../core/contract/nouns.ts';
import { graph, type Nodes, work } from '../helpers/graphs.ts';
import { FINISH, type GraphCase, START } from './graph-case.ts';

const FAILS = 1_000;
const each = (items: Json, edges: string, nodes: Nodes, more: JsonObject = {}): [string, JsonObject] => [
	'each',
	{ items, body: graph(edges, nodes), ...more },
];
const over = (items: Json, edges: string, nodes: Nodes, more: JsonObject = {}) =>
	graph('in>m m>out', { in: START, m: each(items, edges, nodes, more), out: FINISH });
const done = (value: Json): [string, JsonObject] => ['finish', { value }];
const UPSTREAM = (name: string) => ({ error: { code: 'upstream_failed', message: `Node "x": ${name} failed.` } });

export const BODIES: readonly GraphCase[] = [
	{ name: 'no items', graph: over([], 'x>y', { x: work('x'), y: FINISH }), output: [], trace: 'in+ m+ out+', effects: '' },
	{
		name: 'three items',
		graph: over(['a', 'b', 'c'], 'x>y', { x: work('{{item}}'), y: FINISH }),
		output: [{ ok: 'a' }, { ok: 'b' }, { ok: 'c' }],
		trace: 'in+ m+ m[0]/x+ m[0]/y+ m[1]/x+ m[1]/y+ m[2]/x+ m[2]/y+ out+',
		effects: 'a b c',
	},
	{
		name: 'items of the input, and their indexes',
		graph: over('{{input.list}}', 'y>z', { y: work('n{{index}}', { value: ['{{item.v}}', '{{index}}', '{{input.more}}'] }), z: FINISH }),
		input: { list: [{ v: 1 }, { v: 2 }], more: 'm' },
		output: [{ ok: [1, 0, 'm'] }, { ok: [2, 1, 'm'] }],
		trace: 'in+ m+ m[0]/y+ m[0]/z+ m[1]/y+ m[1]/z+ out+',
		effects: 'n0 n1',
	},
	{
		name: 'a body that passes its items on',
		graph: over([1, { a: 2 }], '', { y: FINISH }),
		output: [{ ok: 1 }, { ok: { a: 2 } }],
		trace: 'in+ m+ m[0]/y+ m[1]/y+ out+',
		effects: '',
	},
	{
		name: 'items one at a time',
		graph: over([0, 1, 2], 'x>y', { x: work('n{{item}}'), y: FINISH }, { concurrency: 1 }),
		output: [{ ok: 'n0' }, { ok: 'n1' }, { ok: 'n2' }],
		trace: 'in+ m+ m[0]/x+ m[0]/y+ m[1]/x+ m[1]/y+ m[2]/x+ m[2]/y+ out+',
		effects: 'n0 n1 n2',
	},
	{
		name: 'a body that sees the nodes around it',
		graph: graph('in>a a>m m>out', {
			...{ in: START, a: work('a', { value: { base: 10 } }) },
			m: each([1], 'x>y', { x: work('x', { value: ['{{nodes.a.output.base}}', '{{item}}'] }), y: FINISH }),
			out: FINISH,
		}),
		output: [{ ok: [10, 1] }],
		trace: 'in+ a+ m+ m[0]/x+ m[0]/y+ out+',
		effects: 'a x',
	},
	{
		name: 'a body that splits and joins',
		graph: over([0, 1], 'a>b a>c b>d c>d', {
			...{ a: work('a{{index}}'), b: work('b{{index}}'), c: work('c{{index}}'), d: done(['{{nodes.b.output}}', '{{nodes.c.output}}']) },
		}),
		output: [{ ok: ['b0', 'c0'] }, { ok: ['b1', 'c1'] }],
		trace: 'in+ m+ m[0]/a+ m[0]/b+ m[0]/c+ m[0]/d+ m[1]/a+ m[1]/b+ m[1]/c+ m[1]/d+ out+',
		effects: 'a0 b0 c0 a1 b1 c1',
	},
	{
		name: 'a body that chooses by its item',
		graph: over(['yes', 'no'], 'i.yes>a a>z i.no>b b>z', {
			...{ i: ['choose', { way: '{{item}}', ways: ['yes', 'no'] }], a: work('a'), b: work('b'), z: FINISH },
		}),
		output: [{ ok: 'a' }, { ok: 'b' }],
		trace: 'in+ m+ m[0]/i+ m[0]/a+ m[0]/b- m[0]/z+ m[1]/i+ m[1]/a- m[1]/b+ m[1]/z+ out+',
		effects: 'a b',
	},
	{
		name: 'two roots of a body',
		graph: over([5], 'a>z b>z', { a: work('a'), b: work('b'), z: done(['{{nodes.a.output}}', '{{nodes.b.output}}']) }),
		output: [{ ok: ['a', 'b'] }],
		trace: 'in+ m+ m[0]/a+ m[0]/b+ m[0]/z+ out+',
		effects: 'a b',
	},
	{
		name: 'an item that fails, and others that do not',
		graph: over(
			['a', 'b', 'c'],
			'i.b>x i.a>y i.c>y x>z y>z',
			{
				...{ i: ['choose', { way: '{{item}}', ways: ['a', 'b', 'c'] }], x: work('b', { fails: FAILS }), y: work('{{item}}'), z: FINISH },
			},
			{ concurrency: 1 },
		),
		output: [{ ok: 'a' }, UPSTREAM('b'), { ok: 'c' }],
		trace: 'in+ m+ m[0]/i+ m[0]/x- m[0]/y+ m[0]/z+ m[1]/i+ m[1]/x! m[1]/y- m[2]/i+ m[2]/x- m[2]/y+ m[2]/z+ out+',
		effects: 'a b c',
	},
	{
		name: 'all items failing',
		graph: over([0, 1], 'x>z', { x: work('n{{item}}', { fails: FAILS }), z: FINISH }),
		output: [UPSTREAM('n0'), UPSTREAM('n1')],
		trace: 'in+ m+ m[0]/x! m[1]/x! out+',
		effects: 'n0 n1',
	},
	{
		name: 'an item that stops the others',
		graph: over([0, 1, 2], 'x>z', { x: work('n{{item}}', { fails: FAILS }), z: FINISH }, { concurrency: 1, stops: true }),
		fault: ['upstream_failed', 'x'],
		trace: 'in+ m! m[0]/x!',
		effects: 'n0',
	},
	{
		name: 'an item that stops another one which is under way',
		graph: over(
			['slow', 'bad'],
			'i.slow>s i.bad>x s>z x>z',
			{
				i: ['choose', { way: '{{item}}', ways: ['slow', 'bad'] }],
				...{ s: work('s', { ms: 60_000 }), x: work('x', { fails: FAILS, ms: 20 }), z: FINISH },
			},
			{ concurrency: 2, stops: true },
		),
		fault: ['upstream_failed', 'x'],
		trace: 'in+ m! m[0]/i+ m[0]/x- m[0]/s! m[1]/i+ m[1]/s- m[1]/x!',
		effects: 's x',
	},
	{
		name: 'items that are tried again',
		graph: over([0, 1], 'x>z', { x: work('n{{item}}', { fails: 1, policy: { retries: 1, backoffMs: 1 } }), z: FINISH }),
		output: [{ ok: 'n0' }, { ok: 'n1' }],
		trace: 'in+ m+ m[0]/x+ m[0]/z+ m[1]/x+ m[1]/z+ out+',
		effects: 'n0 n0 n1 n1',
	},
	{
		name: 'a body in a body',
		graph: over([['a', 'b'], ['c']], 'n>z', {
			n: each('{{item}}', 'x>y', { x: work('{{item}}', { value: '{{parent.index}}.{{index}}={{item}}' }), y: FINISH }),
			z: FINISH,
		}),
		output: [{ ok: [{ ok: '0.0=a' }, { ok: '0.1=b' }] }, { ok: [{ ok: '1.0=c' }] }],
		trace: 'in+ m+ m[0]/n+ m[0]/n[0]/x+ m[0]/n[0]/y+ m[0]/n[1]/x+ m[0]/n[1]/y+ m[0]/z+ m[1]/n+ m[1]/n[0]/x+ m[1]/n[0]/y+ m[1]/z+ out+',
		effects: 'a b c',
	},
	{
		name: 'a fault in a body in a body',
		graph: over([[0], [1]], 'n>z', { n: each('{{item}}', 'x>y', { x: work('n{{item}}', { fails: FAILS }), y: FINISH }), z: FINISH }),
		output: [{ ok: [UPSTREAM('n0')] }, { ok: [UPSTREAM('n1')] }],
		trace: 'in+ m+ m[0]/n+ m[0]/n[0]/x! m[0]/z+ m[1]/n+ m[1]/n[0]/x! m[1]/z+ out+',
		effects: 'n0 n1',
	},
	{
		name: 'bodies three deep',
		graph: over([[[1]]], 'n>z', {
			n: each('{{item}}', 'o>y', {
				o: each('{{item}}', 'x>w', { x: work('x', { value: '{{parent.parent.index}}/{{item}}' }), w: FINISH }),
				y: FINISH,
			}),
			z: FINISH,
		}),
		output: [{ ok: [{ ok: [{ ok: '0/1' }] }] }],
		trace: 'in+ m+ m[0]/n+ m[0]/n[0]/o+ m[0]/n[0]/o[0]/x+ m[0]/n[0]/o[0]/w+ m[0]/n[0]/y+ m[0]/z+ out+',
		effects: 'x',
	},
	{
		name: 'items that are no list',
		graph: over('{{input.none}}', 'x>y', { x: work('x'), y: FINISH }),
		...{ fault: ['internal', 'm'], trace: 'in+ m!', effects: '' },
	},
	{
		name: 'two iterations at once',
		graph: graph('in>m in>n m>out n>out', {
			...{
				in: START,
				m: each([0, 1], 'x>y', { x: work('m{{item}}'), y: FINISH }),
				n: each([0], 'v>w', { v: work('n{{item}}'), w: FINISH }),
			},
			out: done(['{{nodes.m.output}}', '{{nodes.n.output}}']),
		}),
		output: [[{ ok: 'm0' }, { ok: 'm1' }], [{ ok: 'n0' }]],
		trace: 'in+ m+ m[0]/x+ m[0]/y+ m[1]/x+ m[1]/y+ n+ n[0]/v+ n[0]/w+ out+',
		effects: 'm0 m1 n0',
	},
];
