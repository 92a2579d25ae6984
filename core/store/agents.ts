// The storage port of agents: their pipelines, and their executions beside the runs that carry them out.

import type { JsonObject } from '../contract/nouns.ts';
import type { Edit, Fresh, Listed, Page, Removed, TextFilter, Versioned } from './rows.ts';
import type { ClaimedRun, NewRun, Run, RunKind, RunTrigger } from './runs.ts';

/** A node of a pipeline, as clients write it: `data` is the config of its type, with core's `policy`. */
export type PipelineStep = { id: string; type: string; data: JsonObject };
/** An edge between two nodes; `sourceHandle` is the way out of a node that has several. */
export type PipelineEdge = { id: string; source: string; target: string; sourceHandle?: string };
/** A type alias, since it is stored as JSON: an interface has no index signature. */
export type Pipeline = { nodes: PipelineStep[]; edges: PipelineEdge[] };

/** Settings that hold for every run of an agent. */
export type AgentSettings = {
	/** The time limit of a run in milliseconds. */
	timeoutMs?: number;
	/** The most that models may cost, in US dollars. */
	budget?: { perRun?: number; perMonth?: number };
	/** Whether a run ends when the client that waits for it leaves. */
	onDisconnect?: 'cancel' | 'continue';
};

export interface AgentRow extends Versioned {
	name: string;
	description: string;
	status: 'active' | 'inactive';
	pipeline: Pipeline;
	settings: AgentSettings;
	/** The number of executions so far, of those that are pruned, too. */
	totalExecutions: number;
}

export interface NewAgent extends Fresh<AgentRow, 'status' | 'totalExecutions'> {
	status?: AgentRow['status'];
}
export type AgentChange = Edit<AgentRow, 'totalExecutions'>;

/** An execution: the run, and what only an agent's run has. */
export interface Execution {
	run: Run;
	agentId: string;
	/** The revision of the agent that ran. */
	revision: number;
	/** The user or the kind of caller that started it, for people to read; null for a schedule. */
	startedBy: string | null;
	tokensUsed: number;
	/** Millionths of a US dollar; null when the cost of a call is unknown. */
	cost: number | null;
}

export interface NewExecution {
	agentId: string;
	revision: number;
	startedBy: string | null;
}

export interface ExecutionFilter {
	status?: 'success' | 'failed' | 'running';
	trigger?: RunTrigger;
}

export interface Agents {
	/** Lists agents; sorts by createdAt, updatedAt, name. */
	list(organizationId: string, page: Page, filter?: TextFilter): Promise<Listed<AgentRow>>;
	get(organizationId: string, id: string): Promise<AgentRow | null>;
	/** @param most agents of the organization. @throws conflict when it has as many */
	create(organizationId: string, id: string, row: NewAgent, most: number): Promise<AgentRow>;
	/** @throws precondition_failed */
	update(organizationId: string, id: string, change: AgentChange, ifVersion?: number): Promise<AgentRow | null>;
	/** Removes an agent with its executions; runs under way are cancelled. @throws precondition_failed */
	remove(organizationId: string, id: string, ifVersion?: number): Promise<Removed | null>;
	/** Adds a run of an agent with its execution, in one transaction. Null: there is no such agent. */
	start(asked: NewRun, kind: RunKind, execution: NewExecution): Promise<{ run: Run; claimed: ClaimedRun | null } | null>;
	/** Lists executions, the newest first; those of sub-agents too. */
	executions(
		organizationId: string,
		agentId: string,
		place: { limit: number; offset: number },
		filter?: ExecutionFilter,
	): Promise<{ executions: Execution[]; total: number }>;
	execution(organizationId: string, agentId: string, id: string): Promise<Execution | null>;
	/** Finds an execution without its agent, for those who have its id only. */
	executionOf(organizationId: string, runId: string): Promise<Execution | null>;
	/** Adds tokens and cost to an execution, and to the agent's month. @param cost null when it is unknown */
	count(organizationId: string, runId: string, used: { tokens: number; cost: number | null }): Promise<void>;
}
