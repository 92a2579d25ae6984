// Tests of which fields of an answer a tool asks for.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildSchema, parse, validate } from 'graphql';
import { threadCpuMs } from '../../test/helpers/clock.ts';
import { readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';
import { createSelector, type SelectionLimits } from './selection.ts';

/** The selection of the field `f`. */
function selectionOf(sdl: string, limits: Partial<SelectionLimits> = {}): string {
	const schema = buildSchema(sdl);
	const field = schema.getQueryType()?.getFields()['f'] ?? assert.fail();
	const selection = createSelector(schema, { depth: 1, maxLeaves: 200, pageSize: 10, ...limits })(field.type);
	assert.deepEqual(validate(schema, parse(`{ f ${selection} }`)), [], selection);
	return selection;
}

const CASES: [what: string, sdl: string, selection: string, limits?: Partial<SelectionLimits>][] = [
	['nothing of a leaf', 'type Query { f: [Int!]! }', ''],
	['all leaves', 'type Query { f: P } type P { a: Int! b: [String] c: E } enum E { X }', '{ a b c }'],
	['no deprecated field', 'type Query { f: P } type P { a: Int b: Int @deprecated q: Q @deprecated } type Q { x: Int }', '{ a }'],
	['no field with a required argument', 'type Query { f: P } type P { a(x: Int!): Int b(x: Int! = 1): Int c(x: Int): Int }', '{ b c }'],
	['objects one level down', 'type Query { f: P } type P { a: Int q: Q } type Q { b: Int r: R } type R { c: Int }', '{ a q { b } }'],
	['no objects at depth 0', 'type Query { f: P } type P { a: Int q: Q } type Q { b: Int }', '{ a }', { depth: 0 }],
	['more at depth 2', 'type Query { f: P } type P { q: Q } type Q { r: R } type R { c: Int }', '{ q { r { c } } }', { depth: 2 }],
	['no type inside itself', 'type Query { f: P } type P { a: Int p: P q: Q } type Q { b: Int p: P }', '{ a q { b } }', { depth: 5 }],
	[
		'as many of what is paged as it is told to',
		'type Query { f: PConnection } type PConnection { items(first: Int): [P] } type P { id: ID }',
		'{ items(first: 25) { id } }',
		{ pageSize: 25 },
	],
	[
		'nodes before edges, and what a connection holds as if it were the answer',
		`type Query { f: PConnection } type PConnection { edges: [PEdge] nodes: [P] pageInfo: PageInfo! total: Int }
		type PEdge { cursor: String node: P } type P { a: Int q: Q } type Q { b: Int } type PageInfo { next: String }`,
		'{ nodes { a q { b } } pageInfo { next } total }',
	],
	[
		'edges where there are no nodes',
		'type Query { f: PConnection } type PConnection { edges: [PEdge] } type PEdge { cursor: String node: P } type P { a: Int q: Q } type Q { b: Int }',
		'{ edges { cursor node { a q { b } } } }',
	],
	[
		'ten of what is paged',
		'type Query { f: P } type P { items(first: Int, after: String): ItemConnection more(first: Int!): [Item] } type ItemConnection { nodes: [Item] } type Item { id: ID }',
		'{ items(first: 10) { nodes { id } } more(first: 10) { id } }',
	],
	[
		'of a mutation’s payload what it changed, and its errors',
		'type Query { f: AddPayload } type AddPayload { userErrors: [Err!]! p: P ok: Boolean } type Err { message: String } type P { a: Int q: Q } type Q { b: Int }',
		'{ userErrors { message } p { a } ok }',
	],
	[
		'of a union each type, with an alias where they differ',
		'type Query { f: U } union U = A | B type A { id: ID! name: String x: Int } type B { id: ID! name: String! y: Int }',
		'{ __typename ... on A { id A_name: name x } ... on B { id B_name: name y } }',
	],
	[
		'of an interface what is common once, and the rest by type',
		'type Query { f: N } interface N { id: ID! } type A implements N { id: ID! x: Int } type B implements N { id: ID! y: [Int] }',
		'{ __typename id ... on A { x } ... on B { y } }',
	],
	[
		'common fields of many types rather than all of a few',
		'type Query { f: N } interface N { id: ID! } type A implements N { id: ID! x: Int } type B implements N { id: ID! y: [Int] }',
		'{ __typename id }',
		{ maxLeaves: 3 },
	],
	[
		'no more leaves than the budget, the nearest first',
		'type Query { f: P } type P { q: Q a: Int b: Int } type Q { c: Int d: Int }',
		'{ q { c } a b }',
		{ maxLeaves: 3 },
	],
	['the name of the type where nothing else can be had', 'type Query { f: P } type P { a(x: Int!): Int }', '{ __typename }'],
];

for (const [what, sdl, selection, limits] of CASES)
	test(`A selection has ${what}`, () => {
		assert.equal(selectionOf(sdl, limits), selection);
	});

test('one type is written alike wherever it is met, so that answers of one name have one shape', () => {
	const sdl = `type Query { f: U } union U = A | B type A { v: V } type B { v: V } union V = X | Y
		type X { n: Int s: String } type Y { n: String s: String }`;
	for (let maxLeaves = 1; maxLeaves < 16; maxLeaves++) selectionOf(sdl, { maxLeaves });
});

test('types that lead to each other without end, by names that do not count, are walked to an end', async () => {
	const types = Array.from({ length: 300 }, (_, index) => {
		const fields = Array.from({ length: 50 }, (_, other) => `f${other}: T${(index * 7 + other + 1) % 300}Connection`);
		return `type T${index}Connection { ${fields.join(' ')} }`;
	});
	const sdl = `type Query { f: T0Connection } ${types.join('\n')}`;
	const cpuMs = await threadCpuMs(() => assert.equal(selectionOf(sdl, { depth: 5 }), '{ __typename }'));
	assert.ok(cpuMs < 5_000, `${cpuMs} ms`);
});

test('a schema that was made to defeat the aliases degrades the operation, and its document is valid', async () => {
	const sdl =
		'type Query { f: U } union U = A | A_b type A { b_c: Int x: Int } type A_b { c: String b_c: String x: String c_: Int } type Z { c: Int }';
	const trap = sdl.replace('c_: Int', 'A_x: Int');
	for (const text of [sdl, trap, trap.replace('type A {', 'type A { c: Int')]) {
		const { operations } = await readWith(importer, text);
		const query = String(operations[0]?.definition['query']);
		assert.deepEqual(validate(buildSchema(text), parse(query)), [], query);
	}
	const { operations } = await readWith(importer, trap.replace('type A {', 'type A { c: Int'));
	assert.deepEqual([operations[0]?.outcome, operations[0]?.definition['query']], ['degraded', 'query f { f { __typename } }']);
});
