// Graphs whose nodes fail: retries, time limits, and what follows an error.

import type { Json, JsonObject } from '../../core/contract/nouns.ts';
import { graph, work } from '../helpers/graphs.ts';
import { FINISH, type GraphCase, START } from './graph-case.ts';

const FAILS = 1_000;
const QUICK = { backoffMs: 1 };
const one = (data: JsonObject) => graph('in>a a>out', { in: START, a: work('a', data), out: FINISH });
const branched = (data: JsonObject) =>
	graph('in>a a>ok a.error>bad ok>out bad>out', {
		...{ in: START, a: work('a', { policy: { onError: 'branch' }, ...data }), ok: work('ok'), bad: work('bad') },
		out: FINISH,
	});

/** Puts a value into so many lists. */
const deep = (levels: number, value: Json): Json => (levels === 0 ? value : [deep(levels - 1, value)]);

export const FAULTS: readonly GraphCase[] = [
	{
		name: 'nodes that put JSON into JSON until it is too deep',
		graph: graph('in>a a>b b>c c>out', {
			...{ in: START, a: work('a', { value: deep(100, 1) }), b: work('b', { value: deep(100, '{{nodes.a.output}}') }) },
			...{ c: work('c', { value: deep(100, '{{nodes.b.output}}'), effect: 'none' }), out: FINISH },
		}),
		...{ fault: ['validation_failed', 'c'], trace: 'in+ a+ b+ c!', effects: 'a b c' },
	},
	{ name: 'a node that fails', graph: one({ fails: FAILS }), fault: ['upstream_failed', 'a'], trace: 'in+ a!', effects: 'a' },
	{
		name: 'a node that fails, and keeps nothing',
		graph: one({ fails: FAILS, effect: 'none' }),
		...{ fault: ['upstream_failed', 'a'], trace: 'in+ a!', effects: 'a' },
	},
	{
		name: 'a node that may run once, and fails',
		graph: one({ fails: FAILS, effect: 'once' }),
		...{ fault: ['upstream_failed', 'a'], trace: 'in+ a!', effects: 'a' },
	},
	{
		name: 'a node that succeeds at its third try',
		graph: one({ fails: 2, policy: { retries: 2, ...QUICK } }),
		...{ output: 'a', trace: 'in+ a+ out+', effects: 'a a a' },
	},
	{
		name: 'a node without an effect that succeeds at its second try',
		graph: one({ fails: 1, effect: 'none', policy: { retries: 2, ...QUICK } }),
		...{ output: 'a', trace: 'in+ a+ out+', effects: 'a a' },
	},
	{
		name: 'a node whose tries are too few',
		graph: one({ fails: 2, policy: { retries: 1, ...QUICK } }),
		...{ fault: ['upstream_failed', 'a'], trace: 'in+ a!', effects: 'a a' },
	},
	{
		name: 'a node that is refused, which no retry helps',
		graph: one({ fails: FAILS, code: 'not_found', policy: { retries: 5, ...QUICK } }),
		...{ fault: ['not_found', 'a'], trace: 'in+ a!', effects: 'a' },
	},
	{
		name: 'a node that is limited, which a retry helps',
		graph: one({ fails: 1, code: 'rate_limited', policy: { retries: 1, ...QUICK } }),
		...{ output: 'a', trace: 'in+ a+ out+', effects: 'a a' },
	},
	{
		name: 'a node that takes too long',
		graph: one({ ms: 60_000, policy: { timeoutMs: 30 } }),
		...{ fault: ['timed_out', 'a'], trace: 'in+ a!', effects: 'a' },
	},
	{
		name: 'a node that takes too long at each try',
		graph: one({ ms: 60_000, policy: { timeoutMs: 20, retries: 2, ...QUICK } }),
		...{ fault: ['timed_out', 'a'], trace: 'in+ a!', effects: 'a a a' },
	},
	{
		name: 'a node that takes too long, and has a fallback',
		graph: one({ ms: 60_000, policy: { timeoutMs: 20, onError: 'continue', fallback: { late: true } } }),
		...{ output: { late: true }, trace: 'in+ a! out+', effects: 'a' },
	},
	{
		name: 'an error that nothing follows',
		graph: one({ fails: FAILS, policy: { onError: 'continue' } }),
		...{ output: null, trace: 'in+ a! out+', effects: 'a' },
	},
	{
		name: 'an error with a fallback',
		graph: one({ fails: FAILS, policy: { onError: 'continue', fallback: [1] } }),
		...{ output: [1], trace: 'in+ a! out+', effects: 'a' },
	},
	{
		name: 'an error that is told',
		graph: graph('in>a a>out', {
			in: START,
			a: work('a', { fails: FAILS, policy: { onError: 'continue' } }),
			out: ['finish', { value: '{{nodes.a.error.code}}' }],
		}),
		...{ output: 'upstream_failed', trace: 'in+ a! out+', effects: 'a' },
	},
	{
		name: 'a way for errors that is taken',
		graph: branched({ fails: FAILS }),
		output: 'bad',
		trace: 'in+ a! ok- bad+ out+',
		effects: 'a bad',
	},
	{ name: 'a way for errors that is not taken', graph: branched({}), output: 'ok', trace: 'in+ a+ ok+ bad- out+', effects: 'a ok' },
	{
		name: 'a way for errors after tries',
		graph: branched({ fails: FAILS, policy: { onError: 'branch', retries: 1, ...QUICK } }),
		...{ output: 'bad', trace: 'in+ a! ok- bad+ out+', effects: 'a a bad' },
	},
	{
		name: 'ways for errors that converge',
		graph: graph('in>a in>b a.error>bad b.error>bad a>ok b>ok ok>out bad>out', {
			in: START,
			a: work('a', { fails: FAILS, policy: { onError: 'branch' } }),
			b: work('b', { policy: { onError: 'branch' } }),
			...{ ok: work('ok'), bad: work('bad') },
			out: ['finish', { value: ['{{nodes.ok.output}}', '{{nodes.bad.output}}'] }],
		}),
		...{ output: ['ok', 'bad'], trace: 'in+ a! b+ ok+ bad+ out+', effects: 'a b ok bad' },
	},
	{
		name: 'an error beside a long node, which it stops',
		graph: graph('in>a in>b a>out b>out', { in: START, a: work('a', { ms: 60_000 }), b: work('b', { fails: FAILS, ms: 20 }), out: FINISH }),
		...{ fault: ['upstream_failed', 'b'], trace: 'in+ a! b!', effects: 'a b' },
	},
	{
		name: 'an error beside a question, which it withdraws',
		graph: graph('in>q in>b q>out b>out', {
			in: START,
			q: ['ask', { message: 'Sure?' }],
			b: work('b', { fails: FAILS, ms: 20 }),
			out: FINISH,
		}),
		...{ fault: ['upstream_failed', 'b'], trace: 'in+ q! b!', effects: 'b' },
	},
	{
		name: 'an error that lets another node end',
		graph: graph('in>a in>b a>out b>out', {
			in: START,
			a: work('a', { ms: 30 }),
			b: work('b', { fails: FAILS, policy: { onError: 'continue', fallback: 'b fell back' } }),
			out: ['finish', { value: ['{{nodes.a.output}}', '{{nodes.b.output}}'] }],
		}),
		...{ output: ['a', 'b fell back'], trace: 'in+ a+ b! out+', effects: 'a b' },
	},
	{
		name: 'an error in the middle of a chain',
		graph: graph('in>a a>b b>c c>out', { in: START, a: work('a'), b: work('b', { fails: FAILS }), c: work('c'), out: FINISH }),
		...{ fault: ['upstream_failed', 'b'], trace: 'in+ a+ b!', effects: 'a b' },
	},
	{
		name: 'parts that are tried again',
		graph: graph('in>a a>b b>out', {
			...{ in: START, a: ['parts', { names: ['x', 'y'] }], b: work('b', { fails: 1, policy: { retries: 1, ...QUICK } }), out: FINISH },
		}),
		...{ output: 'b', trace: 'in+ a+ b+ out+', effects: 'x y b b' },
	},
];
