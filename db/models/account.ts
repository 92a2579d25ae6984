// Accounts: users, their access keys, and organizations.

import { type CreationOptional, DataTypes, type InferAttributes, type InferCreationAttributes, Model, type Sequelize } from 'sequelize';
import type { Permission } from '../../core/contract/permissions.ts';
import { ID, table } from './table.ts';

export class User extends Model<InferAttributes<User>, InferCreationAttributes<User>> {
	declare id: CreationOptional<string>;
	declare email: string;
	declare passwordHash: string;
	declare firstName: string;
	declare lastName: string;
	declare createdAt: CreationOptional<Date>;
}

export const defineUser = (sequelize: Sequelize): typeof User =>
	class extends User {}.init(
		{
			id: ID(),
			email: DataTypes.TEXT,
			passwordHash: DataTypes.TEXT,
			firstName: DataTypes.TEXT,
			lastName: DataTypes.TEXT,
			createdAt: DataTypes.DATE,
		},
		table(sequelize, 'users'),
	);

export class Organization extends Model<InferAttributes<Organization>, InferCreationAttributes<Organization>> {
	declare id: CreationOptional<string>;
	declare name: string;
	declare slug: string;
	declare codeMayFetch: CreationOptional<boolean>;
	declare createdBy: CreationOptional<string | null>;
	declare createdAt: CreationOptional<Date>;
}

export const defineOrganization = (sequelize: Sequelize): typeof Organization =>
	class extends Organization {}.init(
		{
			id: ID(),
			name: DataTypes.TEXT,
			slug: DataTypes.TEXT,
			codeMayFetch: DataTypes.BOOLEAN,
			createdBy: DataTypes.UUID,
			createdAt: DataTypes.DATE,
		},
		table(sequelize, 'organizations'),
	);

export class AccessKey extends Model<InferAttributes<AccessKey>, InferCreationAttributes<AccessKey>> {
	declare id: CreationOptional<string>;
	declare seq: CreationOptional<string>;
	declare userId: string;
	/** With the gateway that the key is for; null when it is for the whole account. */
	declare organizationId: string | null;
	declare gatewayId: string | null;
	declare name: string;
	declare prefix: string;
	declare hash: Buffer;
	declare permissions: Permission[] | null;
	declare revokedAt: CreationOptional<Date | null>;
	declare createdAt: CreationOptional<Date>;
	/** Read from `access_key_uses`: a use is no change of the key. */
	declare lastUsedAt: CreationOptional<Date | null>;
}

export const defineAccessKey = (sequelize: Sequelize): typeof AccessKey =>
	class extends AccessKey {}.init(
		{
			id: ID(),
			seq: DataTypes.BIGINT,
			userId: DataTypes.UUID,
			organizationId: DataTypes.UUID,
			gatewayId: DataTypes.UUID,
			name: DataTypes.TEXT,
			prefix: DataTypes.TEXT,
			hash: DataTypes.BLOB,
			permissions: DataTypes.ARRAY(DataTypes.TEXT),
			revokedAt: DataTypes.DATE,
			createdAt: DataTypes.DATE,
			lastUsedAt: DataTypes.VIRTUAL,
		},
		table(sequelize, 'access_keys'),
	);
