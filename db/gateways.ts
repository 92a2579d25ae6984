// Gateways and their auth methods.

import { literal } from 'sequelize';
import type { GatewayRow, Gateways } from '../core/store.ts';
import { createAssignments, ofGateway } from './assignments.ts';
import type { Database } from './connection.ts';
import { unlessOrphan } from './errors.ts';
import { toAuth, toGateway } from './gateway-rows.ts';
import { createKeys } from './keys.ts';
import type { Models } from './models/index.ts';
import { listPage, own, uuid } from './pages.ts';
import { type Removal, remove } from './removal.ts';
import { readSnapshot } from './snapshot.ts';
import { storable } from './text.ts';

const OF_GATEWAY = 'WHERE organization_id = $1 AND gateway_id = $2';
const REMOVAL: Removal = {
	table: 'gateways',
	dependants: {
		assignments: `gateway_tools ${OF_GATEWAY}`,
		authMethods: `gateway_auth ${OF_GATEWAY}`,
		apiKeys: `gateway_keys ${OF_GATEWAY}`,
		records: `records ${OF_GATEWAY}`,
	},
	users: ['assignments', 'apiKeys'],
};

const TOOL_COUNT = literal('(SELECT count(*)::int FROM gateway_tools t WHERE t.gateway_id = "gateways"."id")');

/** Made afresh for each query: Sequelize writes into it. */
const attributes = () => ({ exclude: ['toolCount'], include: [[TOOL_COUNT, 'toolCount'] as [typeof TOOL_COUNT, string]] });

export function createGateways(database: Database, models: Models): Gateways {
	const { Gateway, GatewayAuth } = models;
	const get = async (organizationId: string, id: string): Promise<GatewayRow | null> => {
		const gateway = await Gateway.findOne({ where: own(organizationId, id), attributes: attributes(), raw: true });
		return gateway && toGateway(gateway);
	};
	return {
		...createAssignments(database, models),
		...createKeys(database, models),
		list: (organizationId, page) =>
			listPage(Gateway, { where: { organizationId: uuid(organizationId) }, page, attributes: attributes() }, toGateway),
		get,
		async create(organizationId, id, { name, type, endpoint, description, configuration }) {
			const values = { ...own(organizationId, id), ...storable({ name, type, endpoint, description, configuration }) };
			return toGateway(await database.write((transaction) => Gateway.create(values, { transaction })));
		},
		async update(organizationId, id, change) {
			const where = own(organizationId, id);
			const values = storable(change);
			if (Object.keys(values).length > 0) await database.write((transaction) => Gateway.update(values, { where, transaction }));
			return get(organizationId, id);
		},
		remove: (organizationId, id, onlyIfUnused) => remove(database, REMOVAL, { organizationId, id, onlyIfUnused }),
		async auth(organizationId, gatewayId) {
			const rows = await GatewayAuth.findAll({ where: { ...ofGateway(organizationId, gatewayId) }, order: ['seq'], raw: true });
			return rows.map(toAuth);
		},
		addAuth: (organizationId, gatewayId, id, method) =>
			unlessOrphan(async () => {
				const values = { ...ofGateway(organizationId, gatewayId), id: uuid(id), ...method };
				return toAuth(await database.write((transaction) => GatewayAuth.create(values, { transaction })));
			}),
		async removeAuth(organizationId, gatewayId, authId) {
			const where = { ...ofGateway(organizationId, gatewayId), id: uuid(authId) };
			const row = await GatewayAuth.findOne({ where, raw: true });
			const gone = row ? await database.write((transaction) => GatewayAuth.destroy({ where, transaction })) : 0;
			return row && gone > 0 ? toAuth(row) : null;
		},
		snapshot: (organizationSlug, endpoint) => readSnapshot(database.ordinary, organizationSlug, endpoint),
	};
}
