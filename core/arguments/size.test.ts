// The size of schemas, and schemas that are too large to be compiled.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../contract/nouns.ts';
import { bytesOf, fits, MAX_SIZE, measureSize, SMALL_SIZE } from './size.ts';

const many = (count: number, make: (index: number) => JsonObject): JsonObject =>
	Object.fromEntries(Array.from({ length: count }, (_, index): [string, JsonObject] => [`p${index}`, make(index)]));
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const sizeOf = (schema: JsonObject) => measureSize(schema, '/parameters');

test('a usual tool is small, and the body of a large API is accepted', () => {
	assert.ok(fits(sizeOf(object(many(40, () => ({ type: 'string', description: 'One.', maxLength: 9 })))), SMALL_SIZE));
	const large = sizeOf(object(many(2000, () => object(many(2, () => ({ type: 'string' }))))));
	assert.ok(!fits(large, SMALL_SIZE));
	assert.ok(fits(large, MAX_SIZE));
	assert.ok(bytesOf(large) > 5_000_000);
});

test('listed values, descriptions and examples count less than compiled keywords', () => {
	const listed = object({ zone: { enum: Array.from({ length: 600 }, (_, index) => `zone ${index}`) } });
	assert.ok(sizeOf(listed).keywords < 70);
});

const TOO_LARGE: [id: string, schema: JsonObject, at: string][] = [
	['ten thousand properties', object(many(10_000, () => ({ type: 'string' }))), '/parameters'],
	['thirty thousand properties', object(many(30_000, () => ({ type: 'string' }))), '/parameters'],
	['eight thousand objects', object(many(8000, () => object({ a: {} }))), '/parameters'],
	['ten thousand alternatives', object({ a: { oneOf: Array.from({ length: 10_000 }, () => ({ const: 1 })) } }), '/parameters'],
	['a chain of twenty thousand', object({}, { $defs: many(20_000, (index) => ({ $ref: `#/$defs/p${index + 1}` })) }), '/parameters'],
	[
		'one definition under many spellings',
		object(
			many(1000, (index) => ({ $ref: `#/$defs/${'%64'.repeat(index % 2)}${'d'.repeat(1 - (index % 2))}/properties/p${index % 500}` })),
			{ $defs: { d: object(many(500, () => object(many(20, () => ({}))))) } },
		),
		'/parameters',
	],
	[
		'the same text below an $id',
		object(
			many(200, () => ({ $ref: '#' })),
			{ $defs: { a: { $id: 'https://a.example/', anyOf: [] } } },
		),
		'/parameters',
	],
	[
		'patterns that repeat',
		object(many(5000, (index) => ({ type: 'string', pattern: `^(a|b${index}){1,900}$` }))),
		'/parameters/properties/p6/pattern',
	],
	[
		'patterns of names',
		object({}, { patternProperties: { '^(a|b0){1,900}$': {}, '^((a|b0){1,30}c){1,900}$': {} } }),
		'/parameters/patternProperties',
	],
];

for (const [id, schema, at] of TOO_LARGE)
	test(`a schema is refused before it is compiled: ${id}`, () => {
		assert.throws(
			() => sizeOf(schema),
			(error: { code: string; details: { path: string }[] }) => error.code === 'validation_failed' && error.details[0]?.path === at,
		);
	});

test('a reference counts its target, once for each spelling', () => {
	const $defs = { d: object(many(10, () => ({ type: 'string' }))) };
	const plain = sizeOf(object({ a: { $ref: '#/$defs/d' } }, { $defs })).keywords;
	const twice = sizeOf(object({ a: { $ref: '#/$defs/d' }, b: { $ref: '#/$defs/d' } }, { $defs })).keywords;
	const spelt = sizeOf(object({ a: { $ref: '#/$defs/d' }, b: { $ref: '#/$defs/%64' } }, { $defs })).keywords;
	assert.equal(twice - plain, 2);
	assert.ok(spelt - plain > 20);
});

test('a repeated pattern counts once', () => {
	const pattern = { type: 'string', pattern: '^(a|b){1,900}$' };
	assert.equal(sizeOf(object({ a: pattern, b: pattern })).states, sizeOf(object({ a: pattern })).states);
});
