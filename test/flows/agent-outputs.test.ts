// Tests the outputs of nodes that compute only: they are bounded in all, and computing many of them leaves the process to others, too.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Plugin } from '../../core/contract/kinds.ts';
import input from '../../plugins/nodes/input/index.ts';
import map from '../../plugins/nodes/map/index.ts';
import output from '../../plugins/nodes/output/index.ts';
import transform from '../../plugins/nodes/transform/index.ts';
import { type AgentWorld, agentWorld } from '../helpers/agents.ts';
import { graph } from '../helpers/graphs.ts';

let world: AgentWorld;
before(async () => {
	world = await agentWorld([input, map, output, transform] as Plugin[]);
});
after(() => world[Symbol.asyncDispose]());

const THOUSAND = Array.from({ length: 1_000 }, (_, at) => at);

/** Writes a text of so many characters for each of a thousand items, and shows their indexes. */
async function run(chars: number) {
	const body = graph('long>short short>end', {
		long: ['transform', { template: { text: '{{input.text}}{{input.text}}' } }],
		short: ['transform', { template: '{{index}}' }],
		end: ['output', { mapping: { at: '{{nodes.short.output}}' } }],
	});
	const each = { items: '{{input.items}}', body, concurrency: 8, maxItems: 1_000, onError: 'stop' };
	const agent = await world.addAgent(
		graph('in>each each>out', { in: ['input'], each: ['map', each], out: ['output', { mapping: { all: '{{nodes.each.output}}' } }] }),
	);
	return world.ended(await world.start(agent, { items: THOUSAND, text: 'x'.repeat(chars / 2) }));
}

const cpuMs = (): number => {
	const { user, system } = process.threadCpuUsage();
	return (user + system) / 1000;
};

test('a thousand items of 30,000 characters leave turns of the event loop to others', async (t) => {
	const turns: number[] = [];
	let [last, isDone] = [cpuMs(), false];
	const look = (): void => {
		const now = cpuMs();
		turns.push(now - last);
		last = now;
		if (!isDone) setImmediate(look);
	};
	setImmediate(look);
	const { run: ended } = await run(30_000);
	isDone = true;
	assert.deepEqual(ended.output, { all: THOUSAND.map((at) => ({ at })) });
	const [longest, all] = turns.reduce(([most, sum], turn) => [Math.max(most, turn), sum + turn], [0, 0]);
	t.diagnostic(`${longest.toFixed(0)} of ${all.toFixed(0)} ms of CPU in the longest of ${turns.length} turns`);
	assert.ok(longest < all / 4, `${longest} of ${all} ms in one turn`);
});

test('outputs of more than 32 Mi characters in all fail the run, which says so', async () => {
	const { run: ended } = await run(40_000);
	assert.deepEqual([ended.status, ended.error?.code], ['failed', 'conflict']);
	assert.match(ended.error?.message ?? '', /outputs of nodes without an effect may have 33554432 characters in all/);
});
