// Tests of the faults that no input may have, and of their names.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import { detailsOf, MAX_DEPTH, textFaults } from './input-faults.ts';

const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}1${']'.repeat(levels)}`);
const FAULTS: [what: string, value: unknown, path: string][] = [
	['NUL in a text', { a: ['x', 'b\0'] }, '/a/1'],
	['NUL in a name', { a: { 'b\0': 1 } }, '/a/b\\u0000'],
	['half of a pair', { a: { b: '\ud800' } }, '/a/b'],
	['a name of the prototype', JSON.parse('{"a":{"__proto__":{}}}'), '/a/__proto__'],
	['a number beyond a double', { a: [1, Number.NEGATIVE_INFINITY] }, '/a/1'],
	['a text alone', '\0', ''],
];
for (const [what, value, path] of FAULTS)
	test(`${what} is named by its place`, () =>
		assert.deepEqual(
			textFaults(value).map((fault) => fault.path),
			[path],
		));

test(`nesting of ${MAX_DEPTH} levels is none, of one more is`, () => {
	assert.deepEqual(textFaults(nested(MAX_DEPTH)), []);
	assert.match(textFaults(nested(MAX_DEPTH + 1))[0]?.message ?? '', /nests deeper/);
});

test('a fault behind very many values is found, and told without its place', () => {
	for (const value of [
		[...new Array(200_000).fill({}), '\0'],
		Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`n${at}`, at === 19_999 ? '\0' : at])),
	]) {
		const [fault, ...others] = textFaults(value);
		assert.deepEqual([fault?.path, others], ['', []]);
		assert.match(fault?.message ?? '', /U\+0000/);
	}
	assert.deepEqual(textFaults(new Array(200_000).fill({ a: ['x'] })), []);
});

test('a fault of a whole object has the name of the field that it is', () => {
	const fault = Joi.object().or('one', 'two').validate({}).error?.details ?? assert.fail();
	for (const [at, name] of [
		['/options', 'options'],
		['/nodes/1/data', 'data'],
		['query', 'query'],
		['', 'value'],
		['/list/3', 'value'],
	] as const)
		assert.deepEqual(detailsOf(fault, at), [{ path: at, message: `"${name}" must contain at least one of [one, two]` }]);
	assert.deepEqual(detailsOf(fault, '', 'body'), [{ path: '', message: '"body" must contain at least one of [one, two]' }]);
	const inner = Joi.object({ value: Joi.number() }).validate({ value: 'x' }).error?.details ?? assert.fail();
	assert.deepEqual(detailsOf(inner, '/options'), [{ path: '/options/value', message: '"value" must be a number' }]);
});
