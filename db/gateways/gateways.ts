// Gateways.

import { literal, type Transaction, type WhereOptions } from 'sequelize';
import type { GatewayFilter, GatewayRow, Gateways } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import type { Gateway } from '../models/gateway.ts';
import type { Models } from '../models/index.ts';
import { listPage, own, uuid } from '../pages.ts';
import { type Removal, remove } from '../removal.ts';
import { search } from '../search.ts';
import { byNameOr } from '../sorts.ts';
import { storable } from '../text.ts';
import { assertVersion, ofVersion } from '../versions.ts';
import { createAssignments } from './assignments.ts';
import { createAuthMethods } from './auth-methods.ts';
import { createKeys } from './keys.ts';
import { readOnly } from './only.ts';
import { toGateway } from './rows.ts';
import { readSnapshot } from './snapshot.ts';

const OF_GATEWAY = 'WHERE organization_id = $1 AND gateway_id = $2';
const REMOVAL: Removal = {
	table: 'gateways',
	dependants: {
		assignments: `gateway_tools ${OF_GATEWAY}`,
		skills: `gateway_skills ${OF_GATEWAY}`,
		authMethods: `gateway_auth ${OF_GATEWAY}`,
		apiKeys: `gateway_keys ${OF_GATEWAY}`,
		records: `records ${OF_GATEWAY}`,
	},
	users: ['assignments', 'apiKeys'],
};

const SORTS = byNameOr<Gateway>('name', ({ name }) => name);

const TOOL_COUNT = literal('(SELECT count(*)::int FROM gateway_tools t WHERE t.gateway_id = "gateways"."id")');

/** A fresh object for each query, since Sequelize writes into it. */
const attributes = () => ({ exclude: ['toolCount'], include: [[TOOL_COUNT, 'toolCount'] as [typeof TOOL_COUNT, string]] });

export function createGateways(database: Database, models: Models): Gateways {
	const { Gateway } = models;
	const get = async (organizationId: string, id: string, transaction: Transaction | null = null): Promise<GatewayRow | null> => {
		const gateway = await Gateway.findOne({ where: own(organizationId, id), attributes: attributes(), raw: true, transaction });
		return gateway && toGateway(gateway);
	};
	return {
		...createAssignments(database, models),
		...createAuthMethods(database, models),
		...createKeys(database, models),
		list: (organizationId, page, filter = {}) =>
			listPage(Gateway, { where: toWhere(organizationId, filter), page, attributes: attributes(), sorts: SORTS }, toGateway),
		get: (organizationId, id) => get(organizationId, id),
		async create(organizationId, id, gateway) {
			const values = { ...storable(gateway), ...own(organizationId, id) };
			return toGateway(await database.write((transaction) => Gateway.create(values, { transaction })));
		},
		async update(organizationId, id, change, ifVersion) {
			if (Object.keys(change).length === 0) return assertVersion(await get(organizationId, id), ifVersion);
			const where = { ...own(organizationId, id), ...ofVersion(ifVersion) };
			const changed = await database.write(async (transaction) => {
				const [count] = await Gateway.update(storable(change), { where, transaction });
				// Read before another change can follow: the answer shows this change and its version.
				return count > 0 ? get(organizationId, id, transaction) : null;
			});
			return changed ?? assertVersion(await get(organizationId, id), ifVersion);
		},
		remove: (organizationId, id, onlyIfUnused, ifVersion) => remove(database, REMOVAL, { organizationId, id, onlyIfUnused, ifVersion }),
		snapshot: (organizationSlug, endpoint) => readSnapshot(database.ordinary, organizationSlug, endpoint),
		only: (organizationSlug) => readOnly(database.ordinary, organizationSlug),
	};
}

const toWhere = (organizationId: string, { q, type, status }: GatewayFilter): WhereOptions<Gateway> => ({
	organizationId: uuid(organizationId),
	...(type !== undefined && { type }),
	...(status !== undefined && { status }),
	...search(q, ['name', 'description']),
});
