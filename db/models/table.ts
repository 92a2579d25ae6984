// What all models have in common. Types, defaults and checks are the migrations'; a model only names columns: rows of the port, and what
// they differ in, are their types.

import {
	type DataType,
	DataTypes,
	type Model,
	type ModelAttributeColumnOptions,
	type ModelStatic,
	type Optional,
	type Sequelize,
} from 'sequelize';

/** A fresh object each time: Sequelize writes into it. */
export const ID = (): ModelAttributeColumnOptions => ({ type: DataTypes.UUID, primaryKey: true, defaultValue: DataTypes.UUIDV4 });

/** What rows are listed in the order of. */
export interface Sequence {
	seq: string;
}

type Nullable<C> = { [K in keyof C]: null extends C[K] ? K : never }[keyof C];
/** What the database gives a new row. */
type Given = 'id' | 'seq' | 'status' | 'version' | 'createdAt' | 'updatedAt';

/** A row of a table as Sequelize knows it. @typeParam D columns with a default, beside those that every table gives one */
export type Entity<C extends object, D extends keyof C = never> = Model<C, Optional<C, Extract<keyof C, Given> | Nullable<C> | D>> & C;

/** Every column with its type. */
export type Columns<C> = Record<keyof C, DataType | ModelAttributeColumnOptions>;

/** @param columns a fresh object each time: Sequelize writes into it */
export const defineTable =
	<M extends Model>(name: string, columns: () => Columns<M['_attributes']>) =>
	(sequelize: Sequelize): ModelStatic<M> =>
		sequelize.define<M, M['_attributes']>(name, columns(), {
			tableName: name,
			underscored: true,
			// Creation and edits are timed by the database.
			timestamps: false,
		});
