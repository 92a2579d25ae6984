// Reads the configs of rows that belong to plugins, across all tenants, for counting those that no longer fit.

import { QueryTypes, type Sequelize } from 'sequelize';
import type { ConfigRow, ConfigRows, ConfigTable } from '../../core/store/store.ts';
import { uuid } from '../pages.ts';

const NIL = '00000000-0000-0000-0000-000000000000';

/** The rows of each table as `ConfigRow`s; tools whose operation is gone never run. */
const SELECTS: Readonly<Record<ConfigTable, string>> = {
	gateways: `SELECT id, organization_id AS "organizationId", type AS name, configuration AS config, config_version AS version FROM gateways WHERE true`,
	gateway_auth: `SELECT id, organization_id AS "organizationId", type AS name, configuration AS config, config_version AS version FROM gateway_auth WHERE true`,
	tools: `SELECT id, organization_id AS "organizationId", executor AS name, execution_config AS config, code, config_version AS version FROM tools WHERE NOT removed`,
	apis: `SELECT id, organization_id AS "organizationId", type AS name, '{}'::json AS config, 1 AS version FROM apis WHERE true`,
	llm_providers: `SELECT id, organization_id AS "organizationId", provider AS name, connection AS config, config_version AS version FROM llm_providers WHERE true`,
};
// The keys of a record are those of its type.
const TABLES = Object.keys(SELECTS) as ConfigTable[];

type Found = Omit<ConfigRow, 'table'> & { code?: string | null };

export function createConfigRows(sequelize: Sequelize): ConfigRows {
	const read = async (table: ConfigTable, sql: string, bind: unknown[]): Promise<ConfigRow[]> => {
		const found = await sequelize.query<Found>(sql, { bind, type: QueryTypes.SELECT });
		return found.map(({ code, ...row }) => ({ ...row, table, config: typeof code === 'string' ? { ...row.config, code } : row.config }));
	};
	return {
		async page(after, limit) {
			const { table, id } = after ?? { table: TABLES[0] as ConfigTable, id: NIL };
			const rows = await read(table, `${SELECTS[table]} AND id > $1 ORDER BY id LIMIT $2`, [id, limit]);
			const last = rows.at(-1);
			if (last && rows.length === limit) return { rows, next: { table, id: last.id } };
			const following = TABLES[TABLES.indexOf(table) + 1];
			return { rows, next: following ? { table: following, id: NIL } : null };
		},
		async find(organizationId, ids) {
			const bind = [uuid(organizationId), JSON.stringify(ids.map(uuid))];
			const own = 'AND organization_id = $1 AND id IN (SELECT value::uuid FROM json_array_elements_text($2::json) AS value)';
			const pages = await Promise.all(TABLES.map((table) => read(table, `${SELECTS[table]} ${own}`, bind)));
			return pages.flat();
		},
	};
}
