// Values filled into arguments, for tools that users write and for tools made from an API.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../contract/nouns.ts';
import { type Filling, gapFiller } from './gaps.ts';

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });

function filled(schema: JsonObject, args: JsonObject, filling: Filling): JsonObject {
	gapFiller(schema, filling)?.(args);
	return args;
}

const REPOSITORY = object({
	owner: { type: 'string' },
	body: object({
		description: { type: 'string' },
		private: { type: 'boolean', default: false },
		archived: { type: 'boolean', default: false },
		visibility: { enum: ['private'] },
		kind: { const: 'repository' },
	}),
});

test('a tool made from an API gets no optional value: neither a default nor the only possible one', () => {
	const args = { owner: 'o', body: { description: 'new text' } };
	assert.deepEqual(filled(REPOSITORY, structuredClone(args), 'constants'), args);
	assert.deepEqual(filled(REPOSITORY, {}, 'constants'), {});
});

test('a tool made from an API gets a required member that can have only one value', () => {
	const schema = object(
		{
			version: { enum: ['2'] },
			either: { enum: ['a', 'b'] },
			nothing: { const: null },
			body: object({ type: { $ref: '#/$defs/kind' }, name: { default: 'n' } }, { required: ['type', 'name'] }),
			list: { type: 'array', items: object({ op: { const: 'add' } }, { required: ['op'] }) },
		},
		{ required: ['version', 'either', 'nothing'], $defs: { kind: { const: 'card' } } },
	);
	assert.deepEqual(filled(schema, { body: {}, list: [{}, { op: 'remove' }] }, 'constants'), {
		version: '2',
		nothing: null,
		body: { type: 'card' },
		list: [{ op: 'add' }, { op: 'remove' }],
	});
});

test('values of alternatives and conditions are not filled in, since none of them is chosen yet', () => {
	const cat = object({ kind: { const: 'cat' }, lives: { default: 9 } }, { required: ['kind'] });
	const schemas = [
		object({ pet: { anyOf: [{ $ref: '#/$defs/cat' }, object({ kind: { const: 'dog' } })] } }, { $defs: { cat } }),
		object({ pet: { oneOf: [cat] } }),
		object({ pet: Object.fromEntries(['if', 'then', 'else', 'not'].map((keyword) => [keyword, cat])) }),
	];
	for (const schema of schemas)
		for (const filling of ['defaults', 'constants'] as const) assert.deepEqual(filled(schema, { pet: {} }, filling), { pet: {} });
});

test('a tool that a user wrote gets its defaults, also in values filled in, in lists, maps and allOf', () => {
	const schema = object(
		{
			page: object({ size: { default: 20 } }, { default: {} }),
			list: { type: 'array', prefixItems: [object({ first: { default: true } })], items: object({ a: { default: 1 } }) },
			given: { default: 'd' },
			'': { default: 'empty' },
			__proto__: { default: 'own' },
		},
		{
			allOf: [{ $ref: '#/$defs/base' }],
			additionalProperties: object({ more: { default: [] } }),
			$defs: { base: object({ b: { default: null } }) },
		},
	);
	Object.defineProperty(schema['properties'], '__proto__', { value: { default: 'own' }, enumerable: true });
	const args = filled(schema, { list: [{}, {}], given: 'g', other: {} }, 'defaults');
	assert.equal(JSON.stringify(args['page']), '{"size":20}');
	assert.deepEqual(args['list'], [{ first: true }, { a: 1 }]);
	assert.deepEqual([args['given'], args[''], args['b'], args['other']], ['g', 'empty', null, { more: [] }]);
	assert.equal(Object.getOwnPropertyDescriptor(args, '__proto__')?.value, 'own');
	assert.equal(Object.getPrototypeOf(args), Object.prototype);
});

test('two calls do not share the values filled in', () => {
	const fill = gapFiller(object({ tags: { default: [] } }), 'defaults');
	const [first, second]: [JsonObject, JsonObject] = [{}, {}];
	fill?.(first);
	(first['tags'] as string[]).push('x');
	fill?.(second);
	assert.deepEqual(second, { tags: [] });
});

test('a schema that refers to itself is followed only as deep as the arguments', () => {
	const node = object({ child: { $ref: '#' }, size: { default: 1 } });
	assert.deepEqual(filled(node, { child: { child: {} } }, 'defaults'), { size: 1, child: { size: 1, child: { size: 1 } } });
	const loop = object({}, { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a', properties: { x: { default: 1 } } } } });
	assert.deepEqual(filled(loop, {}, 'defaults'), { x: 1 });
});

test('a schema without anything to fill in has no filler', () => {
	assert.equal(gapFiller(object({ a: { type: 'string', default: 'x' } }), 'constants'), null);
	assert.equal(gapFiller(object({ a: { const: 1 } }), 'defaults'), null);
});
