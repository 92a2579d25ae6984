// Holds what the search finds: 100 queries, written before the ranking was, on 1,000 real tools.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import type { Tool } from '../../../core/index.ts';
import { realTools } from '../../../test/helpers/real-tools.ts';
import { rank } from './rank.ts';
import { indexTools, type ToolIndex } from './tool-index.ts';
import { halvesOf } from './tool-text.ts';
import { stemsOf } from './words.ts';

interface Query {
	ask: string;
	tools: string[];
}

const QUERIES = JSON.parse(readFileSync(new URL('../../../test/fixtures/search/queries.json', import.meta.url), 'utf8')) as Record<
	'words' | 'none',
	Query[]
>;
const FIRST = 5;
/** The figure of today for queries that use no word of the tool; it may rise. */
const NONE_RECALL = 8 / 34;

let tools: readonly Tool[];
let index: ToolIndex;

before(async () => {
	tools = await realTools(1000);
	index = await indexTools(tools);
});

/** The queries that find none of their tools among the first five. */
const missed = (queries: readonly Query[]): Query[] =>
	queries.filter((query) => !rank(index, query.ask, FIRST).some((place) => query.tools.includes(tools[place]?.name ?? '')));

test('there are 1,000 tools and 100 queries; each names tools that are there; a third uses no word of the tool', () => {
	const names = new Set(tools.map(({ name }) => name));
	assert.equal(names.size, 1000);
	assert.equal(QUERIES.words.length + QUERIES.none.length, 100);
	assert.ok(QUERIES.none.length * 3 >= 100);
	assert.deepEqual(
		[...QUERIES.words, ...QUERIES.none].flatMap((query) => query.tools).filter((name) => !names.has(name)),
		[],
	);
	const sharing = QUERIES.none.filter(({ ask, tools: [expected] }) => {
		const tool = tools.find(({ name }) => name === expected);
		const own = new Set(stemsOf(`${tool?.name} ${halvesOf(tool?.description ?? '')[0]}`));
		return stemsOf(ask).some((stem) => own.has(stem));
	});
	assert.deepEqual(
		sharing.map(({ ask }) => ask),
		[],
	);
});

test('of the queries that use words of the tool, at least 90 of 100 find it among the first five', (t) => {
	const misses = missed(QUERIES.words);
	const recall = 1 - misses.length / QUERIES.words.length;
	t.diagnostic(`recall@5 with words of the tool: ${recall.toFixed(3)}; missed: ${misses.map(({ ask }) => ask).join('; ')}`);
	assert.ok(recall >= 0.9, `${recall}`);
});

test('of the queries that use none, no fewer find it than before', (t) => {
	const recall = 1 - missed(QUERIES.none).length / QUERIES.none.length;
	t.diagnostic(`recall@5 without words of the tool: ${recall.toFixed(3)}`);
	assert.ok(recall >= NONE_RECALL, `${recall}`);
});

test('a mistyped word, the beginning of one, and another word for the same find the tool', () => {
	const firstOf = (query: string): string | undefined => tools[rank(index, query, 1)[0] ?? -1]?.name;
	assert.equal(firstOf('inventroy'), 'getInventory');
	assert.equal(firstOf('ask owlb'), 'askOwlbot');
	assert.match(firstOf('gitignore tempaltes') ?? '', /^gitignore_/);
	assert.ok(rank(index, 'remove gist', 3).some((place) => tools[place]?.name === 'gists_delete'));
});

test('a query of stop words, of nothing that is known, or of no word ranks nothing or little, and never fails', () => {
	assert.deepEqual(rank(index, 'qqqqqqqq zzzzzz', 5), []);
	assert.deepEqual(rank(index, '!!! ???', 5), []);
	assert.ok(rank(index, 'the of and', 5).length <= 5);
	assert.ok(rank(index, 'issue '.repeat(1000), 5).length === 5);
});
