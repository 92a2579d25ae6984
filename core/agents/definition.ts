// The definition that a run of an agent is pinned to, as its row keeps it.

import type { Json } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import type { ModelBudget, RunBudget } from '../models/spending.ts';
import type { Run } from '../store/store.ts';
import type { AgentDefinition } from './agents.ts';
import type { Sealed } from './envelopes.ts';

/** A type alias, since it is stored as JSON. */
export type RunDefinition = AgentDefinition & {
	/** The name of the envelopes of a run and all that it begins. */
	ref: string;
	/** The ids of the agents that wait for each other, the outermost first, this one last. */
	chain: string[];
	/** The budgets of the runs that wait for this one, for which its models count, too; absent without any. */
	within?: RunBudget[];
	/** The conversation that the run belongs to, sealed; absent without one. */
	conversation?: Sealed;
	/** The trace that it was started in, which each of its attempts continues; absent without telemetry. */
	trace?: { traceparent: string; tracestate?: string };
};

/** Agents that wait for each other, at most. */
export const MAX_DEPTH = 5;

/** The kind of run of an agent that so many others wait for: each depth has places of its own, so that those who wait never take the last. */
export const kindOf = (depth: number): string => (depth === 1 ? 'agent' : `agent.${depth}`);

export const isAgentKind = (kind: string): boolean => kind === 'agent' || kind.startsWith('agent.');

/** @throws Error for a run that this room did not start */
export function definitionOf({ definition }: Pick<Run, 'definition'>): RunDefinition {
	if (!isObject(definition) || !isObject(definition['pipeline'])) throw new Error('The run was begun by no agent.');
	return definition as Json as RunDefinition;
}

/** Returns the budgets of a run: its own, and those of the runs that wait for it. */
export const runBudgets = ({ settings: { budget }, within = [] }: RunDefinition, runId: string): RunBudget[] =>
	budget?.perRun === undefined ? within : [{ runId, limit: budget.perRun }, ...within];

/** Returns the budgets that the model calls of a run count for. */
export function modelBudgets(definition: RunDefinition, runId: string): ModelBudget[] {
	const { agentId, settings } = definition;
	const perMonth = settings.budget?.perMonth;
	return [
		...runBudgets(definition, runId).map((budget) => ({
			...{ name: 'perRun', of: budget.runId === runId ? 'the run' : 'the run that started it' },
			...{ holder: `run:${budget.runId}`, period: 'all' as const, limit: budget.limit },
		})),
		...(perMonth === undefined
			? []
			: [{ name: 'perMonth', of: 'the agent', holder: `agent:${agentId}`, period: 'month' as const, limit: perMonth }]),
	];
}
