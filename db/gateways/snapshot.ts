// Reads everything needed to serve one gateway by one statement: one consistent snapshot, one round trip. Each row is a JSON text of its
// own, so that a thousand large tools are parsed one by one as they arrive.

import { type Attributes, QueryTypes, type Sequelize } from 'sequelize';
import type { GatewaySnapshot } from '../../core/store/store.ts';
import { toApi } from '../apis.ts';
import { toCredential } from '../credentials.ts';
import { ORGANIZATION, type Organization } from '../models/account.ts';
import type { Api, ApiCredential } from '../models/api.ts';
import { pick } from '../models/columns.ts';
import type { Gateway, GatewayAuth, GatewayTool } from '../models/gateway.ts';
import type { GatewaySkill, Skill } from '../models/skill.ts';
import type { Tool } from '../models/tool.ts';
import { toSkill } from '../skills/skills.ts';
import { toTool } from '../tools.ts';
import { pair, toAssignment } from './assignments.ts';
import { toAuth, toGateway } from './rows.ts';

const OF_TOOLS = `(
	SELECT t.api_id FROM place JOIN gateway_tools a USING (organization_id, gateway_id)
	JOIN tools t ON t.organization_id = a.organization_id AND t.id = a.tool_id
)`;

const SNAPSHOT = `
WITH place AS MATERIALIZED (
	SELECT g.organization_id, g.id AS gateway_id FROM organizations o JOIN gateways g ON g.organization_id = o.id
	WHERE o.slug = $1 AND g.endpoint = $2
)
SELECT 'organizations' AS source, row_to_json(o) AS row FROM place JOIN organizations o ON o.id = place.organization_id
UNION ALL
SELECT 'gateways', row_to_json(g) FROM place JOIN gateways g ON g.organization_id = place.organization_id AND g.id = place.gateway_id
UNION ALL
SELECT 'gateway_auth', row_to_json(a) FROM place JOIN gateway_auth a USING (organization_id, gateway_id)
UNION ALL
SELECT 'gateway_tools', row_to_json(a) FROM place JOIN gateway_tools a USING (organization_id, gateway_id)
UNION ALL
SELECT 'tools', row_to_json(t) FROM place JOIN gateway_tools a USING (organization_id, gateway_id)
JOIN tools t ON t.organization_id = a.organization_id AND t.id = a.tool_id AND t.status = 'active' AND NOT t.removed
LEFT JOIN apis p ON p.organization_id = t.organization_id AND p.id = t.api_id
WHERE p.status IS DISTINCT FROM 'inactive'
UNION ALL
SELECT 'tags', json_build_object('seq', t.seq, 'tool_id', t.id, 'tags', o.tags) FROM place JOIN gateway_tools a USING (organization_id, gateway_id)
JOIN tools t ON t.organization_id = a.organization_id AND t.id = a.tool_id
JOIN operations o ON o.organization_id = t.organization_id AND o.api_id = t.api_id AND o.id = t.operation_id
WHERE cardinality(o.tags) > 0
UNION ALL
SELECT 'gateway_skills', row_to_json(a) FROM place JOIN gateway_skills a USING (organization_id, gateway_id)
UNION ALL
SELECT 'skills', row_to_json(s) FROM place JOIN gateway_skills a USING (organization_id, gateway_id)
JOIN skills s ON s.organization_id = a.organization_id AND s.id = a.skill_id
UNION ALL
SELECT 'apis', row_to_json(p) FROM place JOIN apis p USING (organization_id) WHERE p.id IN ${OF_TOOLS}
UNION ALL
SELECT 'api_credentials', row_to_json(c) FROM place JOIN api_credentials c USING (organization_id) WHERE c.api_id IN ${OF_TOOLS}`;

/** Rows of the tables, under the names of their models' attributes. */
interface Sources {
	organizations: Attributes<Organization>;
	gateways: Attributes<Gateway>;
	gateway_auth: Attributes<GatewayAuth>;
	gateway_tools: Attributes<GatewayTool>;
	tools: Attributes<Tool>;
	tags: { toolId: string; tags: string[] };
	gateway_skills: Attributes<GatewaySkill>;
	skills: Attributes<Skill>;
	apis: Attributes<Api>;
	api_credentials: Attributes<ApiCredential>;
}

interface Found {
	source: keyof Sources;
	row: Record<string, unknown>;
}

/** Reads the snapshot of a gateway; null when there is none. */
export async function readSnapshot(sequelize: Sequelize, organizationSlug: string, endpoint: string): Promise<GatewaySnapshot | null> {
	const found = await sequelize.query<Found>(SNAPSHOT, { bind: [organizationSlug, endpoint], type: QueryTypes.SELECT });
	const rows = <S extends keyof Sources>(source: S): Sources[S][] =>
		found
			.filter((one) => one.source === source)
			.sort((a, b) => Number(a.row['seq']) - Number(b.row['seq']))
			// `row_to_json` names every column of the table, and a model every attribute; tags are named in the statement.
			.map(({ row }) => toAttributes(row) as Sources[S]);
	const [organization] = rows('organizations');
	const [gateway] = rows('gateways');
	if (!organization || !gateway) return null;
	const assignments = rows('gateway_tools').map(toAssignment);
	const skills = new Map(rows('skills').map((row) => [row.id, toSkill(row)]));
	return {
		organization: pick(organization, ORGANIZATION),
		gateway: { ...toGateway(gateway), toolCount: assignments.length },
		auth: rows('gateway_auth').map(toAuth),
		tools: pair(assignments, rows('tools').map(toTool)),
		tags: new Map(rows('tags').map(({ toolId, tags }) => [toolId, tags])),
		skills: rows('gateway_skills').flatMap(({ skillId }) => skills.get(skillId) ?? []),
		apis: rows('apis').map(toApi),
		credentials: rows('api_credentials').map(toCredential),
	};
}

/** Converts a row; `created_at` is a text in JSON. */
const toAttributes = (row: Record<string, unknown>): object =>
	Object.fromEntries(
		Object.entries(row).map(([column, value]) => [
			column.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
			column.endsWith('_at') && typeof value === 'string' ? new Date(value) : value,
		]),
	);
