// Whether a schema accepts its own default.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileArguments, type JsonObject } from '../../core/index.ts';
import { acceptsOwnDefault } from './defaults.ts';

const compiled = ({ default: value, ...schema }: JsonObject): boolean =>
	compileArguments({ type: 'object', properties: { value: schema } })({ value: structuredClone(value ?? null) }).length === 0;

const VALUES = [0, 1, 1.5, -3, 2 ** 53, '', 'a', '😀', '5', 'true', true, false, null, [], [1], ['a', 'b'], [null], {}, { a: 1 }];
const SCHEMAS: JsonObject[] = [
	{},
	...['string', 'integer', 'number', 'boolean', 'array', 'object', 'null'].map((type) => ({ type })),
	{ type: ['string', 'null'] },
	{ enum: ['a', 1, null] },
	{ enum: [[1], { a: 1 }] },
	{ const: 'a' },
	{ type: 'number', minimum: 1, maximum: 2 },
	{ exclusiveMinimum: 0, exclusiveMaximum: 1.5 },
	{ multipleOf: 3 },
	{ type: 'string', minLength: 1, maxLength: 1 },
	{ type: 'string', pattern: '^a' },
	{ type: 'string', format: 'uuid' },
	{ type: 'integer', format: 'int32' },
	{ type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 1 },
	{ type: 'array', items: {}, uniqueItems: true },
	{ type: 'object', required: ['b'] },
	{ type: 'object', properties: { a: { type: 'string' } } },
	{ anyOf: [{ type: 'string' }, { type: 'boolean' }], description: 'a', readOnly: true },
	{ not: { type: 'string' } },
];

test('a default is judged as the compiled check judges it', () => {
	for (const schema of SCHEMAS)
		for (const value of VALUES) {
			const whole = { ...schema, default: value };
			assert.equal(acceptsOwnDefault(whole), compiled(whole), JSON.stringify(whole));
		}
});

test('the default of a schema with references is left to the server', () => {
	assert.equal(acceptsOwnDefault({ default: 1, items: { $ref: '#/$defs/A' } }), false);
});
