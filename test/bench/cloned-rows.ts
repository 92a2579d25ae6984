// Copies rows in bulk: a hundred thousand of them over REST would take a benchmark minutes.

import { administer, type Endpoint } from '../helpers/postgres.ts';

/**
 * Copies one row many times, in one statement.
 * @param row the table, and a condition that only this row meets
 * @param own SQL expressions for the columns that each copy has to itself, in which `n` is its number from 1
 */
export async function cloneRow(
	database: Endpoint,
	row: { table: string; where: string },
	count: number,
	own: Record<string, string>,
): Promise<void> {
	const columns = await administer(
		database,
		`SELECT column_name AS name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = '${row.table}' AND is_identity = 'NO'`,
	);
	const names = columns.map(({ name }) => String(name));
	const values = names.map((name) => own[name] ?? (name === 'id' ? 'gen_random_uuid()' : `t.${name}`));
	const copies = `SELECT ${values.join()} FROM ${row.table} t, generate_series(1, ${count}) n WHERE ${row.where}`;
	await administer(database, `INSERT INTO ${row.table} (${names.join()}) ${copies}`);
}
