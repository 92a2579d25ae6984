// Runs as the replicas that run them see them: taken, kept, given back. The count of an account's running runs is taken in the claim, under
// a lock, since the engine counts in a snapshot.

import type { ClaimedRun, EndedRun, Run, RunHold, RunKind, RunLook, RunQueue, RunSignal } from '../../core/store/store.ts';
import type { Bell } from './bell.ts';
import type { Engine, Turn } from './engine.ts';
import type { RunPool, Sql } from './pool.ts';
import {
	BEGIN_STEP,
	END_ALONE,
	ending,
	FINISH_STEP,
	finishing,
	json,
	LOCK,
	LOCKED,
	type LockedRun,
	lockKey,
	type News,
	NOW,
	RUN,
	type RunOutcome,
	type RunRows,
	SIGNAL_OF,
	TELL_PROGRESS,
} from './rows.ts';
import { wholeSignals, wholeSteps } from './steps.ts';

export interface RunParts {
	pool: RunPool;
	engine: Engine;
	rows: RunRows;
	bell: Bell;
}

type Worker = Pick<
	RunQueue,
	| 'open'
	| 'look'
	| 'claim'
	| 'keep'
	| 'supervise'
	| 'admit'
	| 'begin'
	| 'finish'
	| 'late'
	| 'signals'
	| 'progress'
	| 'suspend'
	| 'end'
	| 'release'
>;

/** The time until the next schedule is due. */
export const NEXT_DUE = `(extract(epoch FROM min(s.next_at) - now()) * 1000)::float8 AS next FROM run_schedules s
WHERE s.next_at IS NOT NULL AND s.kind = ANY($1) AND NOT (s.overlap = 'queue' AND EXISTS (
	SELECT FROM runs r WHERE r.organization_id = s.organization_id AND r.schedule = s.key AND r.finished_at IS NULL
))`;

const LOOK = `
SELECT r.kind,
	count(*) FILTER (WHERE r.status <> 'running' AND r.due_at <= now())::integer AS due,
	count(*) FILTER (WHERE r.status = 'running')::integer AS running,
	count(*) FILTER (WHERE r.status = 'queued' AND r.job_id IS NULL)::integer AS parked,
	(extract(epoch FROM min(r.due_at) FILTER (WHERE r.status <> 'running' AND r.due_at > now()) - now()) * 1000)::float8 AS next
FROM runs r
WHERE r.finished_at IS NULL AND (r.status <> 'waiting' OR r.job_id IS NOT NULL) AND r.kind = ANY($1) GROUP BY r.kind
UNION ALL
SELECT NULL, 0, 0, 0, ${NEXT_DUE}`;

interface Looked {
	kind: string | null;
	due: number;
	running: number;
	parked: number;
	next: number | null;
}

// A holder that was overtaken before it claimed finds a greater `job_try`.
const CLAIM = `
UPDATE runs r SET status = 'running', attempt = r.attempt + 1, job_try = $3, here = false, awaited = '{}',
	started_at = coalesce(r.started_at, ${NOW})
FROM (SELECT id, status FROM runs WHERE id = $1 FOR UPDATE) AS before
WHERE r.id = before.id AND r.job_id = $2 AND coalesce(r.job_try, -1) < $3 AND r.finished_at IS NULL
RETURNING ${RUN}, (r.on_loss = 'resume' OR before.status <> 'running') AND $3 < $4::integer AS resumable`;
const ACCOUNT = 'SELECT account_id AS "accountId" FROM runs WHERE id = $1 AND job_id = $2';
const RUNNING = `SELECT count(*)::integer AS count FROM runs WHERE account_id = $1 AND kind = $2 AND status = 'running' AND id <> $3`;
// A run may have ended, or been claimed by a later holder, while this one waited for the lock.
const PARK = `
UPDATE runs SET status = 'queued', job_id = NULL, job_try = NULL, due_at = NULL
WHERE id = $1 AND job_id = $2 AND coalesce(job_try, -1) < $3`;

// A run that has its turn counts as running: otherwise each end would give a turn to all that wait.
const CROWDED = `
SELECT r.account_id AS "accountId" FROM runs r WHERE r.kind = $1 AND r.status IN ('queued', 'running')
GROUP BY r.account_id
HAVING count(*) FILTER (WHERE r.job_id IS NULL) > 0 AND count(*) FILTER (WHERE r.job_id IS NOT NULL) < $2`;
const PARKED = `
SELECT ${LOCKED} FROM runs r
WHERE r.account_id = $1 AND r.kind = $2 AND r.status = 'queued' AND r.job_id IS NULL
ORDER BY r.priority DESC, r.seq
LIMIT greatest(0, $3::bigint - (
	SELECT count(*) FROM runs WHERE account_id = $1 AND kind = $2 AND status IN ('queued', 'running') AND job_id IS NOT NULL
)) FOR UPDATE`;

