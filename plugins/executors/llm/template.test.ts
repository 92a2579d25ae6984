// Tests of prompts: what is looked up, what is refused, and that nothing is evaluated or read twice.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../../core/index.ts';
import { fillTemplate, parseTemplate } from './template.ts';

function fill(template: string, args: JsonObject): string {
	const pieces = parseTemplate(template);
	return typeof pieces === 'string' ? assert.fail(pieces) : fillTemplate(pieces, args);
}

const ARGS = JSON.parse(`{
	"name": "Ada", "n": 3, "yes": false, "nothing": null, "list": [{"a": "x"}, 2], "ü": "umlaut", "own": {"a.b": 1, "toString": "mine"},
	"sly": "{{name}} {{{{name}}}}", "__proto__": {"hidden": "no"}
}`) as JsonObject;

const FILLED: [template: string, prompt: string][] = [
	['Hello {{name}}, {{ n }} times', 'Hello Ada, 3 times'],
	['{{name}}{{name}}', 'AdaAda'],
	['{{list.0.a}} {{list.1}} {{list.2}} {{list.length}}', 'x 2  '],
	['{{list}} {{list.0 | json}}', '[{"a":"x"},2] {"a":"x"}'],
	['{{name | json}} {{nothing | json}} {{gone | json}}', '"Ada" null null'],
	['{{yes}}|{{nothing}}|{{gone}}|{{gone.deeper}}', 'false|||'],
	['{{gone | default: "none"}} {{nothing | default: 0}} {{name | default: "x"}} {{yes | default: true}}', 'none 0 Ada false'],
	['{{gone | default: "a|b" | json}}', '"a|b"'],
	['{{ü}}', 'umlaut'],
	['{{own.toString}} {{own.valueOf}} {{name.length}}', 'mine  '],
	['{{sly}}', '{{name}} {{{{name}}}}'],
	['\\{{name}} {"a": {"b": 1}} }}', '{{name}} {"a": {"b": 1}} }}'],
	['', ''],
];

describe('a prompt', () => {
	for (const [template, prompt] of FILLED)
		test(`${JSON.stringify(template)} is filled once`, () => assert.equal(fill(template, ARGS), prompt));

	const REFUSED: [template: string, says: RegExp][] = [
		['a {{name', /\{\{ at character 3 has no \}\}/],
		['{{}}', /must be the name of an argument/],
		['{{a b}}', /must be the name of an argument/],
		['{{a..b}}', /must be the name of an argument/],
		['{{name | upper}}', /unknown filter/],
		['{{name | default: x}}', /unknown filter/],
		['{{name |}}', /unknown filter/],
		['{{a.__proto__.b}}', /may not use __proto__/],
		['{{constructor}}', /may not use constructor/],
		['{{a}}'.repeat(1001), /1000 placeholders/],
	];
	for (const [template, says] of REFUSED)
		test(`${JSON.stringify(template.slice(0, 40))} is refused`, () => {
			const fault = parseTemplate(template);
			assert.ok(typeof fault === 'string');
			assert.match(fault, says);
		});

	test('that would be too long is refused before it is written', () => {
		assert.throws(() => fill('{{a}}'.repeat(1000), { a: 'x'.repeat(10_000) }), /more than 2000000 characters/);
	});

	test('is read in time that grows with its length', () => {
		for (const hostile of [
			'{{'.repeat(30_000),
			`{{a | default: "${'\\'.repeat(60_000)}}}`,
			`{{${' '.repeat(60_000)}}}`,
			'\\{{'.repeat(20_000),
		])
			parseTemplate(hostile);
	});
});
