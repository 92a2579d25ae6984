// Each operator: what it holds for, what it does not, and what it cannot compare.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError, type Json } from '../../../core/index.ts';
import { isHeld, OPERATORS, type Operator } from './rules.ts';

const HOLDS: [operator: Operator, value: Json, than?: Json][] = [
	...([
		['equals', { a: [1, null] }, { a: [1, null] }],
		['equals', null, null],
		['notEquals', 1, '1'],
		['greaterThan', 10, 9],
		['greaterThan', '10', 9],
		['greaterThan', 'b', 'a'],
		['greaterThan', '2026-02-01', '2026-01-31'],
		['atLeast', 9, 9],
		['lessThan', -1.5, '0'],
		['atMost', 'a', 'a'],
		['contains', 'a refund, please', 'refund'],
		['contains', ['x', { a: 1 }], { a: 1 }],
		['contains', 'order 12', 12],
		['contains', ['x', null, 1], 1],
		['contains', ['x', null], null],
		['notContains', null, 'x'],
		['notContains', [1], '1'],
		['startsWith', 'https://x', 'https:'],
		['endsWith', 'a.pdf', '.pdf'],
		['in', 'de', ['de', 'at']],
		['notIn', 'fr', ['de', 'at']],
		['exists', false],
		['notExists', null],
		['isEmpty', {}],
		['isEmpty', ''],
		['isEmpty', null],
		['isNotEmpty', 0],
		['isNotEmpty', [null]],
		['isTrue', true],
		['isFalse', false],
	] as [Operator, Json, Json?][]),
];

const HOLDS_NOT: [operator: Operator, value: Json, than?: Json][] = [
	['equals', '1', 1],
	['greaterThan', null, 1],
	['lessThan', null, 1],
	['atMost', 1, null],
	['contains', null, 'x'],
	['contains', ['1', [1]], 1],
	['contains', 'Refund', 'refund'],
	['startsWith', null, 'x'],
	['in', '__proto__', []],
	['exists', null],
	['isTrue', 'true'],
	['isFalse', null],
	['isEmpty', 0],
];

const UNABLE: [operator: Operator, value: Json, than: Json, says: RegExp][] = [
	['greaterThan', 'many', 3, /"greaterThan" needs two numbers, or two texts, and got a string/],
	['lessThan', 3, { a: 1 }, /got an object/],
	['atMost', true, 1, /got a boolean/],
	['contains', 12, 1, /"contains" needs a text or a list, and got a number/],
	['contains', 'text', ['t'], /needs a text, and got a list/],
	['startsWith', ['a'], 'a', /needs a text, and got a list/],
	['in', 'a', 'abc', /needs a list in "than", and got a string/],
];

const held = (operator: Operator, value: Json, than?: Json, ignoreCase = false): boolean =>
	isHeld({ value, operator, ignoreCase, ...(than !== undefined && { than }) });

for (const [operator, value, than] of HOLDS)
	test(`${JSON.stringify(value)} ${operator} ${than === undefined ? '' : JSON.stringify(than)}`, () => {
		assert.equal(held(operator, value, than), true);
	});

for (const [operator, value, than] of HOLDS_NOT)
	test(`not: ${JSON.stringify(value)} ${operator} ${than === undefined ? '' : JSON.stringify(than)}`, () => {
		assert.equal(held(operator, value, than), false);
	});

for (const [operator, value, than, says] of UNABLE)
	test(`${operator} does not take ${JSON.stringify([value, than])}`, () => {
		assert.throws(
			() => held(operator, value, than),
			(error) => asGatewayError(error)?.code === 'validation_failed' && says.test(String(error)),
		);
	});

test('Upper and lower case are the same where that is said, in lists, too', () => {
	assert.equal(held('equals', 'YES', 'yes', true), true);
	assert.equal(held('contains', 'Refund', 'reFUND', true), true);
	assert.equal(held('in', 'DE', ['de'], true), true);
	assert.equal(held('greaterThan', 10, 9, true), true);
});

test('Every operator is tried here', () => {
	assert.deepEqual([...new Set(HOLDS.map(([operator]) => operator))].sort(), [...OPERATORS].sort());
});
