// The storage port of the versions and schedules of agents, and of the names by which agents are moved between organizations.

import type { Json } from '../contract/nouns.ts';
import type { AgentRow, InputSchemaOf, NewExecution } from './agents.ts';
import type { DueSchedule, NewRun, RunKind, RunSchedule } from './runs.ts';

/** A version in a list, without what it holds. */
export interface AgentVersionSummary {
	agentId: string;
	/** From 0, one more for each. */
	versionIndex: number;
	changelog: string;
	/** The version that this one restored; null: it was saved. */
	restoredFrom: number | null;
	/** The user who saved it, for people to read. */
	createdBy: string | null;
	createdAt: Date;
	/** The first revision of the agent that runs as this version says. */
	firstRevision: number;
	/** Whether the agent would run as this version says. */
	isCurrent: boolean;
}

/** The parts of an agent that a version keeps. */
export type AgentSnapshot = Pick<AgentRow, 'name' | 'description' | 'pipeline' | 'settings'>;

export interface AgentVersionRow extends AgentVersionSummary, AgentSnapshot {}

export interface NewAgentVersion {
	changelog: string;
	createdBy: string | null;
}

export interface VersionBounds {
	/** Versions of an agent: the oldest give way. */
	versions: number;
	/** Characters of all versions of an organization. */
	chars: number;
}

/** The time at which an agent runs by itself. */
export interface AgentScheduleRow extends Pick<RunSchedule, 'organizationId' | 'cron' | 'timeZone' | 'missed' | 'overlap'> {
	agentId: string;
	/** Sealed. */
	input: string;
	version: number;
	createdAt: Date;
	updatedAt: Date;
	/** The reason for which the latest time started no run; null: it did, or there was none. */
	problem: string | null;
}

export type NewAgentSchedule = Pick<AgentScheduleRow, 'cron' | 'timeZone' | 'missed' | 'overlap' | 'input'>;

/** A run of a schedule with its execution. */
export interface ScheduledExecution {
	run: NewRun;
	kind: RunKind;
	execution: NewExecution;
}

/** A row of an organization that pipelines name. */
export interface NamedRow {
	id: string;
	name: string;
	/** The name of the API of a tool. */
	api: string | null;
}

export interface AgentVersions {
	/** Lists the versions of an agent, the newest first. */
	versions(organizationId: string, agentId: string): Promise<AgentVersionSummary[]>;
	version(organizationId: string, agentId: string, index: number): Promise<AgentVersionRow | null>;
	/** Saves the agent as it is as its next version. Null: there is no such agent. @throws precondition_failed, conflict */
	saveVersion(
		organizationId: string,
		agentId: string,
		version: NewAgentVersion,
		bounds: VersionBounds,
		ifVersion?: number,
	): Promise<AgentVersionRow | null>;
	/** Makes the agent what it was in a version, and saves that as its next version. Null: there is no such version. @throws like `saveVersion` @param inputSchema as in `update` */
	restoreVersion(
		place: { organizationId: string; agentId: string; index: number },
		version: NewAgentVersion,
		bounds: VersionBounds,
		ifVersion?: number,
		inputSchema?: InputSchemaOf,
	): Promise<{ agent: AgentRow; version: AgentVersionRow } | null>;

	schedule(organizationId: string, agentId: string): Promise<AgentScheduleRow | null>;
	/** Sets the schedule of an agent. Null: there is no such agent. @throws precondition_failed */
	putSchedule(
		organizationId: string,
		agentId: string,
		schedule: NewAgentSchedule,
		planned: { kind: string; definition: Json; firstAt: Date },
		ifVersion?: number,
	): Promise<AgentScheduleRow | null>;
	/** @throws precondition_failed */
	removeSchedule(organizationId: string, agentId: string, ifVersion?: number): Promise<boolean>;
	/**
	 * Sets the next time of a schedule, and starts the run of this one with its execution, in one transaction. @returns false when another
	 * replica did so @param started null: this time starts none, for the reason `problem` if there is one @throws rate_limited
	 */
	fire(due: DueSchedule, nextAt: Date | null, started: ScheduledExecution | null, problem: string | null): Promise<boolean>;

	/** Finds rows by their names, as pipelines name them by kind; several may have one name, of which ten are returned. */
	named(organizationId: string, kind: 'tool' | 'gateway' | 'agent' | 'provider', name: string): Promise<NamedRow[]>;
	/** Finds the name of a row; null when it is not there. */
	nameOf(organizationId: string, kind: 'tool' | 'gateway' | 'agent' | 'provider', id: string): Promise<NamedRow | null>;
}
