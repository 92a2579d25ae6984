// Executions of agents, each beside the run that carries it out, and what they used by month.

import type { Transaction } from 'sequelize';
import { GatewayError } from '../../core/contract/errors.ts';
import type {
	AgentHistory,
	AgentRow,
	Agents,
	AgentUsage,
	Execution,
	ExecutionSummary,
	NewExecution,
	Run,
	RunSummary,
} from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import type { JointRuns } from '../runs/joint.ts';
import { RUN, RUN_DONE, RUN_SUMMARY } from '../runs/rows.ts';
import { lenient } from '../text.ts';

/** The number to which a list of executions is counted. */
const COUNTED = 10_000;
const HISTORY = 100;

const MONTH = `date_trunc('month', now() AT TIME ZONE 'UTC')::date`;
/** The version that a revision was saved as, which is that of the later ones with the same pipeline. */
const versionOf = (table: string): string => `(SELECT max(v.version_index) FROM agent_versions v
	WHERE v.organization_id = ${table}.organization_id AND v.agent_id = ${table}.agent_id
		AND ${table}.revision BETWEEN v.first_revision AND v.last_revision)`;
const OWN = `e.agent_id AS "agentId", e.revision, ${versionOf('e')} AS "versionIndex", e.started_by AS "startedBy", e.tokens::float8 AS "tokensUsed",
	CASE WHEN e.unpriced = 0 THEN e.cost END AS cost`;
const JOINED = 'agent_executions e JOIN runs r ON r.organization_id = e.organization_id AND r.id = e.run_id';

// A removal of the agent waits, or has happened.
const LOCK_AGENT = 'SELECT name, status FROM agents WHERE organization_id = $1 AND id = $2 FOR KEY SHARE';
const ADD = `
WITH added AS (
	INSERT INTO agent_executions (organization_id, agent_id, run_id, revision, started_by)
	SELECT r.organization_id, a.id, r.id, $4, $5 FROM runs r JOIN agents a ON a.organization_id = r.organization_id AND a.id = $2
	WHERE r.organization_id = $1 AND r.id = $3
	ON CONFLICT DO NOTHING RETURNING organization_id, agent_id, revision
), counted AS (
	INSERT INTO agent_usage AS u (organization_id, agent_id, month, executions)
	SELECT organization_id, agent_id, ${MONTH}, 1 FROM added
	ON CONFLICT (agent_id, month) DO UPDATE SET executions = u.executions + 1
)
SELECT ${versionOf('added')} AS "versionIndex" FROM added`;

const FIND = 'e.organization_id = $1 AND e.agent_id = $2';
const MATCHING = `agent_executions e WHERE ${FIND} AND ($3::text IS NULL OR e.trigger = $3) AND ($4::text IS NULL OR e.state = $4)`;
/** Runs are read for the page alone. */
export const LIST = `
SELECT ${RUN_SUMMARY}, ${OWN} FROM (SELECT e.* FROM ${MATCHING} ORDER BY e.seq DESC LIMIT $5 OFFSET $6) AS e
JOIN runs r ON r.organization_id = e.organization_id AND r.id = e.run_id ORDER BY e.seq DESC`;
export const COUNT_LIST = `SELECT count(*)::int AS total FROM (SELECT FROM ${MATCHING} LIMIT ${COUNTED}) AS counted`;
const get = (columns: string): string =>
	`SELECT ${columns}, ${OWN} FROM ${JOINED} WHERE e.organization_id = $1 AND e.run_id = $2 AND ($3::uuid IS NULL OR e.agent_id = $3)`;
const [GET, GET_DONE, GET_SUMMARY] = [get(RUN), get(RUN_DONE), get(RUN_SUMMARY)];
const LOCK_ORIGIN = `SELECT r.kind, r.status, e.agent_id AS "agentId", e.revision FROM ${JOINED}
WHERE e.organization_id = $1 AND e.run_id = $2 FOR SHARE OF r`;

