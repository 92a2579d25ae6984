// Rows of runs and their parts, and how they change hands: every statement of a holder names its attempt.

import { randomUUID } from 'node:crypto';
import type { EndedRun, FinishedStep, Run, RunFault, RunHold, RunSignal, RunStatus, Topic } from '../../core/store/store.ts';
import { DROP_ENDED, type Engine } from './engine.ts';
import type { Sql } from './pool.ts';

/** Columns of `runs`, as a `RunSummary`. */
export const RUN_SUMMARY = `r.id, r.organization_id AS "organizationId", r.kind, r.status, r.trigger, r.error, r.attempt, r.priority, r.parent_id AS "parentId", r.origin_id AS "originId", r.schedule, r.scheduled_for AS "scheduledFor",
	r.deadline_at AS "deadlineAt", r.created_at AS "createdAt", r.started_at AS "startedAt", r.finished_at AS "finishedAt"`;
/** Columns of `runs`, as a `Run`. */
export const RUN = `${RUN_SUMMARY}, r.definition, r.input, r.output, r.progress`;
/** The same with null for the input, which may be large. */
export const RUN_DONE = `${RUN_SUMMARY}, r.definition, NULL AS input, r.output, r.progress`;

export const NOW = `date_trunc('milliseconds', clock_timestamp())`;
const HELD = `r.id = $1 AND r.attempt = $2 AND r.status = 'running'`;

export const json = (value: unknown): string => JSON.stringify(value ?? null);

/** The lock under which the running runs of an account are counted. */
export const LOCK = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';
export const lockKey = (kind: string, accountId: string): string => `runs ${kind} ${accountId}`;

const REQUEUE = `
UPDATE runs r SET status = $2, job_id = $3, job_try = NULL, here = false, awaited = $4,
	due_at = CASE WHEN $3::uuid IS NOT NULL THEN ${NOW} + $5::float8 * interval '1 second' END
WHERE r.id = $1`;

/** A topic, or a run that has ended, which has two of them: told when what it is of is committed. */
export type News = Topic | EndedRun;

/** Columns of a run that ends, as an `EndedRun`. */
const ENDED = `r.id, r.organization_id AS "organizationId", r.kind, r.error, r.created_at AS "createdAt", r.started_at AS "startedAt", r.finished_at AS "finishedAt",
	(
		SELECT json_build_object('agentId', e.agent_id, 'tokens', e.tokens, 'cost', CASE WHEN e.unpriced = 0 THEN e.cost END)
		FROM agent_executions e WHERE e.run_id = r.id
	) AS execution`;

/** A row that is locked by this transaction, as far as its next turn depends on it. */
export interface LockedRun {
	id: string;
	organizationId: string;
	kind: string;
	priority: number;
	status: RunStatus;
	jobId: string | null;
	awaited: string[];
	parentId: string | null;
	onLoss: 'resume' | 'fail';
}

export const LOCKED = `r.id, r.organization_id AS "organizationId", r.kind, r.priority, r.status, r.job_id AS "jobId", r.awaited, r.parent_id AS "parentId",
	r.on_loss AS "onLoss"`;
const LOCK_RUN = `SELECT ${LOCKED} FROM runs r WHERE r.organization_id = $1 AND r.id = $2 AND r.finished_at IS NULL FOR UPDATE`;
const LOCK_PARENT = `
SELECT ${LOCKED} FROM runs r WHERE r.finished_at IS NULL AND (r.organization_id, r.id) = (
	SELECT c.organization_id, c.parent_id FROM runs c WHERE c.id = $1
) FOR UPDATE`;
// From the top of the tree downwards, since whoever ends a run locks the one above it first.
const LOCK_BELOW = `
WITH RECURSIVE below AS (
	SELECT id, organization_id FROM runs WHERE organization_id = $1 AND parent_id = $2
	UNION SELECT c.id, c.organization_id FROM runs c JOIN below b ON c.organization_id = b.organization_id AND c.parent_id = b.id
)
SELECT ${LOCKED}
FROM runs r WHERE r.id IN (SELECT id FROM below) AND r.finished_at IS NULL ORDER BY r.seq FOR UPDATE`;
const LOCK_HELD = `SELECT ${LOCKED} FROM runs r WHERE ${HELD} FOR UPDATE`;

