// Runs statements that answer with rows.

import { QueryTypes, type Sequelize, type Transaction } from 'sequelize';

/** @param transaction null: a connection of its own */
export const rows = <R extends object>(
	sequelize: Sequelize,
	sql: string,
	bind: unknown[],
	transaction: Transaction | null = null,
): Promise<R[]> => sequelize.query<R>(sql, { bind, type: QueryTypes.SELECT, transaction });
