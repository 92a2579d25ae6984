// The names of the rows that pipelines name, by which agents are moved between organizations.

import type { Agents, NamedRow } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';

const NAMED = {
	tool: {
		name: 'coalesce(r.own_name, r.imported_name)',
		from: 'tools r LEFT JOIN apis p ON p.organization_id = r.organization_id AND p.id = r.api_id',
		api: 'p.name',
		isThere: 'NOT r.removed',
	},
	gateway: { name: 'r.name', from: 'gateways r', api: 'NULL', isThere: 'true' },
	agent: { name: 'r.name', from: 'agents r', api: 'NULL', isThere: 'true' },
	provider: { name: 'r.name', from: 'llm_providers r', api: 'NULL', isThere: 'true' },
} as const;

/** Several rows may have one name; more than these need not be told apart. */
const MOST = 10;

const select = (kind: keyof typeof NAMED, where: string): string => {
	const { name, from, api } = NAMED[kind];
	return `SELECT r.id, ${name} AS name, ${api} AS api FROM ${from} WHERE r.organization_id = $1 AND ${where}`;
};

export function createNames({ ordinary }: Database): Pick<Agents, 'named' | 'nameOf'> {
	return {
		named: (organizationId, kind, name) => {
			const { name: column, isThere } = NAMED[kind];
			return rows<NamedRow>(ordinary, select(kind, `${column} = $2 AND ${isThere} ORDER BY r.seq LIMIT ${MOST}`), [
				uuid(organizationId),
				name,
			]);
		},
		async nameOf(organizationId, kind, id) {
			return (await rows<NamedRow>(ordinary, select(kind, 'r.id = $2'), [uuid(organizationId), uuid(id)]))[0] ?? null;
		},
	};
}