// The agent is locked before the execution, as by whoever removes it.
const COUNT = `
WITH held AS MATERIALIZED (
	SELECT e.organization_id, e.run_id FROM agent_executions e JOIN agents a ON a.organization_id = e.organization_id AND a.id = e.agent_id
	WHERE e.organization_id = $1 AND e.run_id = $2 FOR KEY SHARE OF a
), counted AS (
	UPDATE agent_executions e SET tokens = tokens + $3::bigint, cost = cost + $4::float8, unpriced = unpriced + $5::int
	FROM held WHERE e.organization_id = held.organization_id AND e.run_id = held.run_id RETURNING e.organization_id, e.agent_id
)
INSERT INTO agent_usage AS u (organization_id, agent_id, month, tokens, cost, unpriced)
SELECT organization_id, agent_id, ${MONTH}, $3::bigint, $4::float8, $5::int FROM counted
ON CONFLICT (agent_id, month) DO UPDATE SET tokens = u.tokens + excluded.tokens, cost = u.cost + excluded.cost,
	unpriced = u.unpriced + excluded.unpriced`;
const USAGE = `
SELECT executions::float8, tokens::float8, cost, unpriced::float8 FROM agent_usage
WHERE organization_id = $1 AND agent_id = $2 AND month = ${MONTH}`;

const spread = (sql: string): string =>
	`CASE WHEN count(${sql}) > 0 THEN json_build_object('min', min(${sql}), 'typical',
		percentile_cont(0.5) WITHIN GROUP (ORDER BY (${sql})::float8), 'max', max(${sql})) END`;
export const LATEST = `
SELECT count(*)::int AS executions, ${spread('priced')} AS cost, ${spread('tokens')} AS tokens, ${spread('ms')} AS duration
FROM (
	SELECT CASE WHEN e.unpriced = 0 THEN e.cost END AS priced, e.tokens,
		extract(epoch FROM r.finished_at - coalesce(r.started_at, r.created_at))::float8 * 1000 AS ms
	FROM ${JOINED} WHERE ${FIND} AND e.revision = $3 AND e.state = 'success' ORDER BY e.seq DESC LIMIT ${HISTORY}
) AS latest`;

type Found<R extends RunSummary> = R & Omit<ExecutionSummary, 'run'>;

function toExecution<R extends RunSummary>({ agentId, revision, versionIndex, startedBy, tokensUsed, cost, ...run }: Found<R>) {
	return { run, agentId, revision, versionIndex, startedBy, tokensUsed, cost };
}

type Executions = Pick<
	Agents,
	'start' | 'enlist' | 'retry' | 'executions' | 'execution' | 'executionOf' | 'summaryOf' | 'count' | 'usage' | 'history'
>;

/** Executions, whose `enlist` may be a part of a transaction. */
type Joint = Omit<Executions, 'enlist'> & {
	enlist(organizationId: string, runId: string, execution: NewExecution, transaction?: Transaction | null): Promise<boolean>;
};

