// Tests which schemas constrained decoding takes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStrictSchema } from './strict-schema.ts';

const strict = (properties: object, required = Object.keys(properties)) => ({
	type: 'object',
	properties,
	required,
	additionalProperties: false,
});

test('a schema is strict when each of its objects requires all it lists and takes nothing else', () => {
	const inner = strict({ a: { type: 'string' } });
	for (const schema of [
		inner,
		strict({ list: { type: 'array', items: inner }, one: { anyOf: [inner, { type: 'null' }] } }),
		{ ...inner, $defs: { x: inner } },
	])
		assert.equal(isStrictSchema(schema as never), true, JSON.stringify(schema));
	const loose = { type: 'object', properties: { a: { type: 'string' } } };
	for (const schema of [
		loose,
		{ type: 'object' },
		{ ...inner, additionalProperties: true },
		strict({ a: { type: 'string' } }, []),
		strict({ list: { type: 'array', items: loose } }),
		strict({ one: { anyOf: [inner, loose] } }),
		{ ...inner, $defs: { x: loose } },
		{ ...inner, allOf: [inner] },
		strict({ a: true }),
	])
		assert.equal(isStrictSchema(schema as never), false, JSON.stringify(schema));
});
