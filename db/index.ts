// The store on PostgreSQL: a configured server, or the embedded one that starts and stops with the store.

import type { Sequelize } from 'sequelize';
import type { Config } from '../core/config/config.ts';
import type { Log } from '../core/contract/nouns.ts';
import type { AuditProof } from '../core/store/audit-chain.ts';
import type { Carrier } from '../core/store/carrier.ts';
import type { ChangeSealed } from '../core/store/credentials.ts';
import type { Repositories, Store } from '../core/store/store.ts';
import { createAgents } from './agents/agents.ts';
import { createAlertDesk } from './alerts/desk.ts';
import { createAlerts } from './alerts/rules.ts';
import { createAnalytics } from './analytics/index.ts';
import { createApis } from './apis.ts';
import { createAudit } from './audit.ts';
import { createAuditChain } from './audit-chain/chain.ts';
import { type Verifying, verifyChains } from './audit-chain/verify.ts';
import { followChanges } from './changes.ts';
import { BULK_POOL_SIZE, connect, type Database, type Endpoint, POOL_SIZE, WAITS, type Waits } from './connection.ts';
import { beginTime } from './deadline.ts';
import { type Embedded, type EmbeddedOptions, startEmbedded } from './embedded/server.ts';
import { guard, translated } from './errors.ts';
import { createGateways } from './gateways/gateways.ts';
import { createConfigRows } from './gateways/stored-configs.ts';
import { createGauges } from './gauges.ts';
import { createIdempotency } from './idempotency.ts';
import { createImportJobs } from './imports/jobs.ts';
import { createImportQueue } from './imports/queue.ts';
import { keep } from './installation.ts';
import { createLlmProviders } from './llm/providers.ts';
import { assertMigrated, migrate } from './migrate.ts';
import { defineModels, type Models } from './models/index.ts';
import { createAccessKeys } from './people/access-keys.ts';
import { createAccounts } from './people/accounts.ts';
import { createOrganizations } from './people/organizations.ts';
import { createRecords } from './records/records.ts';
import { rows } from './rows.ts';
import { createRunQueue } from './runs/index.ts';
import type { JointRuns } from './runs/joint.ts';
import { RUN_CONNECTIONS } from './runs/pool.ts';
import { changeSealed } from './sealed-values.ts';
import { createSkills } from './skills/skills.ts';
import { createTools } from './tools.ts';
import { createUpstreamTokens } from './upstream-tokens.ts';

export interface DatabaseOptions {
	/** The server to use; null for the embedded one, under `dataDir`. */
	database: Config['database'];
	dataDir: string;
	log: Log;
}

export interface StoreOptions extends DatabaseOptions {
	/** Migrates the schema first. Otherwise it must be up to date: @throws Error naming the missing migrations */
	migrate: boolean;
	/** Connections for ordinary statements. Default `POOL_SIZE`. */
	poolSize?: number | undefined;
	/** Instead of the usual ones. */
	waits?: Partial<Waits> | undefined;
	/** Carries announcements of runs; PostgreSQL does while it cannot, and without it. */
	carrier?: Carrier | null | undefined;
}

/** The most connections of one process: those of both pools and of runs, the one that writes records, and the one that hears of changes. */
export const PROCESS_CONNECTIONS = POOL_SIZE + BULK_POOL_SIZE + RUN_CONNECTIONS + 2;
/** The least that the embedded database admits: PostgreSQL's own default, which leaves room for commands and a `psql` beside the service. */
const LEAST_CONNECTIONS = 100;

/** @throws unavailable; Error when the embedded database cannot start */
export async function openStore(options: StoreOptions): Promise<Store> {
	const { endpoint, stop } = await reach(options);
	const database = connect(endpoint, options.poolSize ?? POOL_SIZE, { ...WAITS, ...options.waits });
	const close = async (): Promise<void> => {
		await database.close();
		await stop();
	};
	try {
		await translated<unknown>(() => (options.migrate ? migrate(database.bulk, endpoint, options.log) : assertMigrated(database.ordinary)));
		return await assemble(database, endpoint, { log: options.log, carrier: options.carrier, close });
	} catch (error) {
		await close();
		throw error;
	}
}

