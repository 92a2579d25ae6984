// Runs as those who start and follow them see them.

import { randomUUID } from 'node:crypto';
import { asGatewayError, GatewayError } from '../../core/contract/errors.ts';
import type { ClaimedRun, NewRun, Run, RunKind, RunQueue, Topic } from '../../core/store/store.ts';
import { uuid } from '../pages.ts';
import type { Sql } from './pool.ts';
import { hereHold, type RunParts } from './queue.ts';
import { json, LOCK, lockKey, type News, NOW, RUN, signalled } from './rows.ts';
import { type Reads, stepsOf } from './steps.ts';

type Desk = Pick<RunQueue, 'add' | 'get' | 'steps' | 'signal' | 'cancel' | 'fork' | 'prune'>;

/** A run that a schedule starts, at the time for which it does, or that has the id of the row that it belongs to. */
export type Scheduled = NewRun & { schedule?: string; scheduledFor?: Date; id?: string };

const ACCOUNT = 'SELECT coalesce(created_by, id) AS "accountId" FROM organizations WHERE id = $1 FOR KEY SHARE';
const FULL = `
SELECT count(*) >= $3::integer AS "isFull" FROM runs WHERE account_id = $1 AND kind = $2 AND status IN ('queued', 'running') AND job_id IS NOT NULL`;

const UNFINISHED = `
SELECT count(*)::integer AS count FROM (SELECT FROM runs WHERE account_id = $1 AND kind = $2 AND finished_at IS NULL LIMIT $3) AS counted`;

// The account with both of its numbers, which are counted without a lock.
const ROOM = `
WITH account AS MATERIALIZED (${ACCOUNT})
SELECT "accountId", (
	SELECT count(*)::integer FROM (SELECT FROM runs WHERE account_id = "accountId" AND kind = $2 AND finished_at IS NULL LIMIT $3) AS counted
) AS unfinished, (
	SELECT count(*)::integer FROM runs WHERE account_id = "accountId" AND kind = $2 AND status IN ('queued', 'running') AND job_id IS NOT NULL
) AS running FROM account`;
/** An account that is so far from its bounds is not counted under a lock: so many runs of it are not being added at this moment. */
const MARGIN = 32;

// A parent does not end between this check and the commit: its end takes the whole lock. Its steps and its progress do not wait for this one.
const ADD = `
WITH parent AS (SELECT id FROM runs WHERE organization_id = $2 AND id = $10 AND finished_at IS NULL FOR KEY SHARE)
INSERT INTO runs AS r (id, organization_id, account_id, kind, trigger, definition, input, priority, deadline_at, parent_id, dedupe, on_loss,
	schedule, scheduled_for, status, here, job_id, due_at, attempt, started_at)
SELECT $1, $2, $3, $4, $5, $6::json, $7::json, $8, ${NOW} + $9::float8 * interval '1 millisecond', $10, $11, $12, $13, $14,
	CASE WHEN $15 THEN 'running' ELSE 'queued' END, $15, $16, CASE WHEN $16::uuid IS NOT NULL THEN ${NOW} END,
	CASE WHEN $15 THEN 1 ELSE 0 END, CASE WHEN $15 THEN ${NOW} END
WHERE $10 IS NULL OR EXISTS (SELECT FROM parent)
ON CONFLICT (organization_id, kind, md5(dedupe)) WHERE dedupe IS NOT NULL DO NOTHING
RETURNING ${RUN}`;
const SAME = `SELECT ${RUN} FROM runs r WHERE r.organization_id = $1 AND r.kind = $2 AND md5(r.dedupe) = md5($3) AND r.dedupe = $3`;
const KIND = 'SELECT kind FROM runs WHERE organization_id = $1 AND id = $2';
const GET = `SELECT ${RUN} FROM runs r WHERE r.organization_id = $1 AND r.id = $2`;

const FORK = `
INSERT INTO runs AS r (id, organization_id, account_id, kind, trigger, definition, input, priority, on_loss, origin_id, status, job_id, due_at, deadline_at)
SELECT $3, o.organization_id, o.account_id, o.kind, o.trigger, o.definition, o.input, o.priority, o.on_loss, o.id, 'queued', $4, ${NOW},
	${NOW} + $5::float8 * interval '1 millisecond'
FROM runs o WHERE o.organization_id = $1 AND o.id = $2
RETURNING ${RUN}, r.account_id AS "accountId"`;
const FORK_AT = `SELECT started_at AS "at" FROM run_steps WHERE organization_id = $1 AND run_id = $2 AND key = $3`;
// Without a step to fork at, the failed ones are tried again; before that step, they are a part of its past. A sleep that is over is kept by its time;
// an event that has not come (`waitOf` of core/runs/context.ts) is waited for anew, for as long as at first.
const FORK_STEPS = `
INSERT INTO run_steps (organization_id, run_id, key, attempt, status, once, output, error, until, started_at, finished_at)
SELECT organization_id, $3, key, 0, status, once, output, error, until, started_at, finished_at FROM run_steps
WHERE organization_id = $1 AND run_id = $2 AND key IS DISTINCT FROM $4 AND ($5::timestamptz IS NULL OR started_at <= $5) AND (
	status = 'done' AND ($5 IS NULL OR finished_at <= $5) OR status = 'failed' AND finished_at <= $5 OR until <= coalesce($5, now()) AND NOT starts_with(key, 'event:')
)`;
const FORK_SIGNALS = `
INSERT INTO run_signals (organization_id, run_id, name, payload, created_at)
SELECT organization_id, $3, name, payload, created_at FROM run_signals
WHERE organization_id = $1 AND run_id = $2 AND ($4::timestamptz IS NULL OR created_at <= $4)`;

