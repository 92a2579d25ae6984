// Tests which decimals are multiples, and that parameters say so.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileArguments } from './compile.ts';
import { isMultiple } from './multiples.ts';

const MULTIPLES: [value: number, divisor: number][] = [
	...[0.07, 1.1, 19.99, 0, -0.29, 4.35, 1e20, 123456789.01, 9007199254740.99, 4423104084.52, 1e300].map((value): [number, number] => [
		value,
		0.01,
	]),
	...(
		[
			[1e23, 10],
			[1e300, 1e-300],
			[0.0075, 0.0001],
			[12_391_239_123, 1e-8],
			[1e-7, 1e-9],
			[4.5, 1.5],
			[1e308, 0.5],
			[3, 0.1],
		] as const
	).map(([value, divisor]): [number, number] => [value, divisor]),
];
const OTHERS: [value: number, divisor: number][] = [
	[0.075, 0.01],
	[0.00751, 0.0001],
	[19.999_999_999, 0.01],
	[9_007_199_254_740_991, 2],
	[9_007_199_254_740_991, 1.5],
	[1_000_000_000.000_000_1, 1],
	[1e308, 0.123_456_789],
	[1e-300, 1e300],
	[1e-9, 0.01],
	[7, 1e18],
];

test('a decimal is a multiple as it is written, whatever its double', () => {
	for (const [value, divisor] of MULTIPLES) assert.ok(isMultiple(value, divisor), `${value} of ${divisor}`);
	for (const [value, divisor] of OTHERS) assert.ok(!isMultiple(value, divisor), `${value} of ${divisor}`);
	for (let cents = 0; cents < 20_000; cents++) {
		assert.ok(isMultiple(cents / 100, 0.01), `${cents}`);
		assert.ok(!isMultiple((cents * 10 + 1) / 1000, 0.01), `${cents}`);
	}
});

test('parameters take the multiples of a decimal, and name another number', () => {
	const check = compileArguments({ type: 'object', properties: { price: { type: 'number', multipleOf: 0.01 } } });
	for (const price of [0.07, 1.1, 19.99]) assert.deepEqual(check({ price }), []);
	assert.deepEqual(check({ price: 0.075 }), [{ path: '/price', message: 'must be multiple of 0.01, got number 0.075.' }]);
	assert.throws(() => compileArguments({ type: 'object', properties: { price: { multipleOf: 0 } } }), { code: 'validation_failed' });
});
