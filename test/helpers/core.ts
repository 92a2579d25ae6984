// Core's parts put together without the rest of the service, with a test's plugins in place of the usual ones, on a database of its own.
// Tests send requests by `server.inject`: nothing listens.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Plugin as HapiPlugin, Server, ServerRoute } from '@hapi/hapi';
import { createArgumentChecks } from '../../core/arguments/checks.ts';
import { type Config, loadConfig } from '../../core/config/config.ts';
import type { Plugin } from '../../core/contract/kinds.ts';
import type { Window } from '../../core/contract/limits.ts';
import type { Log } from '../../core/contract/nouns.ts';
import { permissionsWith } from '../../core/contract/permissions.ts';
import { createEgress } from '../../core/egress/egress.ts';
import { createRuntime, type Runtime } from '../../core/gateways/runtime.ts';
import { InFlight } from '../../core/http/in-flight.ts';
import { reservedSegments } from '../../core/http/reserved.ts';
import { type StreamBounds, Streams } from '../../core/http/streams.ts';
import { beginLogin } from '../../core/identity/logins.ts';
import { Members } from '../../core/identity/members.ts';
import { createResets } from '../../core/identity/password-resets.ts';
import { createJobs } from '../../core/jobs/jobs.ts';
import { createLanes } from '../../core/lanes/lanes.ts';
import { createLimits, type Limits } from '../../core/limits/limits.ts';
import type { LimitTable } from '../../core/limits/table.ts';
import { createWindows } from '../../core/limits/windows.ts';
import { createMail } from '../../core/mail/mail.ts';
import { registerAccess } from '../../core/management/access.ts';
import { registerIdempotency } from '../../core/management/idempotency.ts';
import { assertNeeds } from '../../core/management/needs.ts';
import { ModelConnections } from '../../core/models/connections.ts';
import { Registry } from '../../core/registry/registry.ts';
import { createRuns } from '../../core/runs/runs.ts';
import { createSecrets, type Secrets } from '../../core/secrets/envelopes.ts';
import { createPasswords } from '../../core/secrets/passwords.ts';
import { createTokens } from '../../core/secrets/tokens.ts';
import { createServer } from '../../core/server.ts';
import { createAccountOf } from '../../core/shared/accounts.ts';
import { Memo } from '../../core/shared/memo.ts';
import { NamedWorks } from '../../core/shared/named-work.ts';
import { createRecordServices } from '../../core/shared/plugin-records.ts';
import { joinReplicas } from '../../core/shared/presence.ts';
import { createShared } from '../../core/shared/redis.ts';
import { SkillFiles } from '../../core/shared/skill-files.ts';
import { Recorder } from '../../core/store/recorder.ts';
import type { RequestRow } from '../../core/store/store.ts';
import { WaitingQuestions } from '../../core/tools/asking.ts';
import type { Services } from '../../core/tools/call-parts.ts';
import { createInvoker } from '../../core/tools/invoke.ts';
import { NO_AGENTS } from '../../core/tools/no-agents.ts';
import { createUpstreamTokens } from '../../core/upstreams/access-tokens.ts';
import { Breakers } from '../../core/upstreams/breakers.ts';
import { createSigner } from '../../core/upstreams/credentials.ts';
import type { Tenant } from './samples.ts';
import { SECRETS } from './service.ts';
import { type TestStore, testStore } from './store.ts';

export const wide: Window = { max: 1_000_000, seconds: 60 };
/** Limits that no test reaches by accident. */
export const LOOSE: LimitTable = { global: wide, categories: {}, invoke: wide, gateways: wide, routes: {} };

export interface CoreOptions {
	plugins?: Plugin[];
	/** Additional routes of the management API. */
	routes?: ServerRoute[];
	limits?: LimitTable;
	/** Bounds of event streams. */
	streams?: StreamBounds;
	/** Runs where features register: before anything is served. */
	register?(core: Pick<TestCore, 'runtime' | 'members'>): void;
}

/** A line of the log: its level, its fields, its text. */
export type Line = [level: string, fields: object, text: string];

export interface TestCore extends AsyncDisposable {
	store: TestStore;
	server: Server;
	config: Config;
	registry: Registry;
	secrets: Secrets;
	services: Services;
	limits: Limits;
	runtime: Runtime;
	members: Members;
	/** The lines of tools that have run. */
	runs: RequestRow[];
	lines: Line[];
	/** Logs a user in. @returns the token */
	logIn(tenant: Pick<Tenant, 'userId'>): Promise<string>;
}

/** Outcomes of calls that gave no result. */
const THROWN: ReadonlySet<string> = new Set([
	'validation_failed',
	'tool_not_found',
	'insufficient_scope',
	'unavailable',
	'not_implemented',
]);