/** Runs the migrations for `npm run migrate`. @returns the names of those that ran */
export async function migrateDatabase(options: DatabaseOptions): Promise<string[]> {
	const { endpoint, stop } = await reach(options);
	const database = connect(endpoint, 1);
	try {
		return await translated(() => migrate(database.bulk, endpoint, options.log));
	} finally {
		await database.close();
		await stop();
	}
}

/** Checks the hash chains of the audit logs, for `npm run verify-audit`. @param tell is told of each organization */
export async function verifyAudit(options: DatabaseOptions, asked: Verifying, tell: (proof: AuditProof) => void): Promise<void> {
	await withBulk(options, async (sql) => {
		for await (const proof of verifyChains(sql, asked)) tell(proof);
	});
}

/** Replaces stored secrets of other keys, for `npm run rotate-key`. @param keyId the id of the present key */
export async function renewSecrets(options: DatabaseOptions, keyId: string, change: ChangeSealed): Promise<void> {
	await withBulk(options, (sql) => changeSealed(sql, keyId, change));
}

/** Does maintenance on one connection. */
async function withBulk(options: DatabaseOptions, work: (sql: Sequelize) => Promise<void>): Promise<void> {
	const { endpoint, stop } = await reach(options);
	const database = connect(endpoint, 1);
	try {
		await translated(() => assertMigrated(database.bulk));
		await work(database.bulk);
	} finally {
		await database.close();
		await stop();
	}
}

interface Reached {
	endpoint: Endpoint;
	stop(): Promise<void>;
}

async function reach({ database, dataDir, log }: DatabaseOptions): Promise<Reached> {
	if (database) return { endpoint: database, stop: () => Promise.resolve() };
	const embedded = await startEmbedded({ dataDir, durable: true, log });
	return { endpoint: embedded.database, stop: () => embedded.stop() };
}

async function assemble(
	database: Database,
	endpoint: Endpoint,
	{ log, close, carrier }: { log: Log; close(): Promise<void>; carrier: Carrier | null | undefined },
): Promise<Store> {
	const models = defineModels(database.ordinary);
	const changes = await followChanges(endpoint, database, log);
	const { runQueue, jointRuns, announce } = createRunQueue(endpoint, {
		...{ changes, log, carrier },
		reads: (text, values) => rows(database.ordinary, text, values),
	});
	return {
		...createRepositories(database, models, jointRuns),
		as: (actor) => createRepositories(database.as(actor), models, jointRuns),
		idempotency: guard(createIdempotency(database)),
		importQueue: guard(createImportQueue(database)),
		runQueue,
		upstreamTokens: guard(createUpstreamTokens(database)),
		analytics: guard(createAnalytics(database)),
		gauges: createGauges(database),
		auditChain: guard(createAuditChain(database)),
		alertDesk: guard(createAlertDesk(database)),
		configs: guard(createConfigRows(database.ordinary)),
		changes: { ...changes, announce },
		keep: (name, value) => translated(() => keep(database.ordinary, name, value)),
		deadline: () => beginTime(database.waits.ordinaryMs),
		ping: () => translated(async () => void (await database.ordinary.query('SELECT 1'))),
		close: async () => {
			await runQueue.close();
			await changes.close();
			await close();
		},
	};
}

/** Functions only, so that each request can have its own: the costly parts are in `database` and `models`. */
const createRepositories = (database: Database, models: Models, runs: JointRuns): Repositories => ({
	accounts: guard(createAccounts(database, models)),
	organizations: guard(createOrganizations(database, models)),
	accessKeys: guard(createAccessKeys(database, models)),
	audit: guard(createAudit(database)),
	apis: guard(createApis(database, models)),
	imports: guard(createImportJobs(database, models, runs)),
	tools: guard(createTools(database, models)),
	gateways: guard(createGateways(database, models)),
	skills: guard(createSkills(database, models)),
	llmProviders: guard(createLlmProviders(database, models)),
	agents: guard(createAgents(database, models, runs)),
	alerts: guard(createAlerts(database, models)),
	records: guard(createRecords(database)),
});

/** Starts the embedded database for so many processes, each of which may use all of its connections, and for one that replaces another. */
export const startDatabase = ({ processes, ...options }: EmbeddedOptions & { processes: number }): Promise<Embedded> =>
	startEmbedded({ ...options, connections: Math.max(LEAST_CONNECTIONS, (processes + 1) * PROCESS_CONNECTIONS) });
