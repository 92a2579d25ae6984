// The storage port of agents: their pipelines, their executions beside the runs that carry them out, what these ask people, and the webhooks
// that start them.

import type { Approvers } from '../contract/nodes.ts';
import type { JsonObject, JsonSchema } from '../contract/nouns.ts';
import type { AgentVersions } from './agent-versions.ts';
import type { Edit, Fresh, Listed, Page, Removed, TextFilter, Versioned } from './rows.ts';
import type { ClaimedRun, NewRun, Run, RunKind, RunSummary, RunTrigger } from './runs.ts';

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

// ── executions ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** An execution in a list: without its definition, its input and its output. */
export interface ExecutionSummary {
	run: RunSummary;
	agentId: string;
	/** The revision of the agent that ran. */
	revision: number;
	/** The version that this revision was saved as; null: it was not, or that is no longer kept. */
	versionIndex: number | null;
	/** The user or the kind of caller that started it, for people to read; null for a schedule. */
	startedBy: string | null;
	tokensUsed: number;
	/** Millionths of a US dollar; null when the cost of a call is unknown. */
	cost: number | null;
}

/** An execution: the run, and what only an agent's run has. */
export interface Execution extends ExecutionSummary {
	run: Run;
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

/** A retry of an execution. */
export interface Retried {
	startedBy: string | null;
	/** The step to begin with again; null: all that failed. */
	from: string | null;
	deadlineMs: number | null;
}

/** The use of an agent’s executions in this month (UTC). */
export interface AgentUsage {
	executions: number;
	tokens: number;
	/** Millionths of a US dollar. Calls of unknown cost are no part of it. */
	cost: number;
	/** The number of calls whose cost is unknown. */
	unpriced: number;
}

/** The use of the latest successful executions of a revision. */
export interface AgentHistory {
	/** The number of executions that these figures are taken from. */
	executions: number;
	/** Millionths of a US dollar; null when there is none of known cost. */
	cost: Spread | null;
	tokens: Spread | null;
	/** Milliseconds. */
	duration: Spread | null;
}

/** The least value, the median, and the greatest. */
export interface Spread {
	min: number;
	typical: number;
	max: number;
}

// ── questions ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** A question that an execution asks people, and waits for. */
export interface QuestionRow {
	id: string;
	organizationId: string;
	agentId: string;
	runId: string;
	/** The name under which the run takes the answer. */
	key: string;
	nodeId: string;
	message: string;
	/** The form of the answer. */
	schema: JsonSchema;
	/** Those who may answer; null: everybody who may run the agent. */
	approvers: Approvers | null;
	until: Date | null;
	createdAt: Date;
	answeredAt: Date | null;
	/** The one who answered, for people to read. */
	answeredBy: string | null;
}

export interface NewQuestion {
	key: string;
	nodeId: string;
	message: string;
	schema: JsonSchema;
	approvers: Approvers | null;
	until: Date | null;
}

// ── webhooks ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface AgentWebhookRow extends Versioned {
	agentId: string;
	name: string;
	/** `standard`: Standard Webhooks 1.0.0; `sha256`: a plain HMAC of the body, as GitHub sends it. */
	scheme: 'standard' | 'sha256';
	/** Sealed. */
	secret: string;
	status: 'active' | 'inactive';
}

/** Returns the schema of a pipeline's input, which tools that follow its agent have as their parameters. */
export type InputSchemaOf = (pipeline: Pipeline) => JsonSchema;

/** The execution that asks a question. */
export interface AskedPlace {
	agentId: string;
	runId: string;
}

export interface Agents extends AgentVersions {
	/** Lists agents; sorts by createdAt, updatedAt, name. */
	list(organizationId: string, page: Page, filter?: TextFilter): Promise<Listed<AgentRow>>;
	get(organizationId: string, id: string): Promise<AgentRow | null>;
	/** @param most agents of the organization. @throws conflict when it has as many */
	create(organizationId: string, id: string, row: NewAgent, most: number): Promise<AgentRow>;
	/** @param inputSchema of the pipeline, for the tools that follow the agent @throws precondition_failed */
	update(
		organizationId: string,
		id: string,
		change: AgentChange,
		ifVersion?: number,
		inputSchema?: InputSchemaOf,
	): Promise<AgentRow | null>;
	/** Removes an agent with its executions; runs under way are cancelled. @throws precondition_failed */
	remove(organizationId: string, id: string, ifVersion?: number): Promise<Removed | null>;

