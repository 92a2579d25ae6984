// Gateways, their auth methods, and the snapshot from which one is served.

import { literal, Transaction } from 'sequelize';
import type { AuthRow, GatewayRow, GatewaySnapshot, Gateways } from '../core/store.ts';
import { toApi, toCredential } from './apis.ts';
import { createAssignments, ofGateway, toAssignment, withTools } from './assignments.ts';
import type { Database } from './connection.ts';
import { unlessOrphan } from './errors.ts';
import { createKeys } from './keys.ts';
import type { Gateway, GatewayAuth } from './models/gateway.ts';
import type { Models } from './models/index.ts';
import { listPage, own, uuid } from './pages.ts';
import { type Removal, remove } from './removal.ts';
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
		...createKeys(models),
		list: (organizationId, page) =>
			listPage(Gateway, { where: { organizationId: uuid(organizationId) }, page, attributes: attributes() }, toGateway),
		get,
		async create(organizationId, id, { name, type, endpoint, description, configuration }) {
			const values = storable({ name, type, endpoint, description, configuration });
			return toGateway(await Gateway.create({ ...own(organizationId, id), ...values }));
		},
		async update(organizationId, id, change) {
			if (Object.keys(change).length > 0) await Gateway.update(storable(change), { where: own(organizationId, id) });
			return get(organizationId, id);
		},
		remove: (organizationId, id, onlyIfUnused) => remove(database, REMOVAL, { organizationId, id, onlyIfUnused }),
		async auth(organizationId, gatewayId) {
			const rows = await GatewayAuth.findAll({ where: { ...ofGateway(organizationId, gatewayId) }, order: ['seq'], raw: true });
			return rows.map(toAuth);
		},
		addAuth: (organizationId, gatewayId, id, method) =>
			unlessOrphan(async () => toAuth(await GatewayAuth.create({ ...ofGateway(organizationId, gatewayId), id: uuid(id), ...method }))),
		async removeAuth(organizationId, gatewayId, authId) {
			const where = { ...ofGateway(organizationId, gatewayId), id: uuid(authId) };
			const row = await GatewayAuth.findOne({ where, raw: true });
			const gone = row ? await GatewayAuth.destroy({ where }) : 0;
			return row && gone > 0 ? toAuth(row) : null;
		},
		snapshot: (organizationSlug, endpoint) =>
			// One look at the database as it was at one moment.
			database.ordinary.transaction({ isolationLevel: Transaction.ISOLATION_LEVELS.REPEATABLE_READ }, (transaction) =>
				snapshot(models, { organizationSlug, endpoint }, transaction),
			),
	};
}

async function snapshot(
	models: Models,
	{ organizationSlug, endpoint }: { organizationSlug: string; endpoint: string },
	transaction: Transaction,
): Promise<GatewaySnapshot | null> {
	const reading = { raw: true, transaction } as const;
	const organization = await models.Organization.findOne({ where: { slug: organizationSlug }, ...reading });
	if (!organization) return null;
	const organizationId = organization.id;
	const gateway = await models.Gateway.findOne({ where: { organizationId, endpoint }, attributes: attributes(), ...reading });
	if (!gateway) return null;
	const of = { organizationId, gatewayId: gateway.id };
	const auth = await models.GatewayAuth.findAll({ where: { ...of }, order: ['seq'], ...reading });
	const assignments = await models.GatewayTool.findAll({ where: { ...of }, order: ['seq'], ...reading });
	const assigned = await withTools(models, organizationId, assignments.map(toAssignment), transaction);
	const tools = assigned.filter(({ tool }) => tool.status === 'active');
	const apiIds = [...new Set(tools.flatMap(({ tool }) => tool.apiId ?? []))];
	const apis = await models.Api.findAll({ where: { organizationId, id: apiIds }, order: ['seq'], ...reading });
	const credentials = await models.ApiCredential.findAll({
		where: { organizationId, apiId: apiIds },
		order: ['apiId', 'type'],
		...reading,
	});
	const { id, name, slug, createdAt } = organization;
	return {
		organization: { id, name, slug, createdAt },
		gateway: toGateway(gateway),
		auth: auth.map(toAuth),
		tools,
		apis: apis.map(toApi),
		credentials: credentials.map(toCredential),
	};
}

const toGateway = (row: Attributes<Gateway>): GatewayRow => ({
	id: row.id,
	organizationId: row.organizationId,
	name: row.name,
	type: row.type,
	endpoint: row.endpoint,
	description: row.description,
	configuration: row.configuration,
	status: row.status,
	// Not counted on creation, when there are none.
	toolCount: row.toolCount ?? 0,
	version: row.version,
	createdAt: row.createdAt,
	updatedAt: row.updatedAt,
});

const toAuth = (row: Attributes<GatewayAuth>): AuthRow => ({
	id: row.id,
	organizationId: row.organizationId,
	gatewayId: row.gatewayId,
	type: row.type,
	isRequired: row.isRequired,
	configuration: row.configuration,
	validationRules: row.validationRules,
	createdAt: row.createdAt,
	updatedAt: row.updatedAt,
});