/** The rows that one statement removes, so that none takes long. */
const PRUNED = 2_000;
const PRUNE = `
DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE finished_at < $1 ORDER BY finished_at LIMIT $2) RETURNING 1`;

export interface DeskParts extends RunParts {
	/** Reads for people, on connections that no run waits for. */
	reads: Reads;
	/** Adds a run in a transaction of the caller's, who rings afterwards. */
	add(sql: Sql, asked: Scheduled, kind: Pick<RunKind, 'perAccount' | 'perAccountUnfinished'>): Promise<Added | null>;
}

export interface Added {
	run: Run;
	claimed: ClaimedRun | null;
	topics: Topic[];
}

/** Adds a run with its job: neither is there without the other. Null: there is no such organization, or the parent has ended. */
export const adder =
	({ engine }: Pick<RunParts, 'engine'>): DeskParts['add'] =>
	async (sql, asked, { perAccount, perAccountUnfinished: most }) => {
		const organizationId = uuid(asked.organizationId);
		const account = await accountWithRoom(sql, organizationId, { kind: asked.kind, perAccount, most });
		if (!account) return null;
		const { isFree } = account;
		if (most !== null && !isFree) await sql.executeSql(LOCK, [lockKey(asked.kind, account.accountId)]);
		const isFull = !isFree && perAccount !== null && (await isCrowded(sql, account.accountId, { kind: asked.kind, perAccount }));
		const isHere = asked.here && !isFull;
		const [id, jobId] = [asked.id ?? randomUUID(), isFull ? null : randomUUID()];
		const [run] = (await sql.executeSql(ADD, [id, organizationId, account.accountId, ...valuesOf(asked), isHere, jobId])).rows as Run[];
		if (!run) return sameRun(sql, organizationId, asked);
		if (asked.hereOnly && !isHere) throw new GatewayError('rate_limited', NO_PLACE, RETRY_SOON);
		if (most !== null && !isFree) await assertRoom(sql, account.accountId, { kind: asked.kind, most });
		if (jobId) await engine.send(sql, { ...run, jobId }, isHere ? 'here' : 0);
		const claimed = isHere && jobId ? { run, hold: hereHold(run, jobId), resumable: true, steps: [], keptChars: 0, signals: [] } : null;
		return { run, claimed, topics: isHere ? [] : [`run:queued:${run.kind}`] };
	};

const valuesOf = (asked: Scheduled): unknown[] => [
	...[asked.kind, asked.trigger, json(asked.definition), json(asked.input), asked.priority, asked.deadlineMs],
	...[asked.parentId, asked.dedupe, asked.onLoss, asked.schedule ?? null, asked.scheduledFor ?? null],
];

async function sameRun(sql: Sql, organizationId: string, { kind, dedupe }: NewRun): Promise<Added | null> {
	const [run] = (await sql.executeSql(SAME, [organizationId, kind, dedupe])).rows;
	return run ? { run, claimed: null, topics: [] } : null;
}

/** Counts after the new run is added, so that one that is there already is returned whatever the number. @throws rate_limited */
async function assertRoom(sql: Sql, accountId: string, { kind, most }: { kind: string; most: number }): Promise<void> {
	const [{ count }] = (await sql.executeSql(UNFINISHED, [accountId, kind, most + 1])).rows;
	if (count > most) throw new GatewayError('rate_limited', `${most} of this kind are under way or wait already. Try again later.`, RETRY);
}

const NO_PLACE = 'No place is free to begin at once. Try again later.';
const RETRY_SOON = { headers: { 'retry-after': '1' } };
const RETRY = { headers: { 'retry-after': '60' } };

/** Finds the account of an organization. @returns also whether it is far from its bounds; null without the organization */
async function accountWithRoom(
	sql: Sql,
	organizationId: string,
	bounds: Pick<RunKind, 'kind' | 'perAccount'> & { most: number | null },
): Promise<{ accountId: string; isFree: boolean } | null> {
	const { kind, perAccount, most } = bounds;
	const [ofRunning, ofAll] = [perAccount ?? Number.POSITIVE_INFINITY, most ?? Number.POSITIVE_INFINITY];
	const [isTight, isUnbounded] = [ofRunning <= MARGIN || ofAll <= MARGIN, perAccount === null && most === null];
	if (isTight || isUnbounded) {
		const [account] = (await sql.executeSql(ACCOUNT, [organizationId])).rows;
		return account ? { accountId: account.accountId, isFree: isUnbounded } : null;
	}
	const [found] = (await sql.executeSql(ROOM, [organizationId, kind, most ?? 0])).rows;
	if (!found) return null;
	const isFree = found.running < ofRunning - MARGIN && (most === null || found.unfinished < ofAll - MARGIN);
	return { accountId: found.accountId, isFree };
}