export function createExecutions(database: Database, runs: JointRuns): Joint {
	const { ordinary } = database;
	const read = async <R extends RunSummary>(sql: string, place: (string | null)[], transaction: Transaction | null = null) => {
		const bind = place.map((id) => (id === null ? null : uuid(id)));
		const [row] = await rows<Found<R>>(ordinary, sql, bind, transaction);
		return row ? toExecution(row) : null;
	};
	// Without the columns of the execution, those of the run are left.
	const find = async (place: (string | null)[], { input, transaction }: { input?: false; transaction?: Transaction } = {}) =>
		(await read<Run>(input === false ? GET_DONE : GET, place, transaction)) as Execution | null;
	const add = async (organizationId: string, runId: string, execution: NewExecution, transaction: Transaction | null) => {
		const { agentId, revision, startedBy } = execution;
		const told = startedBy === null ? null : lenient(startedBy);
		const bind = [uuid(organizationId), uuid(agentId), uuid(runId), revision, told];
		const [added] = await rows<Pick<Execution, 'versionIndex'>>(ordinary, ADD, bind, transaction);
		return added && { ...execution, versionIndex: added.versionIndex, tokensUsed: 0, cost: 0 };
	};
	return {
		async start(asked, kind, execution) {
			await runs.prepare(asked.kind);
			const started = await database.write(async (transaction) => {
				const place = [uuid(asked.organizationId), uuid(execution.agentId)];
				const [agent] = await rows<Pick<AgentRow, 'name' | 'status'>>(ordinary, LOCK_AGENT, place, transaction);
				const added = agent ? await runs.add(transaction, asked, kind) : null;
				if (!added) return null;
				const { run, claimed, topics } = added;
				const fresh = await add(run.organizationId, run.id, execution, transaction);
				// A test of versions runs an inactive agent, too; other executions of people are refused before they come here.
				if (fresh && asked.parentId && agent?.status !== 'active')
					throw new GatewayError('conflict', `The agent "${agent?.name}" is not active.`);
				const made = fresh ? { run, ...fresh } : await find([run.organizationId, run.id, null], { transaction });
				return made && { execution: made, claimed, topics };
			});
			if (!started) return null;
			const { topics, ...made } = started;
			runs.ring(topics);
			return made;
		},
		enlist: async (organizationId, runId, execution, transaction = null) =>
			(await add(organizationId, runId, execution, transaction)) !== undefined,
		async retry(organizationId, runId, { startedBy, from, deadlineMs }, { kind, perAccountUnfinished: most }) {
			await runs.prepare(kind);
			const made = await database.write(async (transaction) => {
				const place = [uuid(organizationId), uuid(runId)];
				const [origin] = await rows<Pick<Run, 'kind' | 'status'> & NewExecution>(ordinary, LOCK_ORIGIN, place, transaction);
				if (!origin || origin.kind !== kind) return null;
				if (origin.status !== 'failed' && origin.status !== 'cancelled')
					throw new GatewayError('conflict', 'Only an execution that failed, or was cancelled, can be retried.');
				const run = await runs.fork(transaction, { organizationId, id: runId }, { from, deadlineMs, most });
				if (!run) return null;
				const execution = { agentId: origin.agentId, revision: origin.revision, startedBy };
				const fresh = await add(run.organizationId, run.id, execution, transaction);
				return fresh ? { run, ...fresh } : null;
			});
			if (made) runs.ring([`run:queued:${kind}`]);
			return made;
		},
		async executions(organizationId, agentId, { limit, offset }, { status, trigger } = {}) {
			const asked = [uuid(organizationId), uuid(agentId), trigger ?? null, status ?? null];
			const [found, [counted]] = await Promise.all([
				rows<Found<RunSummary>>(ordinary, LIST, [...asked, limit, offset]),
				rows<{ total: number }>(ordinary, COUNT_LIST, asked),
			]);
			return { executions: found.map((row) => toExecution(row)), total: counted?.total ?? 0 };
		},
		execution: (organizationId, agentId, id) => find([organizationId, id, agentId]),
		executionOf: (organizationId, id, asked) => find([organizationId, id, null], asked),
		summaryOf: async (organizationId, id) => (await read(GET_SUMMARY, [organizationId, id, null])) as ExecutionSummary | null,
		async count(organizationId, runId, { tokens, cost }) {
			const bind = [uuid(organizationId), uuid(runId), Math.round(tokens), cost ?? 0, cost === null ? 1 : 0];
			await ordinary.query(COUNT, { bind });
		},
		async usage(organizationId, id) {
			const [found] = await rows<AgentUsage>(ordinary, USAGE, [uuid(organizationId), uuid(id)]);
			return found ?? { executions: 0, tokens: 0, cost: 0, unpriced: 0 };
		},
		async history(organizationId, id, revision) {
			const [found] = await rows<AgentHistory>(ordinary, LATEST, [uuid(organizationId), uuid(id), revision]);
			return found ?? { executions: 0, cost: null, tokens: null, duration: null };
		},
	};
}