export class RunRows {
	readonly engine: Engine;

	constructor(engine: Engine) {
		this.engine = engine;
	}

	/** Locks a run that has not ended. */
	async lock(sql: Sql, organizationId: string, id: string): Promise<LockedRun | null> {
		return (await sql.executeSql(LOCK_RUN, [organizationId, id])).rows[0] ?? null;
	}

	async lockHeld(sql: Sql, { id, attempt }: RunHold): Promise<LockedRun | null> {
		return (await sql.executeSql(LOCK_HELD, [id, attempt])).rows[0] ?? null;
	}

	/** Gives a locked run its next turn: after so many seconds, or, with null, when one of the awaited events comes. */
	async requeue(sql: Sql, run: LockedRun, { seconds, awaited }: { seconds: number | null; awaited: string[] }): Promise<void> {
		if (run.jobId) await this.engine.drop(sql, run.kind, run.jobId);
		const jobId = seconds === null ? null : randomUUID();
		const status: RunStatus = seconds === 0 ? 'queued' : 'waiting';
		await sql.executeSql(REQUEUE, [run.id, status, jobId, awaited, seconds]);
		if (jobId) await this.engine.send(sql, { ...run, jobId }, seconds ?? 0);
	}

	/**
	 * Adds a signal to a locked run, and wakes it if it waits for that. @param wait the step that failed if it waits no longer
	 * @returns false then, or when it has one of that name
	 */
	async signal(sql: Sql, run: LockedRun, { name, payload }: RunSignal, wait: string | null = null): Promise<boolean> {
		const { rows } = await sql.executeSql(SIGNAL, [run.organizationId, run.id, name, json(payload), wait]);
		if (rows.length === 0) return false;
		if (run.status === 'waiting' && run.awaited.includes(name)) await this.requeue(sql, run, { seconds: 0, awaited: [] });
		return true;
	}

	/** Locks the run that waits for this one, before this one: a cancelled run is locked before its children, too. */
	async lockParent(sql: Sql, id: string): Promise<LockedRun | null> {
		return (await sql.executeSql(LOCK_PARENT, [id])).rows[0] ?? null;
	}

