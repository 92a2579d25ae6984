// Tests how a query or a form becomes arguments: each style of lists and objects, values as the schema wants them, and what is refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../core/index.ts';
import { readQuery } from './query.ts';

const SCHEMA: JsonObject = {
	$defs: {
		size: { type: 'integer' },
		loop: { $ref: '#/$defs/loop' },
		point: { type: 'object', properties: { x: { $ref: '#/$defs/size' } } },
	},
	properties: {
		text: { type: 'string' },
		count: { type: 'integer' },
		ratio: { type: ['number', 'null'] },
		isOpen: { type: 'boolean' },
		tags: { type: 'array', items: { type: 'string' } },
		sizes: { type: 'array', items: { $ref: '#/$defs/size' } },
		point: { $ref: '#/$defs/point' },
		points: { type: 'array', items: { $ref: '#/$defs/point' } },
		either: { anyOf: [{ type: 'integer' }, { type: 'boolean' }] },
		kind: { enum: [1, 2] },
		fixed: { const: true },
		loop: { $ref: '#/$defs/loop' },
		'a[b]': { type: 'integer' },
	},
	additionalProperties: { type: 'integer' },
};
const read = (query: string, schema = SCHEMA): JsonObject => readQuery(new URLSearchParams(query), schema, schema);

for (const [query, expected] of [
	['count=1234567890123456789&sizes=9007199254740992', { count: '1234567890123456789', sizes: [9007199254740992] }],
	['text=5&count=5&isOpen=TRUE', { text: '5', count: 5, isOpen: true }],
	// The check of the arguments refuses it.
	['count=5.5&count=', { count: ['5.5', ''] }],
	['count=0x10', { count: '0x10' }],
	['count=1e3', { count: 1000 }],
	['count=1e999', { count: '1e999' }],
	['sizes=-1&sizes=%2b1&sizes=1.&sizes=.5&sizes=.&sizes=1.5E-1&sizes=1.2.3', { sizes: [-1, '+1', 1, 0.5, '.', 0.15, '1.2.3'] }],
	['ratio=&text=', { ratio: null, text: '' }],
	['ratio=null', { ratio: null }],
	['tags=a&tags=b', { tags: ['a', 'b'] }],
	['tags=a', { tags: ['a'] }],
	['tags[]=a&tags[]=b', { tags: ['a', 'b'] }],
	['tags[1]=b&tags[0]=a', { tags: ['a', 'b'] }],
	['sizes=[1,2]', { sizes: [1, 2] }],
	['sizes=[1', { sizes: '[1' }],
	['sizes[]=1&sizes[]=x', { sizes: [1, 'x'] }],
	['point[x]=3', { point: { x: 3 } }],
	['point={"x":3}', { point: { x: 3 } }],
	['points[0][x]=1&points[1][x]=2', { points: [{ x: 1 }, { x: 2 }] }],
	['points[][x]=1', { points: [{ x: 1 }] }],
	['either=7', { either: 7 }],
	['either=true', { either: true }],
	['kind=2&fixed=true', { kind: 2, fixed: true }],
	['loop=5', { loop: '5' }],
	['a[b]=4', { 'a[b]': 4 }],
	['other=6', { other: 6 }],
	['toString=6&__proto__[x]=1', { toString: 6, ['__proto__']: { x: '1' } }],
	['[x]=1', { '[x]': 1 }],
	['point[x=1', { 'point[x': 1 }],
] as const)
	test(`${query} is ${JSON.stringify(expected)}`, () => {
		assert.deepEqual(JSON.parse(JSON.stringify(read(query))), JSON.parse(JSON.stringify(expected)));
		assert.equal(({} as { x?: unknown }).x, undefined, 'no prototype is changed');
	});

test('without a schema values stay texts', () => assert.deepEqual(read('a=1&b=true', {}), { a: '1', b: 'true' }));

test('a value that is also an object, and too many brackets, are refused by name', () => {
	assert.throws(() => read('point=1&point[x]=2'), { code: 'validation_failed', message: '/point is given as a value and as an object.' });
	const deep = `a${'[b]'.repeat(20)}`;
	assert.throws(() => read(`${deep}=1`), { code: 'validation_failed', message: /more than 16 levels/ });
});

test('a union is read once for all values, and one that leads to itself has an end', () => {
	let reads = 0;
	const union = {
		get anyOf() {
			reads++;
			return Array.from({ length: 10 }, () => ({ $ref: '#/$defs/union' })).concat({ type: 'integer' } as never);
		},
	};
	const schema = { $defs: { union }, properties: { x: { type: 'array', items: { $ref: '#/$defs/union' } } } } as unknown as JsonObject;
	const { x } = read('x=1&'.repeat(1_000), schema);
	assert.deepEqual([(x as number[]).length, (x as number[])[0]], [1_000, 1]);
	assert.ok(reads < 10, `${reads}`);
});

test('a list in a text that nests too deep stays a text', () => {
	const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
	assert.deepEqual(read(`sizes=${deep(64)}`)['sizes'], JSON.parse(deep(64)));
	for (const levels of [65, 100_000]) assert.equal(read(`sizes=${deep(levels)}`)['sizes'], deep(levels));
});

test('unions that lead to each other have the same types, whichever is asked for first', () => {
	const way = (to: string, type: string) => ({ anyOf: [{ $ref: `#/$defs/${to}` }, { type }] });
	const schema = {
		$defs: { a: way('b', 'integer'), b: way('c', 'boolean'), c: way('a', 'null') },
		properties: { a: { $ref: '#/$defs/a' }, b: { $ref: '#/$defs/b' }, c: { $ref: '#/$defs/c' } },
	};
	for (const names of ['abc', 'bca', 'cba'])
		for (const [text, value] of Object.entries({ '1': 1, true: true, null: null }))
			assert.deepEqual(read([...names].map((name) => `${name}=${text}`).join('&'), schema), { a: value, b: value, c: value });
});

test('a union below many levels of others keeps its types', () => {
	const levels = Array.from({ length: 2000 }, (_, at) => [`u${at}`, { anyOf: [{ $ref: `#/$defs/u${at + 1}` }] }]);
	const schema = { $defs: Object.fromEntries([...levels, ['u2000', { type: 'integer' }]]), properties: { x: { $ref: '#/$defs/u0' } } };
	assert.deepEqual(read('x=1', schema), { x: 1 });
});

test('what many unions share is read once', () => {
	let reads = 0;
	const shared = {
		get anyOf() {
			reads++;
			return [{ type: 'integer' }, { type: 'boolean' }];
		},
	};
	const names = Array.from({ length: 500 }, (_, at) => `x${at}`);
	const properties = Object.fromEntries(names.map((name) => [name, { anyOf: [{ $ref: '#/$defs/shared' }] }]));
	const given = read(names.map((name) => `${name}=1`).join('&'), { $defs: { shared }, properties } as unknown as JsonObject);
	assert.deepEqual(new Set(Object.values(given)), new Set([1]));
	assert.ok(reads < 10, `${reads}`);
});

test('a text that is nearly a number is looked at once, however long', () => {
	// An expression that tries each digit as the last one would not come to an end.
	const digits = '1'.repeat(1_000_000);
	for (const text of [`${digits}x`, `${digits}.${digits}x`, `1e${digits}x`]) assert.equal(read(`count=${text}`)['count'], text);
});
