// Tests what a search may take, whatever the tools of an organization say.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TimeSlice } from '../../../core/index.ts';
import { sampleTool } from '../../../test/helpers/mcp.ts';
import { rank } from './rank.ts';
import { sortInSlices } from './sorting.ts';
import { indexTools } from './tool-index.ts';
import { wordsOf } from './words.ts';

test('words are sorted as by one sort, in runs', async () => {
	const words = Array.from({ length: 5001 }, (_, at) => `w${(at * 7919) % 5003}é`);
	assert.deepEqual(await sortInSlices(words, new TimeSlice()), [...words].sort());
	assert.deepEqual(await sortInSlices([], new TimeSlice()), []);
});

test('an index has 100,000 words at most, and finds by those', async () => {
	const tools = Array.from({ length: 1100 }, (_, at) => {
		const description = Array.from({ length: 100 }, (_one, word) => `q${(at * 100 + word).toString(36)}z`).join(' ');
		return sampleTool({ id: String(at), name: `t_${at}`, description });
	});
	const index = await indexTools(tools);
	assert.equal(index.words.size, 100_000);
	assert.deepEqual(rank(index, 'q2sz', 1), [1]);
});

test('a query meets 300,000 tools at most, as often as words bring them', () => {
	const [size, count] = [20_000, 40];
	const sorted = Array.from({ length: count }, (_, at) => `aaa${at}`).sort();
	let met = 0;
	const tools = new Proxy(new Uint32Array(size * count), {
		get(of, name) {
			met += 1;
			return Reflect.get(of, name);
		},
	});
	const starts = Uint32Array.from({ length: count + 1 }, (_, at) => at * size);
	const words = new Map(sorted.map((word, at) => [word, at]));
	rank({ size, words, sorted, starts, tools, impacts: new Float32Array(size * count).fill(0.5), sizeBytes: 0 }, 'aaa aa1', 10);
	assert.ok(met > 0 && met <= 300_000, String(met));
});

test('of long words the beginning counts', () => {
	assert.deepEqual(wordsOf('x'.repeat(500)), ['x'.repeat(64)]);
});