async function isCrowded(sql: Sql, accountId: string, { kind, perAccount }: { kind: string; perAccount: number }): Promise<boolean> {
	await sql.executeSql(LOCK, [lockKey(kind, accountId)]);
	return (await sql.executeSql(FULL, [accountId, kind, perAccount])).rows[0].isFull;
}

/** Cancels a run with its children in a transaction of the caller's, who rings the news afterwards: none when the run has ended. */
export const canceller =
	({ rows }: Pick<RunParts, 'rows'>) =>
	async (sql: Sql, place: { organizationId: string; id: string }, message: string): Promise<News[]> => {
		const [organizationId, id] = [uuid(place.organizationId), uuid(place.id)];
		const parent = await rows.lockParent(sql, id);
		const run = await rows.lock(sql, organizationId, id);
		return run ? rows.end(sql, run, parent, { status: 'cancelled', output: null, error: { code: 'cancelled', message } }) : [];
	};

/** A run that is started anew. */
export interface Forked {
	from: string | null;
	deadlineMs: number | null;
	/** The bound of unfinished runs of the account. */
	most?: number | null;
}

/** Starts a run anew in a transaction of the caller's, who prepares the kind before, and rings `run:queued:<kind>` afterwards. */
export const forker =
	({ engine }: Pick<RunParts, 'engine'>) =>
	async (sql: Sql, place: string[], { from, deadlineMs, most = null }: Forked): Promise<Run | null> => {
		const [step] = from === null ? [{ at: null }] : (await sql.executeSql(FORK_AT, [...place, from])).rows;
		if (!step) return null;
		const [id, jobId] = [randomUUID(), randomUUID()];
		const [forked] = (await sql.executeSql(FORK, [...place, id, jobId, deadlineMs])).rows;
		if (!forked) return null;
		const { accountId, ...run } = forked as Run & { accountId: string };
		if (most !== null) {
			await sql.executeSql(LOCK, [lockKey(run.kind, accountId)]);
			await assertRoom(sql, accountId, { kind: run.kind, most });
		}
		await sql.executeSql(FORK_STEPS, [...place, id, from, step.at]);
		await sql.executeSql(FORK_SIGNALS, [...place, id, step.at]);
		await engine.send(sql, { ...run, jobId });
		return run;
	};

export function createDesk({ pool, reads, engine, rows, bell, add }: DeskParts): Desk {
	const [cancel, fork] = [canceller({ rows }), forker({ engine })];
	return {
		async add(asked, kind) {
			await engine.prepare(asked.kind);
			const added = await pool.transact((sql) => add(sql, asked, kind));
			if (added) bell.ring(...added.topics);
			return added && { run: added.run, claimed: added.claimed };
		},
		async get(organizationId, id) {
			const [run] = await reads<Run>(GET, [uuid(organizationId), uuid(id)]);
			return run ?? null;
		},
		steps: (organizationId, id, asked = {}) => stepsOf(reads, { organizationId: uuid(organizationId), id: uuid(id) }, asked),
		async signal(organizationId, id, signal, wait) {
			const told = await pool.transact(async (sql) => {
				const run = await rows.lock(sql, uuid(organizationId), uuid(id));
				return run && (await rows.signal(sql, run, signal, wait)) ? run : null;
			});
			if (told) bell.ring(...signalled(told));
			return told !== null;
		},
		async cancel(organizationId, id, message) {
			const news = await pool.transact((sql) => cancel(sql, { organizationId, id }, message));
			bell.ring(...news);
			return news.length > 0;
		},
		async fork(organizationId, id, from) {
			const place = [uuid(organizationId), uuid(id)];
			const [origin] = await pool.rows<Pick<Run, 'kind'>>(KIND, place);
			if (!origin) return null;
			await engine.prepare(origin.kind);
			const forked = await pool.transact((sql) => fork(sql, place, { from, deadlineMs: null }));
			if (forked) bell.ring(`run:queued:${forked.kind}`);
			return forked;
		},
		async prune(olderThan) {
			for (let removed = 0, most = PRUNED; ; ) {
				try {
					const { length } = await pool.rows(PRUNE, [olderThan, most]);
					removed += length;
					if (length < most) return removed;
				} catch (error) {
					// Runs of thousands of steps take longer than a statement may: fewer at a time then.
					if (asGatewayError(error)?.code !== 'unavailable' || most === 1) throw error;
					most = Math.ceil(most / 8);
				}
			}
		},
	};
}
