// The storage port of runs: work that outlives a request. Rows are the truth and the trace; the engine behind the port decides whose turn it is.

import type { ErrorCode } from '../contract/errors.ts';
import type { Json } from '../contract/nouns.ts';

export type RunStatus = 'queued' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled';
/**
 * `in_doubt`: a step that may run only once was begun and not seen to end; `interrupted`: the process of a run that is not resumed is gone;
 * `timed_out`: the deadline of the run, or of an awaited event, is over; `not_implemented`: no process knows its kind.
 */
export type RunFaultCode = ErrorCode | 'cancelled' | 'in_doubt' | 'interrupted' | 'timed_out';
/** `retryAfterSeconds` is what an upstream said. A type alias, since it is stored as JSON: an interface has no index signature. */
export type RunFault = { code: RunFaultCode; message: string; retryAfterSeconds?: number };
export type RunTrigger = 'manual' | 'webhook' | 'schedule';

export interface Run {
	id: string;
	organizationId: string;
	kind: string;
	status: RunStatus;
	trigger: RunTrigger;
	/** The program of the run as it was at the start, with its version: later edits do not change a run under way. */
	definition: Json;
	input: Json;
	/** The result of a succeeded run. */
	output: Json;
	error: RunFault | null;
	/** The progress that it told last; null when it told none. */
	progress: Json;
	/** The number of times that a process took the run. */
	attempt: number;
	priority: number;
	/** The run that started this one and waits for it. */
	parentId: string | null;
	/** The run whose finished steps this one began with. */
	originId: string | null;
	/** The key of the schedule that started it, and the time for which it did. */
	schedule: string | null;
	scheduledFor: Date | null;
	deadlineAt: Date | null;
	createdAt: Date;
	startedAt: Date | null;
	finishedAt: Date | null;
}

/** A run that has just ended, as its end was written. */
export interface EndedRun extends Pick<Run, 'id' | 'organizationId' | 'kind' | 'error' | 'createdAt' | 'startedAt'> {
	finishedAt: Date;
	/** The agent of its execution, and what that counted over all attempts; null: it has none. `cost` is null when that of a call is unknown. */
	execution: { agentId: string; tokens: number; cost: number | null } | null;
}

/** A run without what it works on, for lists. */
export type RunSummary = Omit<Run, 'definition' | 'input' | 'output' | 'progress'>;

export interface NewRun {
	organizationId: string;
	kind: string;
	definition: Json;
	input: Json;
	trigger: RunTrigger;
	/** Higher ones first; 0 when nothing is said. */
	priority: number;
	deadlineMs: number | null;
	parentId: string | null;
	/** Another run of this organization and kind under the same text is returned instead of a new one. */
	dedupe: string | null;
	/** Begun at once by this process, ahead of the queue; another process takes it over when this one stops keeping it. */
	here: boolean;
	/** It is refused where it cannot begin at once. */
	hereOnly?: boolean;
	/** Whether a run that lost its process goes on, or fails as `interrupted`. */
	onLoss: 'resume' | 'fail';
}

/** The right to write for one attempt. Every verb that gets it does nothing, and says so, once another attempt began or the run has ended. */
export interface RunHold {
	id: string;
	kind: string;
	attempt: number;
	/** The turn at the engine. */
	job: { id: string; retryCount: number };
	/** Begun here, ahead of the queue. */
	here: boolean;
	/** The run that waits for its end. */
	parentId: string | null;
}

export interface RunStep {
	key: string;
	attempt: number;
	status: 'started' | 'done' | 'failed';
	once: boolean;
	output: Json;
	error: RunFault | null;
	/** The time that a sleep or the wait for an event ends at. */
	until: Date | null;
	startedAt: Date;
	finishedAt: Date | null;
}

/** A step as its readers get it. */
export interface ReadStep extends RunStep {
	/** The stored bytes of the output. */
	size: number;
	/** The output is null, since it was not asked for, or is too large to be read with others. */
	isLeftOut: boolean;
}

/** The steps of these keys, with whole outputs; or all of them, without any. Otherwise all, with outputs that are small, until those come to some megabytes. */
export interface StepsAsked {
	keys?: readonly string[];
	outputs?: false;
}

export interface FinishedStep extends Pick<RunStep, 'key' | 'once' | 'output' | 'error' | 'until'> {
	status: 'done' | 'failed';
	durationMs: number;
}

export interface RunSignal {
	name: string;
	payload: Json;
}

/** A run that this process has just taken, with all that its former attempts left behind. */
export interface ClaimedRun {
	run: Run;
	hold: RunHold;
	/** False: its process is gone, and it is not to be resumed, or has lost too many. */
	resumable: boolean;
	steps: RunStep[];
	/** The characters of the outputs in the steps. */
	keptChars: number;
	signals: RunSignal[];
}

export type RunEnd = { status: 'succeeded'; output: Json } | { status: 'failed'; error: RunFault };

/** A kind that this process runs. */
export interface RunKind {
	kind: string;
	/** The greatest number of runs of one account at a time, over all replicas; null: any number. */
	perAccount: number | null;
	/** The greatest number of runs of one account that have not ended; null: any number. */
	perAccountUnfinished: number | null;
	/** A run that lost so many processes in a row is not resumed. */
	maxLosses: number;
}

