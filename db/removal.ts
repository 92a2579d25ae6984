// Removes a row together with its dependants, counted in the transaction that removes it.

import { QueryTypes } from 'sequelize';
import { GatewayError } from '../core/contract/errors.ts';
import type { Removed } from '../core/store/store.ts';
import type { Database } from './connection.ts';
import { uuid } from './pages.ts';
import { assertVersion } from './versions.ts';

export interface Removal {
	table: string;
	/** The rows removed along, by their name in the answer: a condition on `$1`, the organization, and `$2`, the id. */
	dependants: Record<string, string>;
	/** The dependants that make the row "in use". */
	users: string[];
}

interface Target {
	organizationId: string;
	id: string;
	onlyIfUnused: boolean;
	ifVersion: number | undefined;
}

/** @returns null when there is no such row. @throws conflict naming the users, with `onlyIfUnused`; precondition_failed */
export function remove(database: Database, removal: Removal, target: Target): Promise<Removed | null> {
	const bind = [uuid(target.organizationId), uuid(target.id)];
	const sequelize = database.bulk;
	return database.transact(async (transaction) => {
		// Locked, so that no dependant is added between the count and the removal.
		const [locked] = await sequelize.query<{ version: number }>(
			`SELECT version FROM ${removal.table} WHERE organization_id = $1 AND id = $2 FOR UPDATE`,
			{
				bind,
				type: QueryTypes.SELECT,
				transaction,
			},
		);
		if (!assertVersion(locked ?? null, target.ifVersion)) return null;
		const counted = await sequelize.query<Removed>(countOf(removal), { bind, type: QueryTypes.SELECT, transaction });
		const removed = counted[0] ?? {};
		if (target.onlyIfUnused) assertUnused(removed, removal.users);
		await sequelize.query(`DELETE FROM ${removal.table} WHERE organization_id = $1 AND id = $2`, { bind, transaction });
		return removed;
	});
}

const countOf = ({ dependants }: Removal): string =>
	`SELECT ${Object.entries(dependants)
		.map(([name, from]) => `(SELECT count(*)::int FROM ${from}) AS "${name}"`)
		.join(', ')}`;

function assertUnused(removed: Removed, users: string[]): void {
	const inUse = users.filter((name) => (removed[name] ?? 0) > 0);
	if (inUse.length === 0) return;
	const details = inUse.map((name) => ({ path: 'query/ifUnused', message: `${name} (${removed[name]})` }));
	throw new GatewayError('conflict', `It is in use: ${details.map(({ message }) => message).join(', ')}.`, { details });
}
