// Accounts: users, organizations, and who belongs to which.

import { type CreationOptional, DataTypes, type InferAttributes, type InferCreationAttributes, Model, type Sequelize } from 'sequelize';
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
	declare createdAt: CreationOptional<Date>;
}

export const defineOrganization = (sequelize: Sequelize): typeof Organization =>
	class extends Organization {}.init(
		{ id: ID(), name: DataTypes.TEXT, slug: DataTypes.TEXT, createdAt: DataTypes.DATE },
		table(sequelize, 'organizations'),
	);
