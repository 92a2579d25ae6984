// Names of what lines of the request log are about, by their ids, which tell nothing to people.

import type { Analytics } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';

const TABLES = ['gateways', 'agents', 'llm_providers', 'gateway_keys'];
const SELECTS = [
	...TABLES.map((table) => `SELECT id, name FROM ${table} WHERE organization_id = $1 AND id = ANY ($2)`),
	'SELECT id, coalesce(own_name, imported_name) FROM tools WHERE organization_id = $1 AND id = ANY ($2)',
	`SELECT u.id, concat_ws(' ', u.first_name, nullif(u.last_name, '')) FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.organization_id = $1 AND u.id = ANY ($2)`,
];

export const createNames = ({ ordinary }: Database): Pick<Analytics, 'names'> => ({
	async names(organizationId, ids) {
		if (ids.length === 0) return new Map();
		const found = await rows<{ id: string; name: string }>(ordinary, SELECTS.join(' UNION ALL '), [uuid(organizationId), ids.map(uuid)]);
		return new Map(found.map(({ id, name }) => [id, name]));
	},
});
