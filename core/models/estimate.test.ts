// Tests of the most that a request may use: it is never less than tokenizers make of the same text.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limited, mostOf } from './estimate.ts';

const asking = (content: string) => ({ messages: [{ role: 'user' as const, content }] });
const inputOf = (content: string): number => mostOf(asking(content)).inputTokens - mostOf(asking('')).inputTokens;

test('words in Latin letters are three letters a token, all else a token for each byte', () => {
	assert.equal(inputOf('a'.repeat(300)), 100);
	assert.equal(inputOf('1'.repeat(300)), 300);
	assert.equal(inputOf('ü'.repeat(300)), 600);
	assert.equal(inputOf('漢'.repeat(300)), 900);
	assert.equal(inputOf('😀'.repeat(300)), 1200);
});

test('tools, the schema of the answer and further members count as input', () => {
	const base = mostOf(asking('x')).inputTokens;
	const schema = { type: 'object', properties: { long: { description: 'x'.repeat(3000) } } };
	for (const more of [
		{ tools: [{ name: 't', description: '', parameters: schema }] },
		{ output: { name: 'o', schema } },
		{ extra: { context: 'x'.repeat(3000) } },
	])
		assert.ok(mostOf({ ...asking('x'), ...more }).inputTokens > base + 1000, JSON.stringify(more).slice(0, 40));
});

test('what a request asks to be cached counts as written, which costs the most', () => {
	const { inputTokens, writtenTokens, hourTokens } = mostOf({ ...asking('x'), extra: { cache_control: { type: 'ephemeral' } } });
	assert.deepEqual([writtenTokens, hourTokens], [inputTokens, inputTokens]);
	assert.equal(mostOf(asking('x')).writtenTokens, undefined);
});

test('the answer is as long as any member allows, as often as one asks for', () => {
	const outputOf = (more: object): number => mostOf({ ...asking('x'), ...more }).outputTokens;
	assert.equal(outputOf({}), 8192);
	assert.equal(outputOf({ maxTokens: 100 }), 100);
	assert.equal(outputOf({ maxTokens: 100, extra: { max_completion_tokens: 5000 } }), 5000);
	assert.equal(outputOf({ maxTokens: 100, extra: { n: 4 } }), 400);
	assert.equal(outputOf({ maxTokens: 100, extra: { n: 'x', max_tokens: Infinity } }), 100);
});

test('a request under a budget is sent with the limit that was estimated', () => {
	assert.equal(limited({ model: 'm', ...asking('x') }).maxTokens, 8192);
	assert.equal(limited({ model: 'm', ...asking('x'), maxTokens: 7 }).maxTokens, 7);
});
