// What all models have in common. Types, defaults and checks are the migrations'; a model only names columns.

import { DataTypes, type InitOptions, type Model, type ModelAttributeColumnOptions, type Sequelize } from 'sequelize';

/** A fresh object each time: Sequelize writes into it. */
export const ID = (): ModelAttributeColumnOptions => ({ type: DataTypes.UUID, primaryKey: true, defaultValue: DataTypes.UUIDV4 });

export const table = <M extends Model>(sequelize: Sequelize, name: string): InitOptions<M> => ({
	sequelize,
	modelName: name,
	tableName: name,
	underscored: true,
	// Creation and edits are timed by the database.
	timestamps: false,
});
