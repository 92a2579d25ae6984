// Processes that run agents, and the runs that tests give them.

import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { AgentRow } from '../../core/store/store.ts';
import { agentNodes } from './agent-nodes.ts';
import { KEY } from './agent-worker.ts';
import { type AgentWorld, agentWorld } from './agents.ts';
import { graph, work } from './graphs.ts';
import { administer, type Endpoint } from './postgres.ts';
import { type Judged, judge, type RunProcess, runProcess } from './run-processes.ts';
import { EFFECTS } from './run-worker.ts';

const WORKER = fileURLToPath(new URL('agent-worker.ts', import.meta.url));

export const agentProcess = (database: Endpoint, env: Record<string, string | number> = {}, flags: string[] = []): Promise<RunProcess> =>
	runProcess(database, env, { worker: WORKER, flags });

/** A desk that starts and follows runs, which other processes run. */
export async function agentDesk(): Promise<AgentWorld> {
	const world = await agentWorld(agentNodes(), { isDesk: true, key: KEY });
	await administer(world.core.store.database, EFFECTS);
	return world;
}

/** Adds an agent whose nodes take so long: two at once in its middle, one of which may run once. */
export const addChain = (world: AgentWorld, ms: number): Promise<AgentRow> =>
	world.addAgent(
		graph('in>a a>b a>c b>d c>d d>out', {
			in: ['start'],
			...{ a: work('a', { ms }), b: work('b', { ms }), c: work('c', { ms, effect: 'once' }), d: work('d', { ms }) },
			out: ['finish', { value: 'done' }],
		}),
	);

/** Starts runs, each with a tag by which its effects are found. @returns the ids of the runs by their tags */
export async function startMany(world: AgentWorld, agent: AgentRow, many: number): Promise<Map<string, string>> {
	const started = new Map<string, string>();
	for (let index = 0; index < many; index += 10)
		await Promise.all(
			Array.from({ length: Math.min(10, many - index) }, async () => {
				const tag = randomUUID();
				started.set(tag, (await world.start(agent, { tag }, { here: false })).run.id);
			}),
		);
	return started;
}

/** Judges what the runs left behind, once all have ended. */
export async function judged(world: AgentWorld, started: ReadonlyMap<string, string>): Promise<Judged> {
	const { database } = world.core.store;
	const pairs = [...started].map(([tag, id]) => `('${tag}'::uuid, '${id}'::uuid)`).join(', ');
	await administer(database, `UPDATE effects e SET run_id = p.id FROM (VALUES ${pairs}) AS p (tag, id) WHERE e.run_id = p.tag`);
	return judge(database, 'agent');
}
