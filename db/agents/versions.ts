// The versions of agents: snapshots that never change, of which the oldest give way.

import type { Transaction } from 'sequelize';
import { GatewayError } from '../../core/contract/errors.ts';
import type { AgentRow, Agents, AgentVersionRow, AgentVersionSummary, NewAgentVersion, VersionBounds } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import type { Models } from '../models/index.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { storable } from '../text.ts';
import { tellFollowers } from '../tools.ts';
import { assertVersion } from '../versions.ts';

const SUMMARY = `v.agent_id AS "agentId", v.version_index AS "versionIndex", v.changelog, v.restored_from AS "restoredFrom",
	v.created_by AS "createdBy", v.created_at AS "createdAt", v.first_revision AS "firstRevision", v.last_revision = a.version AS "isCurrent"`;
const WHOLE = `${SUMMARY}, v.name, v.description, v.pipeline, v.settings`;
const FROM = 'FROM agent_versions v JOIN agents a ON a.organization_id = v.organization_id AND a.id = v.agent_id';
const OF_AGENT = 'v.organization_id = $1 AND v.agent_id = $2';
const LIST = `SELECT ${SUMMARY} ${FROM} WHERE ${OF_AGENT} ORDER BY v.version_index DESC`;
const GET = `SELECT ${WHOLE} ${FROM} WHERE ${OF_AGENT} AND v.version_index = $3`;

// The organization's row is locked before the agent's, as when agents are added, so that what is counted stays until the row is there.
const LOCK = 'SELECT id FROM organizations WHERE id = $1 FOR NO KEY UPDATE';
const LOCK_AGENT = 'SELECT version FROM agents WHERE organization_id = $1 AND id = $2 FOR UPDATE';
const SAVE = `
INSERT INTO agent_versions (organization_id, agent_id, version_index, first_revision, last_revision, changelog, created_by, restored_from,
	name, description, pipeline, settings, chars)
SELECT a.organization_id, a.id,
	(SELECT coalesce(max(v.version_index), -1) + 1 FROM agent_versions v WHERE ${OF_AGENT}),
	a.version, a.version, $3, $4, $5, a.name, a.description, a.pipeline, a.settings,
	length(a.pipeline::text) + length(a.settings::text) + length(a.description)
FROM agents a WHERE a.organization_id = $1 AND a.id = $2
RETURNING version_index AS "versionIndex"`;
const THIN = `
DELETE FROM agent_versions v WHERE ${OF_AGENT} AND v.version_index <= (
	SELECT max(n.version_index) - $3::integer FROM agent_versions n WHERE n.organization_id = $1 AND n.agent_id = $2
)`;
const CHARS = 'SELECT coalesce(sum(chars), 0)::float8 AS chars FROM agent_versions WHERE organization_id = $1';
const RESTORE = `
UPDATE agents a SET name = v.name, description = v.description, pipeline = v.pipeline, settings = v.settings
FROM agent_versions v WHERE ${OF_AGENT} AND v.version_index = $3 AND a.organization_id = $1 AND a.id = $2`;

type Versions = Pick<Agents, 'versions' | 'version' | 'saveVersion' | 'restoreVersion'>;

interface Saving extends NewAgentVersion {
	restoredFrom: number | null;
}

export function createVersions({ ordinary, write }: Database, models: Models, agents: Pick<Agents, 'get'>): Versions {
	const find = async (organizationId: string, agentId: string, index: number, transaction: Transaction | null = null) => {
		const [row] = await rows<AgentVersionRow>(ordinary, GET, [uuid(organizationId), uuid(agentId), index], transaction);
		return row ?? null;
	};
	/** Locks the agent. @returns false when there is none @throws precondition_failed */
	const lock = async (place: [string, string], ifVersion: number | undefined, transaction: Transaction): Promise<boolean> => {
		await rows(ordinary, LOCK, [place[0]], transaction);
		const [agent] = await rows<{ version: number }>(ordinary, LOCK_AGENT, place, transaction);
		return assertVersion(agent ?? null, ifVersion) !== null;
	};
	const save = async (
		[organizationId, agentId]: [string, string],
		{ changelog, createdBy, restoredFrom }: Saving,
		bounds: VersionBounds,
		transaction: Transaction,
	): Promise<AgentVersionRow> => {
		const bind = [organizationId, agentId, changelog, createdBy, restoredFrom];
		const [saved] = await rows<{ versionIndex: number }>(ordinary, SAVE, bind, transaction);
		await ordinary.query(THIN, { bind: [organizationId, agentId, bounds.versions], transaction });
		const [sum] = await rows<{ chars: number }>(ordinary, CHARS, [organizationId], transaction);
		if ((sum?.chars ?? 0) > bounds.chars)
			throw new GatewayError('conflict', `The versions of the agents of an organization may have ${bounds.chars} characters.`);
		const row = saved && (await find(organizationId, agentId, saved.versionIndex, transaction));
		if (!row) throw new Error('A version that was saved is not there.');
		return row;
	};
	return {
		versions: (organizationId, agentId) => rows<AgentVersionSummary>(ordinary, LIST, [uuid(organizationId), uuid(agentId)]),
		version: (organizationId, agentId, index) => find(organizationId, agentId, index),
		async saveVersion(organizationId, agentId, version, bounds, ifVersion) {
			storable(version);
			const place: [string, string] = [uuid(organizationId), uuid(agentId)];
			return write(async (transaction) => {
				if (!(await lock(place, ifVersion, transaction))) return null;
				return save(place, { ...version, restoredFrom: null }, bounds, transaction);
			});
		},
		async restoreVersion({ organizationId, agentId, index }, version, bounds, ifVersion, inputSchema) {
			storable(version);
			const place: [string, string] = [uuid(organizationId), uuid(agentId)];
			const restored = await write(async (transaction) => {
				if (!(await lock(place, ifVersion, transaction))) return null;
				const found = await find(...place, index, transaction);
				if (!found) return null;
				await ordinary.query(RESTORE, { bind: [...place, index], transaction });
				if (inputSchema) await tellFollowers(models, place, inputSchema(found.pipeline), transaction);
				return save(place, { ...version, restoredFrom: index }, bounds, transaction);
			});
			const agent: AgentRow | null = restored && (await agents.get(organizationId, agentId));
			return restored && agent && { agent, version: restored };
		},
	};
}
