// Agents of an organization.

import { literal } from 'sequelize';
import { GatewayError } from '../../core/contract/errors.ts';
import type { AgentRow, Agents } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { AGENT, type Agent } from '../models/agent.ts';
import { pick } from '../models/columns.ts';
import type { Models } from '../models/index.ts';
import { listPage, own, uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import type { JointRuns } from '../runs/joint.ts';
import type { News } from '../runs/rows.ts';
import { search } from '../search.ts';
import { byNameOr } from '../sorts.ts';
import { storable } from '../text.ts';
import { tellFollowers } from '../tools.ts';
import { assertVersion, ofVersion } from '../versions.ts';
import { createExecutions } from './executions.ts';
import { createNames } from './names.ts';
import { createQuestions } from './questions.ts';
import { createSchedules } from './schedules.ts';
import { createVersions } from './versions.ts';
import { createWebhooks } from './webhooks.ts';

const SORTS = byNameOr<Agent>('name', ({ name }) => name);
const TOTAL = '(SELECT coalesce(sum(u.executions), 0)::float8 FROM agent_usage u WHERE u.agent_id = "agents"."id")';
/** The organization's row is locked, so that what is counted stays until the row is there. */
const LOCK = 'SELECT id FROM organizations WHERE id = $1 FOR NO KEY UPDATE';

const LOCK_AGENT = 'SELECT version FROM agents WHERE organization_id = $1 AND id = $2 FOR UPDATE';
const OF_AGENT = 'organization_id = $1 AND agent_id = $2';
const UNDER_WAY = `
SELECT r.id FROM agent_executions e JOIN runs r ON r.organization_id = e.organization_id AND r.id = e.run_id
WHERE e.organization_id = $1 AND e.agent_id = $2 AND r.finished_at IS NULL ORDER BY r.seq`;
const COUNTS = `
SELECT (SELECT count(*)::int FROM agent_executions WHERE ${OF_AGENT}) AS executions,
	(SELECT count(*)::int FROM agent_webhooks WHERE ${OF_AGENT}) AS webhooks,
	(SELECT count(*)::int FROM access_keys WHERE ${OF_AGENT}) AS "accessKeys"`;
const REMOVE_RUNS = `DELETE FROM runs WHERE organization_id = $1 AND id IN (SELECT run_id FROM agent_executions WHERE ${OF_AGENT})`;
const REMOVE = 'DELETE FROM agents WHERE organization_id = $1 AND id = $2';
const REMOVED = 'The agent was removed.';

/** A fresh object for each query, since Sequelize writes into it. */
const attributes = () => ({ include: [[literal(TOTAL), 'totalExecutions'] as [ReturnType<typeof literal>, string]] });
const toAgent = (row: Agent): AgentRow => ({ ...pick(row, AGENT), totalExecutions: row.totalExecutions ?? 0 });

export function createAgents(database: Database, models: Models, runs: JointRuns): Agents {
	const { Agent: Table } = models;
	const get = async (organizationId: string, id: string): Promise<AgentRow | null> => {
		const row = await Table.findOne({ where: own(organizationId, id), attributes: attributes(), raw: true });
		return row && toAgent(row);
	};
	const executions = createExecutions(database, runs);
	return {
		...executions,
		...createVersions(database, models, { get }),
		...createSchedules(database, { runs, enlist: executions.enlist }),
		...createNames(database),
		...createQuestions(database),
		...createWebhooks(database, models),
		list: (organizationId, page, { q } = {}) =>
			listPage(
				Table,
				{
					where: { organizationId: uuid(organizationId), ...search(q, ['name', 'description']) },
					...{ page, sorts: SORTS, attributes: attributes() },
				},
				toAgent,
			),
		get,
		create: (organizationId, id, row, most) =>
			database.write(async (transaction) => {
				const organization = uuid(organizationId);
				await rows(database.ordinary, LOCK, [organization], transaction);
				const count = await Table.count({ where: { organizationId: organization }, transaction });
				if (count >= most) throw new GatewayError('conflict', `An organization may have ${most} agents.`);
				return toAgent(await Table.create({ ...storable(row), ...own(organizationId, id) }, { transaction }));
			}),
		async update(organizationId, id, change, ifVersion, inputSchema) {
			if (Object.keys(change).length === 0) return assertVersion(await get(organizationId, id), ifVersion);
			const where = { ...own(organizationId, id), ...ofVersion(ifVersion) };
			const [changed] = await database.write(async (transaction) => {
				const done = await Table.update(storable(change), { where, transaction });
				if (done[0] > 0 && change.pipeline && inputSchema) {
					await tellFollowers(models, [where.organizationId, where.id], inputSchema(change.pipeline), transaction);
				}
				return done;
			});
			const row = await get(organizationId, id);
			return changed > 0 ? row : assertVersion(row, ifVersion);
		},
		async remove(organizationId, id, ifVersion) {
			const place = [uuid(organizationId), uuid(id)];
			const removed = await database.transact(async (transaction) => {
				const [locked] = await rows<{ version: number }>(database.bulk, LOCK_AGENT, place, transaction);
				if (!assertVersion(locked ?? null, ifVersion)) return null;
				const news: News[] = [];
				for (const run of await rows<{ id: string }>(database.bulk, UNDER_WAY, place, transaction))
					news.push(...(await runs.cancel(transaction, { organizationId, id: run.id }, REMOVED)));
				const [counts] = await rows<Record<string, number>>(database.bulk, COUNTS, place, transaction);
				await database.bulk.query(REMOVE_RUNS, { bind: place, transaction });
				await database.bulk.query(REMOVE, { bind: place, transaction });
				return { counts: counts ?? {}, news };
			});
			if (removed) runs.ring(removed.news);
			return removed === null ? null : removed.counts;
		},
	};
}
