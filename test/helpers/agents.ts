// Replicas that run agents, in this process: the engine over PostgreSQL, with nodes of the test.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AgentEngine } from '../../core/agents/agents.ts';
import { type AgentDesk, createAgents } from '../../core/agents/engine.ts';
import { createArgumentChecks } from '../../core/arguments/checks.ts';
import type { Plugin } from '../../core/contract/kinds.ts';
import type { Json, JsonObject } from '../../core/contract/nouns.ts';
import { createEgress } from '../../core/egress/egress.ts';
import { llmProviderLocation } from '../../core/models/connections.ts';
import { createRuns, type Runs } from '../../core/runs/runs.ts';
import { createSecrets } from '../../core/secrets/envelopes.ts';
import { Recorder } from '../../core/store/recorder.ts';
import type { AgentRow, AgentSettings, Execution, LlmProviderRow, Pipeline } from '../../core/store/store.ts';
import { startCore, type TestCore } from './core.ts';
import { silent } from './postgres.ts';
import { addTenant } from './samples.ts';

export interface AgentWorld extends AsyncDisposable {
	core: TestCore;
	engine: AgentEngine;
	desk: AgentDesk;
	runs: Runs;
	organizationId: string;
	addAgent(pipeline: Pipeline, settings?: AgentSettings): Promise<AgentRow>;
	/** Starts a run. */
	start(agent: AgentRow, input: JsonObject, more?: Partial<Parameters<AgentEngine['start']>[0]>): Promise<Execution>;
	/** Waits for the end of a run. */
	ended(execution: Execution): Promise<Execution>;
}

const LONG_MS = 120_000;

/** A replica that runs agents once its runs are opened. @param key of its envelopes, instead of the core's */
export function agentReplica(
	core: TestCore,
	opened: AsyncDisposableStack,
	key?: string,
): { engine: AgentEngine; desk: AgentDesk; runs: Runs } {
	const { store, registry, services, limits, runtime } = core;
	const recorder = new Recorder(store, silent);
	opened.defer(() => recorder.close());
	const secrets = key === undefined ? core.secrets : createSecrets(key);
	const runs = createRuns({ store, log: silent, keepMs: 1_000 });
	opened.defer(() => runs.close(0));
	const argumentChecks = createArgumentChecks(services.accountOf);
	opened.defer(() => argumentChecks.close());
	const egress = createEgress({ allow: ['127.0.0.1'] });
	opened.defer(() => egress.close());
	const parts = { registry, secrets, egress, accountOf: services.accountOf, argumentChecks, store, runs, agents: store.agents, recorder };
	const shelfOf = runtime.shelfOf.bind(runtime);
	return { ...createAgents({ ...parts, services: () => services, shelfOf, limits }), runs };
}

/** @param options.isDesk it starts, follows and answers runs, and runs none */
export async function agentWorld(plugins: Plugin[], { isDesk = false, key }: { isDesk?: boolean; key?: string } = {}): Promise<AgentWorld> {
	await using opened = new AsyncDisposableStack();
	const core = opened.use(await startCore({ plugins }));
	const replica = agentReplica(core, opened, key);
	core.services.agents = replica.desk;
	if (!isDesk) await replica.runs.open();
	const { organizationId } = await addTenant(core.store);
	const owned = opened.move();
	const { engine } = replica;
	return {
		...replica,
		core,
		organizationId,
		addAgent: (pipeline, settings = {}) =>
			core.store.agents.create(organizationId, randomUUID(), { name: 'Agent', description: '', pipeline, settings }, 1_000),
		start: (agent, input, more = {}) =>
			engine.start({ organizationId, agent, input, trigger: 'manual', startedBy: 'test', here: true, ...more }),
		async ended({ run }) {
			const execution = await engine.wait({ organizationId, id: run.id }, LONG_MS);
			assert.ok(execution.run.finishedAt, 'it has not ended');
			return execution;
		},
		[Symbol.asyncDispose]: () => owned.disposeAsync(),
	};
}

/** Adds a connection to a model `small` of the provider `local` at a port of 127.0.0.1. @returns its id */
export async function addLocalModel(
	{ core, organizationId }: Pick<AgentWorld, 'core' | 'organizationId'>,
	port: number,
	prices: LlmProviderRow['prices'] = null,
): Promise<string> {
	const id = randomUUID();
	const connection = core.registry.seal(
		...(['provider', 'local', { baseUrl: `http://127.0.0.1:${port}` }, core.secrets] as const),
		llmProviderLocation({ organizationId, id, name: 'Model' }),
	);
	const row = { name: 'Model', provider: 'local', connection, configVersion: 1, model: 'small', configuration: {} };
	await core.store.llmProviders.create(organizationId, id, { ...row, prices, budget: null, outbound: null }, 10);
	return id;
}

/** Returns the trace of a run by key: the status of each node. */
export async function statuses(world: Pick<AgentWorld, 'engine' | 'organizationId'>, id: string): Promise<Record<string, string>> {
	const entries = await world.engine.trace({ organizationId: world.organizationId, id });
	return Object.fromEntries(entries.map(({ key, status }) => [key, status]));
}

export const asJson = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;
