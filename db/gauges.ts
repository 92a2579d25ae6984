// Looked at by metrics: the pools of connections, and the runs that have not ended.

import { QueryTypes, type Sequelize } from 'sequelize';
import type { StoreGauges } from '../core/store/store.ts';
import type { Database } from './connection.ts';
import { guard } from './errors.ts';

/** Counted up to so many: the answer stays cheap, whatever waits. */
const COUNTED = 100_000;
const UNFINISHED = `
SELECT status, count(*)::integer AS count FROM (SELECT status FROM runs WHERE finished_at IS NULL LIMIT ${COUNTED}) AS live GROUP BY status`;
const STATUSES = ['queued', 'running', 'waiting'];

/** The pool of Sequelize, which its types do not show. */
interface Pool {
	using: number;
	available: number;
	waiting: number;
}

export const createGauges = ({ ordinary, bulk }: Pick<Database, 'ordinary' | 'bulk'>): StoreGauges => ({
	pools: () => [stateOf('ordinary', ordinary), stateOf('bulk', bulk)],
	...guard({
		async unfinished() {
			const rows = await ordinary.query<{ status: string; count: number }>(UNFINISHED, { type: QueryTypes.SELECT });
			const counts = new Map(rows.map(({ status, count }) => [status, count]));
			return Object.fromEntries(STATUSES.map((status) => [status, counts.get(status) ?? 0]));
		},
	}),
});

function stateOf(name: string, sequelize: Sequelize): { name: string; used: number; idle: number; waiting: number } {
	const { pool } = sequelize.connectionManager as unknown as { pool: Pool };
	return { name, used: pool.using, idle: pool.available, waiting: pool.waiting };
}
