// Graphs that wait: for people, and for other agents.

import type { JsonObject } from '../../core/contract/nouns.ts';
import { graph, type Nodes, work } from '../helpers/graphs.ts';
import { FINISH, type GraphCase, START } from './graph-case.ts';

const FAILS = 1_000;
const ASK: [string, JsonObject] = ['ask', { message: 'Sure?' }];
const YES = { ok: true };
const sub = (agentId: string, more: JsonObject = {}): [string, JsonObject] => [
	'sub',
	{ agentId, input: { tag: '{{input.tag}}' }, ...more },
];
const inner = (nodes: Nodes) => graph('in>x x>out', { in: START, ...nodes, out: FINISH });

export const WAITS: readonly GraphCase[] = [
	{
		name: 'a question between two nodes',
		graph: graph('in>a a>q q>b b>out', { in: START, a: work('a'), q: ASK, b: work('b'), out: ['finish', { value: '{{nodes.q.output}}' }] }),
		answers: { q: YES },
		output: YES,
		trace: 'in+ a+ q+ b+ out+',
		effects: 'a b',
	},
	{
		name: 'two questions, one after the other',
		graph: graph('in>q q>r r>out', {
			in: START,
			q: ASK,
			r: ASK,
			out: ['finish', { value: ['{{nodes.q.output.ok}}', '{{nodes.r.output.ok}}'] }],
		}),
		answers: { q: YES, r: { ok: false } },
		output: [true, false],
		trace: 'in+ q+ r+ out+',
		effects: '',
	},
	{
		name: 'two questions at once',
		graph: graph('in>q in>r q>out r>out', {
			in: START,
			q: ASK,
			r: ASK,
			out: ['finish', { value: ['{{nodes.q.output.ok}}', '{{nodes.r.output.ok}}'] }],
		}),
		answers: { r: { ok: false }, q: YES },
		output: [true, false],
		trace: 'in+ q+ r+ out+',
		effects: '',
	},
	{
		name: 'a question beside a node that goes on',
		graph: graph('in>q in>a a>b q>out b>out', {
			in: START,
			q: ASK,
			a: work('a', { ms: 40 }),
			b: work('b'),
			out: ['finish', { value: '{{nodes.b.output}}' }],
		}),
		answers: { q: YES },
		output: 'b',
		trace: 'in+ q+ a+ b+ out+',
		effects: 'a b',
	},
	{
		name: 'a question that nobody answers in time',
		graph: graph('in>q q>out', { in: START, q: ['ask', { message: 'Sure?', timeoutMs: 50 }], out: FINISH }),
		...{ fault: ['timed_out', 'q'], trace: 'in+ q!', effects: '' },
	},
	{
		name: 'a question without an answer, and a way for errors',
		graph: graph('in>q q>a q.error>b a>out b>out', {
			in: START,
			q: ['ask', { message: 'Sure?', timeoutMs: 50, policy: { onError: 'branch' } }],
			...{ a: work('a'), b: work('b'), out: FINISH },
		}),
		...{ output: 'b', trace: 'in+ q! a- b+ out+', effects: 'b' },
	},
	{
		name: 'a question for each item',
		graph: graph('in>m m>out', {
			in: START,
			m: [
				'each',
				{ items: [1, 2], body: graph('q>x x>y', { q: ASK, x: work('n{{item}}'), y: ['finish', { value: '{{nodes.q.output.ok}}' }] }) },
			],
			out: FINISH,
		}),
		answers: { 'm[1]/q': YES, 'm[0]/q': { ok: false } },
		output: [{ ok: false }, { ok: true }],
		trace: 'in+ m+ m[0]/q+ m[0]/x+ m[0]/y+ m[1]/q+ m[1]/x+ m[1]/y+ out+',
		effects: 'n1 n2',
	},
	{
		name: 'a node that keeps nothing before a question: it is computed anew',
		graph: graph('in>a a>q q>out', {
			in: START,
			a: work('a', { effect: 'none' }),
			q: ASK,
			out: ['finish', { value: '{{nodes.a.output}}' }],
		}),
		answers: { q: YES },
		output: 'a',
		trace: 'in+ a+ q+ out+',
		effects: 'a a',
	},
	{
		name: 'another agent',
		agents: { inner: inner({ x: work('x') }) },
		graph: graph('in>s s>out', { in: START, s: sub('inner'), out: FINISH }),
		...{ output: 'x', trace: 'in+ s+ out+', effects: 'x' },
	},
	{
		name: 'another agent that fails',
		agents: { inner: inner({ x: work('x', { fails: FAILS }) }) },
		graph: graph('in>s s>out', { in: START, s: sub('inner'), out: FINISH }),
		...{ fault: ['upstream_failed', 's'], trace: 'in+ s!', effects: 'x' },
	},
	{
		name: 'another agent that fails, and a fallback',
		agents: { inner: inner({ x: work('x', { fails: FAILS }) }) },
		graph: graph('in>s s>out', { in: START, s: sub('inner', { policy: { onError: 'continue', fallback: 'none' } }), out: FINISH }),
		...{ output: 'none', trace: 'in+ s! out+', effects: 'x' },
	},
	{
		name: 'two other agents at once',
		agents: { one: inner({ x: work('x') }), two: inner({ x: work('y') }) },
		graph: graph('in>s in>t s>out t>out', {
			...{ in: START, s: sub('one'), t: sub('two'), out: ['finish', { value: ['{{nodes.s.output}}', '{{nodes.t.output}}'] }] },
		}),
		...{ output: ['x', 'y'], trace: 'in+ s+ t+ out+', effects: 'x y' },
	},
	{
		name: 'an agent for each item',
		agents: { inner: inner({ x: work('x{{input.n}}') }) },
		graph: graph('in>m m>out', {
			in: START,
			m: [
				'each',
				{
					items: [1, 2],
					body: graph('s>y', { s: ['sub', { agentId: 'inner', input: { tag: '{{input.tag}}', n: '{{item}}' } }], y: FINISH }),
				},
			],
			out: FINISH,
		}),
		output: [{ ok: 'x1' }, { ok: 'x2' }],
		trace: 'in+ m+ m[0]/s+ m[0]/y+ m[1]/s+ m[1]/y+ out+',
		effects: 'x1 x2',
	},
	{
		name: 'an agent of an agent',
		agents: { deepest: inner({ x: work('x') }), inner: inner({ x: sub('deepest') }) },
		graph: graph('in>s s>out', { in: START, s: sub('inner'), out: FINISH }),
		...{ output: 'x', trace: 'in+ s+ out+', effects: 'x' },
	},
	{
		name: 'an agent that does not exist',
		graph: graph('in>s s>out', { in: START, s: sub('00000000-0000-4000-8000-000000000000'), out: FINISH }),
		...{ fault: ['not_found', 's'], trace: 'in+ s!', effects: '' },
	},
];
