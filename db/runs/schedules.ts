// Schedules: each row holds its next time. A time is taken by changing it, in the transaction that starts its run, so it is taken once.

import type { DueSchedule, RunQueue } from '../../core/store/store.ts';
import { uuid } from '../pages.ts';
import type { DeskParts } from './runs.ts';

type Schedules = Pick<RunQueue, 'putSchedule' | 'removeSchedule' | 'dueSchedules' | 'fire'>;

// The same times keep the planned one: a schedule that is put again before it is due, or at each start, is not put off.
export const PUT = `
INSERT INTO run_schedules AS s (organization_id, key, kind, cron, time_zone, missed, overlap, definition, input, next_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8::json, $9::json, $10)
ON CONFLICT (organization_id, key) DO UPDATE SET kind = excluded.kind, cron = excluded.cron, time_zone = excluded.time_zone,
	missed = excluded.missed, overlap = excluded.overlap, definition = excluded.definition, input = excluded.input,
	next_at = CASE WHEN (s.cron, s.time_zone) = (excluded.cron, excluded.time_zone) THEN s.next_at ELSE excluded.next_at END`;

const BUSY = 'EXISTS (SELECT FROM runs r WHERE r.organization_id = s.organization_id AND r.schedule = s.key AND r.finished_at IS NULL)';
// A time that had to wait for the run before it is late, not missed, from the end of that run on.
const WAITED_UNTIL = `CASE WHEN s.overlap = 'queue' THEN (
	SELECT max(r.finished_at) FROM runs r WHERE r.organization_id = s.organization_id AND r.schedule = s.key AND r.finished_at > s.next_at
) END`;
/** The schedules that are due. */
export const DUE = `
SELECT s.organization_id AS "organizationId", s.key, s.kind, s.cron, s.time_zone AS "timeZone", s.missed, s.overlap, s.definition, s.input,
	s.next_at AS "dueAt", (extract(epoch FROM now() - greatest(s.next_at, ${WAITED_UNTIL})) * 1000)::float8 AS "lateMs", ${BUSY} AS "isBusy"
FROM run_schedules s
WHERE s.next_at <= now() AND s.kind = ANY($1) AND NOT (s.overlap = 'queue' AND ${BUSY})
	AND (s.next_at, s.organization_id, s.key) > ($2::timestamptz, $3::uuid, $4::text)
ORDER BY s.next_at, s.organization_id, s.key LIMIT 100`;
/** Moves a schedule to its next time, once. */
export const TAKE = 'UPDATE run_schedules SET next_at = $4 WHERE organization_id = $1 AND key = $2 AND next_at = $3 RETURNING key';

export function createSchedules({ pool, engine, bell, add }: DeskParts): Schedules {
	return {
		async putSchedule(entry, firstAt) {
			const { organizationId, key, kind, cron, timeZone, missed, overlap } = entry;
			const contents = [JSON.stringify(entry.definition), JSON.stringify(entry.input)];
			await pool.rows(PUT, [uuid(organizationId), key, kind, cron, timeZone, missed, overlap, ...contents, firstAt]);
			bell.ring(`run:queued:${kind}`);
		},
		removeSchedule: async (organizationId, key) =>
			(await pool.rows('DELETE FROM run_schedules WHERE organization_id = $1 AND key = $2 RETURNING key', [uuid(organizationId), key]))
				.length > 0,
		dueSchedules: (kinds, after) => {
			const { dueAt, organizationId, key } = after ?? { dueAt: '-infinity', organizationId: uuid(''), key: '' };
			return pool.rows<DueSchedule>(DUE, [kinds, dueAt, organizationId, key]);
		},
		async fire(schedule, nextAt, starts) {
			const { organizationId, key, kind, dueAt } = schedule;
			await engine.prepare(kind);
			const topics = await pool.transact(async (sql) => {
				const taken = await sql.executeSql(TAKE, [organizationId, key, dueAt, nextAt]);
				if (taken.rows.length === 0) return null;
				const asked = { ...schedule, ...STARTED, dedupe: `schedule:${key}@${dueAt.toISOString()}`, schedule: key, scheduledFor: dueAt };
				const added = starts ? await add(sql, asked, { perAccount: null, perAccountUnfinished: null }) : null;
				return added?.topics ?? [];
			});
			if (topics) bell.ring(...topics);
			return topics !== null;
		},
	};
}

const STARTED = {
	trigger: 'schedule' as const,
	...{ priority: 0, deadlineMs: null, parentId: null },
	here: false,
	onLoss: 'resume' as const,
};
