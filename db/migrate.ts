// Brings a database to the schema that this code needs: by umzug, forward only, with all pending migrations and their records in one
// transaction, so a crash leaves either nothing or everything.

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
}

/** The names of all migrations, in order: their files are named alike, and hold much text that is needed only where one is missing. */
export const NAMES: readonly string[] = readdirSync(new URL('./migrations/', import.meta.url))
	.flatMap((file) => /^(\d{4}-[\w-]+)\.[jt]s$/.exec(file)?.[1] ?? [])
	.sort();

/** An arbitrary number, the same in every release: replicas that start at once queue up behind it. */
const LOCK = 7_046_112_025;

/** @returns the names of those that ran now */
export async function migrate(sequelize: Sequelize, endpoint: Endpoint, log: Log): Promise<string[]> {
	const names = await sequelize.transaction(async (transaction) => {
		await sequelize.query('SELECT pg_advisory_xact_lock($1)', { bind: [LOCK], transaction });
		await sequelize.query('CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, ran_at timestamptz NOT NULL DEFAULT now())', {
			transaction,
		});
		const due = missing(await executed(sequelize, transaction));
		if (due.length === 0) return [];
		const ran = await (await umzug(sequelize, transaction)).up();
		// On a connection of its own, which our lock covers: it is safe to repeat, and so is not undone with the rest.
		if (due.includes(ENGINE_MIGRATION)) await installEngine(endpoint, log);
		return [...ran.map(({ name }) => name), ...(await recordEngine(sequelize, transaction))];
	});
	if (names.length > 0) log.info({ migrations: names }, 'database migrated');
	return names;
}

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
	const recorded = await sequelize.query<{ name: string }>(
		'INSERT INTO migrations (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING name',
		{
			type: QueryTypes.SELECT,
			bind,
			transaction,
		},
	);
	return recorded.map(({ name }) => name);
}

/** Loaded only when there is something to migrate: the package includes a command line. */
async function umzug(sequelize: Sequelize, transaction: Transaction): Promise<Umzug> {
	const [{ Umzug }, { MIGRATIONS }] = await Promise.all([import('umzug'), import('./migrations/index.ts')]);
	return new Umzug({
		migrations: MIGRATIONS.map(({ name, statements }) => ({
			name,
			up: async () => {
				for (const statement of statements) await sequelize.query(statement, { transaction });
			},
		})),
		storage: {
			executed: () => executed(sequelize, transaction),
			logMigration: async ({ name }) => {
				await sequelize.query('INSERT INTO migrations (name) VALUES ($1)', { bind: [name], transaction });
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
