// The definition that a run of an agent is pinned to, as its row keeps it.

import type { Json } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import type { Run } from '../store/store.ts';
import type { AgentDefinition } from './agents.ts';
import type { Sealed } from './envelopes.ts';

/** A type alias, since it is stored as JSON. */
export type RunDefinition = AgentDefinition & {
	/** The name of the envelopes of a run and all that it begins. */
	ref: string;
	/** The ids of the agents that wait for each other, the outermost first, this one last. */
	chain: string[];
	/** The run that all of them belong to; null: this one. */
	rootId: string | null;
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
