// Graphs whose edges split and join: a node starts once, when all that lead to it have settled.

import { graph, work } from '../helpers/graphs.ts';
import { FINISH, type GraphCase, START } from './graph-case.ts';

const ends = (...names: string[]): Record<string, string> => Object.fromEntries(names.map((name) => [name, `{{nodes.${name}.output}}`]));
const choose = (way: string, ...ways: string[]): [string, { way: string; ways: string[] }] => ['choose', { way, ways }];
const finish = (...names: string[]): [string, { value: Record<string, string> }] => ['finish', { value: ends(...names) }];

export const JOINS: readonly GraphCase[] = [
	{ name: 'nothing between its ends', graph: graph('in>out', { in: START, out: FINISH }), input: { a: 1 }, trace: 'in+ out+', effects: '' },
	{
		name: 'one node',
		graph: graph('in>a a>out', { in: START, a: work('a'), out: FINISH }),
		output: 'a',
		trace: 'in+ a+ out+',
		effects: 'a',
	},
	{
		name: 'a chain of five',
		graph: graph('in>a a>b b>c c>d d>e e>out', {
			in: START,
			a: work('a'),
			b: work('b'),
			c: work('c'),
			d: work('d'),
			e: work('e'),
			out: FINISH,
		}),
		output: 'e',
		trace: 'in+ a+ b+ c+ d+ e+ out+',
		effects: 'a b c d e',
	},
	{
		name: 'a diamond',
		graph: graph('in>a a>b a>c b>d c>d d>out', {
			in: START,
			a: work('a'),
			b: work('b'),
			c: work('c'),
			d: work('d'),
			out: finish('b', 'c', 'd'),
		}),
		output: { b: 'b', c: 'c', d: 'd' },
		trace: 'in+ a+ b+ c+ d+ out+',
		effects: 'a b c d',
	},
	{
		name: 'a diamond whose ways are of unequal length',
		graph: graph('in>a in>b b>c c>d a>out d>out', {
			in: START,
			a: work('a'),
			b: work('b', { ms: 20 }),
			c: work('c'),
			d: work('d'),
			out: finish('a', 'd'),
		}),
		output: { a: 'a', d: 'd' },
		trace: 'in+ a+ b+ c+ d+ out+',
		effects: 'a b c d',
	},
	{
		name: 'two diamonds, one after the other',
		graph: graph('in>a in>b a>c b>c c>d c>e d>out e>out', {
			in: START,
			...{ a: work('a'), b: work('b'), c: work('c'), d: work('d'), e: work('e') },
			out: finish('c', 'd', 'e'),
		}),
		output: { c: 'c', d: 'd', e: 'e' },
		trace: 'in+ a+ b+ c+ d+ e+ out+',
		effects: 'a b c d e',
	},
	{
		name: 'a shortcut beside a node',
		graph: graph('in>a a>out in>out', { in: START, a: work('a'), out: finish('a') }),
		output: { a: 'a' },
		trace: 'in+ a+ out+',
		effects: 'a',
	},
	{
		name: 'ten nodes at once',
		graph: graph(Array.from({ length: 10 }, (_, index) => `in>n${index} n${index}>out`).join(' '), {
			in: START,
			...Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`n${index}`, work(`n${index}`)])),
			out: finish('n0', 'n9'),
		}),
		output: { n0: 'n0', n9: 'n9' },
		trace: `in+ ${Array.from({ length: 10 }, (_, index) => `n${index}+`).join(' ')} out+`,
		effects: 'n0 n1 n2 n3 n4 n5 n6 n7 n8 n9',
	},
	{
		name: 'a choice of one way',
		graph: graph('in>if if.yes>a if.no>b a>out b>out', {
			in: START,
			if: choose('yes', 'yes', 'no'),
			a: work('a'),
			b: work('b'),
			out: FINISH,
		}),
		output: 'a',
		trace: 'in+ if+ a+ b- out+',
		effects: 'a',
	},
	{
		name: 'a choice of the other way',
		graph: graph('in>if if.yes>a if.no>b a>out b>out', {
			in: START,
			if: choose('no', 'yes', 'no'),
			a: work('a'),
			b: work('b'),
			out: FINISH,
		}),
		output: 'b',
		trace: 'in+ if+ a- b+ out+',
		effects: 'b',
	},
	{
		name: 'a choice by its input',
		graph: graph('in>if if.yes>a if.no>b a>out b>out', {
			...{ in: START, if: choose('{{input.way}}', 'yes', 'no'), a: work('a'), b: work('b'), out: FINISH },
		}),
		input: { way: 'no' },
		output: 'b',
		trace: 'in+ if+ a- b+ out+',
		effects: 'b',
	},
	{
		name: 'a way out that leads nowhere',
		graph: graph('in>if if.yes>a a>out', { in: START, if: choose('no', 'yes', 'no'), a: work('a'), out: FINISH }),
		output: null,
		trace: 'in+ if+ a- out-',
		effects: '',
	},
	{
		name: 'a skipped chain that joins one that ran',
		graph: graph('in>if if.yes>a a>b b>c if.no>d c>e d>e e>out', {
			...{ in: START, if: choose('no', 'yes', 'no'), a: work('a'), b: work('b'), c: work('c'), d: work('d'), e: work('e') },
			out: finish('c', 'd', 'e'),
		}),
		output: { c: null, d: 'd', e: 'e' },
		trace: 'in+ if+ a- b- c- d+ e+ out+',
		effects: 'd e',
	},
	{
		name: 'a join of which all ways are skipped',
		graph: graph('in>if if.no>z if.yes>a if.yes>b a>c b>c c>out z>out', {
			...{ in: START, if: choose('no', 'yes', 'no'), a: work('a'), b: work('b'), c: work('c'), z: work('z'), out: FINISH },
		}),
		output: 'z',
		trace: 'in+ if+ a- b- c- z+ out+',
		effects: 'z',
	},
	{
		name: 'a choice behind a choice',
		graph: graph('in>i i.yes>j i.no>a j.yes>b j.no>c a>out b>out c>out', {
			...{ in: START, i: choose('yes', 'yes', 'no'), j: choose('no', 'yes', 'no'), a: work('a'), b: work('b'), c: work('c'), out: FINISH },
		}),
		output: 'c',
		trace: 'in+ i+ j+ a- b- c+ out+',
		effects: 'c',
	},
	{
		name: 'a skipped choice, whose ways are all skipped',
		graph: graph('in>i i.yes>j i.no>a j.yes>b j.no>c a>out b>out c>out', {
			...{ in: START, i: choose('no', 'yes', 'no'), j: choose('no', 'yes', 'no'), a: work('a'), b: work('b'), c: work('c'), out: FINISH },
		}),
		output: 'a',
		trace: 'in+ i+ j- a+ b- c- out+',
		effects: 'a',
	},
	{
		name: 'both ways of a choice to the same node',
		graph: graph('in>if if.yes>a if.no>a a>out', { in: START, if: choose('no', 'yes', 'no'), a: work('a'), out: FINISH }),
		output: 'a',
		trace: 'in+ if+ a+ out+',
		effects: 'a',
	},
	{
		name: 'three ways',
		graph: graph('in>if if.one>a if.two>b if.three>c a>out b>out c>out', {
			...{ in: START, if: choose('three', 'one', 'two', 'three'), a: work('a'), b: work('b'), c: work('c'), out: FINISH },
		}),
		output: 'c',
		trace: 'in+ if+ a- b- c+ out+',
		effects: 'c',
	},
	{
		name: 'two outputs that are both reached',
		graph: graph('in>a in>b a>x b>y', { in: START, a: work('a'), b: work('b'), x: FINISH, y: FINISH }),
		output: { x: 'a', y: 'b' },
		trace: 'in+ a+ b+ x+ y+',
		effects: 'a b',
	},
	{
		name: 'two outputs of which one is reached',
		graph: graph('in>if if.yes>x if.no>b b>y', { in: START, if: choose('no', 'yes', 'no'), b: work('b'), x: FINISH, y: FINISH }),
		output: 'b',
		trace: 'in+ if+ b+ x- y+',
		effects: 'b',
	},
	{
		name: 'a way out that is not known',
		graph: graph('in>if if.yes>out', { in: START, if: choose('{{input.way}}', 'yes'), out: FINISH }),
		input: { way: 'up' },
		fault: ['internal', 'if'],
		trace: 'in+ if!',
		effects: '',
	},
];
