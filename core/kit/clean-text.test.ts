import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grouped } from './clean-text.ts';

test('whole numbers are grouped as the formatter of Intl does', () => {
	const formatter = new Intl.NumberFormat('en');
	for (const count of [0, 7, 999, 1000, 12_345, 999_999, 1_000_000, 33_554_432, -1000, -999])
		assert.equal(grouped(count), formatter.format(count));
});
