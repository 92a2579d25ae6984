// The composition root: config → store → plugins → server → listen, and the orderly stop.

import cluster from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Server } from '@hapi/hapi';
import { migrateDatabase, openStore, type StoreOptions, startEmbedded } from '../db/index.ts';
import { createArgumentChecks } from './arguments/checks.ts';
import { superviseWorkers } from './cluster.ts';
import { type Config, checkConfig, completeConfig } from './config/config.ts';
import { createLog, type ServiceLog } from './config/log.ts';
import { GatewayError } from './contract/errors.ts';
import { createEgress } from './egress/egress.ts';
import type { Core } from './features.ts';
import { createRuntime } from './gateways/runtime.ts';
import { sweepExpired } from './housekeeping.ts';
import { InFlight } from './http/in-flight.ts';
import { reservedSegments } from './http/reserved.ts';
import { Streams } from './http/streams.ts';
import { Members } from './identity/members.ts';
import { createResets } from './identity/password-resets.ts';
import { createImports } from './imports/imports.ts';
import { createImportJobs } from './imports/jobs.ts';
import { createJobs } from './jobs/jobs.ts';
import { checkEncryptionKey } from './key-check.ts';
import { createLanes, type LaneParts } from './lanes/lanes.ts';
import { gatewayRouteLimits } from './limits/classes.ts';
import { createLimits } from './limits/limits.ts';
import { type LimitTable, limitTable } from './limits/table.ts';
import { createWindows } from './limits/windows.ts';
import { createMail } from './mail/mail.ts';
import { registerAccess } from './management/access.ts';
import { createRecordAudit } from './management/audit-entries.ts';
import { assertAudits, permissionsOfFeatures, tellTakenSlugs } from './management/declarations.ts';
import { registerFeatures } from './management/features.ts';
import { registerIdempotency } from './management/idempotency.ts';
import { assertNeeds } from './management/needs.ts';
import { delay, endOnSignals } from './process/ending.ts';
import { assertListenable, listeningFault, originOf, reachableOrigin } from './process/listening.ts';
import { giveBackMemory } from './process/memory.ts';
import { type PluginSource, watchStrays } from './process/strays.ts';
import { closePlugins, loadPlugins } from './registry/loader.ts';
import { countUnfitRows } from './registry/unfit-rows.ts';
import { createRuns } from './runs/runs.ts';
import { createSecrets } from './secrets/envelopes.ts';
import { createPasswords } from './secrets/passwords.ts';
import { createTokens } from './secrets/tokens.ts';
import { createServer } from './server.ts';
import { createAccountOf } from './shared/accounts.ts';
import { createCarrier } from './shared/carrier.ts';
import { Memo } from './shared/memo.ts';
import { createRecordServices, featureRecords } from './shared/plugin-records.ts';
import { joinReplicas, type Presence } from './shared/presence.ts';
import { connectLanes, createShared, type Shared } from './shared/redis.ts';
import { Recorder } from './store/recorder.ts';
import { WaitingQuestions } from './tools/asking.ts';
import type { Services } from './tools/call.ts';
import { createInvoker } from './tools/invoke.ts';
import { createUpstreamTokens } from './upstreams/access-tokens.ts';
import { Breakers } from './upstreams/breakers.ts';
import { createSigner } from './upstreams/credentials.ts';
import { send } from './upstreams/sending.ts';

export interface Service {
	/** The origin at which it listens. */
	url: string;
	/** The hapi server, for callers that inspect its routes. */
	server: Server;
	/** Fails readiness at once, waits for SHUTDOWN_DELAY_SECONDS or `hurry`, lets requests in flight finish, then closes everything. */
	stop(hurry?: AbortSignal): Promise<void>;
}

export interface ServiceOptions {
	/** Replaces the specification's limits. */
	limits?: LimitTable;
	/** The cost of bcrypt; default 12. */
	passwordCost?: number;
	/** The time limits of waits for the database, instead of the usual ones. */
	databaseWaits?: StoreOptions['waits'];
	/** The number of connections for ordinary statements, instead of the usual one. */
	databasePoolSize?: number | undefined;
	/** Runs when the plugins are loaded. */
	loaded?: (plugins: PluginSource[]) => void;
	/** Runs when everything is started, before the first request. */
	beforeListening?: () => void;
}

