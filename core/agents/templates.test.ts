// Tests placeholders: what they find, what they never find, and what cannot be read.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Joi from 'joi';
import type { Json } from '../contract/nouns.ts';
import { templateTexts } from './template-fields.ts';
import { fill, parseTemplate } from './templates.ts';

const SCOPE = {
	input: { a: 1, b: { c: [true, { d: 'x' }] }, 'two words': 2, t: '{{input.a}}', n: null },
	nodes: { 'n-1': { output: 'out' } },
};

describe('a placeholder gives', () => {
	const cases: [text: string, value: Json][] = [
		['{{input.a}}', 1],
		['{{ input.b.c[1].d }}', 'x'],
		['{{input["two words"]}}', 2],
		['{{nodes.n-1.output}}', 'out'],
		['a{{input.a}}b{{input.b.c[0]}}', 'a1btrue'],
		['{{input.b}}', { c: [true, { d: 'x' }] }],
		['is {{input.b}}', 'is {"c":[true,{"d":"x"}]}'],
		['{{input.t}}', '{{input.a}}'],
		['{{input.t | json}}', '"{{input.a}}"'],
		['{{input.none}}', null],
		['[{{input.none}}]', '[]'],
		['{{input.n | default(3)}}', 3],
		['{{input.none | default("}}")}}', '}}'],
		['{{input.none | default({"a": [1]}) | json}}', '{"a":[1]}'],
		['{{input.none | json | default(3)}}', '3'],
		['{{input.b.c.1.d}}', 'x'],
		['{{input.b.c.9}}', null],
		['{{input.a[0]}}', null],
		['{{input.b.c.length}}', null],
		['{{input.constructor}}', null],
		['{{input.__proto__.x}}', null],
		['{{constructor}}', null],
		['\\{{input.a}}', '{{input.a}}'],
		['{ {input.a} }', '{ {input.a} }'],
		['', ''],
	];
	for (const [text, value] of cases) test(JSON.stringify(value), () => assert.deepEqual(fill(text, SCOPE), value, text));

	test('a value of the same form, with its members in place', () => {
		assert.deepEqual(fill({ a: ['{{input.a}}', 2], '{{input.a}}': null }, SCOPE), { a: [1, 2], '{{input.a}}': null });
	});

	test('not more than it may', () => {
		const scope = { input: 'x'.repeat(1_000_000) };
		assert.throws(() => fill(Array(9).fill('a {{input}}'), scope), { code: 'validation_failed' });
	});

	test('not more than it may as values either, which are the same one in memory', () => {
		const scope = { input: { rows: Array(1000).fill('x'.repeat(1000)) } };
		assert.deepEqual(fill({ a: '{{input}}', b: ['{{input.rows}}'] }, scope), { a: scope.input, b: [scope.input.rows] });
		for (const value of [Array(9).fill('{{input}}'), { a: Array(4).fill({ b: '{{input}}' }), c: '{{input.rows}} {{input.rows}}' }])
			assert.throws(() => fill(value, scope), { code: 'validation_failed' });
	});
});

describe('a placeholder is refused', () => {
	for (const text of [
		'{{',
		'{{input',
		'{{}}',
		'{{1}}',
		'{{input.}}',
		'{{input[x]}}',
		'{{input()}}',
		'{{input | upper}}',
		'{{input + 1}}',
		'{{input | default(x)}}',
		'{{input | json | json}}',
		'{{input | default(1) | json | default(2)}}',
	])
		test(text, () => assert.notEqual(parseTemplate(text).fault, null));

	for (const [title, inner] of [
		['with 90,000 filters', `input.a ${'|json'.repeat(90_000)}`],
		['with 40,000 defaults', `input.a ${'|default(1)'.repeat(40_000)}`],
		['with 200,000 steps', `input${'.a'.repeat(200_000)}`],
		['whose default nests 10,000 levels', `input.none | default(${'['.repeat(10_000)}${']'.repeat(10_000)})`],
	] as const)
		test(title, () => assert.throws(() => fill(`x {{${inner}}}`, SCOPE), { code: 'validation_failed' }));

	test('in a text of more than 2,000, of which no more are read', () => {
		assert.equal(parseTemplate('{{input.a}}'.repeat(2_000)).fault, null);
		const { fault, parts } = parseTemplate('{{input.a}}'.repeat(40_000));
		assert.equal(fault, 'it has more than 2000 placeholders');
		assert.equal(parts.length, 2_000);
	});
});

test('marked fields are found wherever they are', () => {
	const text = Joi.string().meta({ template: true });
	const schema = Joi.object({
		plain: Joi.string(),
		text,
		deep: Joi.object({ list: Joi.array().items(Joi.object({ value: text, name: Joi.string() })) }),
		map: Joi.object().pattern(Joi.string(), text),
		either: Joi.alternatives(Joi.number(), Joi.object({ text })),
		any: Joi.any().meta({ template: true }),
		tree: Joi.object({ text, children: Joi.array().items(Joi.link('#branch')) }).id('branch'),
	});
	const found = templateTexts(schema, {
		plain: 'no',
		text: '1',
		deep: { list: [{ value: '2', name: 'no' }] },
		map: { 'a/b': '3' },
		either: { text: '4' },
		any: { x: ['5', 6] },
		tree: { text: '7', children: [{ text: '8', children: [] }] },
	});
	assert.deepEqual(
		found.map(({ path, text: one }) => `${path}=${one}`).sort(),
		['/any/x/0=5', '/deep/list/0/value=2', '/either/text=4', '/map/a~1b=3', '/text=1', '/tree/children/0/text=8', '/tree/text=7'].sort(),
	);
});
