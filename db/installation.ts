// Facts of the whole installation: the first value of a name stays.

import type { Sequelize } from 'sequelize';
import { rows } from './rows.ts';

// A row that another replica inserted meanwhile is visible not to the same statement, but to the next.
const KEEP = 'INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING';
const KEPT = 'SELECT value FROM installation WHERE name = $1';

export async function keep(sequelize: Sequelize, name: string, value: string): Promise<string> {
	await sequelize.query(KEEP, { bind: [name, value] });
	const [kept] = await rows<{ value: string }>(sequelize, KEPT, [name]);
	return kept?.value ?? value;
}
