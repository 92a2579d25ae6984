// Schemas that are too large for a model, and how arguments are checked against them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../contract/nouns.ts';
import { MAX_WHOLE_CHARS, WholeSchemas } from './whole.ts';

const object = (properties: JsonObject = {}): JsonObject => ({ type: 'object', properties });
const never = (): never => assert.fail('nobody needs it');
const all = (parameters: JsonObject) => () => ({ parameters, left: [] });

test('a schema from which nothing was omitted needs no whole one', () => {
	assert.deepEqual(new WholeSchemas().settle([], never), { whole: null, reason: null });
});

test('the whole schema is kept where it can be checked against, and the report names what models are not shown', () => {
	const names = Array.from({ length: 12 }, (_, index) => `D${index}`);
	const { whole, reason } = new WholeSchemas().settle(names, all(object()));
	assert.deepEqual(whole, object());
	assert.equal(
		reason,
		`models are shown the schema without ${names
			.slice(0, 10)
			.map((name) => `“${name}”`)
			.join(', ')} and 2 more: arguments are checked against the whole one`,
	);
});

test('arguments of a schema that is too large, too costly or endless are checked against the shown one', () => {
	const many = Object.fromEntries(Array.from({ length: 20_001 }, (_, index) => [`p${index}`, {}]));
	for (const [name, made] of Object.entries({
		'something is left out of it, too': { parameters: object(), left: ['x'] },
		'too long': { parameters: object({ a: { description: 'x'.repeat(MAX_WHOLE_CHARS) } }), left: [] },
		'too many names': { parameters: object(many), left: [] },
		'without end': { parameters: { ...object(), allOf: [{ $ref: '#' }] }, left: [] },
	})) {
		const { whole, reason } = new WholeSchemas().settle(['x'], () => made);
		assert.equal(whole, null, name);
		assert.equal(
			reason,
			'the schema of “x” is too large and was left out: it accepts anything, and arguments are checked against the rest',
		);
	}
});

test('the whole schemas of one document are limited together', () => {
	const wholes = new WholeSchemas();
	const large = object({ a: { description: 'x'.repeat(MAX_WHOLE_CHARS - 100) } });
	const kept = Array.from({ length: 80 }, () => wholes.settle(['x'], all(large)).whole).filter(Boolean);
	assert.equal(kept.length, 64);
});
