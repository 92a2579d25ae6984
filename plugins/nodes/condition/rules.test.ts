// Each operator: what it holds for, what it does not, and what it cannot compare.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError, type Json } from '../../../core/index.ts';
import { Effort, isHeld, OPERATORS, type Operator } from './rules.ts';

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

const held = async (operator: Operator, value: Json, than?: Json, ignoreCase = false, effort = new Effort()): Promise<boolean> =>
	isHeld({ value, operator, ignoreCase, ...(than !== undefined && { than }) }, await effort.next('/cases/0/rules/1'));

for (const [operator, value, than] of HOLDS)
	test(`${JSON.stringify(value)} ${operator} ${than === undefined ? '' : JSON.stringify(than)}`, async () => {
		assert.equal(await held(operator, value, than), true);
	});

for (const [operator, value, than] of HOLDS_NOT)
	test(`not: ${JSON.stringify(value)} ${operator} ${than === undefined ? '' : JSON.stringify(than)}`, async () => {
		assert.equal(await held(operator, value, than), false);
	});

for (const [operator, value, than, says] of UNABLE)
	test(`${operator} does not take ${JSON.stringify([value, than])}`, async () => {
		await assert.rejects(
			held(operator, value, than),
			(error) => asGatewayError(error)?.code === 'validation_failed' && says.test(String(error)),
		);
	});

test('Upper and lower case are the same where that is said, in lists, too', async () => {
	assert.equal(await held('equals', 'YES', 'yes', true), true);
	assert.equal(await held('contains', 'Refund', 'reFUND', true), true);
	assert.equal(await held('in', 'DE', ['de'], true), true);
	assert.equal(await held('greaterThan', 10, 9, true), true);
	assert.equal(await held('equals', [['A']], [['a']], true), true);
});

test('All rules together may look at so many values, and the one that is beyond is named', async () => {
	const effort = new Effort();
	const list = Array.from({ length: 600_000 }, () => ({ a: 1 }));
	assert.equal(await held('contains', list, { a: 2 }, false, effort), false);
	await assert.rejects(held('contains', list, { a: 2 }, false, effort), (error) => {
		assert.equal(asGatewayError(error)?.code, 'validation_failed');
		assert.match(String(error), /\/cases\/0\/rules\/1 compares too much: the rules of a node may look at 2000000 values in all/);
		return true;
	});
	const text = 'a'.repeat(4 * 1024 * 1024);
	const texts = new Effort();
	await assert.rejects(async () => {
		for (let rule = 0; rule < 40; rule++) await held('contains', text, 'b', true, texts);
	}, /compares too much/);
});

test('A long text is compared with a number as any other text', async () => {
	await assert.rejects(held('atLeast', '1'.repeat(4 * 1024 * 1024), 1), /needs two numbers, or two texts, and got a string/);
});

test('Every operator is tried here', () => {
	assert.deepEqual([...new Set(HOLDS.map(([operator]) => operator))].sort(), [...OPERATORS].sort());
});
