// Measures what finding a tool costs: an index of 10,000 tools, searches in it, and `tools/list` of 1,000, in CPU time of the main thread.
// `node test/bench/search.ts`.

import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { rank } from '../../adapters/mcp/search/rank.ts';
import { indexTools } from '../../adapters/mcp/search/tool-index.ts';
import { longestTurnMs, threadCpuMs } from '../helpers/clock.ts';
import { mcpEndpoint, request } from '../helpers/mcp.ts';
import { realTools } from '../helpers/real-tools.ts';
import { median } from './rounds.ts';

const ROUNDS = 15;
const QUERIES = JSON.parse(readFileSync(new URL('../fixtures/search/queries.json', import.meta.url), 'utf8')) as Record<
	string,
	{ ask: string }[]
>;
const asked = Object.values(QUERIES).flatMap((some) => some.map(({ ask }) => ask));
/** A query that costs most: words that are in no tool, all compared with all that begin like them. */
const hostile = Array.from({ length: 24 }, (_none, n) => `${'sprac'[n % 5]}${'eorialt'[n % 7]}x${'bdfgk'[n % 5]}${n}qz`).join(' ');

/** The work is repeated, since some systems count CPU time in steps of milliseconds. */
async function measured(once: () => unknown, times = 20): Promise<number> {
	const work = async (): Promise<void> => {
		for (let time = 0; time < times; time++) await once();
	};
	await work();
	const costs: number[] = [];
	for (let round = 0; round < ROUNDS; round++) costs.push(await threadCpuMs(work));
	return median(costs) / times;
}

const row = (name: string, cpuMs: number, more = ''): void => console.log(`| ${name} | ${cpuMs.toFixed(2)} | ${more} |`);

const tools = await realTools(10_000);
console.log(`${cpus()[0]?.model}, Node ${process.version}\n\n| | CPU ms | |\n|---|---|---|`);
let index = await indexTools(tools);
let longest = 0;
const building = await threadCpuMs(async () => {
	longest = await longestTurnMs(async () => {
		index = await indexTools(tools);
	});
});
row(
	'index of 10,000 tools',
	building,
	`longest turn ${longest.toFixed(1)} ms; ${(index.sizeBytes / 1e6).toFixed(1)} MB, ${index.words.size} words`,
);
row('a search in 10,000 tools, mean of 100 queries', (await measured(() => asked.map((ask) => rank(index, ask, 10)))) / asked.length);
row('the same, 24 words that nothing has', await measured(() => rank(index, hostile, 10)));
row('the same, 24 of the most frequent words', await measured(() => rank(index, asked.join(' '), 10)));

const endpoint = mcpEndpoint({ tools: tools.slice(0, 10_000) });
const search = request('tools/call', { name: 'search_tools', arguments: { query: 'add a comment to an issue' } });
row('search_tools, with five schemas', await measured(async () => JSON.stringify((await endpoint(search)).body)));
const lists = mcpEndpoint({ tools: tools.slice(0, 1000) });
const first = await lists(request('tools/list'));
const pages = [request('tools/list'), request('tools/list', { cursor: first.message.result.nextCursor })];
let chars = 0;
const listing = await measured(async () => {
	const bodies = await Promise.all(pages.map(async (page) => (await lists(page)).body as Buffer));
	chars = bodies.reduce((sum, { length }) => sum + length, 0);
});
row('tools/list of 1,000 tools, both pages, as bytes', listing, `${(chars / 1e6).toFixed(1)} MB`);
