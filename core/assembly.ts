// Puts the parts of the service together, from the lowest to the highest.

import cluster from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { openStore, type StoreOptions } from '../db/index.ts';
import { createAgents } from './agents/engine.ts';
import { createAlerts } from './alerts/alerts.ts';
import { createArgumentChecks } from './arguments/checks.ts';
import type { Config } from './config/config.ts';
import type { ServiceLog } from './config/log.ts';
import { VERSION } from './config/version.ts';
import type { Plugin } from './contract/kinds.ts';
import { createEgress } from './egress/egress.ts';
import { withPrivate } from './egress/private-networks.ts';
import { createExplain } from './explain/explain.ts';
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
import { createRecordAudit } from './management/audit-entries.ts';
import { createCallerOf } from './management/caller.ts';
import { assertAudits, permissionsOfFeatures, tellTakenSlugs } from './management/declarations.ts';
import { AdmittedRequests } from './management/still-admitted.ts';
import { ModelConnections } from './models/connections.ts';
import type { PluginSource } from './process/strays.ts';
import { findFolder, ROOT } from './registry/folders.ts';
import { closePlugins, loadPlugins } from './registry/loader.ts';
import { countUnfitRows } from './registry/unfit-rows.ts';
import { createRuns } from './runs/runs.ts';
import { createSecrets } from './secrets/envelopes.ts';
import { createPasswords } from './secrets/passwords.ts';
import { createTokens } from './secrets/tokens.ts';
import { createAccountOf } from './shared/accounts.ts';
import { createCarrier } from './shared/carrier.ts';
import { Memo } from './shared/memo.ts';
import { NamedWorks } from './shared/named-work.ts';
import { createRecordServices, featureRecords } from './shared/plugin-records.ts';
import { joinReplicas, type Presence } from './shared/presence.ts';
import { connectLanes, createShared, type Shared } from './shared/redis.ts';
import { SkillFiles } from './shared/skill-files.ts';
import { Recorder } from './store/recorder.ts';
import type { Store } from './store/store.ts';
import { createTelemetry } from './telemetry/telemetry.ts';
import { WaitingQuestions } from './tools/asking.ts';
import type { Services } from './tools/call-parts.ts';
import { createInvoker } from './tools/invoke.ts';
import type { Report } from './tracker/faults.ts';
import { createTracker } from './tracker/tracker.ts';
import { createUpstreamTokens } from './upstreams/access-tokens.ts';
import { Breakers } from './upstreams/breakers.ts';
import { CredentialHealth } from './upstreams/credential-health.ts';
import { createSigner } from './upstreams/credentials.ts';
import { send } from './upstreams/sending.ts';

export interface ServiceOptions {
	/** Replaces the specification's limits. */
	limits?: LimitTable;
	/** The cost of bcrypt; default 12. */
	passwordCost?: number;
	/** Plugins of this process, beside those of folders and packages. */
	plugins?: readonly Plugin[];
	/** The time limits of waits for the database, instead of the usual ones. */
	databaseWaits?: StoreOptions['waits'];
	/** The number of connections for ordinary statements, instead of the usual one. */
	databasePoolSize?: number | undefined;
	/** The time limit of an answer of Redis, instead of the usual one. */
	sharedDeadlineMs?: number | undefined;
	/** The interval at which rules of alerts are looked at and watched documents read, instead of a minute and a day. */
	alertPace?: { everyMs: number; watchMs: number } | undefined;
	/** A folder that is loaded as a package of plugins, beside those that the configuration names. */
	pluginFolder?: string | undefined;
	/** Runs when the plugins are loaded. */
	loaded?: (plugins: PluginSource[]) => void;
	/** Runs when faults can be reported to the error tracker. */
	reporting?: (report: Report) => void;
}

export interface AssemblyOptions {
	config: Config;
	log: ServiceLog;
	options: ServiceOptions;
	/** Aborted as the first step of stopping. */
	stopping: AbortSignal;
}

const MEMOS = 50_000;
/** A token is fetched for all callers that wait for it: the fetch continues when one of them leaves. */
const NEVER = new AbortController().signal;