export async function startCore({
	plugins = [],
	routes = [],
	limits: table = LOOSE,
	streams: bounds = {},
	register,
}: CoreOptions = {}): Promise<TestCore> {
	await using opened = new AsyncDisposableStack();
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-core-'));
	opened.defer(() => rmSync(folder, { recursive: true, force: true }));
	const config = loadConfig({ SVC_DATA_DIR: folder, PUBLIC_URL: 'https://gatehouse.example' });
	const lines: Line[] = [];
	const log = logInto(lines);
	const store = opened.use(await testStore());
	const registry = new Registry();
	for (const plugin of plugins) registry.add(plugin);
	const shared = await createShared(null, log);
	opened.defer(() => shared.close());
	const presence = await joinReplicas(shared, 'one');
	opened.defer(() => presence.close());
	const windows = createWindows(shared, presence, log);
	opened.defer(() => windows.close());
	const limits = createLimits(table, windows, config);
	const egress = createEgress({ allow: ['127.0.0.1'] });
	opened.defer(() => egress.close());
	const lanes = createLanes({ redis: null, log });
	opened.defer(() => lanes.close());
	const recorder = new Recorder(store, log);
	opened.defer(() => recorder.close());
	const runs: RequestRow[] = [];
	const record = recorder.request.bind(recorder);
	recorder.request = (row) => {
		if (row.kind === 'tool' && !THROWN.has(row.outcome)) runs.push(row);
		record(row);
	};
	const mail = createMail(config, log);
	opened.defer(() => mail.close());
	const resets = createResets({ config, store, mail, log });
	opened.defer(() => resets.close());
	const secrets = createSecrets(SECRETS.ENCRYPTION_KEY, log);
	const memo = new Memo(100);
	const accountOf = createAccountOf(store.organizations, memo);
	const records = createRecordServices({ store, secrets, accountOf });
	opened.defer(() => records.close());
	const argumentChecks = createArgumentChecks(accountOf);
	opened.defer(() => argumentChecks.close());
	const invoker = createInvoker({ services: () => services, registry, secrets, recorder, argumentChecks });
	const ask = () => assert.fail('a token of an upstream was asked for');
	const upstreamTokens = createUpstreamTokens({ store: store.upstreamTokens, changes: store.changes, secrets, log, ask });
	opened.defer(() => upstreamTokens.close());
	const signer = createSigner({ secrets, tokens: upstreamTokens });
	const breakers = new Breakers();
	const operatorOf = (plugin: string): unknown => registry.operator(plugin);
	const engine = createRuns({ store, log });
	opened.defer(() => engine.close(0));
	const jobs = createJobs({ registry, runs: engine, secrets, egress, log, rebuild: (origin) => runtime.rebuild(origin) });
	const inFlight = new InFlight();
	const asking = { seals: createSecrets(SECRETS.ENCRYPTION_KEY), waitingQuestions: new WaitingQuestions(new AbortController().signal) };
	const shares = { egress, breakers, lanes, shared, store, records, memo, skillFiles: new SkillFiles(store), accountOf };
	const named = new NamedWorks(store.changes);
	opened.defer(() => named.close());
	const followServed: Services['followServed'] = (call, signal) => runtime.served.follow(call, signal);
	const models = new ModelConnections({ ...shares, registry, secrets, signer, log, recorder, privateEgress: egress });
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
		...asking,
		agents: NO_AGENTS,
	};
	const tokens = createTokens(SECRETS.JWT_SECRET);
	const passwords = createPasswords();
	const members = new Members({ store, tokens, recorder });
	opened.defer(() => members.close());
	const permissions = permissionsWith(new Map());
	const streams = new Streams(new AbortController().signal, bounds);
	const reserved = reservedSegments();
	const around = {
		streams,
		config,
		reserved,
		registry,
		secrets,
		tokens,
		passwords,
		members,
		resets,
		invoker,
		store,
		services,
		recorder,
		limits,
		permissions,
	};
	const runtime = createRuntime(around);
	opened.defer(() => runtime.close());
	const server = createServer({ ...around, log });
	opened.defer(() => server.stop());
	await server.register(
		management(routes, (inner) => {
			registerAccess(inner, around);
			registerIdempotency(inner, { store, log });
		}),
	);
	assertNeeds(server, { permissions, registry });
	register?.({ runtime, members });
	runtime.mount(server);
	await server.initialize();
	const logIn = async ({ userId }: Pick<Tenant, 'userId'>): Promise<string> => {
		const begun = await beginLogin({ id: userId, passwordHash: 'hash' }, { address: '127.0.0.1', userAgent: null }, { store, tokens });
		return begun?.token ?? assert.fail('no login');
	};
	const owned = opened.move();
	const dispose = () => owned.disposeAsync();
	return {
		store,
		server,
		config,
		registry,
		secrets,
		services,
		limits,
		runtime,
		members,
		runs,
		lines,
		logIn,
		[Symbol.asyncDispose]: dispose,
	};
}

const management = (routes: ServerRoute[], prepare: (server: Server) => void): HapiPlugin<undefined> => ({
	name: 'management',
	register(server) {
		prepare(server);
		server.route(routes);
	},
});

function logInto(lines: Line[]): Log {
	const at =
		(level: string) =>
		(fields: object, text: string): void =>
			void lines.push([level, fields, text]);
	return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
