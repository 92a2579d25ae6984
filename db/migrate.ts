// Brings a database to the schema that this code needs: by umzug, forward only, with all pending migrations and their records in one
// transaction, so a crash leaves either nothing or everything.

import { QueryTypes, type Sequelize, type Transaction } from 'sequelize';
import type { Umzug } from 'umzug';
import type { Log } from '../core/contract/nouns.ts';
import type { Endpoint } from './connection.ts';
import { foundation } from './migrations/0001-foundation.ts';
import { identity } from './migrations/0002-identity.ts';
import { audit } from './migrations/0003-audit.ts';
import { contract } from './migrations/0004-contract.ts';
import { records } from './migrations/0005-records.ts';
import { imports } from './migrations/0006-imports.ts';
import { upstreamTokens } from './migrations/0007-upstream-tokens.ts';
import { importJobs } from './migrations/0008-import-jobs.ts';
import { code } from './migrations/0009-code.ts';
import { creators } from './migrations/0010-creators.ts';
import { credentialSchemes } from './migrations/0011-credential-schemes.ts';
import { argumentLayers } from './migrations/0012-argument-layers.ts';
import { passThrough } from './migrations/0013-pass-through.ts';
import { configVersions } from './migrations/0014-config-versions.ts';
import { runs } from './migrations/0015-runs.ts';
import { recordQueries } from './migrations/0016-record-queries.ts';
import { importRuns } from './migrations/0017-import-runs.ts';
import { runDeadlines } from './migrations/0018-run-deadlines.ts';
import { importLeases } from './migrations/0019-import-leases.ts';
import { skills } from './migrations/0020-skills.ts';
import { results } from './migrations/0021-results.ts';
import { llmProviders } from './migrations/0022-llm-providers.ts';
import { modelUse } from './migrations/0023-model-use.ts';
import { agents } from './migrations/0024-agents.ts';
import { exposure } from './migrations/0025-exposure.ts';
import { requestLog } from './migrations/0026-request-log.ts';
import { agentVersions } from './migrations/0027-agent-versions.ts';
import { followedAgents } from './migrations/0028-followed-agents.ts';
import { auditChain } from './migrations/0029-audit-chain.ts';
import { payloads } from './migrations/0030-payloads.ts';
import { alerts } from './migrations/0031-alerts.ts';
import { printed } from './migrations/0032-printed.ts';
import { ENGINE_MIGRATION, installEngine } from './runs/engine.ts';

export interface Migration {
	/** Its number, then its subject; never renamed. */
	name: string;
	statements: string[];
}

/** All migrations, in order. */
export const MIGRATIONS: Migration[] = [
	foundation,
	identity,
	audit,
	contract,
	records,
	imports,
	upstreamTokens,
	importJobs,
	code,
	creators,
	credentialSchemes,
	argumentLayers,
	passThrough,
	configVersions,
	runs,
	recordQueries,
	importRuns,
	runDeadlines,
	importLeases,
	skills,
	results,
	llmProviders,
	modelUse,
	agents,
	exposure,
	requestLog,
	agentVersions,
	followedAgents,
	auditChain,
	payloads,
	alerts,
	printed,
];

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

const missing = (done: readonly string[]): string[] =>
	[...MIGRATIONS.map(({ name }) => name), ENGINE_MIGRATION].filter((name) => !done.includes(name));

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
	const { Umzug } = await import('umzug');
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
