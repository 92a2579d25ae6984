// Gateways, the tools assigned to them, their auth methods and their keys.

import { DataTypes } from 'sequelize';
import type { AssignmentRow, AuthRow, GatewayRow, KeyRow } from '../../core/store/store.ts';
import { columnsOf } from './columns.ts';
import { type Columns, defineTable, type Entity, ID, type Sequence } from './table.ts';

interface GatewayColumns extends GatewayRow, Sequence {}
export type Gateway = Entity<GatewayColumns, 'toolCount' | 'configVersion'>;

const gateway = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		name: DataTypes.TEXT,
		type: DataTypes.TEXT,
		endpoint: DataTypes.TEXT,
		description: DataTypes.TEXT,
		configuration: DataTypes.JSON,
		configVersion: DataTypes.INTEGER,
		maxResultBytes: DataTypes.INTEGER,
		icon: DataTypes.TEXT,
		payloadLog: DataTypes.JSON,
		status: DataTypes.TEXT,
		version: DataTypes.INTEGER,
		createdAt: DataTypes.DATE,
		updatedAt: DataTypes.DATE,
		// Counted by the query.
		toolCount: DataTypes.VIRTUAL,
	}) satisfies Columns<GatewayColumns>;

export const GATEWAY = columnsOf(gateway(), 'seq');
export const defineGateway = defineTable<Gateway>('gateways', gateway);

interface GatewayToolColumns extends AssignmentRow, Sequence {
	organizationId: string;
}
export type GatewayTool = Entity<GatewayToolColumns>;

const gatewayTool = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		gatewayId: DataTypes.UUID,
		toolId: DataTypes.UUID,
		name: DataTypes.TEXT,
		description: DataTypes.TEXT,
		rateLimit: DataTypes.INTEGER,
		maxResultBytes: DataTypes.INTEGER,
		confirm: DataTypes.TEXT,
		createdAt: DataTypes.DATE,
	}) satisfies Columns<GatewayToolColumns>;

export const ASSIGNMENT = columnsOf(gatewayTool(), 'seq', 'organizationId');
export const defineGatewayTool = defineTable<GatewayTool>('gateway_tools', gatewayTool);

interface GatewayAuthColumns extends AuthRow, Sequence {}
export type GatewayAuth = Entity<GatewayAuthColumns, 'configVersion'>;

const gatewayAuth = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		gatewayId: DataTypes.UUID,
		type: DataTypes.TEXT,
		isRequired: DataTypes.BOOLEAN,
		configuration: DataTypes.JSON,
		configVersion: DataTypes.INTEGER,
		validationRules: DataTypes.JSON,
		createdAt: DataTypes.DATE,
		updatedAt: DataTypes.DATE,
	}) satisfies Columns<GatewayAuthColumns>;

export const AUTH = columnsOf(gatewayAuth(), 'seq');
export const defineGatewayAuth = defineTable<GatewayAuth>('gateway_auth', gatewayAuth);

interface GatewayKeyColumns extends KeyRow, Sequence {
	hash: Buffer;
}
export type GatewayKey = Entity<GatewayKeyColumns>;

const gatewayKey = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		gatewayId: DataTypes.UUID,
		name: DataTypes.TEXT,
		prefix: DataTypes.TEXT,
		hash: DataTypes.BLOB,
		scopes: DataTypes.ARRAY(DataTypes.TEXT),
		expiresAt: DataTypes.DATE,
		revokedAt: DataTypes.DATE,
		createdAt: DataTypes.DATE,
		updatedAt: DataTypes.DATE,
		// Read from `gateway_key_uses`, so that a use is no change of the key.
		lastUsedAt: DataTypes.VIRTUAL,
	}) satisfies Columns<GatewayKeyColumns>;

export const KEY = columnsOf(gatewayKey(), 'seq', 'hash');
export const defineGatewayKey = defineTable<GatewayKey>('gateway_keys', gatewayKey);
