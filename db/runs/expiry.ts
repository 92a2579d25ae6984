// Ends runs that nobody took in time: a deadline is watched by the holder of a run, but a run may wait for a process that never comes.

import type { RunFault, RunQueue } from '../../core/store/store.ts';
import type { RunParts } from './queue.ts';
import { LOCKED, type LockedRun, type News } from './rows.ts';

/** The runs that one look ends at most; the next one ends others. */
const MOST = 500;
/** A holder that lives ends its run itself, at its deadline. */
const OF_HOLDERS = `interval '1 minute'`;
const UNKNOWN_FOR = `interval '7 days'`;

const OVERDUE_RUN = `deadline_at <= now() AND (status <> 'running' OR deadline_at <= now() - ${OF_HOLDERS})`;
const OVERDUE = `
SELECT organization_id AS "organizationId", id FROM runs WHERE finished_at IS NULL AND ${OVERDUE_RUN} ORDER BY deadline_at LIMIT ${MOST}`;

// A run that waits for an event only is not due. Another process that knows the kind would have taken one of its runs by now; an attempt lasts a
// day at most.
const LIVE = `finished_at IS NULL AND (status <> 'waiting' OR job_id IS NOT NULL)`;
const UNKNOWN_RUN = `coalesce(due_at, created_at) <= now() - ${UNKNOWN_FOR}`;
const UNKNOWN = `
SELECT r.organization_id AS "organizationId", r.id FROM runs r
WHERE ${LIVE} AND r.kind IN (
	SELECT k.kind FROM (SELECT DISTINCT kind FROM runs WHERE ${LIVE} AND kind <> ALL($1)) AS k
	WHERE NOT EXISTS (SELECT FROM runs o WHERE o.kind = k.kind AND o.started_at > now() - ${UNKNOWN_FOR})
) AND ${UNKNOWN_RUN} LIMIT ${MOST}`;

const LATE: RunFault = { code: 'timed_out', message: 'The deadline of the run is over.' };
const NOBODY: RunFault = { code: 'not_implemented', message: 'No process has known work of this kind for seven days: its plugin is gone.' };

type RunKey = Pick<LockedRun, 'organizationId' | 'id'>;

export function createExpiry({ pool, rows, bell }: RunParts): RunQueue['expire'] {
	/** Ends a run that is still as it was found. */
	const endOne = async ({ organizationId, id }: RunKey, still: string, error: RunFault): Promise<boolean> => {
		const news = await pool.transact(async (sql): Promise<News[] | null> => {
			const parent = await rows.lockParent(sql, id);
			const query = `SELECT ${LOCKED} FROM runs r WHERE organization_id = $1 AND id = $2 AND finished_at IS NULL AND ${still} FOR UPDATE`;
			const [run] = (await sql.executeSql(query, [organizationId, id])).rows as LockedRun[];
			if (!run) return null;
			return rows.end(sql, run, parent, { status: 'failed', output: null, error });
		});
		if (news) bell.ring(...news);
		return news !== null;
	};
	const endAll = async (found: RunKey[], still: string, error: RunFault): Promise<number> => {
		let ended = 0;
		for (const place of found) if (await endOne(place, still, error)) ended++;
		return ended;
	};
	return async (known) => {
		const late = await endAll(await pool.rows<RunKey>(OVERDUE, []), OVERDUE_RUN, LATE);
		return late + (await endAll(await pool.rows<RunKey>(UNKNOWN, [known]), UNKNOWN_RUN, NOBODY));
	};
}
