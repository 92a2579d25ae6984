// Tests of nulls that stand for an absent argument.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../contract/nouns.ts';
import { compileArguments } from './compile.ts';

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });

const inner = object({ n: { type: 'integer' }, 'a/b~': { type: 'string' } }, { required: ['n'] });
const schema = object(
	{
		id: { type: 'integer' },
		limit: { type: 'integer', default: 20 },
		kind: { enum: ['cat', 'dog'] },
		note: { type: ['string', 'null'] },
		any: {},
		either: { anyOf: [{ type: 'string' }, { type: 'array' }] },
		inner,
		list: { type: 'array', items: inner },
	},
	{ required: ['id'], additionalProperties: false },
);

const checked = (args: JsonObject): [args: JsonObject, faults: string[]] => {
	const faults = compileArguments(schema)(args);
	return [args, faults.map(({ path, message }) => `${path} ${message}`)];
};

test('null is absent for an optional member whose schema has no null, also inside of others, and then defaults are filled in', () => {
	const given = { id: 1, limit: null, kind: null, either: null, inner: { n: 1, 'a/b~': null }, list: [{ n: 2, 'a/b~': null }] };
	assert.deepEqual(checked(given), [{ id: 1, limit: 20, inner: { n: 1 }, list: [{ n: 2 }] }, []]);
	assert.deepEqual(checked({ id: 1, inner: null, list: '[{"n":1,"a/b~":null}]' }), [{ id: 1, limit: 20, list: [{ n: 1 }] }, []]);
});

test('null stays where the schema lets it pass', () => {
	const given = { id: 1, limit: 1, note: null, any: null };
	assert.deepEqual(checked({ ...given, kind: null }), [given, []]);
});

test('null for what is required is refused as null, beside the other faults, and so is an item of a list', () => {
	assert.deepEqual(checked({ id: null, kind: null })[1], ['/id must be integer, got null.']);
	assert.deepEqual(checked({ id: 1, inner: { n: null }, kind: 'cow' })[1], [
		'/inner/n must be integer, got null.',
		'/kind must be one of ["cat","dog"], got string "cow".',
	]);
	assert.deepEqual(checked({ id: 1, list: [null] })[1], ['/list/0 must be object, got null.']);
	assert.match(checked({ id: 1, more: null })[1][0] ?? '', /^\/more is not a known parameter/);
});
