// Measures a run of three nodes (input, a call of a model, output) beside a direct call of the same model: what the run costs beyond.
// `node test/bench/agents.ts`, about a minute. The model is a process of its own; PostgreSQL's time is not included. Goal: at most 1.5 ms of CPU
// beyond the call with 16 at once.

import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Plugin } from '../../core/contract/kinds.ts';
import { llmProviderLocation } from '../../core/models/connections.ts';
import input from '../../plugins/nodes/input/index.ts';
import llmCall from '../../plugins/nodes/llm-call/index.ts';
import output from '../../plugins/nodes/output/index.ts';
import local from '../../plugins/providers/local/index.ts';
import { agentWorld } from '../helpers/agents.ts';
import { graph } from '../helpers/graphs.ts';
import { administer } from '../helpers/postgres.ts';
import { median } from './rounds.ts';

const GOAL_US = 1_500;
const ROUNDS = 5;
const COUNTS = [
	[1, 100],
	[16, 400],
] as const;

const upstream = fork(fileURLToPath(new URL('model-upstream.ts', import.meta.url)));
const [{ port }] = (await once(upstream, 'message')) as [{ port: number }];
await using world = await agentWorld([input, llmCall, output, local] as Plugin[]);
const { core, organizationId } = world;
await administer(core.store.database, `ALTER DATABASE ${core.store.database.name} RESET synchronous_commit`);
const id = randomUUID();
const sealed = core.registry.seal(
	...(['provider', 'local', { baseUrl: `http://127.0.0.1:${port}` }, core.secrets] as const),
	llmProviderLocation({ organizationId, id, name: 'Model' }),
);
await core.store.llmProviders.create(
	organizationId,
	id,
	{
		...{ name: 'Model', provider: 'local', connection: sealed, configVersion: 1, model: 'small', configuration: {} },
		...{ prices: null, budget: null, outbound: null },
	},
	10,
);
const agent = await world.addAgent(
	graph('in>ask ask>out', {
		in: ['input', { schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } }],
		ask: ['llm_call', { providerId: id, userPromptTemplate: 'Is it so? {{input.text}}' }],
		out: ['output', { mapping: { said: '{{nodes.ask.output}}' } }],
	}),
);
const models = core.services.models.of(organizationId, new AbortController().signal);

const WAYS: Record<string, () => Promise<unknown>> = {
	call: async () => (await models.ask({ providerId: id, messages: [{ role: 'user', content: 'Is it so? Yes.' }] })).text,
	run: async () => {
		const { run } = await world.ended(await world.start(agent, { text: 'Yes.' }));
		return (run.output as { said: string } | null)?.said ?? run.error;
	},
};

interface Measured {
	cpuUs: number;
	p50: number;
	rate: number;
}

async function measure(way: () => Promise<unknown>, atOnce: number, count: number): Promise<Measured> {
	const times: number[] = [];
	let left = count;
	const cpu = process.cpuUsage();
	const startedMs = performance.now();
	const worker = async (): Promise<void> => {
		while (left-- > 0) {
			const beganMs = performance.now();
			const said = await way();
			if (said !== 'It is so.') throw new Error(`another answer: ${JSON.stringify(said)}`);
			times.push(performance.now() - beganMs);
		}
	};
	await Promise.all(Array.from({ length: atOnce }, worker));
	const { user, system } = process.cpuUsage(cpu);
	return { cpuUs: (user + system) / count, p50: median(times), rate: count / ((performance.now() - startedMs) / 1000) };
}

for (const way of Object.values(WAYS)) await measure(way, 16, 200);
console.log('| at once | way | CPU µs | p50 ms | a second |\n|---|---|---|---|---|');
let beyond = 0;
for (const [atOnce, count] of COUNTS) {
	const found: Record<string, Measured[]> = { call: [], run: [] };
	for (let round = 0; round < ROUNDS; round++)
		for (const [name, way] of Object.entries(WAYS)) found[name]?.push(await measure(way, atOnce, count));
	const of = (name: string, what: keyof Measured): number => median((found[name] ?? []).map((one) => one[what]));
	for (const name of Object.keys(WAYS))
		console.log(
			`| ${atOnce} | ${name} | ${of(name, 'cpuUs').toFixed(0)} | ${of(name, 'p50').toFixed(1)} | ${of(name, 'rate').toFixed(0)} |`,
		);
	beyond = of('run', 'cpuUs') - of('call', 'cpuUs');
	console.log(`| ${atOnce} | beyond | ${beyond.toFixed(0)} | ${(of('run', 'p50') - of('call', 'p50')).toFixed(1)} | |`);
}
upstream.kill();
console.log(beyond <= GOAL_US ? `Within the goal of ${GOAL_US} µs.` : `Beyond the goal of ${GOAL_US} µs.`);
process.exitCode = beyond <= GOAL_US ? 0 : 1;
