// Reads which active gateways of an organization are the only ones of their type: at most two of each, however many there are.

import { QueryTypes, type Sequelize } from 'sequelize';
import type { OnlyGateways } from '../../core/store/store.ts';

const ONLY = `
SELECT o.id, g.type, min(g.endpoint) AS first, max(g.endpoint) AS last
FROM organizations o LEFT JOIN gateways g ON g.organization_id = o.id AND g.status = 'active'
WHERE o.slug = $1 GROUP BY o.id, g.type`;

/** Endpoints differ within an organization; without a gateway, type and endpoints are null. */
interface Row {
	id: string;
	type: string | null;
	first: string;
	last: string;
}

export async function readOnly(sequelize: Sequelize, organizationSlug: string): Promise<OnlyGateways | null> {
	const rows = await sequelize.query<Row>(ONLY, { bind: [organizationSlug], type: QueryTypes.SELECT });
	const [row] = rows;
	if (!row) return null;
	const found = rows.flatMap(({ type, first, last }) => (type === null ? [] : [[type, [...new Set([first, last])]] as const]));
	return { organizationId: row.id, endpoints: new Map(found) };
}
