import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../contract/nouns.ts';
import type { RunResult } from '../../contract/results.ts';
import { AnswerSizes, fieldsOf } from './answer-size.ts';

const answerOf = (structured: Json): RunResult => ({ content: [{ type: 'text', text: JSON.stringify(structured) }], structured });
const fields = (data: Json): Record<string, number> => Object.fromEntries(fieldsOf(answerOf(data)));

test('an answer costs a quarter of the characters of its texts, or of its data where it has none', () => {
	const sizes = new AnswerSizes();
	assert.equal(sizes.of('a', { content: [{ type: 'text', text: 'x'.repeat(401) }] }).tokens, 101);
	assert.equal(sizes.of('a', { content: [], structured: { a: 'x'.repeat(400) } }).tokens, 103);
	assert.equal(sizes.of('a', { content: [] }).tokens, 0);
});

test('the first answer of a tool and each twentieth has its fields measured', () => {
	const sizes = new AnswerSizes();
	const measured = Array.from({ length: 41 }, (_, at) => [at, sizes.of('a', answerOf({ b: 1 })).fields !== undefined]);
	assert.deepEqual(
		measured.filter(([, has]) => has).map(([at]) => at),
		[0, 20, 40],
	);
	assert.ok(sizes.of('b', answerOf({ b: 1 })).fields);
});

test('fields are measured by path, three deep, and items of a list together', () => {
	const data = {
		id: 7,
		items: [
			{ name: 'abc', tags: ['x', 'y'] },
			{ name: 'abcdef', tags: [] },
		],
		deep: { a: { b: { c: 'end' } } },
	};
	const found = fields(data);
	assert.deepEqual(Object.keys(found).toSorted(), [
		'/deep',
		'/deep/a',
		'/deep/a/b',
		'/id',
		'/items',
		'/items/*',
		'/items/*/name',
		'/items/*/tags',
	]);
	assert.deepEqual([found['/id'], found['/items/*/name']], [1, 5 + 8]);
	const whole = JSON.stringify(data.items).length;
	assert.ok(Math.abs((found['/items'] ?? 0) - whole) <= 6, `${found['/items']} of ${whole}`);
	assert.deepEqual(fieldsOf({ content: [{ type: 'text', text: '{"a":"bc"}' }] }), [['/a', 4]]);
});

test('a sample of a long list stands for all of it, and the work is bounded', () => {
	const row = { id: 1, text: 'x'.repeat(100) };
	const found = fields(Array.from({ length: 100_000 }, () => row));
	assert.equal(found['/*/text'], 100_000 * 102);
	const wide = fields(Array.from({ length: 20 }, () => Array.from({ length: 20 }, () => Array.from({ length: 20 }, () => ({ a: 1 })))));
	assert.ok((wide['/*'] ?? 0) > 0);
});

test('names that are data are not told', () => {
	const many = Object.fromEntries(Array.from({ length: 41 }, (_, at) => [`key${at}`, 1]));
	assert.deepEqual(Object.keys(fields({ many, 'ada@example.com canary': 1, '0041 79': 2 })).toSorted(), ['/*', '/many', '/many/*']);
});

test('text that is no data has no fields', () => {
	for (const text of ['plain', '{broken', '"text"', '12', `[${'1,'.repeat(100_000)}1]`])
		assert.deepEqual(fieldsOf({ content: [{ type: 'text', text }] }), []);
});

test('an answer may be nested as deep as its upstream likes: values that lie deeper than 64 levels count nothing', () => {
	const nested = (levels: number): string => `${'{"a":'.repeat(levels)}"${'x'.repeat(1000)}"${'}'.repeat(levels)}`;
	const sizeOf = (levels: number) =>
		fieldsOf({ content: [{ type: 'text', text: nested(levels) }] }).find(([path]) => path === '/a')?.[1] ?? 0;
	assert.ok(sizeOf(64) > 1000);
	assert.ok(sizeOf(65) > 0 && sizeOf(65) < 1000);
	assert.equal(sizeOf(20_000), sizeOf(65));
	const list = `${'[{"a":'.repeat(4000)}1${'}]'.repeat(4000)}`;
	assert.equal(new AnswerSizes().of('a', { content: [{ type: 'text', text: list }] }).tokens, Math.ceil(list.length / 4));
});
