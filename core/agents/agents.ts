// The agents that core lends to features: checked when they are saved, started, and told of.

import type { ErrorDetail } from '../contract/errors.ts';
import type { NodeReference } from '../contract/nodes.ts';
import type { Json, JsonObject, JsonSchema } from '../contract/nouns.ts';
import type {
	AgentRow,
	AgentScheduleRow,
	AskedPlace,
	Execution,
	ExecutionSummary,
	Pipeline,
	QuestionRow,
	Repositories,
	RunTrigger,
} from '../store/store.ts';
import type { AgentChats } from './chats/chats.ts';
import type { Conversation } from './chats/conversation.ts';

/** The definition that a run of an agent is pinned to. */
export type AgentDefinition = {
	agentId: string;
	name: string;
	/** The revision of the agent's row. */
	revision: number;
	pipeline: Pipeline;
	settings: AgentRow['settings'];
};

export interface AgentAsked {
	organizationId: string;
	agent: AgentRow;
	input: JsonObject;
	trigger: RunTrigger;
	/** The caller, for people to read: the user's address, the name of a webhook. */
	startedBy: string | null;
	/** The time limit, below the agent's own. */
	timeoutMs?: number;
	/** Begin in this process, for a client that waits. */
	here?: boolean;
	/** Whether a run that lost its process goes on. Default: resume. */
	onLoss?: 'resume' | 'fail';
	/** A text under which a run is begun once. */
	dedupe?: string;
	priority?: number;
	/** The wishes of the client of a conversation, and the reference by which it hears of the run (`chats.listen`). */
	chat?: { ref: string; conversation: Conversation };
}

/** One entry of a trace. Payloads are cut at 64 KiB. */
export interface TraceEntry {
	/** The name of this run of the node: the node behind the iterations around it, such as `each[2]/fetch`. */
	key: string;
	nodeId: string;
	type: string;
	/** The path of iterations of maps around the node, such as `[2]`; empty outside of maps. */
	iteration: number[];
	status: 'success' | 'failed' | 'running' | 'skipped' | 'waiting';
	/** The attempt of the run in which it was begun: above 1 after a takeover. */
	attempt: number;
	/** The number of times that it was tried, by its policy. */
	tries: number;
	startedAt: string | null;
	/** Milliseconds. */
	duration: number | null;
	output: Json;
	isTruncated: boolean;
	tokensUsed?: number;
	/** US dollars; null when unknown. */
	cost?: number | null;
	error: { code: string; message: string } | null;
}

/** A time at which an agent runs by itself, as users set it. */
export interface AgentSchedule extends Pick<AgentScheduleRow, 'cron' | 'timeZone' | 'missed' | 'overlap'> {
	input: JsonObject;
}

export interface AgentSchedules {
	/** @param by the store of the one who sets it @throws validation_failed naming the field, precondition_failed, not_found */
	set(agent: AgentRow, schedule: AgentSchedule, by: Pick<Repositories, 'agents'>, ifVersion?: number): Promise<AgentScheduleRow>;
	/** Returns the input in clear. */
	inputOf(row: AgentScheduleRow): JsonObject;
	/** Returns the next times. */
	next(row: Pick<AgentScheduleRow, 'cron' | 'timeZone'>, count: number): Date[];
}

/** A row that a pipeline names, by its name, with the nodes that name it. */
export type AgentReference = {
	/** Unique in the file, such as `provider:Models`. */
	key: string;
	kind: NodeReference['kind'];
	name: string;
	/** The API of a tool that was imported. */
	api?: string;
	usedBy: { node: string; path: string }[];
};

export interface AgentPortable {
	/** Returns a pipeline with names instead of ids, and what it names. */
	outward(organizationId: string, pipeline: Pipeline): Promise<{ pipeline: Pipeline; references: AgentReference[] }>;
	/**
	 * Returns a pipeline with the ids of this organization. @param mapping ids by key, for what has no row of its name, or several
	 * @throws validation_failed with everything that is missing
	 */
	inward(
		organizationId: string,
		file: { pipeline: Pipeline; references: readonly AgentReference[] },
		mapping: Readonly<Record<string, string>>,
	): Promise<Pipeline>;
}

export interface AgentEngine {
	schedules: AgentSchedules;
	portable: AgentPortable;
	/** Finds all faults of a pipeline at once; each path is a JSON pointer into it, and each message names the node. */
	check(organizationId: string, pipeline: Pipeline, agentId: string | null): Promise<ErrorDetail[]>;
	/** Returns the schema that inputs have to match: that of the `input` node. */
	inputSchema(pipeline: Pipeline): JsonSchema;
	/** Starts a run. @throws validation_failed naming the field of the input, conflict for an inactive agent, rate_limited, not_found */
	start(asked: AgentAsked): Promise<Execution>;
	/** Returns an execution with its input and output in clear; null when there is none. */
	get(place: ExecutionPlace): Promise<Execution | null>;
	/** Waits for the end. @returns the execution as it is after that time at the latest */
	wait(place: ExecutionPlace, ms: number, signal?: AbortSignal): Promise<Execution>;
	/**
	 * Yields the execution, as lists show it, whenever it may have changed, on whichever replica it runs, until it has ended; null: it is still
	 * there.
	 */
	follow(place: ExecutionPlace, signal: AbortSignal): AsyncGenerator<ExecutionSummary | null, void>;
	/** Returns what the nodes did. @param options.full the key of one entry, which is returned alone and whole. @throws not_found */
	trace(place: ExecutionPlace, options?: { full?: string; outputs?: false }): Promise<TraceEntry[]>;
	cancel(place: ExecutionPlace): Promise<boolean>;
	/** Conversations with agents. */
	chats: AgentChats;
	/** Starts a failed run anew with the steps that it finished. @throws conflict when it has not failed, or its agent is inactive */
	retry(place: ExecutionPlace, startedBy: string | null): Promise<Execution>;
	/** Lists the questions that a run waits for, as it stored them by `store.agents.ask`: the first hundred, or the one of a key. */
	waiting(place: ExecutionPlace, key?: string): Promise<QuestionRow[]>;
	/** Finds the execution that asks people: a run itself, or one that it started. Null: none does. */
	asked(place: ExecutionPlace): Promise<AskedPlace | null>;
	/** Answers a question; the first answer counts. @throws validation_failed, conflict when it has been answered, not_found */
	answer(place: ExecutionPlace, key: string, answer: Json): Promise<void>;
	/**
	 * Sets who tells people of a question: called once it is stored, before its run leaves the process, and again only where that process ends
	 * meanwhile. What it throws is logged, and delays nothing.
	 */
	tells(listener: (question: QuestionRow) => Promise<void>): void;
}

export interface ExecutionPlace {
	organizationId: string;
	id: string;
}