	/**
	 * Adds a run of an agent with its execution, in one transaction; one that is there already under the same `dedupe` is returned and not
	 * counted again. Null: there is no such agent. @throws conflict for a new child of an inactive agent; rate_limited for one too many of the kind
	 */
	start(asked: NewRun, kind: RunKind, execution: NewExecution): Promise<{ execution: Execution; claimed: ClaimedRun | null } | null>;
	/** Adds the execution of a run that is there already, as of a child; false when it has one, or there is no such agent or run. */
	enlist(organizationId: string, runId: string, execution: NewExecution): Promise<boolean>;
	/**
	 * Starts a failed execution anew with the steps that it finished, as a run of its own. Null: there is no such execution or step.
	 * @throws conflict when it has not failed; rate_limited
	 */
	retry(organizationId: string, runId: string, retried: Retried, kind: RunKind): Promise<Execution | null>;
	/** Lists executions, the newest first; those of sub-agents too. `total` counts to 10,000. */
	executions(
		organizationId: string,
		agentId: string,
		place: { limit: number; offset: number },
		filter?: ExecutionFilter,
	): Promise<{ executions: ExecutionSummary[]; total: number }>;
	execution(organizationId: string, agentId: string, id: string): Promise<Execution | null>;
	/** Finds an execution without its agent, for those who have its id only. @param asked.input false: it is null */
	executionOf(organizationId: string, runId: string, asked?: { input?: false }): Promise<Execution | null>;
	/** Finds it as lists show it, which reads little however large its input and output are. */
	summaryOf(organizationId: string, runId: string): Promise<ExecutionSummary | null>;
	/** Adds tokens and cost to an execution, and to the agent's month. @param cost millionths of a US dollar; null when it is unknown */
	count(organizationId: string, runId: string, used: { tokens: number; cost: number | null }): Promise<void>;
	/** Returns what the agent used in this month. */
	usage(organizationId: string, id: string): Promise<AgentUsage>;
	/** Returns what the latest hundred successful executions of a revision used. */
	history(organizationId: string, id: string, revision: number): Promise<AgentHistory>;

	/** Stores a question of a run once: under the same key, the one that is there is returned. Null: there is no such execution. */
	ask(organizationId: string, runId: string, question: NewQuestion): Promise<QuestionRow | null>;
	/** Lists the questions that can still be answered. */
	questions(organizationId: string, page: Page, filter?: { agentId?: string; runId?: string; key?: string }): Promise<Listed<QuestionRow>>;
	/** Returns the first question that can still be answered of each of those runs, or of the runs that it started, by the id of the given one. */
	asking(organizationId: string, runIds: readonly string[]): Promise<ReadonlyMap<string, AskedPlace>>;
	question(organizationId: string, id: string): Promise<QuestionRow | null>;
	/** Finds a question of a run by its name, answered or not. */
	questionOf(organizationId: string, runId: string, key: string): Promise<QuestionRow | null>;
	/** Marks a question as answered. @returns false when it was before, or is not there */
	answered(organizationId: string, runId: string, key: string, by: string | null): Promise<boolean>;

	/** Lists the webhooks of an agent; sorts by createdAt, updatedAt, name. */
	webhooks(organizationId: string, agentId: string, page: Page): Promise<Listed<AgentWebhookRow>>;
	webhook(organizationId: string, agentId: string, id: string): Promise<AgentWebhookRow | null>;
	/** Finds a webhook by its id alone, for a call that names nothing else; null when the agent is gone. */
	webhookOf(id: string): Promise<AgentWebhookRow | null>;
	/** @param most webhooks of the agent. Null: there is no such agent. @throws conflict when it has as many */
	addWebhook(
		organizationId: string,
		agentId: string,
		id: string,
		webhook: Pick<AgentWebhookRow, 'name' | 'scheme' | 'secret'>,
		most: number,
	): Promise<AgentWebhookRow | null>;
	/** @throws precondition_failed */
	updateWebhook(
		organizationId: string,
		agentId: string,
		id: string,
		change: Partial<Pick<AgentWebhookRow, 'name' | 'scheme' | 'secret' | 'status'>>,
		ifVersion?: number,
	): Promise<AgentWebhookRow | null>;
	/** @throws precondition_failed */
	removeWebhook(organizationId: string, agentId: string, id: string, ifVersion?: number): Promise<boolean>;
}