interface Given {
	config: Config;
	log: ServiceLog;
	options: ServiceOptions;
	/** Aborted as the first step of stopping. */
	stopping: AbortSignal;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MEMOS = 50_000;
const DRAIN_MS = 25_000;
/** The time after which calls in flight are ended when the service stops: in the rest they can still be answered. */
const CALLS_MS = DRAIN_MS - 1000;
/** The time in which runs may still end when the service stops; another replica goes on with the rest. */
const RUNS_GRACE_MS = 2_000;
/** Time limit of the whole stop. */
const GRACE_MS = DRAIN_MS + 5000;
/** A token is fetched for all callers that wait for it: the fetch continues when one of them leaves. */
const NEVER = new AbortController().signal;

/** Starts the service. @throws Error with one sentence per fault: configuration, plugins, database */
export async function startService(
	config: Config,
	log: ServiceLog = createLog(config.logLevel),
	options: ServiceOptions = {},
): Promise<Service> {
	// Resources are closed in reverse order of opening, also when a later step fails.
	const opened = new AsyncDisposableStack();
	const [leaving, stopping] = [new AbortController(), new AbortController()];
	try {
		const parts = await assemble({ config, log, options, stopping: stopping.signal }, opened);
		const core: Core = { ...parts, leaving: leaving.signal, stopping: stopping.signal };
		const server = createServer({ ...core, plugins: [...core.registry.list('transport'), ...core.registry.list('auth')] });
		server.app.inFlight = core.inFlight;
		await server.register({ name: 'management', register: (management) => registerManagement(management, core) });
		assertNeeds(server, core);
		core.runtime.mount(server);
		await server.initialize();
		await core.runs.open();
		options.beforeListening?.();
		await server.start().catch((error: unknown) => Promise.reject(listeningFault(error, config)));
		opened.defer(() => drain(server, core));
		opened.defer(() => stopping.abort(new GatewayError('unavailable', 'The service is stopping.')));
		log.info({ ...addressesOf(config), workerPid: process.pid }, 'listening');
		const stop = async (hurry: AbortSignal = NEVER): Promise<void> => {
			leaving.abort();
			await delay(config.shutdownDelaySeconds, hurry);
			await opened.disposeAsync();
		};
		return { url: reachableOrigin(config, '127.0.0.1'), server, stop };
	} catch (error) {
		await opened.disposeAsync();
		throw error;
	}
}

/** Lets requests in flight and runs finish. When no client waits any longer, or the time is over, all calls are ended. */
async function drain(server: Server, { runs, inFlight }: Core): Promise<void> {
	const end = (): void => inFlight.end(new GatewayError('unavailable', 'The service is stopping.'));
	const late = setTimeout(end, CALLS_MS);
	await Promise.all([server.stop({ timeout: DRAIN_MS }), runs.close(RUNS_GRACE_MS)]);
	clearTimeout(late);
	end();
}

async function registerManagement(server: Server, core: Core): Promise<void> {
	registerAccess(server, core);
	registerIdempotency(server, core);
	await registerFeatures(server, core);
}

async function assemble(
	{ config, log, options, stopping }: Given,
	opened: AsyncDisposableStack,
): Promise<Omit<Core, 'leaving' | 'stopping'>> {
	opened.defer(() => log.flush());
	const registry = await loadPlugins(ROOT, config.plugins, { log });
	opened.defer(() => closePlugins(registry, log));
	options.loaded?.(registry.sources());
	registry.configure((await config.pluginsConfig?.()) ?? null);
	const features = registry.list('feature');
	const permissions = permissionsOfFeatures(features);
	assertAudits(features);
	const reserved = reservedSegments(features.flatMap(({ segments = [] }) => segments));
	const { database, dataDir, migrationsRun } = config;
	const { databaseWaits: waits, databasePoolSize: poolSize } = options;
	const carrier = config.bullRedis && createCarrier(config.bullRedis, log);
	opened.defer(() => carrier?.close());
	const store = await openStore({ database, dataDir, migrate: migrationsRun, log, waits, poolSize, carrier });
	opened.defer(() => store.close());
	const shared = await createShared(config.redis, log);
	opened.defer(() => shared.close());
	const presence = await joinReplicas(shared, randomUUID());
	opened.defer(() => presence.close());
	const windows = createWindows(shared, presence, log);
	opened.defer(() => windows.close());
	const limits = createLimits(options.limits ?? limitTable(config), windows, config, {
		reserved,
		gatewayRoutes: gatewayRouteLimits([...registry.list('transport'), ...registry.list('auth')]),
	});
	const egressPolicy = { allow: config.egressAllow };
	const egress = createEgress(egressPolicy);
	opened.defer(() => egress.close());
	const lanes = createLanes({ redis: lanesRedis(config.redis, shared, presence), log });
	opened.defer(() => lanes.close());
	const recorder = new Recorder(store, log);
	opened.defer(() => recorder.close());
	opened.defer(sweepExpired(store, config.metricsRetentionDays, log));
	const mail = createMail(config, log);
	opened.defer(() => mail.close());
	const resets = createResets({ config, store, mail, log });
	opened.defer(() => resets.close());
	const secrets = createSecrets(config.encryptionKey, log);
	await checkEncryptionKey(store, secrets);
	if (isFirst()) await tellTakenSlugs(features, { store, log });
	const imports = createImports({ registry, egressPolicy, log });
	opened.defer(() => imports.close());
	const runs = createRuns({ store, log });
	opened.defer(() => runs.close(0));
	const importJobs = createImportJobs({ store, registry, secrets, imports, runs, log });

	const memo = new Memo(MEMOS);
	const accountOf = createAccountOf(store.organizations, memo);
	const records = createRecordServices({ store, secrets, accountOf });
	opened.defer(() => records.close());
	const argumentChecks = createArgumentChecks(accountOf);
	opened.defer(() => argumentChecks.close());
	const invoker = createInvoker({ services: () => services, registry, secrets, recorder, argumentChecks });
	const breakers = new Breakers();
	const upstreamTokens = createUpstreamTokens({
		...{ store: store.upstreamTokens, changes: store.changes, secrets, log },
		ask: (organizationId, request) => send({ egress, breakers, log, organizationId, lane: null, signal: NEVER }, request),
	});
	opened.defer(() => upstreamTokens.close());
	const signer = createSigner({ secrets, tokens: upstreamTokens });
	const operatorOf = (plugin: string): unknown => registry.operator(plugin);
	const jobs = createJobs({ registry, runs, secrets, egress, log, rebuild: (origin) => runtime.rebuild(origin) });
	const inFlight = new InFlight();
	const streams = new Streams(stopping);
	const asking = { seals: createSecrets(config.encryptionKey), waitingQuestions: new WaitingQuestions(stopping) };
	const shares = { egress, breakers, lanes, shared, store, records, memo, accountOf };
	const services: Services = { log, ...shares, signer, invoker, inFlight, jobs, operatorOf, ...asking };
	const tokens = createTokens(config.jwtSecret);
	const passwords = createPasswords(options.passwordCost);
	const members = new Members({ store, tokens, recorder });
	opened.defer(() => members.close());
	const people = { tokens, passwords, members, resets };
	const runtime = createRuntime({ config, registry, secrets, ...people, invoker, store, services, recorder, limits, streams, reserved });
	opened.defer(() => runtime.close());
	const unfitRows = countUnfitRows({ store, registry, secrets, log, isTold: isFirst() });
	opened.defer(() => unfitRows.close());
	return {
		config,
		log,
		registry,
		store,
		accountOf,
		secrets,
		tokens,
		passwords,
		members,
		mail,
		resets,
		egress,
		signer,
		shared,
		argumentChecks,
		invoker,
		imports,
		importJobs,
		runs,
		inFlight,
		streams,
		jobs,
		runtime,
		recorder,
		limits,
		permissions,
		reserved,
		recordsOf: featureRecords(records, store),
		recordAudit: createRecordAudit({ store, registry }),
		unfitRows,
	};
}

/** Whether this process is the first of its machine: one tells of what all of them find. */
const isFirst = (): boolean => (cluster.worker?.id ?? 1) === 1;

const lanesRedis = (redis: Config['redis'], shared: Shared, presence: Presence): LaneParts['redis'] =>
	redis && { connect: () => connectLanes(redis), ping: () => shared.ping(), replicas: () => presence.replicas };

/** Without a command it serves; `migrate` migrates the database and ends. */
async function run(command: string | undefined): Promise<void> {
	const checked = checkConfig();
	const log = createLog(checked.logLevel);
	const ending = endOnSignals(log);
	const strays = watchStrays(log, () => ending.fail());
	if (command === 'migrate') {
		const { database, dataDir } = completeConfig(checked);
		await migrateDatabase({ database, dataDir, log });
		return log.flush();
	}
	if (command !== undefined) throw new Error(`Unknown command "${command}"; known: migrate.`);
	// The port is tried before anything is created or started; the first process listens for all workers.
	if (cluster.isPrimary) await assertListenable(checked);
	const config = completeConfig(checked);
	if (cluster.isPrimary) log.info(addressesOf(config), 'starting');
	const graceMs = config.shutdownDelaySeconds * 1000 + GRACE_MS;
	const startDatabase = () => startEmbedded({ dataDir: config.dataDir, durable: true, log });
	const supervisor = await superviseWorkers(config, log, startDatabase);
	if (supervisor) {
		giveBackMemory();
		return ending.begun(supervisor, graceMs + GRACE_MS);
	}
	const loaded = (plugins: PluginSource[]): void => strays.know(plugins);
	ending.begun(await startService(config, log, { loaded, beforeListening: giveBackMemory }), graceMs);
}

/** The addresses that an operator looks for first: of the service, its documentation and its data. */
function addressesOf({ host, port, publicUrls, database, dataDir }: Config): Record<string, unknown> {
	const data = database ? `PostgreSQL at ${database.host}:${database.port}, database ${database.name}` : dataDir;
	return { url: originOf({ host, port }), docs: `${publicUrls[0]}/docs`, data, publicUrls };
}

/** Runs a command of this process, and ends the process with one sentence when it fails. */
export const runCommand = (command: string | undefined): Promise<void> =>
	run(command).catch((error: unknown) => {
		// The process would live on if a plugin that failed to load had left a timer or a server.
		process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`, () => process.exit(1));
	});

if (import.meta.main) void runCommand(process.argv[2]);