export function createWorker({ pool, engine, rows, bell }: RunParts): Worker {
	const claimOne = async (asked: RunKind, turn: Turn): Promise<ClaimedRun | null> => {
		const { kind, perAccount } = asked;
		const row = perAccount === null ? await claim(pool, asked, turn) : await pool.transact((sql) => claimCounted(sql, asked, turn));
		if (row === 'full') return null;
		if (!row) {
			await engine.dismiss(pool, kind, turn);
			return null;
		}
		bell.ring(`run:${row.run.id}`);
		return { ...row, hold: holdOf(row.run, turn), ...(await left(row.run)) };
	};

	const claimCounted = async (sql: Sql, asked: RunKind, turn: Turn) => {
		const { kind, perAccount } = asked;
		const [run] = (await sql.executeSql(ACCOUNT, [turn.data.runId, turn.id])).rows;
		if (!run) return null;
		await sql.executeSql(LOCK, [lockKey(kind, run.accountId)]);
		const [{ count }] = (await sql.executeSql(RUNNING, [run.accountId, kind, turn.data.runId])).rows;
		if (perAccount === null || count < perAccount) return claim(sql, asked, turn);
		await sql.executeSql(PARK, [turn.data.runId, turn.id, turn.retryCount]);
		await engine.dismiss(sql, kind, turn);
		return 'full';
	};

	/** Reads the traces of former attempts: after the claim, since the last of them may have written until then. */
	const left = async (run: Run): Promise<Pick<ClaimedRun, 'steps' | 'keptChars' | 'signals'>> => {
		if (run.attempt === 1 && run.originId === null) return { steps: [], keptChars: 0, signals: [] };
		return { ...(await wholeSteps(pool.rows, run)), signals: await signals(run.id) };
	};

	const signals = (id: string): Promise<RunSignal[]> => wholeSignals(pool.rows, id);

	/** Ends the part of this process in a run, and tells whoever waits for that. @returns false when another process has it */
	const finishRun = async (
		hold: RunHold,
		change: (sql: Sql, run: LockedRun, parent: LockedRun | null) => Promise<News[]>,
	): Promise<boolean> => {
		const news = await pool.transact(async (sql) => {
			const parent = hold.parentId ? await rows.lockParent(sql, hold.id) : null;
			const run = await rows.lockHeld(sql, hold);
			return run && change(sql, run, parent);
		});
		if (news) bell.ring(...news);
		return news !== null;
	};

	const endAlone = async (hold: RunHold, outcome: RunOutcome): Promise<false | { areOthersWaiting: boolean }> => {
		const [found] = await pool.rows<EndedRun & { areOthersWaiting: boolean }>(END_ALONE, [hold.id, hold.attempt, ...ending(outcome)]);
		if (!found) return false;
		const { areOthersWaiting, ...ended } = found;
		bell.ring(ended);
		return { areOthersWaiting };
	};

	return {
		open: (kinds) => engine.open(kinds),
		async look(kinds) {
			const found = await pool.rows<Looked>(LOOK, [kinds]);
			return lookOf(found);
		},
		async claim(kind, count) {
			const turns = await engine.fetch(kind.kind, count);
			const claims = await Promise.allSettled(turns.map((turn) => claimOne(kind, turn)));
			const claimed = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []));
			const failed = claims.find((claim) => claim.status === 'rejected');
			// A turn that could not be claimed comes back later; the others were.
			if (failed && claimed.length === 0) throw failed.reason;
			return { runs: claimed.filter((run) => run !== null), isMore: turns.length === count && !failed };
		},
		async keep(holds) {
			const kept = new Set<string>();
			for (const [kind, held] of Map.groupBy(holds, (hold) => hold.kind)) {
				const jobs = await engine.keep(kind, held);
				for (const hold of held) if (jobs.has(hold.job.id)) kept.add(hold.id);
			}
			return kept;
		},
		supervise: () => engine.supervise(),
		async admit({ kind, perAccount }) {
			// Without a limit, for those that an older setting let wait.
			const limit = perAccount ?? Number.MAX_SAFE_INTEGER;
			const crowded = await pool.rows<{ accountId: string }>(CROWDED, [kind, limit]);
			for (const { accountId } of crowded) {
				await pool.transact(async (sql) => {
					await sql.executeSql(LOCK, [lockKey(kind, accountId)]);
					const waiting = (await sql.executeSql(PARKED, [accountId, kind, limit])).rows;
					for (const run of waiting) await rows.requeue(sql, run, { seconds: 0, awaited: [] });
				});
			}
			if (crowded.length > 0) bell.ring(`run:queued:${kind}`);
		},
		async begin({ id, attempt }, { key, once, until }) {
			const ms = until && until.getTime() - Date.now();
			return (await pool.rows(BEGIN_STEP, [id, attempt, key, once, ms])).length > 0;
		},
		async finish({ id, attempt }, step) {
			const isWritten = (await pool.rows(FINISH_STEP, [id, attempt, ...finishing(step)])).length > 0;
			if (isWritten) bell.ring(`run:${id}`);
			return isWritten;
		},
		async late(hold, name, step) {
			const how = await pool.transact(async (sql) => {
				// Whoever signals waits for this lock, or was faster.
				if (!(await rows.lockHeld(sql, hold))) return false;
				if ((await sql.executeSql(SIGNAL_OF, [hold.id, name])).rows.length > 0) return 'come';
				await sql.executeSql(FINISH_STEP, [hold.id, hold.attempt, ...finishing(step)]);
				return 'late';
			});
			if (how === 'late') bell.ring(`run:${hold.id}`);
			return how;
		},
		signals: ({ id }) => signals(id),
		async progress({ id, attempt }, value) {
			const isWritten = (await pool.rows(TELL_PROGRESS, [id, attempt, json(value)])).length > 0;
			if (isWritten) bell.ring(`run:${id}`);
			return isWritten;
		},
		async suspend(hold, { events, at }) {
			const run = await pool.transact(async (sql) => {
				const locked = await rows.lockHeld(sql, hold);
				if (!locked) return null;
				const come = await sql.executeSql('SELECT FROM run_signals WHERE run_id = $1 AND name = ANY($2)', [hold.id, events]);
				const seconds = come.rows.length > 0 ? 0 : at && Math.max(0, (at.getTime() - Date.now()) / 1000);
				await rows.requeue(sql, locked, { seconds, awaited: events });
				return { kind: locked.kind, isDue: seconds === 0 };
			});
			if (run) bell.ring(`run:${hold.id}`, ...(run.isDue ? [`run:queued:${run.kind}` as const] : []));
			return run !== null;
		},
		async end(hold, end) {
			const outcome = end.status === 'succeeded' ? { ...end, error: null } : { ...end, output: null };
			// A run that succeeded waits for none.
			if (hold.parentId === null && end.status === 'succeeded') return endAlone(hold, outcome);
			const isEnded = await finishRun(hold, (sql, run, parent) => rows.end(sql, run, parent, outcome));
			return isEnded && { areOthersWaiting: true };
		},
		release: (hold, interrupted) =>
			finishRun(hold, async (sql, run, parent) => {
				if (run.onLoss === 'fail') return rows.end(sql, run, parent, { status: 'failed', output: null, error: interrupted });
				await rows.requeue(sql, run, { seconds: 0, awaited: [] });
				// The next holder of a run that was given back would stop at the announcement of an end.
				return [`run:${hold.id}`, `run:queued:${hold.kind}`];
			}),
	};
}

async function claim(sql: Sql, { maxLosses }: RunKind, { id, retryCount, data }: Turn): Promise<{ run: Run; resumable: boolean } | null> {
	const [row] = (await sql.executeSql(CLAIM, [data.runId, id, retryCount, maxLosses])).rows;
	if (!row) return null;
	const { resumable, ...run } = row;
	return { run, resumable };
}

const holdOf = ({ id, kind, attempt, parentId }: Run, { id: jobId, retryCount }: Turn): RunHold => ({
	...{ id, kind, attempt, parentId },
	job: { id: jobId, retryCount },
	here: false,
});

function lookOf(found: Looked[]): RunLook {
	const kinds = found.flatMap(({ kind, due, running, parked }) => (kind === null ? [] : [{ kind, due, running, parked }]));
	const times = found.flatMap(({ next }) => (next === null ? [] : [Math.max(0, next)]));
	return { kinds, nextInMs: times.length > 0 ? Math.min(...times) : null };
}

/** The hold of a run that begins in this process ahead of the queue. */
export const hereHold = ({ id, kind, attempt, parentId }: Run, jobId: string): RunHold => ({
	...{ id, kind, attempt, parentId },
	job: { id: jobId, retryCount: 0 },
	here: true,
});