export interface RunLook {
	/** The numbers of runs that are due, that run on any replica, and that wait for others of their account; kinds without any are left out. */
	kinds: { kind: string; due: number; running: number; parked: number }[];
	/** The milliseconds until the next run or schedule is due; null: none is planned. */
	nextInMs: number | null;
}

/** A schedule: it starts a run at each of its times. */
export interface RunSchedule {
	organizationId: string;
	/** Unique in its organization. */
	key: string;
	kind: string;
	cron: string;
	/** An IANA name. */
	timeZone: string;
	/** Whether times that passed while no replica ran start one run or none. */
	missed: 'skip' | 'once';
	/** A time that comes while the previous run is under way: is left out, waits for its end, or starts another run at once. */
	overlap: 'skip' | 'queue' | 'allow';
	definition: Json;
	input: Json;
}

export interface DueSchedule extends RunSchedule {
	dueAt: Date;
	/** The milliseconds since then, or since the end of the run that it had to wait for, by the clock of the database. */
	lateMs: number;
	/** Whether a run of it is under way. */
	isBusy: boolean;
}

export interface RunQueue {
	/**
	 * Returns the run, or the one under the same `dedupe`; with a claim when it was begun here. Null: there is no such organization, or the
	 * parent has ended.
	 * @throws rate_limited when the account has as many unfinished runs of the kind as it may, or by `hereOnly`
	 */
	add(asked: NewRun, kind: RunKind): Promise<{ run: Run; claimed: ClaimedRun | null } | null>;
	get(organizationId: string, id: string): Promise<Run | null>;
	/** Returns the steps by the time at which they began. */
	steps(organizationId: string, id: string, asked?: StepsAsked): Promise<ReadStep[]>;
	/** Returns false when the run has ended or is not there, has got a signal of that name, or waits for it no more: its step `wait` has failed. */
	signal(organizationId: string, id: string, signal: RunSignal, wait?: string): Promise<boolean>;
	/** Cancels a run with its children. @returns false when it had ended or is not there */
	cancel(organizationId: string, id: string, message: string): Promise<boolean>;
	/**
	 * Starts the same run anew, with the steps that were finished: all of them, or those that were finished when `from` was begun.
	 * Null: there is no such run, or no such step.
	 */
	fork(organizationId: string, id: string, from: string | null): Promise<Run | null>;

	/** Prepares the queues of these kinds: nothing is loaded for those that are there. */
	open(kinds: readonly string[]): Promise<void>;
	look(kinds: readonly string[]): Promise<RunLook>;
	/** Takes up to so many runs whose turn it is. `isMore`: there may be others, though fewer were taken. */
	claim(kind: RunKind, count: number): Promise<{ runs: ClaimedRun[]; isMore: boolean }>;
	/** Keeps runs. @returns the ids of those that this process still holds */
	keep(holds: readonly RunHold[]): Promise<Set<string>>;
	/** Gives runs whose process is gone back to the queue. */
	supervise(): Promise<void>;
	/** Gives runs that waited for others of their account their turn, as far as there is room. */
	admit(kind: RunKind): Promise<void>;
	begin(hold: RunHold, step: Pick<RunStep, 'key' | 'once' | 'until'>): Promise<boolean>;
	finish(hold: RunHold, step: FinishedStep): Promise<boolean>;
	/** Writes that a wait for a signal has failed, unless one of that name has come: then `come`. False: the run is not held any more. */
	late(hold: RunHold, name: string, step: FinishedStep): Promise<'late' | 'come' | false>;
	signals(hold: RunHold): Promise<RunSignal[]>;
	/** Keeps what the run tells of its progress, and tells its followers. */
	progress(hold: RunHold, value: Json): Promise<boolean>;
	/** Ends an attempt until one of these events comes, or that time. */
	suspend(hold: RunHold, until: { events: string[]; at: Date | null }): Promise<boolean>;
	/** @returns false when the run is not held any more; else whether runs of its kind wait for others of their account */
	end(hold: RunHold, end: RunEnd): Promise<false | { areOthersWaiting: boolean }>;
	/** Gives a run back: another process may take it at once. One that is not to be resumed fails with this fault. */
	release(hold: RunHold, interrupted: RunFault): Promise<boolean>;

	putSchedule(schedule: RunSchedule, firstAt: Date): Promise<void>;
	removeSchedule(organizationId: string, key: string): Promise<boolean>;
	/** Lists a page of those that are due, the longest due first. @param after the last one of the page before; null for the first page */
	dueSchedules(kinds: readonly string[], after: DueSchedule | null): Promise<DueSchedule[]>;
	/** Sets the next time, and starts the run of this one, in one transaction. @returns false when another replica did so */
	fire(schedule: DueSchedule, nextAt: Date | null, starts: boolean): Promise<boolean>;

	/**
	 * Ends runs that nobody took in time: as `timed_out` those whose deadline is over, whatever their kind, and as `not_implemented` those of other
	 * kinds than these that have been due for a week, while no process took a run of their kind. @returns the number of runs
	 */
	expire(known: readonly string[]): Promise<number>;
	/** Removes runs that ended before that time. */
	prune(olderThan: Date): Promise<number>;
	/** Lets `listener` hear of each run whose end was written here, in whichever way: one end is heard in one process, once. */
	onEnd(listener: (run: EndedRun) => void): void;
	close(): Promise<void>;
}
