import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonSchema } from '../../../core/contract/nouns.ts';
import { tidy } from './tidy.ts';

const text = { type: 'string', minLength: 1 };

test('equal alternatives are merged, and a single one is inlined', () => {
	const cases: [schema: JsonSchema, tidied: JsonSchema][] = [
		[{ anyOf: [text] }, text],
		[
			{ description: 'Its own.', anyOf: [{ ...text, description: 'Of the part.' }] },
			{ ...text, description: 'Its own.' },
		],
		[
			{ anyOf: [{ $ref: '#/a' }], type: 'object' },
			{ $ref: '#/a', type: 'object' },
		],
		[
			{ allOf: [{ pattern: 'a' }, { pattern: 'a' }], type: 'string' },
			{ pattern: 'a', type: 'string' },
		],
		[{ anyOf: [text, { type: 'null' }, text] }, { anyOf: [text, { type: 'null' }] }],
		[
			{ type: 'string', allOf: [{ pattern: 'a' }, { pattern: 'b' }] },
			{
				type: 'string',
				allOf: [
					{ type: 'string', pattern: 'a' },
					{ type: 'string', pattern: 'b' },
				],
			},
		],
		[{ properties: { a: { anyOf: [{ allOf: [text, text] }, text] } } }, { properties: { a: text } }],
	];
	for (const [schema, tidied] of cases) assert.deepEqual(tidy(schema), tidied);
});

test('schemas whose meaning would change stay as they are', () => {
	const closed = { properties: { a: {} }, additionalProperties: false };
	const kept: JsonSchema[] = [
		{ additionalProperties: false, anyOf: [{ properties: { a: {} } }] },
		{ properties: { b: {} }, allOf: [closed] },
		{ pattern: 'a', allOf: [{ pattern: 'b' }] },
		{ properties: { a: {}, b: {} }, allOf: [{ anyOf: [{ required: ['a'] }, { required: ['b'] }] }] },
		{ oneOf: [text, text] },
		{ type: 'object', default: { anyOf: [1] }, examples: [{ anyOf: [text] }], enum: [{ allOf: [{}] }] },
	];
	for (const schema of kept) assert.deepEqual(tidy(schema), schema);
});

test('the same values pass before and after', () => {
	const ajv = new Ajv2020({ strict: false });
	const schema = { anyOf: [{ type: 'object', properties: { a: { allOf: [text, text] } }, additionalProperties: false }] };
	for (const value of [{}, { a: 'x' }, { a: '' }, { b: 1 }, 'x', null])
		assert.equal(ajv.validate(tidy(schema), value), ajv.validate(schema, value), JSON.stringify(value));
});
