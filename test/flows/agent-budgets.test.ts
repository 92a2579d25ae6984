// Tests that what a run may spend includes what the agents that it starts spend, whether a node runs them or a tool.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import type { Plugin } from '../../core/contract/kinds.ts';
import type { AgentRow, AgentSettings } from '../../core/store/store.ts';
import agentExecutor from '../../plugins/executors/agent/index.ts';
import input from '../../plugins/nodes/input/index.ts';
import llmCall from '../../plugins/nodes/llm-call/index.ts';
import output from '../../plugins/nodes/output/index.ts';
import subAgent from '../../plugins/nodes/sub-agent/index.ts';
import toolCall from '../../plugins/nodes/tool-call/index.ts';
import local from '../../plugins/providers/local/index.ts';
import { type AgentWorld, addLocalModel, agentWorld } from '../helpers/agents.ts';
import { graph, type Nodes } from '../helpers/graphs.ts';
import { addTool } from '../helpers/samples.ts';

const CHUNK = { id: 'c', object: 'chat.completion.chunk', created: 0, model: 'small' };
const ANSWER = [
	{ ...CHUNK, choices: [{ index: 0, delta: { content: 'It is so.' }, finish_reason: 'stop' }] },
	{ ...CHUNK, choices: [], usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 } },
]
	.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
	.join('');
/** A call costs 20 cents, and is expected to cost 50 at most. */
const PRICES = { small: { input: 1e10, output: 1e10 } };
const MOST_TOKENS = 10;

let asked = 0;
const upstream = createServer((request, response) => {
	asked += 1;
	request.resume().on('end', () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${ANSWER}data: [DONE]\n\n`));
});
let providerId: string;
let world: AgentWorld;
before(async () => {
	await once(upstream.listen(0, '127.0.0.1'), 'listening');
	world = await agentWorld([input, llmCall, output, subAgent, toolCall, local, agentExecutor] as Plugin[]);
	providerId = await addLocalModel(world, (upstream.address() as AddressInfo).port, PRICES);
});
after(async () => {
	await world[Symbol.asyncDispose]();
	upstream.closeAllConnections();
	upstream.close();
});
beforeEach(() => {
	asked = 0;
});

/** An agent that does the same six times, one after another. */
function addSixfold(node: Nodes[string], settings: AgentSettings): Promise<AgentRow> {
	const keys = Array.from({ length: 6 }, (_, at) => `n${at}`);
	const edges = ['in', ...keys].map((key, at) => `${key}>${keys[at] ?? 'out'}`).join(' ');
	return world.addAgent(
		graph(edges, { in: ['input'], ...Object.fromEntries(keys.map((key) => [key, node])), out: ['output', { mapping: { n: 1 } }] }),
		settings,
	);
}
const asks = (): Nodes[string] => ['llm_call', { providerId, userPromptTemplate: 'So?', maxTokens: MOST_TOKENS }];
const runs = (agent: AgentRow): Nodes[string] => ['sub_agent', { agentId: agent.id }];
async function calls(agent: AgentRow): Promise<Nodes[string]> {
	const executionConfig = { agentId: agent.id, timeoutMs: 60_000 };
	const tool = await addTool(world.core.store, world.organizationId, {
		type: 'agent',
		executor: 'agent',
		executionConfig,
		name: `t${asked}`,
	});
	return ['tool_call', { toolId: tool.id, arguments: {}, effect: 'once', result: 'data' }];
}
const addOne = (settings: AgentSettings = {}): Promise<AgentRow> =>
	world.addAgent(graph('in>ask ask>out', { in: ['input'], ask: asks(), out: ['output', { mapping: { n: 1 } }] }), settings);

async function endOf(agent: AgentRow): Promise<{ status: string; error: { code: string; message: string } | null }> {
	const { status, error } = (await world.ended(await world.start(agent, {}))).run;
	return { status, error };
}

const PER_RUN = { budget: { perRun: 0.95 } };
const THREE_OF_THE_BUDGET = 3;

test('six calls of a run are as many as its budget allows', async () => {
	const { status, error } = await endOf(await addSixfold(asks(), PER_RUN));
	assert.deepEqual([status, error?.code, asked], ['failed', 'conflict', THREE_OF_THE_BUDGET]);
});

for (const [what, nodeOf] of [
	['that nodes run', async (agent: AgentRow) => runs(agent)],
	['that are tools', calls],
] as const)
	test(`agents ${what} spend of the budget of the run`, async () => {
		const { status, error } = await endOf(await addSixfold(await nodeOf(await addOne()), PER_RUN));
		assert.deepEqual([status, asked], ['failed', THREE_OF_THE_BUDGET]);
		assert.match(error?.message ?? '', /budget perRun of the run that started it, \$0\.95/);
	});

test('an agent has its own budget in each of its runs, and those above it another for all of them', async () => {
	const one = await addOne({ budget: { perRun: 0.55 } });
	const { status } = await endOf(await addSixfold(runs(one), { budget: { perRun: 10 } }));
	assert.deepEqual([status, asked], ['succeeded', 6]);
	asked = 0;
	const middle = await addSixfold(runs(one), {});
	const outermost = await endOf(await addSixfold(runs(middle), { budget: { perRun: 1.78 } }));
	assert.deepEqual([outermost.status, outermost.error?.code, asked], ['failed', 'conflict', 7]);
});
