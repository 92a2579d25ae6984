// Gateways, the tools assigned to them, their auth methods and their keys.

import { type CreationOptional, DataTypes, type InferAttributes, type InferCreationAttributes, Model, type Sequelize } from 'sequelize';
import type { JsonObject, Scope } from '../../core/contract/nouns.ts';
import type { ValidationRules } from '../../core/store/store.ts';
import { ID, table } from './table.ts';

export class Gateway extends Model<InferAttributes<Gateway>, InferCreationAttributes<Gateway>> {
	declare id: CreationOptional<string>;
	declare seq: CreationOptional<string>;
	declare organizationId: string;
	declare name: string;
	declare type: string;
	declare endpoint: string;
	declare description: string | null;
	declare configuration: JsonObject;
	declare status: CreationOptional<string>;
	declare version: CreationOptional<number>;
	declare createdAt: CreationOptional<Date>;
	declare updatedAt: CreationOptional<Date>;
	/** Counted by the query. */
	declare toolCount: CreationOptional<number>;
}

export const defineGateway = (sequelize: Sequelize): typeof Gateway =>
	class extends Gateway {}.init(
		{
			id: ID(),
			seq: DataTypes.BIGINT,
			organizationId: DataTypes.UUID,
			name: DataTypes.TEXT,
			type: DataTypes.TEXT,
			endpoint: DataTypes.TEXT,
			description: DataTypes.TEXT,
			configuration: DataTypes.JSON,
			status: DataTypes.TEXT,
			version: DataTypes.INTEGER,
			createdAt: DataTypes.DATE,
			updatedAt: DataTypes.DATE,
			toolCount: DataTypes.VIRTUAL,
		},
		table(sequelize, 'gateways'),
	);

export class GatewayTool extends Model<InferAttributes<GatewayTool>, InferCreationAttributes<GatewayTool>> {
	declare id: CreationOptional<string>;
	declare seq: CreationOptional<string>;
	declare organizationId: string;
	declare gatewayId: string;
	declare toolId: string;
	declare name: string;
	declare description: CreationOptional<string | null>;
	declare rateLimit: CreationOptional<number | null>;
	declare createdAt: CreationOptional<Date>;
}

export const defineGatewayTool = (sequelize: Sequelize): typeof GatewayTool =>
	class extends GatewayTool {}.init(
		{
			id: ID(),
			seq: DataTypes.BIGINT,
			organizationId: DataTypes.UUID,
			gatewayId: DataTypes.UUID,
			toolId: DataTypes.UUID,
			name: DataTypes.TEXT,
			description: DataTypes.TEXT,
			rateLimit: DataTypes.INTEGER,
			createdAt: DataTypes.DATE,
		},
		table(sequelize, 'gateway_tools'),
	);

export class GatewayAuth extends Model<InferAttributes<GatewayAuth>, InferCreationAttributes<GatewayAuth>> {
	declare id: CreationOptional<string>;
	declare seq: CreationOptional<string>;
	declare organizationId: string;
	declare gatewayId: string;
	declare type: string;
	declare isRequired: boolean;
	declare configuration: JsonObject;
	declare validationRules: ValidationRules;
	declare createdAt: CreationOptional<Date>;
	declare updatedAt: CreationOptional<Date>;
}

export const defineGatewayAuth = (sequelize: Sequelize): typeof GatewayAuth =>
	class extends GatewayAuth {}.init(
		{
			id: ID(),
			seq: DataTypes.BIGINT,
			organizationId: DataTypes.UUID,
			gatewayId: DataTypes.UUID,
			type: DataTypes.TEXT,
			isRequired: DataTypes.BOOLEAN,
			configuration: DataTypes.JSON,
			validationRules: DataTypes.JSON,
			createdAt: DataTypes.DATE,
			updatedAt: DataTypes.DATE,
		},
		table(sequelize, 'gateway_auth'),
	);

export class GatewayKey extends Model<InferAttributes<GatewayKey>, InferCreationAttributes<GatewayKey>> {
	declare id: CreationOptional<string>;
	declare seq: CreationOptional<string>;
	declare organizationId: string;
	declare gatewayId: string;
	declare name: string;
	declare prefix: string;
	declare hash: Buffer;
	declare scopes: Scope[];
	declare expiresAt: Date | null;
	declare revokedAt: CreationOptional<Date | null>;
	declare createdAt: CreationOptional<Date>;
	declare updatedAt: CreationOptional<Date>;
	/** Read from `gateway_key_uses`: a use is no change of the key. */
	declare lastUsedAt: CreationOptional<Date | null>;
}

export const defineGatewayKey = (sequelize: Sequelize): typeof GatewayKey =>
	class extends GatewayKey {}.init(
		{
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
			lastUsedAt: DataTypes.VIRTUAL,
		},
		table(sequelize, 'gateway_keys'),
	);
