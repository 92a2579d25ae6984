// The parts that all models share. The migrations define types, defaults and checks; a model only names columns, and its type is the port's
// row with its differences.

import {
	type DataType,
	DataTypes,
	type Model,
	type ModelAttributeColumnOptions,
	type ModelStatic,
	type Optional,
	type Sequelize,
} from 'sequelize';

/** A fresh object each time, since Sequelize writes into it. */
export const ID = (): ModelAttributeColumnOptions => ({ type: DataTypes.UUID, primaryKey: true, defaultValue: DataTypes.UUIDV4 });

/** The column that gives rows their order. */
export interface Sequence {
	seq: string;
}

type Nullable<C> = { [K in keyof C]: null extends C[K] ? K : never }[keyof C];
/** Columns that the database sets on a new row. */
type DefaultedColumn = 'id' | 'seq' | 'status' | 'version' | 'createdAt' | 'updatedAt';

/** A row of a table as Sequelize knows it. @typeParam D columns with a default, besides those that have one in every table */
export type Entity<C extends object, D extends keyof C = never> = Model<
	C,
	Optional<C, Extract<keyof C, DefaultedColumn> | Nullable<C> | D>
> &
	C;

/** Every column with its type. */
export type Columns<C> = Record<keyof C, DataType | ModelAttributeColumnOptions>;

/** @param columns a fresh object each time, since Sequelize writes into it */
export const defineTable =
	<M extends Model>(name: string, columns: () => Columns<M['_attributes']>) =>
	(sequelize: Sequelize): ModelStatic<M> =>
		sequelize.define<M, M['_attributes']>(name, columns(), {
			tableName: name,
			underscored: true,
			// The database sets the times of creation and edits.
			timestamps: false,
		});