	/** Ends a locked run, and tells the one that waits for it. Without success it takes those along that it waits for. @returns the news to ring */
	async end(sql: Sql, run: LockedRun, parent: LockedRun | null, end: RunOutcome): Promise<News[]> {
		const left = end.status === 'succeeded' ? [] : await lockBelow(sql, run);
		const ended = [await this.#endOne(sql, run, end)];
		for (const below of left) ended.push(await this.#endOne(sql, below, end.status === 'cancelled' ? end : GIVEN_UP));
		if (parent) await this.signal(sql, parent, { name: childEnded(run.id), payload: { ...end } });
		return [...ended, ...(parent ? signalled(parent) : [])];
	}

	async #endOne(sql: Sql, run: LockedRun, end: RunOutcome): Promise<EndedRun> {
		const [ended] = (await sql.executeSql(END, [run.id, ...ending(end)])).rows;
		if (run.jobId) await this.engine.drop(sql, run.kind, run.jobId);
		return ended;
	}
}

/** Locks the runs below a locked one until nothing new is found: a child that was being added is seen once its parent is locked, and gets no sibling any more. */
async function lockBelow(sql: Sql, { organizationId, id }: LockedRun): Promise<LockedRun[]> {
	for (let below: LockedRun[] | null = null; ; ) {
		const found: LockedRun[] = (await sql.executeSql(LOCK_BELOW, [organizationId, id])).rows;
		if (found.length === (below?.length ?? 0)) return found;
		below = found;
	}
}

const childEnded = (id: string): string => `child:${id}`;

/** The topics of a run that may have been woken by a signal. */
export const signalled = ({ id, kind }: LockedRun): Topic[] => [`run:${id}`, `run:signalled:${id}`, `run:queued:${kind}`];

/** A type alias, since it is stored as JSON. */
export type RunOutcome = { status: 'succeeded' | 'failed' | 'cancelled'; output: Run['output']; error: RunFault | null };

const GIVEN_UP: RunOutcome = {
	status: 'cancelled',
	output: null,
	error: { code: 'cancelled', message: 'The run that waited for it has failed.' },
};

const SIGNAL = `
INSERT INTO run_signals (organization_id, run_id, name, payload)
SELECT $1, $2, $3, $4::json WHERE NOT EXISTS (SELECT FROM run_steps WHERE run_id = $2 AND key = $5 AND status = 'failed')
ON CONFLICT DO NOTHING RETURNING name`;
export const SIGNAL_OF = 'SELECT FROM run_signals WHERE run_id = $1 AND name = $2';
const END = `
UPDATE runs r SET status = $2, output = $3::json, error = $4::json, finished_at = ${NOW}, job_id = NULL, due_at = NULL, awaited = '{}'
WHERE r.id = $1 RETURNING ${ENDED}`;

/** Ends a held run that no other one waits for, with its job, in one statement. */
export const END_ALONE = `
WITH held AS (SELECT r.id, r.kind, r.job_id FROM runs r WHERE ${HELD} AND r.parent_id IS NULL FOR UPDATE),
ended AS (
	UPDATE runs r SET status = $3, output = $4::json, error = $5::json, finished_at = ${NOW}, job_id = NULL, due_at = NULL, awaited = '{}'
	FROM held WHERE r.id = held.id RETURNING ${ENDED}, held.job_id AS "jobId"
),
dropped AS (${DROP_ENDED})
SELECT EXISTS (SELECT FROM runs o WHERE o.kind = ended.kind AND o.status = 'queued' AND o.job_id IS NULL) AS "areOthersWaiting", ended.* FROM ended`;

export const ending = ({ status, output, error }: RunOutcome): unknown[] => [status, json(output), error && json(error)];

/** Begins a step; the lock on the run keeps it from changing hands between this check and the commit. */
export const BEGIN_STEP = `
INSERT INTO run_steps AS s (organization_id, run_id, key, attempt, status, once, until, started_at)
SELECT r.organization_id, r.id, $3, r.attempt, 'started', $4, ${NOW} + $5::float8 * interval '1 millisecond', clock_timestamp()
FROM runs r WHERE ${HELD} FOR SHARE OF r
ON CONFLICT (run_id, key) DO UPDATE SET attempt = excluded.attempt, started_at = excluded.started_at
WHERE s.status = 'started' AND (NOT s.once OR s.attempt = excluded.attempt)
RETURNING s.key`;

export const TELL_PROGRESS = `UPDATE runs r SET progress = $3::json WHERE ${HELD} RETURNING r.id`;

export const FINISH_STEP = `
INSERT INTO run_steps AS s (organization_id, run_id, key, attempt, status, once, output, error, until, started_at, finished_at)
SELECT r.organization_id, r.id, $3, r.attempt, $4, $5, $6::json, $7::json, NULL,
	clock_timestamp() - $8::float8 * interval '1 millisecond', clock_timestamp()
FROM runs r WHERE ${HELD} FOR SHARE OF r
ON CONFLICT (run_id, key) DO UPDATE SET attempt = excluded.attempt, status = excluded.status, output = excluded.output,
	error = excluded.error, finished_at = excluded.finished_at
WHERE s.status = 'started' OR s.attempt = excluded.attempt
RETURNING s.key`;

export const finishing = ({ key, status, once, output, error, durationMs }: FinishedStep): unknown[] => [
	...[key, status, once],
	...[json(output), error && json(error), durationMs],
];
