// Brings a database to the schema that this code needs: by umzug, forward only, with all pending migrations and their records in one
// transaction, so a crash leaves either nothing or everything. Only the rows of large tables are filled after it.

import { readdirSync } from 'node:fs';
import { QueryTypes, type Sequelize, type Transaction } from 'sequelize';
import type { Umzug } from 'umzug';
import type { Log } from '../core/contract/nouns.ts';
import type { Endpoint } from './connection.ts';
import { ENGINE_MIGRATION, installEngine } from './runs/engine.ts';

export interface Migration {
	/** Its number, then its subject; never renamed. */
	name: string;
	statements: string[];
	/**
	 * A statement that fills some of the rows that were there before, behind the id in $1, and answers with the last of them as `last`. It is
	 * repeated in transactions of its own, so that nobody waits for the whole table. The migration is on record when no row is left; until then a
	 * start repeats its statements, too.
	 */
	fill?: string;
}

/** The names of all migrations, in order: their files are named alike, and hold much text that is needed only where one is missing. */
export const NAMES: readonly string[] = readdirSync(new URL('./migrations/', import.meta.url))
	.flatMap((file) => /^(\d{4}-[\w-]+)\.[jt]s$/.exec(file)?.[1] ?? [])
	.sort();

/** An arbitrary number, the same in every release: replicas that start at once queue up behind it. */
const LOCK = 7_046_112_025;

/** @returns the names of those that ran now */
export async function migrate(sequelize: Sequelize, endpoint: Endpoint, log: Log): Promise<string[]> {
	const { names, filling } = await inTurn(sequelize, async (transaction) => {
		await sequelize.query('CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, ran_at timestamptz NOT NULL DEFAULT now())', {
			transaction,
		});
		const due = missing(await executed(sequelize, transaction));
		if (due.length === 0) return { names: [], filling: [] };
		const { MIGRATIONS } = await import('./migrations/index.ts');
		const ran = await (await umzug(sequelize, transaction, MIGRATIONS)).up();
		// On a connection of its own, which our lock covers: it is safe to repeat, and so is not undone with the rest.
		if (due.includes(ENGINE_MIGRATION)) await installEngine(endpoint, log);
		return {
			names: [...ran.map(({ name }) => name), ...(await recordEngine(sequelize, transaction))],
			filling: MIGRATIONS.filter(({ name, fill }) => fill && due.includes(name)),
		};
	});
	for (const migration of filling) await fillAll(sequelize, migration);
	if (names.length > 0) log.info({ migrations: names }, 'database migrated');
	return names;
}

/** Works in a transaction when no other replica does. */
const inTurn = <T>(sequelize: Sequelize, work: (transaction: Transaction) => Promise<T>): Promise<T> =>
	sequelize.transaction(async (transaction) => {
		await sequelize.query('SELECT pg_advisory_xact_lock($1)', { bind: [LOCK], transaction });
		return work(transaction);
	});

const NIL = '00000000-0000-0000-0000-000000000000';

/** Fills what a migration left empty, and records it. */
async function fillAll(sequelize: Sequelize, { name, fill = '' }: Migration): Promise<void> {
	for (let last: string | undefined = NIL; last; )
		last = await inTurn(sequelize, async (transaction) => {
			const [row] = await sequelize.query<{ last: string }>(fill, { type: QueryTypes.SELECT, bind: [last], transaction });
			if (!row) await sequelize.query(`${RECORD} ON CONFLICT DO NOTHING`, { bind: [name], transaction });
			return row?.last;
		});
}

const RECORD = 'INSERT INTO migrations (name) VALUES ($1)';

/** @throws Error naming the missing migrations */
export async function assertMigrated(sequelize: Sequelize): Promise<void> {
	const names = missing(await executed(sequelize, null));
	if (names.length > 0)
		throw new Error(`The database lacks the migrations ${names.join(', ')}: run "npm run migrate", or set DB_MIGRATIONS_RUN=true.`);
}

const missing = (done: readonly string[]): string[] => [...NAMES, ENGINE_MIGRATION].filter((name) => !done.includes(name));

/** @returns the name of the engine's tables if they were not on record */
async function recordEngine(sequelize: Sequelize, transaction: Transaction): Promise<string[]> {
	const bind = [ENGINE_MIGRATION];
	const recorded = await sequelize.query<{ name: string }>(`${RECORD} ON CONFLICT DO NOTHING RETURNING name`, {
		type: QueryTypes.SELECT,
		bind,
		transaction,
	});
	return recorded.map(({ name }) => name);
}

/** Loaded only when there is something to migrate: the package includes a command line. */
async function umzug(sequelize: Sequelize, transaction: Transaction, migrations: readonly Migration[]): Promise<Umzug> {
	const { Umzug } = await import('umzug');
	const filled = new Set(migrations.flatMap(({ name, fill }) => (fill ? [name] : [])));
	return new Umzug({
		migrations: migrations.map(({ name, statements }) => ({
			name,
			up: async () => {
				for (const statement of statements) await sequelize.query(statement, { transaction });
			},
		})),
		storage: {
			executed: () => executed(sequelize, transaction),
			logMigration: async ({ name }) => {
				if (!filled.has(name)) await sequelize.query(RECORD, { bind: [name], transaction });
			},
			unlogMigration: () => Promise.reject(new Error('Migrations go forward only.')),
		},
		logger: undefined,
	});
}

async function executed(sequelize: Sequelize, transaction: Transaction | null): Promise<string[]> {
	const [table] = await sequelize.query<{ exists: boolean }>(`SELECT to_regclass('migrations') IS NOT NULL AS exists`, {
		type: QueryTypes.SELECT,
		transaction,
	});
	if (!table?.exists) return [];
	const rows = await sequelize.query<{ name: string }>('SELECT name FROM migrations ORDER BY name', {
		type: QueryTypes.SELECT,
		transaction,
	});
	return rows.map(({ name }) => name);
}
