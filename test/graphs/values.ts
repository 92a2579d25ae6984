// Graphs whose nodes pass values on: placeholders keep their types, and are filled once.

import { graph, work } from '../helpers/graphs.ts';
import { FINISH, type GraphCase, START } from './graph-case.ts';

export const VALUES: readonly GraphCase[] = [
	{
		name: 'values of all types',
		graph: graph('in>out', {
			in: START,
			out: [
				'finish',
				{ value: ['{{input.n}}', '{{input.b}}', '{{input.o}}', '{{input.l[1]}}', 'n={{input.n}}', '{{input.none}}', '{{input.o | json}}'] },
			],
		}),
		input: { n: 1.5, b: false, o: { x: [1] }, l: ['a', { b: 2 }] },
		output: [1.5, false, { x: [1] }, { b: 2 }, 'n=1.5', null, '{"x":[1]}'],
		trace: 'in+ out+',
		effects: '',
	},
	{
		name: 'a value that looks like a placeholder',
		graph: graph('in>a a>out', {
			in: START,
			a: work('a', { value: '{{input.text}}' }),
			out: ['finish', { value: 'it is {{nodes.a.output}}' }],
		}),
		input: { text: '{{input.secret}}', secret: 'no' },
		output: 'it is {{input.secret}}',
		trace: 'in+ a+ out+',
		effects: 'a',
	},
	{
		name: 'paths to what is not own',
		graph: graph('in>out', {
			in: START,
			out: [
				'finish',
				{ value: ['{{input.__proto__}}', '{{input.constructor.name}}', '{{input.text.length}}', '{{nodes.in.output.toString}}'] },
			],
		}),
		input: { text: 'abc' },
		output: [null, null, null, null],
		trace: 'in+ out+',
		effects: '',
	},
	{
		name: 'nodes whose names every object has, seen in a body, too',
		graph: graph('in>__proto__ in>constructor __proto__>each constructor>each each>out', {
			...{ in: START, ['__proto__']: work('a', { value: { x: 1 } }), constructor: work('b', { value: 2 }) },
			each: [
				'each',
				{ items: [1], body: graph('', { y: ['finish', { value: '{{nodes.__proto__.output.x}}{{nodes.constructor.output}}' }] }) },
			],
			out: ['finish', { value: ['{{nodes.each.output}}', '{{nodes.__proto__.output}}', '{{nodes["__proto__"].output.x}}!'] }],
		}),
		input: {},
		output: [[{ ok: '12' }], { x: 1 }, '1!'],
		trace: '__proto__+ constructor+ each+ each[0]/y+ in+ out+',
		effects: 'a b',
	},
	{
		name: 'defaults',
		graph: graph('in>out', {
			in: START,
			out: [
				'finish',
				{
					value: [
						'{{input.a | default("x")}}',
						'{{input.b | default([1, 2])}}',
						'n={{input.c | default(0)}}',
						'{{input.d | default("x")}}',
					],
				},
			],
		}),
		input: { d: 'given' },
		output: ['x', [1, 2], 'n=0', 'given'],
		trace: 'in+ out+',
		effects: '',
	},
	{
		name: 'braces that are meant',
		graph: graph('in>out', { in: START, out: ['finish', { value: 'as \\{{input.a}} and {{input.a}}' }] }),
		input: { a: 1 },
		output: 'as {{input.a}} and 1',
		trace: 'in+ out+',
		effects: '',
	},
	{
		name: 'names with signs',
		graph: graph('in>a-b a-b>out', {
			in: START,
			'a-b': work('a-b'),
			out: ['finish', { value: ['{{nodes.a-b.output}}', '{{input["two words"]}}'] }],
		}),
		input: { 'two words': 2 },
		output: ['a-b', 2],
		trace: 'in+ a-b+ out+',
		effects: 'a-b',
	},
	{
		name: 'a chain of values',
		graph: graph('in>a a>b b>out', {
			in: START,
			a: work('a', { value: { n: '{{input.n}}', l: ['{{input.n}}'] } }),
			b: work('b', { value: { of: '{{nodes.a.output}}', first: '{{nodes.a.output.l[0]}}' } }),
			out: FINISH,
		}),
		input: { n: 7 },
		output: { of: { n: 7, l: [7] }, first: 7 },
		trace: 'in+ a+ b+ out+',
		effects: 'a b',
	},
	{
		name: 'nodes that are computed anew, and keep nothing',
		graph: graph('in>a a>b b>out', {
			in: START,
			a: work('a', { effect: 'none', value: '{{input.n}}' }),
			b: work('b', { effect: 'none', value: ['{{nodes.a.output}}'] }),
			out: FINISH,
		}),
		input: { n: 3 },
		output: [3],
		trace: 'in+ a+ b+ out+',
		effects: 'a b',
	},
	{
		name: 'a node that keeps its parts by itself',
		graph: graph('in>a a>out', { in: START, a: ['parts', { names: ['x', 'y', 'z'] }], out: FINISH }),
		output: ['x', 'y', 'z'],
		trace: 'in+ a+ out+',
		effects: 'x y z',
	},
	{
		name: 'a node that keeps parts that may run once',
		graph: graph('in>a a>b b>out', {
			in: START,
			a: ['parts', { names: ['x', 'y'], once: true }],
			b: work('b', { effect: 'once' }),
			out: FINISH,
		}),
		output: 'b',
		trace: 'in+ a+ b+ out+',
		effects: 'x y b',
	},
];