/** Resources are opened in order, and given to `opened` to be closed in reverse. */
export async function assemble(
	{ config, log: plainLog, options, stopping }: AssemblyOptions,
	opened: AsyncDisposableStack,
): Promise<Omit<Core, 'leaving' | 'stopping'>> {
	opened.defer(() => plainLog.flush());
	const tracker = await createTracker(config.errorTrackerDsn, plainLog);
	opened.defer(() => tracker.close());
	options.reporting?.(tracker.report);
	const log = tracker.hearing(plainLog);
	const telemetry = await createTelemetry(config, { log, version: VERSION });
	opened.defer(() => telemetry.close());
	const found = options.pluginFolder === undefined ? [] : [findFolder(options.pluginFolder)];
	const registry = await loadPlugins(ROOT, config.plugins, { log, found });
	for (const plugin of options.plugins ?? []) registry.add(plugin);
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
	const shared = await createShared(config.redis, log, options.sharedDeadlineMs);
	opened.defer(() => shared.close());
	const presence = await joinReplicas(shared, randomUUID(), config.webConcurrency);
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
	const privateEgress = config.localModelAllowPrivateUrls ? createEgress(withPrivate(egressPolicy)) : egress;
	if (privateEgress !== egress) opened.defer(() => privateEgress.close());
	const lanes = createLanes({ redis: lanesRedis(config.redis, shared, presence), log });
	opened.defer(() => lanes.close());
	const recorder = new Recorder(store, log);
	recorder.onRequest = telemetry.line;
	opened.defer(() => recorder.close());
	const mail = createMail(config, log);
	opened.defer(() => mail.close());
	const resets = createResets({ config, store, mail, log });
	opened.defer(() => resets.close());
	const secrets = createSecrets(config.encryptionKey, log, config.formerKeys);
	await checkEncryptionKey(store, secrets);
	if (isFirst()) await tellTakenSlugs(features, { store, log });
	const imports = createImports({ registry, egressPolicy, secrets, log });
	opened.defer(() => imports.close());
	const runs = createRuns({ store, log });
	opened.defer(() => runs.close(0));
	opened.defer(sweepExpired(store, { retentionDays: config.metricsRetentionDays, kinds: () => runs.kinds() }, log));
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
	const credentialHealth = new CredentialHealth();
	const alerts = createAlerts({ store, imports, jobs, secrets, health: credentialHealth, log, ...options.alertPace });
	opened.defer(() => alerts.close());
	const inFlight = new InFlight();
	const streams = new Streams(stopping);
	telemetry.observe({ ...store.gauges, streams: () => streams.count, organization: slugIn(store), worker: cluster.worker?.id ?? 1 });
	const asking = {
		seals: createSecrets(config.encryptionKey, undefined, config.formerKeys),
		waitingQuestions: new WaitingQuestions(stopping),
	};
	const shares = { egress, breakers, lanes, shared, store, records, memo, skillFiles: new SkillFiles(store), accountOf };
	const named = new NamedWorks(store.changes);
	opened.defer(() => named.close());
	const followServed: Services['followServed'] = (call, signal) => runtime.served.follow(call, signal);
	const models = new ModelConnections({ ...shares, registry, secrets, signer, log, recorder, privateEgress });
	const services: Services = {
		log,
		...shares,
		models,
		outputChecks: argumentChecks.outputs,
		signer,
		invoker,
		inFlight,
		jobs,
		named,
		followServed,
		operatorOf,
		credentialHealth,
		...asking,
		agents: { of: (call) => agents.desk.of(call) },
	};
	const agents = createAgents({
		...{ telemetry, registry, secrets, egress, accountOf, argumentChecks, store, runs, agents: store.agents, recorder, limits },
		services: () => services,
		shelfOf: (organizationId, gateways) => runtime.shelfOf(organizationId, gateways),
	});
	const tokens = createTokens(config.jwtSecret);
	const passwords = createPasswords(options.passwordCost);
	const members = new Members({ store, tokens, recorder });
	opened.defer(() => members.close());
	const admitted = new AdmittedRequests(store.changes);
	opened.defer(() => admitted.close());
	const people = { tokens, passwords, members, resets };
	const runtime = createRuntime({ config, registry, secrets, ...people, invoker, store, services, recorder, limits, streams, reserved });
	opened.defer(() => runtime.close());
	const explain = createExplain({ runtime, services, limits, argumentChecks, store });
	const unfitRows = countUnfitRows({ store, registry, secrets, log, isTold: isFirst() });
	opened.defer(() => unfitRows.close());
	return {
		config,
		log,
		telemetry,
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
		admitted,
		jobs,
		models,
		agents: agents.engine,
		runtime,
		recorder,
		limits,
		permissions,
		reserved,
		recordsOf: featureRecords(records, store),
		recordAudit: createRecordAudit({ store, registry }),
		callerOf: createCallerOf(members),
		unfitRows,
		reportFault: tracker.report,
		explain,
		alerts,
	};
}

const slugIn =
	({ organizations }: Pick<Store, 'organizations'>) =>
	async (id: string): Promise<string | null> =>
		(await organizations.get(id))?.slug ?? null;

/** Whether this process is the first of its machine: one tells of what all of them find. */
const isFirst = (): boolean => (cluster.worker?.id ?? 1) === 1;

const lanesRedis = (redis: Config['redis'], shared: Shared, presence: Presence): LaneParts['redis'] =>
	redis && { connect: () => connectLanes(redis), ping: () => shared.ping(), replicas: () => presence.replicas };
