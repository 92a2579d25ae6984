// The agents of an organization, as calls run them. Types only.

import type { Json, JsonSchema } from './nouns.ts';

export interface AgentRuns {
	/**
	 * Runs an agent and returns its output. The run ends when `signal` aborts, or the call does. Inside a run of an agent, it belongs to that
	 * run: it is cancelled with it, and agents that call each other are bounded in depth.
	 * @throws not_found, conflict for an inactive agent, validation_failed naming the field of the input, rate_limited, and what it fails with
	 */
	run(agentId: string, input: Json, options?: AgentRunOptions): Promise<Json>;
}

export interface AgentRunOptions {
	signal?: AbortSignal;
	/** The execution of this agent that is followed, instead of a new one that would get the input. */
	resume?: string;
	/**
	 * Answers what the run asks people. Null: not here; the run goes on waiting, and `run` throws conflict. A question that is thrown on cancels
	 * the run. Absent: the run waits for whoever answers over the management API.
	 */
	answer?(question: AgentQuestion): Promise<Json>;
}

/** A question of a run. */
export interface AgentQuestion {
	executionId: string;
	/** Its name among the questions of the run. */
	key: string;
	message: string;
	schema: JsonSchema;
	/** Only some members of the organization may answer. */
	isRestricted: boolean;
}
