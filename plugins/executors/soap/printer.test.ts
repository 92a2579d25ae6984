// JSON is printed in steps, as JSON.stringify prints it in one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../core/index.ts';
import { printJson } from './printer.ts';

function printed(value: Json): { text: string; steps: number } {
	const steps = printJson(value);
	for (let count = 0; ; count++) {
		const step = steps.next();
		if (step.done) return { text: step.value, steps: count };
	}
}

test('JSON is printed as by JSON.stringify, also texts of many characters', () => {
	const long = `x${'😀"\n'.repeat(50_000)}`;
	const values: Json[] = [null, true, -1.5, '', 'ü"\\', [], {}, [[], {}, [1, null]], { a: { 'b"': [long] }, c: '\ud800' }, long];
	for (const value of values) assert.equal(printed(value).text, JSON.stringify(value));
});

test('Lists, objects and texts are printed in steps', () => {
	const members = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, index]));
	for (const value of [Array<Json>(10_000).fill(1), members, Array<Json>(5_000).fill([]), 'x'.repeat(600_000)])
		assert.ok(printed(value).steps >= 9, String(printed(value).steps));
});
