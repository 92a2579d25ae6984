// The schedules of agents, each with a row of the run engine that has its next time.

import type { Transaction } from 'sequelize';
import { GatewayError } from '../../core/contract/errors.ts';
import type { AgentScheduleRow, Agents, NewExecution } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import type { JointRuns } from '../runs/joint.ts';
import { PUT, TAKE } from '../runs/schedules.ts';
import { lenient } from '../text.ts';
import { assertVersion } from '../versions.ts';

const ROW = `s.organization_id AS "organizationId", s.agent_id AS "agentId", s.cron, s.time_zone AS "timeZone", s.overlap, s.missed, s.input,
	s.version, s.created_at AS "createdAt", s.updated_at AS "updatedAt"`;
const GET = `SELECT ${ROW}, r.problem FROM agent_schedules s
LEFT JOIN run_schedules r ON r.organization_id = s.organization_id AND r.agent_id = s.agent_id
WHERE s.organization_id = $1 AND s.agent_id = $2`;
const LOCK_AGENT = 'SELECT id FROM agents WHERE organization_id = $1 AND id = $2 FOR NO KEY UPDATE';
/** The agent before its schedule, as its removal locks them. */
const SHARE_AGENT = 'SELECT id FROM agents WHERE organization_id = $1 AND id = $2 FOR KEY SHARE';
const SET = `
INSERT INTO agent_schedules AS s (organization_id, agent_id, cron, time_zone, overlap, missed, input)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (organization_id, agent_id) DO UPDATE SET cron = excluded.cron, time_zone = excluded.time_zone, overlap = excluded.overlap,
	missed = excluded.missed, input = excluded.input
RETURNING agent_id`;
const BIND = 'UPDATE run_schedules SET agent_id = $2, problem = NULL WHERE organization_id = $1 AND key = $3';
const REMOVE =
	'DELETE FROM agent_schedules WHERE organization_id = $1 AND agent_id = $2 AND version = coalesce($3, version) RETURNING agent_id';
const TELL = 'UPDATE run_schedules SET problem = $3 WHERE organization_id = $1 AND key = $2 AND problem IS DISTINCT FROM $3';

type Schedules = Pick<Agents, 'schedule' | 'putSchedule' | 'removeSchedule' | 'fire'>;

/** The key of an agent's schedule among those of its organization. */
const keyOf = (agentId: string): string => `agent:${agentId}`;

export interface ScheduleParts {
	runs: JointRuns;
	/** Adds the execution of a run that was added. */
	enlist(organizationId: string, runId: string, execution: NewExecution, transaction: Transaction): Promise<unknown>;
}

const goneSince = (): GatewayError =>
	new GatewayError('precondition_failed', 'The schedule has been removed since the version that If-Match names.');

export function createSchedules({ ordinary, write }: Database, { runs, enlist }: ScheduleParts): Schedules {
	const find = async (place: [string, string], transaction: Transaction | null = null): Promise<AgentScheduleRow | null> =>
		(await rows<AgentScheduleRow>(ordinary, GET, place, transaction))[0] ?? null;
	return {
		schedule: (organizationId, agentId) => find([uuid(organizationId), uuid(agentId)]),
		async putSchedule(organizationId, agentId, { cron, timeZone, missed, overlap, input }, { kind, definition, firstAt }, ifVersion) {
			const place: [string, string] = [uuid(organizationId), uuid(agentId)];
			await runs.prepare(kind);
			const row = await write(async (transaction) => {
				if ((await rows(ordinary, LOCK_AGENT, place, transaction)).length === 0) return null;
				if (!assertVersion(await find(place, transaction), ifVersion) && ifVersion !== undefined) throw goneSince();
				await rows(ordinary, SET, [...place, cron, timeZone, overlap, missed, input], transaction);
				const key = keyOf(place[1]);
				const planned = [key, kind, cron, timeZone, missed, overlap, JSON.stringify(definition), 'null', firstAt];
				await ordinary.query(PUT, { bind: [place[0], ...planned], transaction });
				await ordinary.query(BIND, { bind: [...place, key], transaction });
				return find(place, transaction);
			});
			if (row) runs.ring([`run:queued:${kind}`]);
			return row;
		},
		async removeSchedule(organizationId, agentId, ifVersion) {
			const place: [string, string] = [uuid(organizationId), uuid(agentId)];
			const removed = await write((transaction) => rows(ordinary, REMOVE, [...place, ifVersion ?? null], transaction));
			if (removed.length === 0) assertVersion(await find(place), ifVersion);
			return removed.length > 0;
		},
		async fire({ organizationId, key, kind, dueAt }, nextAt, started, problem) {
			await runs.prepare(kind);
			const topics = await write(async (transaction) => {
				if (started) await rows(ordinary, SHARE_AGENT, [organizationId, uuid(started.execution.agentId)], transaction);
				const taken = await rows(ordinary, TAKE, [organizationId, key, dueAt, nextAt], transaction);
				if (taken.length === 0) return null;
				await ordinary.query(TELL, { bind: [organizationId, key, problem === null ? null : lenient(problem)], transaction });
				if (!started) return [];
				const asked = { ...started.run, dedupe: `schedule:${key}@${dueAt.toISOString()}`, schedule: key, scheduledFor: dueAt };
				const added = await runs.add(transaction, asked, started.kind);
				if (!added) return [];
				await enlist(organizationId, added.run.id, started.execution, transaction);
				return added.topics;
			});
			if (topics) runs.ring(topics);
			return topics !== null;
		},
	};
}
