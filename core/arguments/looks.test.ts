import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../contract/nouns.ts';
import { assertBounded } from './looks.ts';

const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` });
const rooted = (property: JsonObject, $defs: JsonObject): JsonObject => ({ type: 'object', properties: { a: property }, $defs });

const doubling = Object.fromEntries(
	Array.from({ length: 40 }, (_, index): [string, JsonObject] => [`d${index}`, { allOf: [ref(`d${index + 1}`), ref(`d${index + 1}`)] }]),
);

const ENDLESS: [id: string, schema: JsonObject][] = [
	['a chain that doubles at each link', rooted(ref('d0'), { ...doubling, d40: { type: 'string' } })],
	['one that applies itself', rooted(ref('x'), { x: { allOf: [ref('x')] } })],
	['two that apply each other', rooted(ref('x'), { x: { anyOf: [ref('y')] }, y: { anyOf: [ref('x')] } })],
	[
		'one that doubles at each level of the input',
		rooted(ref('x'), { x: { allOf: [{ properties: { a: ref('x') } }, { properties: { a: ref('x') } }] } }),
	],
	[
		'ten thousand properties that are each almost too many',
		{
			type: 'object',
			properties: Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`p${index}`, { allOf: [ref('d30')] }])),
			$defs: { ...doubling, d40: {} },
		},
	],
	[
		'patterns that match one name, at each level of the input',
		rooted(ref('x'), { x: { patternProperties: { a: ref('x'), '^a': ref('x') } } }),
	],
	['a property and a pattern of its name', rooted(ref('x'), { x: { properties: { a: ref('x') }, patternProperties: { a: ref('x') } } })],
	['alternatives without references', { type: 'object', properties: { a: { anyOf: Array.from({ length: 2001 }, () => ({})) } } }],
	['dependencies of former drafts', rooted(ref('x'), { x: { dependencies: { a: ref('x') } } })],
	['a dynamic reference', rooted(ref('x'), { x: { $dynamicAnchor: 'x', properties: { a: { allOf: [{ $dynamicRef: '#x' }] } } } })],
	['a reference to an anchor', rooted({ $ref: '#x' }, { x: { $anchor: 'x' } })],
	['a part with an $id', rooted(ref('x'), { x: { $id: 'https://a.example/', $ref: '#/$defs/x' } })],
	['an encoded pointer to itself', rooted(ref('x'), { x: { allOf: [{ $ref: '#/%24defs/x' }] } })],
	['the same through items', rooted(ref('x'), { x: { anyOf: [{ items: ref('x') }, { items: ref('x') }] } })],
];

for (const [id, schema] of ENDLESS) {
	test(`a schema is refused when checking would not end: ${id}`, () => {
		// A check that does not end would block longer than the test runner waits.
		assert.throws(() => assertBounded(schema, '/parameters'), { code: 'validation_failed' });
	});
}

const json = { anyOf: [{ type: 'string' }, { type: 'array', items: ref('json') }, { type: 'object', additionalProperties: ref('json') }] };
const filter = {
	anyOf: [
		{ type: 'object', properties: { and: { type: 'array', items: ref('filter') } } },
		{ type: 'object', properties: { or: { type: 'array', items: ref('filter') } } },
		{ type: 'object', properties: { not: ref('filter') } },
	],
};

const USUAL: [id: string, schema: JsonObject][] = [
	['no reference', { type: 'object', properties: { a: { type: 'string' } } }],
	['a tree', rooted(ref('tree'), { tree: { type: 'object', properties: { left: ref('tree'), right: ref('tree') } } })],
	['any JSON', rooted(ref('json'), { json })],
	['a filter with and, or, not', rooted(ref('filter'), { filter })],
	['its own root', { type: 'object', properties: { child: { $ref: '#' } } }],
	[
		'a tree that takes anything besides',
		rooted(ref('x'), { x: { properties: { a: ref('x'), b: ref('x') }, additionalProperties: ref('x') } }),
	],
	['a list with a first item of its own', rooted(ref('x'), { x: { prefixItems: [ref('x'), ref('x')], items: ref('x') } })],
	['JSON Schema itself', rooted({ $ref: 'https://json-schema.org/draft/2020-12/schema' }, {})],
	[
		'a base and its extension',
		rooted(ref('dog'), { pet: { properties: { name: {} } }, dog: { allOf: [ref('pet'), { properties: { tail: {} } }] } }),
	],
];

for (const [id, schema] of USUAL) test(`a usual recursive schema passes: ${id}`, () => assertBounded(schema, '/parameters'));
